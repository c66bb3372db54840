"""Loads behind a branch of which a way has the place in a register already.

Instructions and wavefronts of all warps of a block as in the SASS of nvcc 13.5.37 -O3 for sm_90.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

SOURCE = """
__global__ void k(float *y, const float *in, int n) {{
  __shared__ float s[1024];
  int t = threadIdx.x;
  float v = 0;
  s[4 * t] = in[t];
  __syncthreads();
  if (t > 37) {{ {way} }}
  {other}
  {between}
  {read}
}}
void run(float *y, int n) {{ k<<<1, 256>>>(y, y, n); }}
"""
READ = "y[t + 400] = s[4 * t];"


def loads(way: str, other: str = "", between: str = "", read: str = READ) -> list[tuple[int, int]]:
    """Returns (instructions, wavefronts) of each place of the source that loads."""
    source = SOURCE.format(way=way, other=other, between=between, read=read)
    return [
        (a.instructions, round(sum(p.count * p.wavefronts for p in a.patterns)))
        for a in accesses_of(source)
        if a.kind is AccessKind.LOAD
    ]


@pytest.mark.parametrize("way", ["s[4 * t] = in[t + 3];", "s[4 * t] = 1; y[t + 5] = in[t + 7];"])
@pytest.mark.parametrize("other", ["", "else y[t + 99] = 4;", "else s[4 * t + 1] = 3;"])
@pytest.mark.parametrize("between", ["", "y[t + 200] = 5;"])
def test_the_threads_load_that_did_not_store(way, other, between):
    assert loads(way, other, between) == [(2, 5)]


@pytest.mark.parametrize(
    "between", ["if (in[t + 11] > 4) y[t + 300] = 3;", "for (int i = 0; i < n; i++) y[i] = i;"]
)
def test_all_load_where_another_branch_or_loop_stands_between(between):
    assert loads("s[4 * t] = in[t + 3];", between=between) == [(8, 32)]


def test_the_other_threads_load_in_an_iteration_behind_the_branch():
    read = "for (int i = 0; i < 3; i++) v += s[4 * t + i] * in[i]; y[t] = v;"
    assert loads("s[4 * t + 2] = 7;", read=read) == [
        (10, 37)
    ]  # LDS.64, and LDS of the threads 0 to 37


def test_all_load_on_a_way_of_another_branch():
    read = "if (n > 3) y[t + 400] = s[4 * t];"
    assert loads("s[4 * t] = in[t + 3];", read=read) == [(8, 32)]


@pytest.mark.parametrize("between", ["", "if (in[t + 11] > 4) y[t + 300] = 3;"])
@pytest.mark.parametrize("read", [READ, f"if (n > 3) {READ}"])
def test_none_load_where_both_ways_store(between, read):
    assert loads("s[4 * t] = in[t + 3]; y[5] = 1;", "else s[4 * t] = 9;", between, read) == [(0, 0)]


@pytest.mark.parametrize(
    "way", ["y[t] = s[4 * t];", "y[t] = s[4 * t] * 3 + in[t + 2];", "v = sqrtf(s[4 * t]);"]
)
def test_what_the_only_way_begins_with_is_loaded_once_by_all(way):
    assert loads(way, read="y[t + 400] = v + s[4 * t];") == [(8, 32), (0, 0)]


@pytest.mark.parametrize(
    ("way", "other"),
    [
        ("y[t] = s[4 * t];", "else y[t + 99] = 4;"),
        ("y[t + 5] = in[t + 7]; y[t] = s[4 * t];", ""),
        ("y[t] = in[t + 7] * s[4 * t];", ""),
    ],
)
def test_others_load_what_a_way_loads_later_or_beside_another(way, other):
    assert loads(way, other) == [(7, 28), (2, 5)]


def test_a_load_on_a_way_that_data_choose_may_be_of_fewer_threads():
    source = SOURCE.replace("t > 37", "in[t + 9] > 0")
    found = accesses_of(source.format(way="s[4 * t] = 3;", other="", between="", read=READ))
    assert next(a for a in found if a.kind is AccessKind.LOAD).certainty is Certainty.UNKNOWN


def test_buffers_that_a_loop_exchanges_are_loaded_behind_it():
    """What both ways of the last iteration stored is of one buffer or the other to nvcc."""
    found = accesses_of(
        """
__global__ void k(float *y, const float *in, int n) {
  __shared__ float s[512];
  float *from = s, *to = s + 256;
  int t = threadIdx.x;
  from[t] = in[t];
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    __syncthreads();
    if (t >= d) to[t] = from[t] + from[t - d]; else to[t] = from[t];
    float *other = from;
    from = to;
    to = other;
  }
  y[t] = from[t];
}
void run(float *y, int n) { k<<<1, 256>>>(y, y, n); }
"""
    )
    assert [a.instructions for a in found if a.span.line == 14] == [8]


def test_rows_of_a_pitch_that_is_not_known_are_left_to_the_other_threads():
    """nvcc: STS, @!P0 LDS (threads 0 to 5), STS, @P0 STS."""
    found = accesses_of(
        """
__global__ void k(float *y, const float *in, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  s[t * n + 2] = in[t];
  __syncthreads();
  s[t * n + 3] = 1;
  if (t > 5) s[t * n + 1] = in[t + 3];
  y[t] = s[t * n + 1];
}
void run(float *y, int n) { k<<<1, 64, 9999>>>(y, y, n); }
"""
    )
    assert [(a.span.line, a.instructions) for a in found] == [(5, 2), (7, 2), (8, 2), (9, 1)]


def test_a_loop_that_data_leave_is_no_way_of_the_branch_behind_it():
    loop = "for (int i = 0; i < 2; i++) { if (in[i] > s[8 * i]) break; y[i] = 1; }"
    between = "if (in[7] > 4) y[t + 300] = 3;"
    source = SOURCE.format(way="", other=loop, between=between, read="y[t + 400] = s[8];")
    assert [a.instructions for a in accesses_of(source)] == [8, 16, 8]  # STS; LDS, LDS; LDS
