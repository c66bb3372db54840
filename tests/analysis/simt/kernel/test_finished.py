"""What was done with before a limit ended an evaluation keeps its figures."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.kernel import evaluate
from smemlint.facts import Certainty
from smemlint.limits.steps import step_limit
from smemlint.reasons import ReasonCode

LONG = "int x = n;" + "x = x * 3 + 1; x ^= n;" * 200
PUT = "__device__ __noinline__ void put(float *s, int at, float v) { s[at] = v; }\n"


@pytest.fixture(autouse=True)
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MAX_STEPS", 300)
    monkeypatch.setattr(evaluate, "MAX_STEPS_OF_SHARES", 300)


def figures(first: str, last: str) -> dict[str, tuple[Certainty, float | None]]:
    """Returns each store's certainty and wavefronts, by expression; the middle ends it."""
    text = f"""{PUT}
__global__ void k(float *g, int n) {{
  __shared__ float s[4096];
  int t = threadIdx.x;
  {first}
  {LONG}
  {last}
}}
void run(float *g, int n) {{ k<<<1, 32>>>(g, n); }}"""
    (kernel,) = facts_of(text).kernels
    assert any(note.reason.code.ends_evaluation for note in kernel.not_analysed)
    return {
        a.expression: (a.certainty, a.wavefronts.mean if a.wavefronts else None)
        for a in kernel.accesses
    }


def test_a_loop_that_was_run_to_its_end_is_known():
    found = figures("for (int i = 0; i < 4; i++) s[t * 4 + i * 128] = g[i];", "s[t] = x;")
    assert found == {"s[t * 4 + i * 128]": (Certainty.ASSUMED, 4.0)}


def test_a_function_that_is_called_once_more_is_not_known():
    found = figures("put(s, t * 2, g[0]);", "put(s, t, x);")
    assert found == {"s[at]": (Certainty.UNKNOWN, None)}


def test_a_function_that_is_not_called_again_is_known():
    found = figures("put(s, t * 2, g[0]);", "s[t] = x;")
    assert found == {"s[at]": (Certainty.ASSUMED, 2.0)}


@pytest.mark.parametrize("loop", ["for (int r = 0; r < 2; r++)", "while (n-- > 0)"])
def test_what_stands_in_the_loop_under_way_is_not_known(loop):
    found = figures(f"s[t * 8] = 1; {loop} {{ s[t * 2] = 0; {LONG} }}", "")
    assert found["s[t * 8]"] == (Certainty.ASSUMED, 8.0)
    assert found["s[t * 2]"] == (Certainty.UNKNOWN, None)


def test_steps_that_the_arguments_of_a_launch_take_leave_what_is_known_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    text = """
__global__ void k(float *g, int n, int pitch) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  s[t * 2] = g[t];
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += s[(t * pitch + i) % 1024];
  g[t] = sum;
}
void f(float *g) { k<<<1, 32>>>(g, 1000, 3); }
"""
    with step_limit(10_000):
        (kernel,) = facts_of(text).kernels
    assert [a.wavefronts and a.wavefronts.mean for a in kernel.accesses] == [2.0, None]
    assert [n.reason.code for n in kernel.not_analysed] == [ReasonCode.STEP_LIMIT]
    with step_limit(100_000):
        (kernel,) = facts_of(text).kernels
    assert [a.wavefronts and a.wavefronts.mean for a in kernel.accesses] == [2.0, 1.0]
