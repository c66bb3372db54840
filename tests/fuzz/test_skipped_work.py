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

HELPERS = """
__device__ void add_product(float &to, float a, float b) { to += a * b; }
__device__ float sum_of_warp(float x) {
    for (int d = 16; d > 0; d >>= 1) { x += __shfl_xor_sync(0xffffffff, x, d); }
    return x;
}
__device__ void puts(float *to, int i, float x) { to[i] = x; }
__device__ void counts(int &n) { n += 3; }
__global__ void sums(const float *in, float *out) {
    __shared__ float s[1024];
    float4 *wide = (float4 *)s;
    float of_row[8] = {0.f};
    int at = 0;
    for (int k = 0; k < 64; ++k) {
        const float4 v = wide[threadIdx.x & 63];
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            add_product(of_row[i], v.x, in[i]);
            add_product(of_row[i], v.y, in[i + 8]);
        }
    }
    for (int i = 0; i < 8; ++i) { of_row[i] = sum_of_warp(of_row[i]); }
    s[threadIdx.x * 2] = of_row[0];
    for (int i = 0; i < 300; ++i) { add_product(of_row[i & 7], in[i], in[i + 1]); }
    s[threadIdx.x * 2 + 1] = of_row[1];
    for (int i = 0; i < 3; ++i) { puts(s, threadIdx.x * (i + 1), of_row[i]); }
    for (int i = 0; i < 3; ++i) { counts(at); of_row[i] += in[i]; }
    s[threadIdx.x * at] = of_row[2];
}
void start(const float *in, float *out) { sums<<<1, 64>>>(in, out); }
"""
"""Loops that call functions, some of which write what they are given."""


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
        HELPERS,
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


@pytest.mark.parametrize(("text", "least"), [(TILES, 3), (HELPERS, 5)])
def test_work_on_registers_is_left_out(text, least, monkeypatch):
    _, _, steps = facts_of(text)
    run_everything(monkeypatch)
    _, _, all_steps = facts_of(text)
    assert steps * least < all_steps
