"""Accesses that hang on data: bounds by brute force, expectations by their formula."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path

import pytest
from conftest import accesses_of

from smemlint.analysis.data_bounds import DataBounds, data_bounds
from smemlint.facts import Certainty

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize(("n", "worst"), [(64, 2), (256, 8), (4096, 32)])
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


COLUMNS = """
__device__ void add(unsigned char *column, unsigned word) { column[(word >> 2 & 0x3F) * 64]++; }
__global__ void k(const unsigned *words, unsigned *out) {
  __shared__ unsigned char counts[64 * 64];
  unsigned lane = (threadIdx.x & 15) << 2 | (threadIdx.x & 48) >> 4;
  add(counts + lane, words[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = counts[threadIdx.x];
}
void run(unsigned *p) { k<<<1, 64>>>(p, p); }
"""
TABLES = """
__global__ void k(const unsigned *words, unsigned *out) {
  __shared__ unsigned counts[6 * 256];
  unsigned *own = counts + (threadIdx.x >> 5) * 256;
  atomicAdd(own + (words[threadIdx.x] >> 8 & 0xFF), 1);
  __syncthreads();
  out[threadIdx.x] = counts[threadIdx.x];
}
void run(unsigned *p) { k<<<1, 192>>>(p, p); }
"""


def counted(kernel: str, op: str) -> float:
    """Wavefronts an instruction of cuda-samples' histograms, on random bytes."""
    recorded = json.loads((ROOT / "fixtures/gpu/histograms.json").read_text())
    assert recorded["about"]["device"] == "NVIDIA H100 80GB HBM3"
    (row,) = [
        r for r in recorded["rows"] if r["kernel"] == kernel and r["op"] == op and r["line"] < 60
    ]
    return float(row["wavefronts"] / row["inst"])


def test_a_column_of_its_own_for_each_lane() -> None:
    """Lanes 16 apart share a word's bank: two at most, which 16 pairs of random bytes all but
    surely reach."""
    found = [(str(a.kind), data_bounds(a)) for a in accesses_of(COLUMNS)]
    bounded = {kind: bounds for kind, bounds in found if bounds is not None}
    for kind, op in (("load", "LDS.U8"), ("store", "STS.U8")):
        bounds = bounded[kind]
        assert (bounds.best, bounds.worst) == (1, 2)
        assert bounds.expected == pytest.approx(counted("histogram64Kernel", op), abs=0.01)


def test_a_table_of_its_own_for_each_warp() -> None:
    (bounds,) = [b for a in accesses_of(TABLES) if (b := data_bounds(a)) is not None]
    assert (bounds.best, bounds.worst) == (1, 8)
    measured = counted("histogram256Kernel", "ATOMS.POPC.INC.32")
    assert bounds.expected == pytest.approx(measured, rel=0.02)


INDEXED = """
__global__ void k(const {type} *words, float *out) {{
  __shared__ float table[4096];
  {type} w = words[threadIdx.x];
  unsigned lane = threadIdx.x;
  out[lane] = {access};
}}
void run(unsigned *p) {{ k<<<1, 32>>>(({type} *)p, (float *)p); }}
"""


@pytest.mark.parametrize(
    ("type_", "access", "best", "worst"),
    [
        ("unsigned", "table[(w & 0x3f00) >> 8]", 1, 2),
        ("unsigned", "table[w >> 24]", 1, 32),  # its type is not known: by the array
        ("unsigned", "table[(w & 3) << 5]", 1, 4),
        ("unsigned", "table[(w & 7) - 1 + lane * 32]", 4, 32),
        ("unsigned char", "table[w]", 1, 8),
        ("unsigned char", "table[(w >> 4) * 8]", 1, 4),
        ("unsigned char", "table[w % 40]", 1, 2),
        ("unsigned", "table[(unsigned char)w]", 1, 8),
        ("unsigned", "*(table + (w & 63) + lane)", 1, 3),
        ("unsigned", "table[w & 0xFF & 63]", 1, 2),
        ("unsigned", "table[(w & 31) * lane]", 1, 32),
    ],
)
def test_the_range_that_the_code_leaves_open(
    type_: str, access: str, best: int, worst: int
) -> None:
    """By arithmetic on what each lane may reach."""
    (bounds,) = [
        b
        for a in accesses_of(INDEXED.format(type=type_, access=access))
        if (b := data_bounds(a)) is not None
    ]
    assert (bounds.best, bounds.worst) == (best, worst)


def test_a_range_does_not_outlive_what_narrows_or_moves_it() -> None:
    """What may wrap around, or moves by something unknown, is bounded by the array alone."""
    for access in ("table[(w & 0xFFFF) * 70000 % 4096]", "table[(w & 31) + (int)out[0]]"):
        found = accesses_of(INDEXED.format(type="unsigned", access=access))
        assert all(a.data is None for a in found), access


@pytest.mark.parametrize("by", ["+ 0xffffffffffffffffull", "* 0x8000000000000000ull"])
def test_a_number_that_no_int64_holds_leaves_no_range(by: str) -> None:
    """It stopped the kernel, and nothing behind it was analysed."""
    access = f"table[((w & 3) + threadIdx.x) {by}]"
    (load,) = [a for a in accesses_of(INDEXED.format(type="unsigned", access=access)) if not a.ways]
    assert (load.certainty, load.data) == (Certainty.DATA_DEPENDENT, None)
