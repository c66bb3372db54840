"""Exceptions, and calls that end the program or a thread: nothing behind them is run."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.dispatch import evaluates, executes
from smemlint.analysis.simt.domain.ctypes import VOID
from smemlint.analysis.simt.domain.environment import is_any
from smemlint.analysis.simt.domain.values import FloatValue, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

ENDS = frozenset(("abort", "exit", "_exit", "_Exit", "quick_exit", "terminate"))
"""Functions that end a program."""


@builtin("__trap", "__builtin_trap", "__builtin_unreachable", *ENDS)
def end(ev: Evaluator, call: BuiltinCall) -> Value:
    """Ends the threads that come to it, and with them a program of the host."""
    callee = call.node.name
    qualifier = callee.name.rpartition("::")[0] if isinstance(callee, ir.ID) else ""
    if qualifier not in ("", "std"):
        return unfollowed_call(ev, call.name, call.node, is_used=call.is_used)
    for argument in call.node.args:
        ev.evaluate(argument)
    end_threads(ev)
    return FloatValue(VOID)


@evaluates(ir.Throw)
def throw(ev: Evaluator, node: ir.Throw) -> Value:
    """Ends what is run up to the end of the innermost `try`."""
    caught, mask = ev.state.caught, ev.state.mask
    end_threads(ev)
    if caught:
        caught[-1] = caught[-1] | (mask & ~ev.state.mask)
    return FloatValue(VOID)


def end_threads(ev: Evaluator) -> None:
    """Ends the threads that are active, where that is sure."""
    state = ev.state
    is_left_openly = any(loop.is_left_openly for loop in state.loops)
    if ev.policy.may_end(ev) and not is_left_openly:
        state.ended = state.mask if state.ended is None else state.ended | state.mask
        state.mask = state.none_active()


@executes(ir.Try)
def execute_try(ev: Evaluator, node: ir.Try) -> None:
    """Executes a block, then each handler as if something may have been thrown."""
    state = ev.state
    state.caught.append(state.none_active())
    try:
        ev.execute(node.body)
    finally:
        thrown = state.caught.pop()
    if state.ended is not None and is_any(thrown):
        state.ended = state.ended & ~thrown
        state.mask = state.mask | thrown
    for handler in node.handlers:
        ev.execute(handler)
