"""What a finding says of kernels, calls, fused accesses and conditions."""

from __future__ import annotations

import re

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.sources.source import Source

HELPER = """\
__device__ float column(const float *p, int pitch) {
  return p[threadIdx.x * pitch];
}
__device__ float twice(const float *p, int pitch) {
  return column(p, pitch) * 2;
}
__global__ void worst(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x] = 1;
  o[threadIdx.x] = column(s, 32);
}
__global__ void milder(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x] = 1;
  o[threadIdx.x] = twice(s, 2) + column(s, 33);
}
__global__ void free_of_conflicts(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x] = 1;
  o[threadIdx.x] = column(s, 1);
}
void run(float *o) { worst<<<1, 32>>>(o); milder<<<1, 32>>>(o); free_of_conflicts<<<1, 32>>>(o); }
"""
INSTANCES = """\
template <int N> __global__ void k(float *o) {
  __shared__ float s[2048];
  s[threadIdx.x] = 1;
  o[0] = s[threadIdx.x * N];
}
void run(float *o) { k<32><<<1, 32>>>(o); k<2><<<1, 32>>>(o); k<8><<<1, 32>>>(o); k<1><<<1, 32>>>(o); }
"""


def findings(text: str):
    return check([Source("k.cu", text)], Settings()).findings


def test_every_kernel_that_suffers_at_a_helper_has_its_own_finding():
    found = findings(HELPER)
    assert {(f.access.instance.kernel, f.span.line, f.access.ways) for f in found} == {
        ("worst", 2, 32.0),
        ("milder", 2, 2.0),
    }
    by_kernel = {f.access.instance.kernel: f for f in found}
    lines = {name: [span.line for span, _ in f.related] for name, f in by_kernel.items()}
    # the declaration, then the calls from the innermost outwards
    assert lines == {"worst": [8, 10], "milder": [13, 5, 15]}
    assert [c.name for c in by_kernel["milder"].access.chains[0]] == ["twice", "milder"]
    assert [c.name for c in by_kernel["milder"].access.chains[1]] == ["milder"]


def test_instances_of_a_kernel_are_one_finding_that_names_each():
    (found,) = findings(INSTANCES)
    assert [(f.access.instance.title, f.access.ways) for f in (found, *found.others)] == [
        ("k<32>", 32.0), ("k<8>", 8.0), ("k<2>", 2.0),
    ]  # fmt: skip
    assert [i.title for i in found.instances] == ["k<32>", "k<8>", "k<2>"]


@pytest.mark.parametrize("name", ["full", "concise", "json", "sarif", "github", "html"])
def test_formats_name_the_kernels(smemlint, tmp_path, name):
    (tmp_path / "k.cu").write_text(HELPER)
    _, out, _ = smemlint("check", "k.cu", "--output-format", name)
    assert "worst" in out and "milder" in out and "free_of_conflicts`" not in out


def test_a_fused_access_tells_what_it_is_made_of():
    text = """\
__global__ void k(float *o) {
  __shared__ __align__(16) float s[1024];
  float *p = s + threadIdx.x * 8;
  o[0] = p[0]
       + p[1]
       + p[2]
       + p[3];
}
void run(float *o) { k<<<1, 32>>>(o); }
"""
    found = findings(text)[0]
    assert found.access.width_bytes == 16
    fusion = found.access.fusion
    assert (fusion.count, fusion.width_bytes) == (4, 4)
    assert [span.line for span in fusion.spans] == [4, 5, 6, 7]
    (note,) = (n for n in found.notes if "LDS" in n)
    assert re.findall(r"\d+", note) == ["128", "4", "4", "4", "7", "16"]


def test_an_assumption_that_changes_nothing_is_not_named():
    text = """\
__global__ void k(float *o, int pad, int n) {
  __shared__ float s[2048];
  if (pad) { o[1] = 0; } else { o[2] = 0; }
  for (int r = 0; r < 2; ++r) {
    if (r ? pad : !pad) {}
    if (pad) work(s); else work(s);
  }
}
"""
    text = "__device__ void work(float *s) { s[threadIdx.x * 2] = 1; }\n" + text
    text += "void run(float *o, int p, int n) { k<<<1, 32>>>(o, p, n); }\n"
    (found,) = findings(text)
    assert found.access.ways == 2.0
    assert len(found.access.conditions) == 2  # it is issued on both ways
    assert not set(found.access.conditions) & set(found.access.assumptions)


def test_a_condition_of_all_its_executions_is_named_once():
    text = """\
__global__ void k(float *o, int n) {
  __shared__ float s[2048];
  if (n > 4) { if (n < 9) s[threadIdx.x * 2] = 1; }
}
void run(float *o, int n) { k<<<1, 32>>>(o, n); }
"""
    (found,) = findings(text)
    (note,) = (n for n in found.notes if "n > 4" in n)
    assert "n < 9" in note


@pytest.mark.parametrize(
    ("stride", "lanes"),
    [
        (32, ["0", "31", "128", "32", "0"]),  # all lanes
        (8, ["0", "4", "28", "128", "8", "0"]),  # every fourth
        (2, ["0", "16", "128", "0"]),  # two
    ],
)
def test_the_lanes_that_meet_are_named(stride, lanes):
    text = f"""\
__global__ void k(float *o) {{ __shared__ float s[2048]; s[threadIdx.x * {stride}] = 1; }}
void run(float *o) {{ k<<<1, 32>>>(o); }}
"""
    (found,) = findings(text)
    assert re.findall(r"\d+", found.notes[1]) == lanes


def test_a_launch_whose_block_is_known_at_run_time_only_is_named():
    text = """\
__global__ void k(float *o) { __shared__ float s[2048]; s[threadIdx.x * 2] = 1; }
void run(float *o, int threads) {
  k<<<1, threads>>>(o);
}
"""
    (found,) = findings(text)
    (note,) = (n for n in found.notes if "k.cu:3" in n)
    assert re.findall(r"\((\d+), 1, 1\)", note) == ["256", "128", "512"]


TWO_WAYS = """\
template <int N> __device__ void write(float *s) { s[threadIdx.x * N] = 1; }
__global__ void k(float *o, int wide, int n) {
  __shared__ float s[2048];
  if (n > 0) {
    if (wide == 4) write<32>(s);
    else write<16>(s);
  }
  o[threadIdx.x] = s[threadIdx.x];
}
void run(float *o, int wide, int n) { k<<<1, 32>>>(o, wide, n); }
"""


def test_a_condition_that_is_taken_both_ways_is_not_named():
    (found,) = findings(TWO_WAYS)
    (conditions,) = [note for note in found.notes if note.startswith("where ")]
    assert re.findall(r"`(.*?)`", conditions) == ["n > 0"]
