"""What is not run beside what would be: leaving out statements and calls loses and adds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import program

from smemlint.analysis.analyze import analyze
from smemlint.analysis.simt.calls import inlining
from smemlint.analysis.simt.interpreter import interpreter
from smemlint.analysis.simt.loops import loops
from smemlint.config.settings import Settings
from smemlint.report.analysis_json import access_record
from smemlint.sources.source import Source

KERNELS = sorted((Path(__file__).parents[2] / "fixtures/kernels").glob("*.cu"))

TILES = """
template <int I, int J> struct tile { static constexpr int ne = I * J / 32; float x[ne] = {0}; };
__device__ void mma(tile<16, 8> &d, const tile<16, 8> &a, const tile<16, 8> &b) {
    for (int l = 0; l < a.ne; ++l) { d.x[l] += a.x[l] * b.x[l]; }
}
__device__ void load(tile<16, 8> &t, const float *from) {
    for (int l = 0; l < t.ne; ++l) { t.x[l] = from[l * 32 + threadIdx.x]; }
}
__global__ void multiplies(float *out, int n) {
    __shared__ float s[2][256];
    tile<16, 8> c, a, b;
    int stage = 0;
    for (int k = 0; k < n; ++k) {
        s[stage][threadIdx.x * 2 % 256] = out[k];
        __syncthreads();
        load(a, s[stage]);
        load(b, s[stage] + 128);
        for (int i = 0; i < 4; ++i) { mma(c, a, b); }
        if (k > 3) { c.x[0] = 0.f; }
        stage ^= 1;
        __syncthreads();
    }
    for (int l = 0; l < c.ne; ++l) { out[l * 32 + threadIdx.x] = c.x[l]; }
}
void start(float *out, int n) { multiplies<<<1, 128>>>(out, n); }
"""
"""Registers that lie in an array of a class, as in libraries for tensor cores."""


def facts_of(text: str) -> tuple[list[object], list[object], int]:
    facts, crashed = analyze([Source("k.cu", given=text)], Settings())
    assert not crashed, facts.not_analysed
    accesses = [(access_record(a), a.patterns) for k in facts.kernels for a in k.accesses]
    steps = sum(k.steps for k in facts.kernels)
    shown = [(record, [p.addresses.tobytes() for p in patterns]) for record, patterns in accesses]
    return shown, list(facts.not_analysed), steps


def run_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(interpreter, "may_skip", lambda ev, node: False)
    patch.setattr(inlining, "value_without_running", lambda *given: None)
    patch.setattr(loops, "is_float_only", lambda ev, node: False)


@pytest.mark.parametrize(
    "text",
    [
        TILES,
        *(program(7, k).cuda for k in range(20)),
        *(pytest.param(program(7, k).cuda, marks=pytest.mark.slow) for k in range(20, 60)),
        *(pytest.param(path.read_text(), marks=pytest.mark.slow) for path in KERNELS),
    ],
)
def test_facts_do_not_hang_on_what_is_left_out(text, monkeypatch):
    *facts, steps = facts_of(text)
    run_everything(monkeypatch)
    *all_facts, all_steps = facts_of(text)
    assert facts == all_facts
    assert steps <= all_steps


def test_work_on_registers_in_classes_is_left_out(monkeypatch):
    _, _, steps = facts_of(TILES)
    run_everything(monkeypatch)
    _, _, all_steps = facts_of(TILES)
    assert steps * 3 < all_steps
