"""Accesses at addresses that are data, whose cost is the same for all data."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import accesses_of, facts_of
from hypothesis import given, settings
from hypothesis import strategies as st

from smemlint.analysis.simt.domain.data_lanes import lanes_of_any_data
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import DataRange
from smemlint.facts import AccessKind, Certainty
from smemlint.frontend import ir
from smemlint.hardware.banks import wavefronts
from smemlint.reasons import Reason, ReasonCode

KERNEL = """
__global__ void k(const int *g, const unsigned char *bytes, float *out) {{
  __shared__ float s[4096];
  __shared__ float row[32];
  __shared__ int counts[16][128];
  __shared__ double wide[16];
  __shared__ double sums[8][32];
  __shared__ float4 fours[4][32];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, x = g[t];
  {body};
}}
void f(int *g) {{ k<<<1, 128>>>(g, (unsigned char *)g, (float *)g); }}
"""
FREE = (
    "counts[x][t] = 1",
    "out[t] = s[bytes[t] * 128 + t]",
    "out[t] = row[x]",
    "out[t] = row[x & 7]",
    "if (lane == 5) s[x] = 1",
    "if (x > 3) counts[x][t] = 1",
)
WIDE = (
    ("sums[x][lane] = 1", 2),
    ("out[t] = sums[bytes[t] >> 5][lane]", 2),
    ("fours[x & 3][lane] = float4{}", 4),
    ("if (lane < 8) sums[x][lane * 2] = 1", 1),
)
ONE_FOR_A_WARP = (
    "s[g[warp] + lane] = 1",
    "s[__ldg(g + warp) * 2 + lane] = 1",
    "s[__shfl_sync(~0u, x, 7) + lane] = 1",
    "s[__popc(__ballot_sync(~0u, x > 0)) + lane] = 1",
    "s[(g[warp] >> 3) % 48 + lane] = 1",
    "s[g[g[warp]] + lane] = 1",
    "s[__reduce_add_sync(~0u, x) + lane] = 1",
    "int n = 3; if (g[warp] > 2) n = 5; s[n + lane] = 1",
)
OPEN = (
    "s[x + lane] = 1",
    "s[(x & 3) * 16 + lane] = 1",
    "out[t] = s[x * 16 + lane]",
    "out[t] = s[(x << 7) + 4 * lane]",
    "sums[x][lane * 2 % 32] = 1",
    "sums[0][x * 16 + lane] = 1",  # lanes 0 and 16 may come to one word
    "if (lane < 16) sums[x][lane * 2] = 1",
    "out[t] = wide[x]",  # lanes of one word may or may not share a wavefront
    "s[__shfl_sync(~0u, x, 7, 16) + lane] = 1",
    "s[__ballot_sync(0xffff, x > 0) + lane] = 1",
    "s[g[warp] * x + lane] = 1",
    "out[t] = ((short *)s)[(g[warp] >> 3) + 2 * lane]",  # halves of words, by odd numbers perhaps
    "int n = g[warp]; if (x > 2) n = 5; s[n + lane] = 1",
    "int n = x << 7; if (t & 1) n = 5; s[n + t] = 1",
    "out[t] = s[g[warp] * 2 + lane * 2]",  # LDS.64 where the compiler finds a neighbour
    "atomicAdd(&counts[0][g[warp] + lane], 1)",
)


def of_data(body: str) -> list[tuple[Certainty, float | None]]:
    """Certainty and wavefronts of the access in the last statement."""
    found = accesses_of(KERNEL.format(body=body))
    return [(a.certainty, a.wavefronts and a.wavefronts.mean) for a in found]


@pytest.mark.parametrize("body", [*FREE, *ONE_FOR_A_WARP])
def test_no_data_conflict(body: str) -> None:
    assert of_data(body) == [(Certainty.ASSUMED, 1.0)]


@pytest.mark.parametrize(
    "code",
    [
        "switch (c) { case 'F': return 0; case 'O': return 1; default: return 7; }",
        "if (c == 'F') return 3; return 1;",
    ],
)
def test_what_data_return_early_is_data(code: str) -> None:
    text = f"__device__ int code(int c) {{ {code} }}\n" + KERNEL.format(
        body="counts[code(x)][t] = 1"
    )
    (access,) = accesses_of(text)
    assert access.certainty is Certainty.ASSUMED and access.wavefronts
    assert access.wavefronts.mean == 1


@pytest.mark.parametrize(("body", "wavefronts"), WIDE)
def test_no_data_conflict_of_wide_elements(body: str, wavefronts: float) -> None:
    assert of_data(body) == [(Certainty.ASSUMED, wavefronts)]


@pytest.mark.parametrize("body", OPEN)
def test_data_may_conflict(body: str) -> None:
    assert {certainty for certainty, _ in of_data(body)} == {Certainty.DATA_DEPENDENT}


def test_a_warp_that_moves_as_one_conflicts_as_it_did() -> None:
    assert of_data("s[g[warp] + lane * 2] = 1") == [(Certainty.ASSUMED, 2.0)]


MOVED = """
__global__ void k(int n, float *out) {
  __shared__ float s[4096];
  __shared__ double wide[64];
  int t = threadIdx.x, lane = t %% 32, warp = t / 32 + %s;
  %s;
}
void f(int n, float *out) { k<<<1, 128>>>(n, out); }
"""


@pytest.mark.parametrize(
    ("body", "wavefronts"),
    [
        ("out[t] = wide[warp & 63]", 1),
        ("s[warp % 8 * 32 + lane] = 1", 1),
        ("s[(warp & 7) + lane * 2] = 1", 2),
        ("int to[1] = {warp & 3}; for (int i = 0; i < 2; i++) s[to[0] + i * 64 + lane * 4] = 1", 4),
    ],
)
def test_an_unknown_number_of_each_warp_is_not_split(body: str, wavefronts: float) -> None:
    """As in userbuffers' `dest[i] = (i + myrank + warp) & (RANKS - 1)`: 64 runs told the same."""
    known, unknown = (facts_of(MOVED % (more, body)).kernels[0] for more in ("5", "n"))
    assert unknown.steps == known.steps
    assert [a.wavefronts and a.wavefronts.mean for a in unknown.accesses] == [wavefronts]


def test_a_number_of_each_warp_that_moves_it_by_half_words_is_split() -> None:
    body = "out[t] = ((short *)s)[(warp & 3) + 2 * lane]"
    known, unknown = (facts_of(MOVED % (more, body)).kernels[0] for more in ("5", "n"))
    assert unknown.steps == 4 * known.steps
    assert [a.certainty for a in unknown.accesses] == [Certainty.ASSUMED]


def test_elements_of_an_unknown_type_are_open() -> None:
    text = "__global__ void k() { __shared__ missing s[64]; s[threadIdx.x] = 0; if (!threadIdx.x) s[0] = 1; }"
    assert [a.certainty for a in accesses_of(text)] == [Certainty.UNKNOWN] * 2


lanes = st.lists(st.integers(0, 255), min_size=32, max_size=32)


@settings(max_examples=300)
@given(
    base=st.one_of(
        lanes, st.sampled_from([4, 8, 32, 128]).map(lambda n: [n * k for k in range(32)])
    ),
    step=st.sampled_from([1, 2, 4, 8, 12, 16, 32, 128, 132, 512]),
    count=st.sampled_from([1, 2, 8, 31, 32, 33, 500]),
    width=st.sampled_from([1, 2, 4, 8, 16]),
    active=st.integers(1, (1 << 32) - 1),
    is_one=st.booleans(),
    seed=st.integers(0, 99),
)
def test_what_is_decided_costs_the_same_for_all_data(
    base: list[int], step: int, count: int, width: int, active: int, is_one: bool, seed: int
) -> None:
    mask = np.array([active >> k & 1 for k in range(32)], bool)
    why = Reason(ReasonCode.DATA, "data")
    begin, step = np.array(base, np.int64) * width, step * width
    offset = DataRange(
        why, is_data=True, base=begin, step=step, count=count, is_one_for_a_warp=is_one
    )
    event = Event(ir.Constant("int", "0"), None, AccessKind.LOAD, width, offset, mask)
    decided = lanes_of_any_data(event)
    if decided is None:
        return
    k = np.random.default_rng(seed).integers(0, count, (200, 1 if is_one else 32))
    addresses = begin + step * k
    spent = wavefronts(
        addresses, kind="load", width=width, active=np.broadcast_to(mask, addresses.shape)
    )
    predicted = wavefronts(decided[None], kind="load", width=width, active=mask[None])
    assert set(spent.wavefronts.tolist()) == set(predicted.wavefronts.tolist())
