"""Places that iterations move to and fro: SASS of nvcc 13.5.37, sm_90, `n` from the command line."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

READ = "m[at + 4 * t] * m[at + 4 * t + 1] + m[at + 4 * t + 2] * m[at + 4 * t + 3]"


def loads(begin, step, read=READ):
    found = accesses_of(
        "__global__ void k(float *o, int n, int w) { __shared__ __align__(16) float m[8192];"
        f" int t = threadIdx.x, at = 0, dir = 1; float *p = m; {begin} m[t] = o[t];"
        f" for (int i = 0; i < n; i++) {{ __syncthreads(); o[t + i] += {read};"
        f" {step} m[at + t] = o[i]; }} }}"
        " int main(int c, char **v) { float *o; k<<<4, 256>>>(o, atoi(v[1]), 1024); }"
    )
    return [a for a in found if a.kind is AccessKind.LOAD]


@pytest.mark.parametrize(
    ("begin", "step"),
    [
        ("", "at += dir * 4096; dir = -dir;"),
        ("", "at = 4096 - at;"),
        ("", "at ^= 4096;"),
        ("", "at = at ? 0 : 4096;"),
        ("", "at = (at + 1024) & 4095;"),
        ("at = 4;", "at = 4096 - at;"),
        ("int s = 0;", "s ^= 1; at = s * 4096;"),
    ],
)
def test_what_constants_move_keeps_its_alignment(begin, step):
    """One LDS.128 of 8 warps, of 4 wavefronts."""
    found = loads(begin, step)
    assert all(a.certainty.is_decided for a in found)
    assert [(a.instructions, a.width_bytes) for a in found if a.instructions] == [(8, 16)]
    assert found[0].wavefronts.mean == 4


def test_a_pointer_does_so_too():
    read = "p[4 * t] * p[4 * t + 1] + p[4 * t + 2] * p[4 * t + 3]"
    found = loads("", "p += dir * 4096; dir = -dir; p[t] = o[i];", read)
    assert [(a.instructions, a.width_bytes) for a in found if a.instructions] == [(8, 16)]


@pytest.mark.parametrize(
    "step",
    [
        "at = 4 * w - at;",  # LDS.128 x15, LDS.64 x14, LDS x28
        "at = 4 * blockDim.x - at;",
        "at += dir * w * 4; dir = -dir;",
        "at = w - at;",  # LDS.128 x14, LDS x60
        "at = at ^ w;",
    ],
)
def test_what_arguments_move_is_open(step):
    assert {a.certainty for a in loads("", step)} == {Certainty.SAMPLED}


def test_residues_of_a_buffer_keep_the_alignment_of_its_elements():
    """Of an address that is xored all residues are tried: those of a buffer are multiples of it."""
    found = accesses_of("""
__global__ void k(float *o, int n) {
  extern __shared__ float m[];
  float *p = m; int dir = 1, t = threadIdx.x;
  for (int i = 0; i < n; i++) {
    unsigned at = (unsigned)__cvta_generic_to_shared(p + t * 4) ^ 16;
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at));
    o[t + i] += x + p[t * 2];
    if (i + 1 < n) { p += dir * 4096; dir = -dir; p[t] = o[i]; }
  }
}
int main(int c, char **v) { float *o; k<<<4, 256, 32768>>>(o, atoi(v[1])); }
""")
    assert [(a.wavefronts.mean, a.instructions) for a in found] == [(4, 8), (2, 8), (1, 8)]


KNOWN = (
    "__global__ void k(float *o) {{ __shared__ __align__(16) float m[8208]; int t = threadIdx.x;"
    " int at = 0; m[t] = o[t]; {pragma} for (int i = 0; i < {trips}; i++) {{ __syncthreads();"
    f" o[t + i] += {READ};"
    " {step} m[at + t] = o[i]; }} }}"
    " int main(int c, char **v) {{ float *o; k<<<4, 256>>>(o); }}"
)
"""A loop of known length."""


def widths_where_known(pragma, trips, step):
    source = KNOWN.format(pragma=pragma, trips=trips, step=step)
    found = [a for a in accesses_of(source) if a.kind is AccessKind.LOAD and a.instructions]
    is_decided = all(a.certainty.is_decided for a in found)
    return sum(a.instructions for a in found), {a.width_bytes for a in found}, is_decided


@pytest.mark.parametrize(("pragma", "trips"), [("\n#pragma unroll 1\n", 40), ("", 35)])
@pytest.mark.parametrize(
    "step",
    ["at ^= 4096;", "at = 4096 - at;", "at = (at + 4096) & 8191;", "at = at ? 0 : 4096;"],
)
def test_what_alternates_in_a_loop_of_known_length_keeps_its_alignment(pragma, trips, step):
    """One LDS.128 an iteration: they were four conflicts of LDS."""
    assert widths_where_known(pragma, trips, step) == (8 * trips, {16}, True)


@pytest.mark.parametrize("step", ["at ^= 4098;", "at = at == 4098 ? 0 : 4098;"])
def test_what_alternates_by_two_words_has_their_alignment(step):
    """Two LDS.64 an iteration."""
    found = widths_where_known("\n#pragma unroll 1\n", 40, step)
    assert found == (2 * 8 * 40, {8}, True)


@pytest.mark.parametrize("step", ["at ^= 4096;", "at = (at + 4096) & 8191;"])
def test_more_iterations_of_a_block_are_open_or_aligned(step):
    """Four LDS.128 in a block of four: no LDS of 4 bytes is decided."""
    _, widths, is_decided = widths_where_known("\n#pragma unroll 4\n", 40, step)
    assert not is_decided or widths == {16}
