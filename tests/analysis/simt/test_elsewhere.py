"""A launched kernel of a header that is not among the files: where it lies is said."""

from __future__ import annotations

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.frontend.cuda import unit
from smemlint.frontend.cuda.scanner.scan import scan
from smemlint.reasons import ReasonCode
from smemlint.sources.source import Source

HEADER = """#pragma once
template <int N>
__global__ void kernel(float* a) {
  __shared__ float s[32 * N];
  s[threadIdx.x] = a[threadIdx.x];
}
__global__ void plain(float* a) { a[threadIdx.x] = 0; }
"""


@pytest.mark.parametrize(
    ("launch", "with_header", "expected"),
    [
        ("kernel<4><<<1, 64>>>(a);", False, [(2, 22)]),
        ("kernel<4><<<1, 64>>>(a);", True, []),
        ("plain<<<1, 64>>>(a);", False, []),
        ("other(a);", False, []),
    ],
)
def test_where_a_launched_kernel_lies_is_said(launch, with_header, expected, tmp_path):
    (tmp_path / "k.cuh").write_text(HEADER)
    (tmp_path / "one.cu").write_text(f'#include "k.cuh"\nvoid run(float* a) {{ {launch} }}\n')
    names = ["one.cu", *(["k.cuh"] if with_header else [])]
    facts = check([Source(str(tmp_path / n)) for n in names], Settings()).facts
    notes = [n for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert [(n.span.line, n.span.column) for n in notes] == expected
    assert all("k.cuh" in n.reason.text for n in notes)
    assert len(facts.kernels) == with_header


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("template void go<4>(float* a);", [True]),
        ("template <>\nvoid run<4>(float* a) { go<4>(a); }", [True]),
        ("void run(float* a);", []),
    ],
)
@pytest.mark.parametrize("is_behind", [False, True])
def test_a_file_of_instances_says_where_its_kernels_lie(written, expected, is_behind, tmp_path):
    go = "template <int N> void go(float* a) { kernel<N><<<1, 64>>>(a); }\n"
    go += "template <int N> void run(float* a);\n"
    (tmp_path / "k.cuh").write_text(HEADER + ("" if is_behind else go))
    (tmp_path / "launch.h").write_text(f'#pragma once\n#include "k.cuh"\n{go}')
    (tmp_path / "one.cu").write_text(
        f'#include "{"launch.h" if is_behind else "k.cuh"}"\n{written}\n'
    )
    facts = check([Source(str(tmp_path / "one.cu"))], Settings()).facts
    found = [n.reason.text for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert ["k.cuh" in text for text in found] == expected


@pytest.mark.parametrize(("is_of_the_run", "scans"), [(True, 1), (False, 2)])
def test_a_header_that_launches_is_scanned_only_for_kernels_of_files_outside(
    is_of_the_run, scans, tmp_path, monkeypatch
):
    scanned = []

    def noted(tokens, files):
        scanned.append(files)
        return scan(tokens, files)

    monkeypatch.setattr(unit, "scan", noted)
    (tmp_path / "k.cuh").write_text(HEADER)
    go = "template <class T> void go(T a) { kernel<4><<<1, 64>>>(a); }"
    (tmp_path / "launch.h").write_text(f'#pragma once\n#include "k.cuh"\n{go}\n')
    (tmp_path / "one.cu").write_text(f'#include "launch.h"\n{HEADER[13:]}'.replace("kernel", "own"))
    names = ["one.cu", "launch.h", *(["k.cuh"] if is_of_the_run else [])]
    check([Source(str(tmp_path / n)) for n in names], Settings())
    assert len(scanned) == scans


@pytest.mark.parametrize(
    ("folders", "kernels", "missing"),
    [(["gpu"], 1, 0), (["gpu", "cpu"], 0, 1), ([], 0, 1)],
)
def test_a_header_of_one_folder_below_is_read_and_one_of_none_or_two_is_missing(
    folders, kernels, missing, tmp_path
):
    for folder in folders:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.cuh").write_text(HEADER)
    (tmp_path / "one.cu").write_text(
        '#include "k.cuh"\nvoid run(float* a) {\n  kernel<4><<<1, 64>>>(a);\n}\n'
    )
    notes = check([Source(str(tmp_path / "one.cu"))], Settings()).facts.not_analysed
    codes = [(n.reason.code, n.span.line) for n in notes]
    assert codes.count((ReasonCode.LEFT_OUT, 3)) == kernels
    assert codes.count((ReasonCode.MISSING, 3)) == missing


@pytest.mark.parametrize(
    "launch",
    [
        "void go() {}  // by a kernel <<<>>>",
        "template <class F> void go(F kernel, float* a) { kernel<<<1, 64>>>(a); }",
        "void go(float* a) { auto* kernel = &of<4>; kernel<<<1, 64>>>(a); }",
        "void go(void (*kernel)(float*), float* a) { kernel<<<1, 64>>>(a); }",
        "__global__ void kernel(float* a) {}\nvoid go(float* a) { kernel<<<1, 64>>>(a); }",
        "#define KERNEL __global__ void\n"
        "KERNEL kernel(float* a) {}\nvoid go(float* a) { kernel<<<1, 64>>>(a); }",
        "template <class F> __global__ void kernel(float* a) {}\n"
        "void go(float* a) { kernel<Traits<float>><<<1, 64>>>(a); }",
    ],
)
def test_a_launched_parameter_or_own_kernel_is_defined_in_no_missing_file(launch, tmp_path):
    (tmp_path / "one.cu").write_text(f'#include "k.cuh"\n{launch}\n')
    notes = check([Source(str(tmp_path / "one.cu"))], Settings()).facts.not_analysed
    assert notes == ()


@pytest.mark.parametrize(
    ("written", "names", "expected"),
    [
        ("int main() { go(0); }", ["one.cu"], [["k.cuh"]]),
        ("int main() { go(0); }", ["one.cu", "k.cuh"], []),
        ("int main() { go(0); }", ["one.cpp"], []),
        ("__global__ void own(float* a) { *a = 0; }", ["one.cu"], []),
    ],
)
def test_a_file_that_is_built_for_its_headers_says_once_where_the_kernels_are(
    written, names, expected, tmp_path
):
    go = "inline void go(float* a) { kernel<4><<<1, 64>>>(a); kernel<8><<<1, 64>>>(a); }\n"
    (tmp_path / "k.cuh").write_text(HEADER + go)
    (tmp_path / names[0]).write_text(f'#include "k.cuh"\n{written}\n')
    facts = check([Source(str(tmp_path / n)) for n in names], Settings()).facts
    left = [n for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert [[h for h in ("k.cuh",) if h in n.reason.text] for n in left] == expected


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("template void run<64>(float* a);", (1, 1, 1, 0)),
        ("template <> void run<64>(float* a) { launch<64>(a); }", (1, 1, 1, 0)),
        ("void run(float* a) { p::launch<64>(a); }", (0, 1, 1, 0)),  # of host code alone
        ("void run(float* a) { kernel<64><<<1, 64>>>(a); }", (1, 1, 1, 0)),
        ("__global__ void k() { __shared__ int s[4]; s[0] = 1; }", (1, 1, 1, 0)),
    ],
)
def test_templates_of_a_header_that_was_not_found_are_said(text, counts, tmp_path):
    spellings = ('"run.h"', '"run.cuh"', "<p/run.cuh>", "<p/run.h>")
    for spelling, count in zip(spellings, counts, strict=True):
        (tmp_path / "one.cu").write_text(f"#include {spelling}\n{text}\n")
        facts = check([Source(str(tmp_path / "one.cu"))], Settings()).facts
        notes = [n for n in facts.not_analysed if n.reason.code is ReasonCode.MISSING]
        assert len(notes) == count, spelling
        assert all(spelling[1:-1] in n.reason.text for n in notes)


def test_a_kernel_of_cutlass_that_nothing_uses_is_none_of_a_file(tmp_path):
    (tmp_path / "one.cu").write_text(
        '#include "cutlass/gemm/device/gemm_universal_adapter.h"\ntemplate void f<4>();\n'
    )
    facts = check([Source(str(tmp_path / "one.cu"))], Settings()).facts
    assert (facts.kernels, facts.not_analysed) == ((), ())


@pytest.mark.parametrize(
    ("part", "with_part", "is_said"),
    [
        ('#include "k.cuh"\ntemplate void go<4>(float* a);\n', False, True),
        ('#include "k.cuh"\ntemplate void go<4>(float* a);\n', True, False),
        (HEADER, False, True),
        ("int host();\n", False, False),
    ],
)
def test_a_file_of_nothing_but_other_cuda_files_says_where_they_lie(
    part, with_part, is_said, tmp_path
):
    go = "template <int N> void go(float* a) { kernel<N><<<1, 64>>>(a); }\n"
    (tmp_path / "k.cuh").write_text(HEADER + go)
    (tmp_path / "part.cu").write_text(part)
    (tmp_path / "all.cu").write_text('#include "part.cu"\n')
    names = ["all.cu", *(["part.cu", "k.cuh"] if with_part else [])]
    facts = check([Source(str(tmp_path / n)) for n in names], Settings()).facts
    notes = [n for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert ["part.cu" in n.reason.text for n in notes] == [True] * is_said
    assert len(facts.kernels) == with_part
