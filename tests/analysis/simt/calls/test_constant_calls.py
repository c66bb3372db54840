"""Calls of functions with constants are run once; those that do or rest on more, each time."""

from __future__ import annotations

import pytest
from conftest import facts_of
from figures import kernel

from smemlint.analysis.simt.interpreter.interpreter import Interpreter

TABLE = """
struct Config {
  int n, pitch;
  __host__ __device__ constexpr Config(int n, int pitch) : n(n), pitch(pitch) {}
};
__host__ __device__ constexpr Config config(int d) {
  if (d == 32) return Config(1, 2);
  if (d == 64) return Config(3, 4);
  if (d == 96) return Config(5, 8);
  return Config(0, 1);
}
template <int D> __host__ __device__ constexpr int pitch_of(int d) { return config(D).pitch * d; }
"""


def run(monkeypatch, body, before=TABLE, **more):
    """Returns kinds and wavefronts of the accesses, and how many statements were executed."""
    executed = []
    execute = Interpreter.execute
    monkeypatch.setattr(Interpreter, "execute", lambda ev, n: (executed.append(n), execute(ev, n)))
    (found,) = facts_of(kernel(body, before=before, **more)).kernels
    figures = [(str(a.kind), a.wavefronts.mean) for a in found.accesses]
    return figures, len(executed), found.steps


@pytest.mark.parametrize(
    ("use", "ways"),
    [
        ("s[t * config(64).pitch] = 1;", 4),
        ("s[t * config(96).pitch] = 1;", 8),
        ("s[t * pitch_of<32>(1)] = 1;", 2),
        ("s[t * pitch_of<64>(1)] = 1;", 4),
        ("s[t * pitch_of<32>(2)] = 1;", 4),
    ],
)
def test_calls_that_are_alike_are_run_once(monkeypatch, use, ways):
    once, few, counted = run(monkeypatch, use)
    often, many, all_counted = run(monkeypatch, use * 20)
    assert once == [("store", ways)]
    assert often == [("store", ways)] * 20
    assert many - few < 19 * 3  # the assignments alone; the calls are some 10 statements each
    assert all_counted - counted == 19 * (counted - 3)  # what a kernel may cost stays the same


def test_calls_with_other_constants_are_others(monkeypatch):
    use = "".join(f"s[t * config({d}).pitch] = 1;" for d in (32, 64, 32, 96, 7))
    figures, _, _ = run(monkeypatch, use)
    assert [ways for _, ways in figures] == [2, 4, 2, 8, 1]


def test_what_threads_decide_is_decided_anew(monkeypatch):
    before = "__device__ constexpr int f(int x) { if (threadIdx.x < 32) return x; return 2 * x; }"
    body = "if (t < 32) { s[t * f(2)] = 1; } else { s[t * f(2) + 1] = 1; }"
    figures, _, _ = run(monkeypatch, body, before=before, block=64)
    assert sorted(ways for _, ways in figures) == [2, 4]


def test_what_makes_accesses_makes_them_each_time(monkeypatch):
    before = "__device__ constexpr int f(int x) { __shared__ int u[64]; u[threadIdx.x * x] = 1; return x; }"
    figures, _, _ = run(
        monkeypatch, "g[t] = f(2); __syncthreads(); g[t + f(2)] = 1;", before=before
    )
    assert figures == [("store", 2)]  # one place, two instructions


def test_threads_numbers_are_computed_once(monkeypatch):
    before = (
        "__device__ int column(int l) { int at = 8 * l; at += 8; return at + threadIdx.x * 2; }"
    )
    use = "s[column(1)] = 1;"
    once, few, counted = run(monkeypatch, use, before=before)
    often, many, all_counted = run(monkeypatch, use * 20, before=before)
    assert once == [("store", 2)]
    assert often == [("store", 2)] * 20
    assert many - few < 19 * 3
    assert all_counted - counted == 19 * (counted - 3)


def test_sums_of_two_unknowns_are_computed_each_time(monkeypatch):
    """What the compiler makes of them hangs on the sums before."""
    before = (
        "__device__ int place(int k) { int at = threadIdx.y * 64; return at + threadIdx.x * k; }"
    )
    use = "s[place(2)] = 1;"
    _, few, _ = run(monkeypatch, use, before=before, block="dim3(32, 2)")
    _, many, _ = run(monkeypatch, use * 20, before=before, block="dim3(32, 2)")
    assert many - few >= 19 * 3


def test_threads_numbers_are_those_of_the_threads_that_call(monkeypatch):
    before = "__device__ int f(int x) { if (threadIdx.x < 32) return x * threadIdx.x; return 2 * x * threadIdx.x; }"
    body = "if (t < 32) { s[f(2)] = 1; } else { s[f(2) + 1] = 1; }"
    figures, _, _ = run(monkeypatch, body, before=before, block=64)
    assert sorted(ways for _, ways in figures) == [2, 4]


def of_host(monkeypatch, statement: str) -> int:
    """Returns how many statements host code executes that runs one behind a switch."""
    executed = []
    execute = Interpreter.execute
    monkeypatch.setattr(Interpreter, "execute", lambda ev, n: (executed.append(n), execute(ev, n)))
    text = f"""{TABLE}
__global__ void k(float *g) {{ __shared__ float s[256]; s[threadIdx.x * 2] = g[0]; }}
void launch(float *g, int c) {{
  int n = 0;
  switch (c) {{ case 0: break; case 1: break; }}
  {statement}
  k<<<1, n>>>(g);
}}"""
    (found,) = facts_of(text).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [2]
    return len(executed)


def test_host_calls_are_run_once_behind_the_cases_of_a_switch(monkeypatch):
    use = "n = 16 * config(96).pitch / 2;"
    assert of_host(monkeypatch, use * 20) - of_host(monkeypatch, use) < 19 * 6
