"""How often a loop runs whose head counts: from its start, its end and its step, by arithmetic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.environment import Variable, is_reference
from smemlint.analysis.simt.domain.values import AffineInt, Space
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_BITS = 32
_LARGEST = (1 << _BITS - 1) - 1
_HELD = (ir.ID, ir.Constant, ir.BinaryOp)
"""Of such expressions the value stays the same while nothing that they name is written."""


def counted_trips(ev: Evaluator, cond: ir.Node, step: ir.Node) -> NDArray[np.int64] | None:
    """Returns how often each active thread runs a loop such as `for (..; i < 8; i += 2)`.

    None where the head is of another form, a number is not known, or could leave its type.
    """
    if not isinstance(cond, ir.BinaryOp) or not isinstance(cond.left, ir.ID):
        return None
    name = cond.left.name
    if not _stays(ev, cond.right, name):
        return None
    counter = ev.state.lookup(name)
    if not isinstance(counter, Variable) or not isinstance(counter.type, IntType):
        return None
    start = counter.object.cells.get(0)
    if counter.object.space is not Space.LOCAL or not isinstance(start, AffineInt) or start.terms:
        return None
    noted = list(ev.state.trace.splits)
    by = _step(ev, step, name)
    end = ev.evaluate(cond.right)
    if not by or not isinstance(end, AffineInt) or noted != ev.state.trace.splits:
        return None
    active = np.broadcast_to(np.asarray(start.base), ev.state.mask.shape)[ev.state.mask]
    bounds = int(active.min()), int(active.max())
    last = end.constant
    if last is None or start.type != counter.type or not _fit(start, end, by, (*bounds, last)):
        return None
    return _trips(cond.op, active, last, by)


def _stays(ev: Evaluator, node: ir.Node, name: str) -> bool:
    """Returns whether the value of an expression stays the same while only a counter changes."""
    if not ev.state.node_facts.told(_is_held, node):
        return False
    others = ev.state.node_facts.names_in(node)
    return name not in others and not any(_refers(ev, other) for other in others)


def _is_held(node: ir.Node) -> bool:
    return all(isinstance(part, _HELD) for part in node.walk())


def _refers(ev: Evaluator, name: str) -> bool:
    """Returns whether a name may be another one of the counter."""
    binding = ev.state.lookup(name)
    return isinstance(binding, Variable) and is_reference(binding.type)


def _step(ev: Evaluator, step: ir.Node, name: str) -> int:
    """Returns what a step adds to a counter; 0 where it does something else."""
    match step:
        case ir.UnaryOp(op="++" | "p++" | "--" | "p--" as op, expr=ir.ID(name=counter)):
            return 0 if counter != name else 1 if "+" in op else -1
        case ir.Assignment(op="+=" | "-=" as op, lvalue=ir.ID(name=counter), rvalue=given) if (
            counter == name and _stays(ev, given, name)
        ):
            value = ev.evaluate(given)
            by = (value.constant or 0) if isinstance(value, AffineInt) else 0
            return 0 if by < 0 else by if op == "+=" else -by
    return 0


def _fit(start: AffineInt, end: AffineInt, by: int, numbers: tuple[int, ...]) -> bool:
    """Returns whether comparing and stepping is as with numbers of any size."""
    if start.type.bits < _BITS or end.type.bits < _BITS:
        return False
    is_signed = start.type.signed and end.type.signed
    least = -_LARGEST + abs(by) if is_signed else 0
    if by < 0 and not is_signed:
        return False
    return least <= min(numbers) and max(numbers) + abs(by) <= _LARGEST


def _trips(op: str, begins: NDArray[np.int64], end: int, by: int) -> NDArray[np.int64] | None:
    """Returns the trips of threads."""
    distances = end - begins if by > 0 else begins - end
    size = abs(by)
    if op == ("<" if by > 0 else ">"):
        return np.maximum(0, -(-distances // size))
    if op == ("<=" if by > 0 else ">="):
        return np.maximum(0, distances // size + 1)
    is_met = distances.min() == distances.max() >= 0 and not (distances % size).any()
    return distances // size if op == "!=" and is_met else None
