"""Places in a ring whose head is open: `ring[(t + head) & 511]`, for every head by brute force."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import wavefronts_of_words

from smemlint.facts import AccessKind

THREADS = 256


def load_of(index, elements=4096, before="", around=""):
    found = accesses_of(
        "__global__ void k(float *o, unsigned n, int rounds) {"
        f" __shared__ float s[{elements}]; unsigned t = threadIdx.x; {before}"
        f" {around} o[t] += s[{index}]; }}"
        f" void f(float *o, unsigned n) {{ k<<<1, {THREADS}>>>(o, n, n); }}"
    )
    return next(a for a in found if a.kind is AccessKind.LOAD)


@pytest.mark.parametrize("size", [128, 192, 200, 256, 300, 1024])
@pytest.mark.parametrize("stride", [1, 3, 9, 33])
@pytest.mark.parametrize("apart", [1, 32])
def test_a_figure_is_that_of_every_head(size, stride, apart):
    read = load_of(f"(t * {stride} + n) % {size} * {apart}", 32 * 1024)
    costs = {
        wavefronts_of_words(lambda t, n=n: (t * stride + n) % size * apart, THREADS)
        for n in range(0, size)
    }
    if len(costs) > 1:
        assert not read.certainty.is_decided
    elif read.certainty.is_decided:
        assert {read.wavefronts.mean} == costs
    assert read.certainty.is_decided or size % 32 or stride * 31 >= size


@pytest.mark.parametrize(
    ("index", "around", "expected"),
    [
        ("(t + 16 * i) & 2047", "for (int i = 0; i < rounds; i++)", 1),
        ("(t + i) & 511", "for (int i = 0; i < rounds; i++)", 1),
        ("t * 3 + n & 255", "", 1),
        ("(t & 15) * 33 + n & 1023", "", 1),
        ("(t / 2 + n) & 511", "", 1),
        ("(t * 8 + t / 4 + n) & 2047", "", 1),
        ("(t % 4 + t / 4 * 32 + 5 * n) & 1023", "", 8),
    ],
)
def test_loops_and_masks(index, around, expected):
    assert load_of(index, around=around).wavefronts.mean == expected


@pytest.mark.parametrize("index", ["h + 1", "(h + 1) & 511"])
def test_a_counter_that_goes_round(index):
    loop = "int h = t; for (int i = 0; i < rounds; i++, h = (h + 16) & 511)"
    assert load_of(index, before=loop).wavefronts.mean == 1


@pytest.mark.parametrize("index", ["h & 2047", "(h + 1) & 2047"])
def test_neighbours_of_an_aligned_place_may_fuse(index):
    """Of four, LLVM makes an LDS.128 of three and an LDS of one (SASS of nvcc 13.5.37, sm_90)."""
    assert not load_of(index, before="unsigned h = 4 * t + 4 * n;").certainty.is_decided
