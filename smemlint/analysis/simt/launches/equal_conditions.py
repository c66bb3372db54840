"""Conditions of host code that hold together: those of one text and of the same content."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, Pointer, Space, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.frontend import ir
from smemlint.reasons import Assumption

_T = TypeVar("_T")


class TakenConditions:
    """Which ways open conditions went that a host function came to."""

    def __init__(self) -> None:
        self._held: dict[Hashable, bool] = {}
        self._cases: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._held) + len(self._cases)

    def known(self, ev: Evaluator, node: ir.Node, cases: Sequence[Assumption]) -> int | None:
        """Returns the alternative of a choice that earlier ones leave; None where none does."""
        if not len(self):
            return None
        if isinstance(node, ir.Switch):
            return self._cases.get(_key(ev, tuple(cases), node.cond))
        if not isinstance(node, ir.If | ir.TernaryOp):
            return None
        holds = self._holds(ev, node.cond)
        return None if holds is None else int(not holds)

    def take(self, ev: Evaluator, node: ir.Node, cases: Sequence[Assumption], path: int) -> None:
        """Notes the alternative that is taken of a choice."""
        if isinstance(node, ir.Switch):
            self._note(self._cases, _key(ev, tuple(cases), node.cond), path)
        elif isinstance(node, ir.If | ir.TernaryOp):
            self._assume(ev, node.cond, holds=path == 0)

    def _holds(self, ev: Evaluator, condition: ir.Node) -> bool | None:
        match condition:
            case ir.UnaryOp(op="!", expr=inner):
                holds = self._holds(ev, inner)
                return None if holds is None else not holds
            case ir.BinaryOp(op="&&" | "||" as op, left=left, right=right):
                parts = self._holds(ev, left), self._holds(ev, right)
                decisive = op == "||"
                if decisive in parts:
                    return decisive
                if None not in parts:
                    return not decisive
        return self._held.get(_key(ev, ev.state.source_text(condition), condition))

    def _assume(self, ev: Evaluator, condition: ir.Node, *, holds: bool) -> None:
        match condition:
            case ir.UnaryOp(op="!", expr=inner):
                self._assume(ev, inner, holds=not holds)
                return
            case ir.BinaryOp(op="&&" | "||" as op, left=left, right=right) if holds == (op == "&&"):
                self._assume(ev, left, holds=holds)
                self._assume(ev, right, holds=holds)
        self._note(self._held, _key(ev, ev.state.source_text(condition), condition), holds)

    def _note(self, of: dict[Hashable, _T], key: Hashable, outcome: _T) -> None:
        if key is not None:
            of[key] = outcome


def _key(ev: Evaluator, what: Hashable, condition: ir.Node) -> Hashable:
    """Returns what equal conditions have in common; None where what one reads is not known."""
    content = _contents(ev, condition)
    return None if content is None else (what, content)


def _contents(ev: Evaluator, *nodes: ir.Node) -> tuple[Hashable, ...] | None:
    """Returns the content of all that expressions read; None where that is not known."""
    found = tuple(_content(ev, leaf) for node in nodes for leaf in _leaves(node))
    return None if None in found else found


def _leaves(node: ir.Node) -> Iterator[ir.Node]:
    """Yields the names and members that an expression reads, and what may do more than that."""
    if isinstance(node, (ir.ID, ir.StructRef, ir.FuncCall, ir.Assignment)):
        yield node
    elif not isinstance(node, ir.Constant):
        for child in node.children():
            yield from _leaves(child)


def _content(ev: Evaluator, node: ir.Node) -> Hashable:
    """Returns what tells the content of a name or member from any other; None where nothing does.

    What is not known is the same as long as nothing was written in its place.
    """
    if isinstance(node, ir.FuncCall) and isinstance(node.name, ir.StructRef):
        found = list(ev.policy.functions(ev, node.name.field.name))
        keeps_object = bool(found) and all("const" in f.specifiers for f in found)
        return _contents(ev, node.name.name, *node.args) if keeps_object else None
    if not isinstance(node, ir.ID | ir.StructRef):
        return None
    place = ev.lvalue(node)
    if isinstance(place, LValue) and place.object.space is Space.LOCAL:
        value = read_lvalue(ev, place, node)
        return place.object.key, place.offset.identity(), _identity(value)
    value = ev.evaluate(node)
    return (
        None if isinstance(place, LValue) or not isinstance(value, AffineInt) else value.identity()
    )


def _identity(value: Value) -> Hashable:
    """Returns what equal values have in common; the value itself where it is not known."""
    if isinstance(value, AffineInt):
        return value.identity()
    if isinstance(value, Pointer):
        return value.object.key, value.offset.identity()
    if isinstance(value, Aggregate):
        return tuple((at, _identity(value.cells[at])) for at in sorted(value.cells))
    return value
