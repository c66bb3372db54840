"""CuTe's functions that call a lambda for each entry of tuples: `for_each` and `transform`."""

from __future__ import annotations

from smemlint.analysis.simt.calls.lambdas import Closure, execute_closure
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.values import payload_of, shared_tensor_of
from smemlint.analysis.simt.domain.environment import Operand
from smemlint.analysis.simt.domain.values import CallableValue, Cute, Value
from smemlint.layout import cute


@function("for_each", "transform")
def _for_each(call: Call) -> Value:
    """Evaluates `for_each(t, f)`, `transform(t, f)` and `transform(t, u, f)`.

    Functions that are no lambdas, and elements of tensors, are not followed.

    Raises:
        CuteError: an element lies in shared memory.
    """
    *given, last = call.values
    if any(shared_tensor_of(value) is not None for value in given):
        raise cute.CuteError(f"`{call.name}` of shared elements")
    closure = last.payload if isinstance(last, CallableValue) else None
    tuples = [payload for value in given if isinstance(payload := payload_of(value), tuple)]
    is_even = len(tuples) == len(given) and len(set(map(len, tuples))) == 1
    if not isinstance(closure, Closure) or not is_even:
        return unfollowed_call(call.ev, f"cute::{call.name}", call.node)
    results = []
    for entries in zip(*tuples, strict=True):
        operands = [Operand(call.node, None, entry) for entry in entries]
        results.append(execute_closure(call.ev, closure, operands, call.node))
    return Cute(tuple(results))
