"""Launches of one block shape that pass other numbers: each that has other figures is an instance.

`s[threadIdx.x * n]` of 32 lanes has gcd(n, 32) words in a bank.
"""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.limits.budgets import MAX_FURTHER_LAUNCHES
from smemlint.reasons import ReasonCode

KERNEL = """
__global__ void k(float *o, int n, int m) {
  __shared__ float s[4096];
  if (threadIdx.x < m) o[1] = 2;
  s[threadIdx.x * n] = o[threadIdx.x];
}
"""


def wavefronts(host, kernel=KERNEL):
    """Returns what tells each instance, and the wavefronts of its first access."""
    found = facts_of(kernel + host)
    return [(dict(k.instance.passed), k.accesses[0].wavefronts.mean) for k in found.kernels], found


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("void f(float *o) { k<<<1, 32>>>(o, 1, 0); k<<<1, 32>>>(o, 4, 0); }", [({}, 1), ({"n": 4}, 4)]),
        ("void f(float *o) { k<<<1, 32>>>(o, 4, 0); }\nvoid g(float *o) { k<<<1, 32>>>(o, 8, 0); }", [({}, 4), ({"n": 8}, 8)]),
        ("void f(float *o) { for (int n = 1; n <= 16; n *= 2) k<<<1, 32>>>(o, n, 0); }",
         [({}, 1), ({"n": 2}, 2), ({"n": 4}, 4), ({"n": 8}, 8), ({"n": 16}, 16)]),
        ("void f(float *o, int n) { k<<<1, 32>>>(o, n, 0); }\nint main() { float *o; f(o, 2); f(o, 32); }",
         [({}, 2), ({"n": 32}, 32)]),
        # the figure is the same
        ("void f(float *o) { k<<<1, 32>>>(o, 1, 0); k<<<1, 32>>>(o, 3, 0); }", [({}, 1)]),
        # no figure hangs on `m`
        ("void f(float *o) { for (int m = 1; m <= 16; m *= 2) k<<<1, 32>>>(o, 2, m); }", [({}, 2)]),
        # of the second launch, nothing is known
        ("void f(float *o, int n) { k<<<1, 32>>>(o, 2, 0); k<<<1, 32>>>(o, n, 0); }", [({}, 2)]),
    ],
)  # fmt: skip
def test_launches_with_other_figures_are_instances(host, expected):
    found, facts = wavefronts(host)
    assert found == expected
    assert not facts.not_analysed


def test_each_launch_is_named_where_it_stands():
    host = "void f(float *o) {\n  k<<<1, 32>>>(o, 1, 0);\n  k<<<1, 32>>>(o, 4, 0);\n}"
    _, facts = wavefronts(host)
    first, second = facts.kernels
    for kernel, line in ((first, 8), (second, 9)):
        assert kernel.instance.place.line == line
        assert {a.place.line for a in kernel.accesses[0].assumptions} == {line}


def test_many_launches_are_looked_at_in_steps():
    """Of 40 further ones, the last is among the seven; the others are named."""
    calls = " ".join(f"k<<<1, 32>>>(o, {n}, 0);" for n in range(1, 42))
    host = f"void f(float *o) {{ {calls} }}"
    found, facts = wavefronts(host)
    seen = {6, 12, 18, 23, 29, 35, 41}
    assert len(seen) == MAX_FURTHER_LAUNCHES
    assert found == [({}, 1), ({"n": 6}, 2), ({"n": 12}, 4)]
    (note,) = facts.not_analysed
    assert note.reason.code is ReasonCode.LEFT_OUT
    assert note.reason.text.startswith(f"{40 - MAX_FURTHER_LAUNCHES} ")


def test_kernels_that_hang_on_no_argument_are_run_once(monkeypatch):
    from smemlint.analysis.simt.kernel import evaluate

    runs = []
    run = evaluate._evaluated
    monkeypatch.setattr(evaluate, "_evaluated", lambda *given: runs.append(1) or run(*given))
    host = "void f(float *o) { for (int m = 1; m <= 16; m *= 2) k<<<1, 32>>>(o, 2, m); }"
    wavefronts(host, KERNEL.replace("threadIdx.x * n", "threadIdx.x"))
    assert len(runs) == 1
    runs.clear()
    wavefronts(host)
    assert len(runs) == 3  # for any arguments, for the first launch's, for those that all pass


def test_launches_of_which_less_is_known_are_left_out_where_another_passes_the_same():
    found, _ = wavefronts(
        "int m();\nvoid f(float *o) { k<<<1, 32>>>(o, 2, 0); k<<<1, 32>>>(o, 2, m());"
        " k<<<1, 32>>>(o, 8, m()); }"
    )
    assert found == [({}, 2), ({"n": 8}, 8)]
