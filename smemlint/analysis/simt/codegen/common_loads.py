"""Loads that both ways of a branch begin with: LLVM loads once, in front of the branch.

It moves the instructions there that both begin with alike, up to the first that differs. SASS of
nvcc 13.0.88, -O3, sm_90, where `t & 1` chooses; `s` and `q` lie in shared memory, `g` and `in` not:

| one way | the other | loads of `s` and `q` |
| --- | --- | --- |
| `expf(s[4 * t]) * q[4 * t]` | `sinf(s[4 * t]) * q[4 * t]` | `s` once, `q` twice |
| `s[4 * t] * q[4 * t] + ..` | `s[4 * t] + q[4 * t] + ..` | each once |
| `s[t] - q[t] * s[t + 7]` | `s[t] - q[t + 1] * s[t + 5] - ..` | `s[t]` once, no other |
| `expf(s[4 * t]) * q[t]` | `sinf(q[t + 1]) + s[4 * t]` | none once |
| `in[t + 77] * s[4 * t]` | `in[t + 99] + s[4 * t]` | `s` twice |
| `g[t + 99] = 1; v = expf(s[4 * t])` | `v = sinf(s[4 * t])` | `s` twice |
| `s[4 * t] * n` | `if (n > 5) v = s[4 * t] + in[t]` | `s` twice |

Where both ways compute the same from end to end, but from other addresses, LLVM sinks it behind the
branch and selects the addresses:

| one way | the other | loads |
| --- | --- | --- |
| `s[4 * t]`, also times 2.f, also `v = s[4 * t];` | the same of `s[4 * t + 1]` | one |
| `s[t] + s[t + 7]` | `s[3 * t] + s[3 * t + 1]` | two |
| `s[4 * t]` | `s[4 * t + 1] + 2.f` | two |
| `v = s[4 * t]; g[500] = 2` | `v = s[4 * t + 1]` | two |
| `s[4 * t]`, also a structure of two floats (not decided) | `q[4 * t]` | one |
| `c ? s[4 * t] : s[4 * t + 1]` (not decided) | `s[4 * t + 2]` | one |
| a float2 or int2 of `s`; float4, double and half2 as the first | another | two |
| as the first, in the one way of a branch whose other way is `v = 1` | | two |

The line table names no line for such a load, and shows one in front of it; it is counted with the
first way here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from smemlint.analysis.simt.domain.integer_scev import chosen_scev
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt, Unknown
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

Items: TypeAlias = "Sequence[Event | Fence]"

_ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))
_SIGNS = frozenset(("-", "+", "~"))
_SELECTED = Reason(ReasonCode.COMPILER, "one load takes either of two arrays or structures")
_PAIR_OF_WORDS = (4, 8)
_END = ""
"""What follows is not known to be the same instruction."""


def load_once(first: ir.Node | None, second: ir.Node | None, ours: Items, theirs: Items) -> None:
    """Gives the loads that both ways of a branch begin with to the threads of both.

    Args:
        first: the one way.
        second: the other.
        ours: what the first recorded; its loads are those that are issued.
        theirs: what the other recorded; its loads are not issued.
    """
    if _load_selected(first, second, ours, theirs):
        return
    loads, others = _loads(ours), _loads(theirs)
    for one, other in zip(_instructions(first), _instructions(second), strict=False):
        if isinstance(one, str) or isinstance(other, str):
            if one != other or one == _END:
                return
            continue
        a, b = next(loads, None), next(others, None)
        if a is None or b is None or a.node is not one or b.node is not other:
            return
        if not _are_equal(a, b):
            return
        a.mask = a.mask | b.mask
        b.issued = 0


def mark_first(way: ir.Node | None, other: ir.Node | None, ours: Items) -> None:
    """Marks the load that a way of a branch begins with, where the other way does nothing."""
    first = next(iter(ours), None)
    if other is None and isinstance(first, Event) and first.kind is AccessKind.LOAD:
        first.begins_way = first.node is next(_instructions(way), None)


def _load_selected(
    first: ir.Node | None, second: ir.Node | None, ours: Items, theirs: Items
) -> bool:
    """Gives the loads of ways that differ by addresses alone to the threads of both.

    Where the way ends with a branch around it, that may keep the loads from being sunk.

    Returns:
        False where the ways differ by more.
    """
    one, other = list(_instructions(first)), list(_instructions(second))
    if one[-1:] == [_END] == other[-1:] and isinstance(first, ir.Expression):
        del one[-1], other[-1]  # nothing follows
    if len(one) != len(other) or _END in one:
        return False
    nodes: list[tuple[ir.Node, ir.Node]] = []
    for a, b in zip(one, other, strict=True):
        if not isinstance(a, str) and not isinstance(b, str):
            nodes.append((a, b))
        elif a != b:
            return False
    loads, others = list(_loads(ours)), list(_loads(theirs))
    if isinstance(first, ir.TernaryOp) or isinstance(second, ir.TernaryOp):
        for event in (*loads, *others):
            event.offset = Unknown(_SELECTED)
        return True
    if not len(loads) == _events(ours) == len(others) == _events(theirs):
        return False
    found = list(zip(loads, others, strict=True))
    if list(dict.fromkeys((a.node, b.node) for a, b in found)) != nodes or any(
        len(a.scope) > 1 for a in loads
    ):
        return False
    if not all(_may_be_selected(a, b) for a, b in found):
        return False
    for load, other_load in found:
        _select(load, other_load, is_known=len(found) == len(nodes))
    return True


def _select(a: Event, b: Event, *, is_known: bool) -> None:
    """Makes one load of two; what it costs across arrays, or of a class object, is not known."""
    assert isinstance(a.offset, AffineInt) and isinstance(b.offset, AffineInt)
    if a.object is not b.object or not is_known:
        a.offset = b.offset = Unknown(_SELECTED)
        return
    base = np.where(a.mask, a.offset.base, b.offset.base)
    selected = AffineInt(base, a.offset.type, a.offset.terms)
    selected.form = chosen_scev(a.offset, b.offset, selected)
    a.offset, a.mask, b.issued = selected, a.mask | b.mask, 0


def _events(items: Items) -> int:
    return sum(isinstance(item, Event) for item in items)


def _may_be_selected(a: Event, b: Event) -> bool:
    """Returns whether two accesses are one instruction but for threads, array and addresses."""
    return (
        (a.width, a.issued, a.spare, a.assumptions) == (b.width, 1, b.spare, b.assumptions)
        and isinstance(a.offset, AffineInt)
        and isinstance(b.offset, AffineInt)
        and a.offset.terms == b.offset.terms
        and (a.word, a.width) != _PAIR_OF_WORDS
    )


def _loads(items: Items) -> Iterator[Event]:
    """Yields the loads that stand before anything else."""
    for item in items:
        if not isinstance(item, Event) or item.kind is not AccessKind.LOAD or item.volatile:
            return
        yield item


def _are_equal(a: Event, b: Event) -> bool:
    """Returns whether two accesses are one instruction but for the threads."""
    return (
        a.object is b.object
        and _may_be_selected(a, b)
        and isinstance(a.offset, AffineInt)
        and isinstance(b.offset, AffineInt)
        and a.offset.identity() == b.offset.identity()
    )


def _instructions(node: ir.Node | None) -> Iterator[ir.Node | str]:
    """Yields what a statement computes first, in order: accesses, names and operators."""
    match node:
        case ir.Compound(block_items=items):
            for item in items:
                yield from _instructions(item)
        case ir.Decl(name=name, init=ir.Expression() as value):
            yield from _computed(value)
            yield name
        case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=value):
            yield from _computed(value)
            yield name
        case ir.Assignment(rvalue=value):
            yield from _computed(value)
            yield _END
        case ir.Expression():
            yield from _computed(node)
            yield _END
        case _:
            yield _END


def _computed(node: ir.Node) -> Iterator[ir.Node | str]:
    """Yields what an expression computes, operands first."""
    match node:
        case ir.BinaryOp(op=op, left=left, right=right) if op in _ARITHMETIC:
            yield from _computed(left)
            yield from _computed(right)
            yield op
        case ir.UnaryOp(op=op, expr=ir.Expression() as operand) if op in _SIGNS:
            yield from _computed(operand)
            yield op
        case ir.FuncCall(args=(operand, *_)):
            yield from _computed(operand)
            yield _END
        case ir.TernaryOp(iftrue=one, iffalse=other):
            yield from _of_both(one, other)
        case ir.ArrayRef() | ir.UnaryOp(op="*"):
            yield node
        case ir.ID(name=name) | ir.Constant(value=name):
            yield name
        case _:
            yield _END


def _of_both(one: ir.Node, other: ir.Node) -> Iterator[ir.Node | str]:
    """Yields what both operands of `?:` compute, if they differ by addresses alone."""
    computed = list(_computed(one))
    spelled = [item for item in computed if isinstance(item, str)]
    if _END in spelled or [item for item in _computed(other) if isinstance(item, str)] != spelled:
        computed = [_END]
    yield from computed
