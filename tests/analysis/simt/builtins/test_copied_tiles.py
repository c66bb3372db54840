"""Asynchronous copies in kernels: both sides are followed, what is unknown is enumerated."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.reasons import ReasonCode, Topic

KERNEL = """
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#define CG(to, from) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" \\
    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from))
__global__ void k(const half *in, float *out, int K, int lda, const half *const *many) {{
  __shared__ __align__(128) half tile[64][{width}];
  int t = threadIdx.x;
  {body}
}}
void run(half *a, float *b, int n, int m, half **p) {{ k<<<1, 256>>>(a, b, n, m, p); }}
"""


def copies(body: str, width: int = 64) -> list[tuple[float, float, tuple[str, ...]] | ReasonCode]:
    """Mean wavefronts and ideal of each copy and what they assume, or why they are not known."""
    found: list[tuple[float, float, tuple[str, ...]] | ReasonCode] = []
    for access in accesses_of(KERNEL.format(body=body, width=width)):
        if access.kind != "async_copy":
            continue
        if access.wavefronts is None or access.ideal is None:
            found.append(access.reason.code)
            continue
        topics = (Topic.NUMBER, Topic.SOURCE)
        taken = tuple(a.subject for a in access.assumptions if a.topic in topics)
        found.append((access.wavefronts.mean, access.ideal.mean, taken))
    return found


@pytest.mark.parametrize(
    ("body", "width", "expected"),
    [
        ("CG(&tile[t / 8][t % 8 * 8], in + t * 8);", 64, (4, 4, ())),
        ("CG(&tile[t / 8][t % 8 * 8], in + t * 8);", 72, (10.5, 4, ())),
        ("CG(&tile[t / 4][t % 4 * 8], in + t / 4 * 1024 + t % 4 * 8);", 40, (15, 4, ())),
        ("CG(&tile[t / 4][t % 4 * 8], in + t / 4 * 1024 + t % 4 * 8);", 32, (8, 4, ())),
        ("CG(&tile[t / 8][(t % 8 ^ t / 8 % 8) * 8], in + t * 8);", 64, (4, 4, ())),
        ("CG(&tile[t / 8][t % 8 * 8], in + t * 8 + 32);", 64, (8, 4, ())),
        ("__pipeline_memcpy_async(&tile[t / 8][t % 8 * 8], in + t * 8, 16);", 64, (4, 4, ())),
        ("__pipeline_memcpy_async((float *)tile + t, (float *)in + t, 4);", 64, (1, 1, ())),
        ("__pipeline_memcpy_async((float *)tile + t % 32 * 32, (float *)in + t, 4);", 64, (32, 1, ())),
        ("__pipeline_memcpy_async((double *)tile + t, (double *)in + t, 8);", 64, (2, 2, ())),
        ("cuda::memcpy_async(&tile[t / 8][t % 8 * 8], in + t * 8, cuda::aligned_size_t<16>(16));", 72, (10.5, 4, ())),
        ("if (t % 2) CG(&tile[t / 8][t % 8 * 8], in + t * 8);", 64, (4, 2, ())),
    ],
)  # fmt: skip
def test_the_figures_of_both_sides(
    body: str, width: int, expected: tuple[float, float, tuple[str, ...]]
) -> None:
    assert copies(body, width) == [expected]


def test_a_copy_of_a_threads_own_array_is_no_cp_async() -> None:
    own = "half pad[8] = {{}}; cuda::memcpy_async(&tile[t / 8][t % 8 * 8], {}, {});"
    assert copies(own.format("&pad[0]", "cuda::aligned_size_t<16>(16)")) == [
        ReasonCode.NOT_MODELLED
    ]


def test_a_pitch_that_is_not_known_is_enumerated() -> None:
    rows = "CG(&tile[t / 8][t % 8 * 8], in + (blockIdx.x * 64 + t / 8) * {} + t % 8 * 8);"
    assert copies(rows.format("K")) == [(4, 4, ("K",))]
    assert copies(rows.format("(K * 64)")) == [(4, 4, ())]
    short = "CG(&tile[t / 4][t % 4 * 8], in + t / 4 * lda + t % 4 * 8);"
    assert copies(short, 32) == [(8, 4, ("lda",))]


def test_every_class_that_costs_the_same_needs_no_assumption() -> None:
    # 16 bytes of a row each: a line of its own for every lane, wherever rows begin.
    assert copies("CG(&tile[t / 8][t % 8 * 8], in + t * lda);") == [(32, 4, ())]
    body = "for (int k = 0; k < K; k += 32) CG(&tile[t / 4][t % 4 * 8], in + t / 4 * 1024 + k + t % 4 * 8);"
    assert [c[:2] for c in copies(body, 32)] == [(8, 4)]


def test_a_start_that_is_not_known_is_named() -> None:
    ((spent, ideal, taken),) = copies("CG(&tile[t / 8][t % 8 * 8], in + K * 8 + t * 8);")
    assert (spent, ideal) == (4, 4)
    assert taken == ("K",)


def test_a_source_size_that_is_not_known_is_taken_to_be_full() -> None:
    body = """int n = K > t ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::
    "r"((unsigned)__cvta_generic_to_shared(&tile[t / 8][t % 8 * 8])), "l"(in + t * 8), "r"(n));"""
    assert copies(body) == [(4, 4, ("",))]


@pytest.mark.parametrize(
    ("to", "width", "wavefronts"),
    [("t / 8][t % 8 * 8", 64, 4), ("t / 8][t % 8 * 8", 72, 9), ("t % 32][t / 32 * 8", 64, 32)],
)
def test_a_source_that_is_not_followed_leaves_the_rows_that_are_written(to, width, wavefronts):
    assert copies(f"CG(&tile[{to}], many[t] + t * 8);", width) == [(wavefronts, 4, ("",))]


def test_a_destination_that_is_not_followed_has_no_figure() -> None:
    (reason,) = copies("CG(&tile[0][0] + (long)many[t] % 512 * 8, in + t * 8);")
    assert isinstance(reason, ReasonCode)


def test_a_stage_moves_the_shared_side() -> None:
    body = """for (int s = 0; s < 4; ++s)
    CG(&tile[s * 16 + t / 16][t % 16 / 2 * 8], in + s * 4096 + t * 8);"""
    assert len(copies(body)) == 1
