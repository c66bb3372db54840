"""Kernels with more iterations than the budget suffices for: one iteration stands for the others."""

from __future__ import annotations

import pytest
from conftest import facts_of
from figures import kernel

from smemlint.analysis.simt.kernel import evaluate
from smemlint.facts import Certainty

MIXED = "for (int k = 0; k < 40; k++) { h = h * 5 + g[k]; if (h & 4) h ^= k; }"


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MAX_STEPS", 3_000)
    monkeypatch.setattr(evaluate, "MAX_STEPS_OF_SHARES", 1_500)


def accesses(body):
    (found,) = facts_of(kernel(body, params="float *a, const int *g, int n")).kernels
    return found, [
        (a.kind, a.instructions, a.wavefronts and a.wavefronts.mean) for a in found.accesses
    ]


@pytest.mark.usefixtures("small_budget")
def test_a_long_loop_is_counted_whole_and_what_follows_is_reached():
    facts, figures = accesses(
        "int h = n; s[t] = 1;\n"
        f"for (int i = 0; i < 50; i++) {{ s[t * 2] = 1;\n{MIXED}\n__syncthreads(); }}\n"
        "s[t * 4] = 1;"
    )
    assert figures == [("store", 1, 1), ("store", 50, 2), ("store", 1, 4)]
    assert not facts.not_analysed


@pytest.mark.usefixtures("small_budget")
def test_an_address_that_the_round_decides_is_not_known_and_the_others_are():
    _, figures = accesses(
        "int h = n; s[t] = 1;\n"
        f"for (int i = 0; i < 50; i++) {{ s[t * (i % 7)] = 1;\n{MIXED} s[t * 2 + 64 * i] = 1; }}\n"
        "s[t * 4] = 1;"
    )
    assert [f[2] for f in figures] == [1, None, 2, 4]


@pytest.mark.usefixtures("small_budget")
def test_straight_code_that_is_too_long_ends_the_evaluation_as_before():
    facts, figures = accesses(
        "int h = n; s[t * 2] = 1;\n" + "h = h * 5 + g[h];\n" * 3_100 + "s[t] = h;"
    )
    assert [a.certainty for a in facts.accesses] == [Certainty.ASSUMED]
    assert figures == [("store", 1, 2)]
    assert [n.reason.code for n in facts.not_analysed] == ["step-limit"]
