"""Accesses that hang on data: bounds by brute force, expectations by their formula."""

from __future__ import annotations

import json
from math import comb

import pytest
from conftest import accesses_of

from smemlint.analysis.data_bounds import DataBounds, data_bounds

GATHER = """
__global__ void __launch_bounds__(32) k(const int* index, const float* in, float* out, int* bins) {{
  __shared__ float table[{n}];
  __shared__ int counts[{n}];
  for (int i = threadIdx.x; i < {n}; i += 32) {{ table[i] = in[i]; counts[i] = 0; }}
  __syncthreads();
  int i = index[threadIdx.x];
  out[threadIdx.x] = table[i];
  int old = atomicMax(&counts[i], bins[threadIdx.x]);
  __syncthreads();
  bins[threadIdx.x] = counts[threadIdx.x % {n}] + old;
}}
"""


def most_in_one_bin(balls: int, bins: int) -> float:
    """The expected fullest bin, by the number of ways that leave every bin at most m balls."""

    def ways(most: int) -> float:
        exactly = [1.0] + [0.0] * balls
        for _ in range(bins):
            exactly = [
                sum(exactly[left] * comb(balls - left, n - left) for left in range(max(n - most, 0), n + 1))
                for n in range(balls + 1)
            ]  # fmt: skip
        return exactly[balls] / bins**balls

    return sum(1 - ways(most) for most in range(balls))


def bounds_of(n: int) -> dict[str, DataBounds]:
    """By kind of the accesses that have any."""
    found = ((str(a.kind), data_bounds(a)) for a in accesses_of(GATHER.format(n=n)))
    return {kind: bounds for kind, bounds in found if bounds is not None}


def test_lanes_on_one_word_of_an_atomic_take_turns() -> None:
    """32 lanes in 32 banks: the fullest of 32 bins after 32 throws, which is 3.533."""
    expected = most_in_one_bin(32, 32)
    assert round(expected, 3) == 3.533
    bounds = bounds_of(1024)["atomic"]
    assert (bounds.best, bounds.worst) == (1, 32)
    assert bounds.expected == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("n", "worst"), [(16, 1), (32, 1), (64, 2), (256, 8), (4096, 32)])
def test_the_index_range_bounds_a_load(n: int, worst: int) -> None:
    bounds = bounds_of(n)["load"]
    assert (bounds.best, bounds.worst) == (1, worst)
    assert 1 <= bounds.expected <= min(worst, 3.6)


def test_a_large_range_approaches_that_of_atomics() -> None:
    assert bounds_of(4096)["load"].expected == pytest.approx(most_in_one_bin(32, 32), abs=0.08)


def test_they_are_shown_and_no_warning(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(GATHER.format(n=256))
    _, out, _ = smemlint("analyze", "k.cu", "--output-format", "json")
    rows = [a for a in json.loads(out)["accesses"] if a["bounds"]]
    assert {a["certainty"] for a in rows} == {"data-dependent"}
    load = next(a for a in rows if a["kind"] == "load")
    assert (load["bounds"]["best"], load["bounds"]["worst"], load["wavefronts"]) == (1, 8, None)
    code, out, _ = smemlint("check", "k.cu", "--output-format", "json")
    assert "data decides" not in out
    code, out, _ = smemlint("check", "k.cu", "--pedantic", "--output-format", "json")
    notes = [f for f in json.loads(out)["findings"] if "data decides" in f["message"]]
    assert (code, len(notes), {f["severity"] for f in notes}) == (0, 2, {"note"})
