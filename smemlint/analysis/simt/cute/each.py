"""CuTe's functions that are given a lambda: `for_each`, `transform` and `is_valid`."""

from __future__ import annotations

from smemlint.analysis.simt.calls.lambdas import Closure, execute_closure
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.values import payload_of, shared_tensor_of, value_of
from smemlint.analysis.simt.domain.environment import Operand
from smemlint.analysis.simt.domain.values import CallableValue, Cute, Value
from smemlint.analysis.simt.types.overloads import type_words
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


@function("is_valid")
def _is_valid(call: Call) -> Value:
    """Evaluates `is_valid([](auto t) -> void_t<decltype(..)> {}, atom)`, asked of one expression.

    It is `.with(true)`, which copies have that write zeros where a predicate is false.

    Raises:
        CuteError: another expression is asked for, or it is no copy that is known.
    """
    closure = call.values[0].payload if isinstance(call.values[0], CallableValue) else None
    copy = call.payload(1)
    atom = copy.atom if isinstance(copy, cute.TiledCopy) else copy
    asked = type_words(closure.node.result) if isinstance(closure, Closure) else []
    if not isinstance(atom, cute.CopyAtom) or not "".join(asked).endswith(".with(true))>"):
        raise cute.CuteError("whether an expression is valid")
    return value_of(int(atom.op.is_zero_filling))
