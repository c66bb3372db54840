"""Executions that end at a budget, with the note that says so."""

from __future__ import annotations

from collections.abc import Callable

from smemlint.analysis.python.interpreter.interpreter import OverBudget
from smemlint.facts import NotAnalysed, Span
from smemlint.reasons import Reason, ReasonCode

_TOO_LONG = Reason(ReasonCode.STEP_LIMIT, "its functions take too long to follow")


def run_within_budget(
    action: Callable[[], object], path: str, function: str = ""
) -> tuple[NotAnalysed, ...]:
    """Executes an action; returns a note where it is over the budget, or nested too deeply."""
    try:
        action()
    except (OverBudget, RecursionError):
        return (NotAnalysed(Span(path, 1, 1, 1, 1), function, _TOO_LONG),)
    return ()
