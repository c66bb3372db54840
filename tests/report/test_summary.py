"""What the end of a long report shows: the kernels that waste most, and few names beside each."""

from __future__ import annotations

import re

from samples import result_of

from smemlint.report.phrases import labelled_notes
from smemlint.report.summary import kernels_summary

KERNEL = """\
__global__ void {name}(float *out) {{
  __shared__ float s[2048];
  s[threadIdx.x * {stride}] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}}
"""


def text(strides) -> str:
    kernels = "".join(KERNEL.format(name=f"k{s}", stride=s) for s in strides)
    launches = "".join(f"k{s}<<<1, 32>>>(o); " for s in strides)
    return f"{kernels}void run(float *o) {{ {launches} }}\n"


def rows(strides) -> list[tuple[int, str]]:
    lines = kernels_summary(result_of(text(strides)).findings)
    found = [re.match(r"\s+(\d+)%\s+(k\d+)\s", line) for line in lines]
    return [(int(m[1]), m[2]) for m in found if m]


def test_kernels_by_the_share_of_their_wavefronts_that_is_wasted():
    """A store of w wavefronts beside a load of 1: (w - 1) / (w + 1)."""
    assert rows([2, 4, 8, 16, 32, 64]) == [
        (94, "k32"), (94, "k64"), (88, "k16"), (78, "k8"), (60, "k4"), (33, "k2"),
    ]  # fmt: skip


def test_few_findings_or_one_kernel_need_no_summary():
    assert rows([2, 4, 8, 16, 32]) == []
    one = "s[threadIdx.x * 32] = 1;\n  __syncthreads();\n  " * 7
    kernel = KERNEL.format(name="k", stride=32).replace(
        "__syncthreads();", f"__syncthreads(); {one}"
    )
    assert (
        kernels_summary(result_of(kernel + "void run(float *o) { k<<<1, 32>>>(o); }").findings)
        == []
    )


def test_long_lists_are_cut_and_name_the_places_of_each():
    strides = list(range(2, 64, 2))
    assert len(rows(strides)) == 8
    lines = kernels_summary(result_of(text(strides)).findings)
    assert str(len(strides) - 8) in lines[-1]
    assert lines[1].endswith("k.cu:" + str(strides.index(32) * 6 + 3))


def test_instances_beside_a_finding_are_as_many_as_a_line_takes():
    name = "a_kernel_with_a_name_that_takes_much_room"
    kernel = KERNEL.format(name=name, stride=32).replace(
        "__global__", "template <int N> __global__"
    )
    launches = "".join(f"{name}<{n}><<<1, 32>>>(o); " for n in range(12))
    (found,) = result_of(f"{kernel}void run(float *o) {{ {launches} }}\n").findings
    (also,) = [note for label, note in labelled_notes(found) if label == "also"]
    assert (len(found.instances), also.count(name)) == (12, 2)
    assert re.search(r"\b9\b", also)


def test_of_an_instance_with_a_long_title_what_differs_is_named():
    names = [f"An_argument_with_a_rather_long_name_{letter}" for letter in "abcd"]
    structs = "".join(f"struct {name} {{}};\n" for name in names)
    kernel = KERNEL.format(name="k", stride=32).replace(
        "__global__", "template <class A, class B, class C, int N> __global__"
    )
    same = ", ".join(names[:3])
    launches = "".join(f"k<{same}, {n}><<<1, 32>>>(o); " for n in (1, 2))
    source = f"{structs}{kernel}void run(float *o) {{ {launches} }}\n"
    (found,) = result_of(source).findings
    (also,) = [note for label, note in labelled_notes(found) if label == "also"]
    assert re.search(r"\bN\b\W+[12]\b", also)
    assert not any(name in also for name in names)
