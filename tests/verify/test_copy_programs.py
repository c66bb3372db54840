"""Asynchronous copies on a GPU: the program that makes them, and the counters beside predictions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from recorded import recorded_engine

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.finding import Verdict
from smemlint.hardware.async_copies import async_wavefronts
from smemlint.sources.source import Source
from smemlint.verify.copies import Copy, counts, program
from smemlint.verify.device import GpuError
from smemlint.verify.findings import verify

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """
#include <cuda_pipeline.h>
__global__ void __launch_bounds__(32) k(const float4* in, float4* out) {
  __shared__ float4 tile[160];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t / 4 * 5 + t % 4], &in[t], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = tile[t];
}
"""
T = np.arange(32)
WANTED = int(async_wavefronts(T // 4 * 80 + T % 4 * 16, T * 16, form="cg", width=16).wavefronts)


def counters(wavefronts: int):
    """Nsight Compute with one answer, in the form of fixtures/gpu/async_copies.json."""

    def answer(request):
        text = request["files"]["copies.cu"]
        # four times, and what parts them
        assert text.partition("#line 1000")[2].count("COPY(") == 8
        row = {"kernel": "smemlint_copies", "block": [32, 1, 1], "file": "copies.cu",
               "line": 1000, "op": "LDGSTS", "inst": 1, "wavefronts": wavefronts,
               "ideal": 4}  # fmt: skip
        return {"about": {"device": "NVIDIA H100", "arch": "sm_90"}, "rows": [row]}

    return answer


def measured(engine):
    settings = Settings(verify_gpu="patterns")
    sources = [Source("k.cu", KERNEL)]
    result, _ = verify(check(sources, settings), settings, sources, recorded_engine, engine)
    (finding,) = [f for f in result.findings if f.code == "SML103"]
    return finding.measurement


def test_a_count_confirms_or_refutes() -> None:
    found = measured(counters(WANTED))
    assert (found.verdict, found.predicted, found.measured) == (
        Verdict.CONFIRMED, WANTED, WANTED,
    )  # fmt: skip
    assert measured(counters(WANTED + 1)).verdict is Verdict.REFUTED


def test_a_copy_that_is_not_counted_at_one_place_is_at_another() -> None:
    copies = [Copy("cg", 16, tuple(map(int, T * 16)), tuple(map(int, T * 16 * k))) for k in (1, 2)]
    rows = [
        {"op": "LDGSTS", "line": line, "inst": 1, "wavefronts": wavefronts}
        for line, wavefronts in ((1000, 0), (1001, 8), (1003, 4), (1004, 8), (1006, 4), (1007, 9))
    ]
    assert counts(copies, rows) == {copies[0]: 4.0}  # of the other, places differ


def test_without_a_profiler_copies_are_not_replayable() -> None:
    def missing(request):
        raise GpuError("`ncu` is not installed", hint="")

    assert measured(missing).verdict is Verdict.NOT_REPLAYABLE


@pytest.mark.parametrize("far", [128, 1 << 27])
def test_the_program_has_a_line_for_each_copy_and_near_addresses(far: int) -> None:
    source = tuple(int(lane) // 4 * 128 + int(lane) % 4 * 16 for lane in T)
    text = program([Copy("cg", 16, tuple(map(int, T * 16)), source)] * 3)
    rows = text.partition('#line 1000 "copies.cu"\n')[2].splitlines()
    assert [f"COPY(cg, 16, {k})" in rows[k] for k in range(3)] == [True] * 3
    assert "smemlint_copies<<<1, 32, 624>>>" in text


def test_lines_that_are_far_apart_are_moved_together() -> None:
    from smemlint.verify.copies import _moved

    active = np.ones(32, bool)
    active[31] = False
    near = _moved(T * (1 << 27) + 16, active)
    assert near == (*(128 * k + 16 for k in range(31)), -1)
    assert json.dumps(near)
