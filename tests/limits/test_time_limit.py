"""The limit on processor time: it always ends the work, and only it is heard of."""

from __future__ import annotations

import signal
import sys
import time
import weakref

import pytest
from conftest import facts_of

from smemlint.analysis.simt.budget import BudgetExceeded
from smemlint.limits.errors import OutOfTime, broke_off
from smemlint.limits.guard import Allowance, limited
from smemlint.limits.steps import spend
from smemlint.limits.time_limit import TimeLimit

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no timers of processor time"
)


class Held:
    """Something to refer to."""


def busy(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_work_ends_and_the_limit_is_told():
    began = time.process_time()
    with pytest.raises(OutOfTime, match=r"evaluation stopped after 0\.05 s"), TimeLimit(0.05):
        busy(30)
    assert time.process_time() - began < 5


def test_no_error_handler_on_the_way_holds_it_up():
    with pytest.raises(OutOfTime), TimeLimit(0.05):
        try:
            busy(30)
        except Exception:
            busy(30)


def test_a_limit_that_strikes_where_nothing_can_be_raised_strikes_again(monkeypatch):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    instance, seen = Held(), []
    kept = weakref.ref(instance, lambda _: (seen.append("began"), busy(30), seen.append("ended")))
    with pytest.raises(OutOfTime), TimeLimit(0.05):
        del instance
        assert kept() is None
        seen.append("went on")
        busy(30)
    assert (seen, heard) == (["began", "went on"], [])


def test_other_errors_there_are_still_heard_of(monkeypatch):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: heard.append(lost.exc_type))
    instance = Held()
    kept = weakref.ref(instance, lambda _: 1 // 0)
    with TimeLimit(30):
        del instance
    assert kept() is None
    assert heard == [ZeroDivisionError]
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_tick_while_the_block_is_left_is_ignored(monkeypatch):
    """The work was done in time; an error here would leave the timer armed and end the run."""
    real, before = signal.setitimer, signal.getsignal(signal.SIGPROF)

    def slow(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        if seconds == 0:
            busy(0.3)
        return real(which, seconds, interval)

    monkeypatch.setattr(signal, "setitimer", slow)
    with TimeLimit(0.2) as limit:
        busy(0.1)
    assert not limit.has_struck
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGPROF) == before


def test_a_limit_that_strikes_while_one_is_handled_ends_the_block_only():
    with pytest.raises(OutOfTime), TimeLimit(0.05):
        try:
            busy(30)
        except OutOfTime:
            busy(30)
    busy(0.1)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_without_a_timer_the_clock_is_looked_at_between_steps(monkeypatch):
    monkeypatch.setattr("smemlint.limits.time_limit.HAS_TIMER", False)
    with pytest.raises(OutOfTime), limited(Allowance(1 << 40, 0.05)):
        while True:
            spend()


def test_an_error_of_what_was_left_half_done_is_told_from_others():
    def broken(reason: BaseException) -> Exception:
        try:
            try:
                raise reason
            finally:
                [].pop()
        except IndexError as error:
            return error

    assert broke_off(broken(OutOfTime("evaluation stopped")))
    assert broke_off(OutOfTime("evaluation stopped"))
    assert not broke_off(broken(ValueError("something else")))
    assert not broke_off(None)


@pytest.mark.parametrize("spent", [BudgetExceeded("too much"), RecursionError("too deep")])
def test_what_ends_an_evaluation_anywhere_costs_the_kernel_and_is_said(monkeypatch, spent):
    def evaluate(*_):
        raise spent

    monkeypatch.setattr("smemlint.analysis.simt.kernel.evaluate._evaluated", evaluate)
    text = "__global__ void k(float *g) { __shared__ float s[32]; s[threadIdx.x] = g[0]; }"
    (note,) = facts_of(text).not_analysed
    code = "step-limit" if isinstance(spent, BudgetExceeded) else "nesting-limit"
    assert (note.kernel, note.reason.code) == ("k", code)
