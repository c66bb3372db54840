"""Loads that both ways of a branch end with alike: LLVM loads once behind it, what it selects.

It sinks the instructions that both ways end with, from the last one up to the first that differs,
and selects the operands in which they do, addresses and numbers. SASS of nvcc 13.5.37, -O3, sm_90,
where `t < 20` chooses:

| one way | the other | loads |
| --- | --- | --- |
| `v = s[4 * t]`, also times 2.f | the same of `s[4 * t + 1]` | one |
| `v += f[2 * t].x`, `(float)h[4 * t]`, `sqrtf(s[4 * t])` | the same of others | one |
| `s[4 * t] * 2.f`, `v * 2 + s[4 * t]` | `s[3 * t] * 3.f`, `v + s[3 * t]` | one |
| `s[t] + s[t + 7]` | `s[3 * t] + s[3 * t + 1]` | two |
| `s[4 * t]`, `s[4 * t] * 2.f` | `s[4 * t + 1] + 2.f` | two |
| `v = s[4 * t]; g[500] = 2` | `v = s[4 * t + 1]` | two |
| `s[4 * t]`, also a structure of two floats (not decided) | `q[4 * t]` | one |
| `c ? s[4 * t] : s[4 * t + 1]` | `s[4 * t + 2]` | one |
| a float2 or int2 of `s`; float4, double and half2 as the first | another | two |
| the first, at the end of a way of another branch | the same | two |

Where `v += c ? .. : ..` or another statement follows in the way of the other branch, it is one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from smemlint.analysis.simt.codegen.branches.branch_shapes import are_equal, is_part, statements
from smemlint.analysis.simt.domain.integer_scev import chosen_scev
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt, Unknown
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

Items: TypeAlias = "Sequence[Event | Fence]"

_STRAIGHT = frozenset(
    ("sqrtf", "rsqrtf", "expf", "__expf", "__logf", "fabsf", "fmaxf", "fminf", "max", "min", "fma")
)
_SELECTED = Reason(ReasonCode.COMPILER, "one load takes either of two arrays or structures")
PAIR_OF_WORDS = (4, 8)
_OPERANDS = (ir.ID, ir.Constant)
_END = ""
"""What is not known to be the same instruction."""


def branches_that_end_ways(block: ir.Compound) -> Iterator[ir.Node]:
    """Yields the branches of a block behind which nothing stands on a way of another one."""
    for item in block.block_items:
        for way in (item.iftrue, item.iffalse) if isinstance(item, ir.If) else ():
            items = [
                each
                for each in (statements(way) if way is not None else ())
                if not isinstance(each, ir.EmptyStatement)
            ]
            match items[-1:]:
                case [ir.If() as last]:
                    yield last
                case [ir.Assignment(op="=", rvalue=ir.TernaryOp() as value)]:
                    yield value
        if isinstance(item, ir.Return) and isinstance(item.expr, ir.TernaryOp):
            yield item.expr


def load_selected(
    branch: ir.If | ir.TernaryOp, ours: Items, theirs: Items, *, ends_way: bool
) -> bool:
    """Gives the loads of ways that differ by operands alone to the threads of both.

    Args:
        branch: with two ways.
        ours: what the first recorded; its loads are those that are issued.
        theirs: what the other recorded; its loads are not issued.
        ends_way: nothing stands behind the branch on the way of another one: it may keep its loads.

    Returns:
        Whether these are all that the first one recorded.
    """
    ways, is_equal = (branch.iftrue, branch.iffalse), _is_equality(branch.cond)
    one, other = list(_computed(ways[0])), list(_computed(ways[1]))
    nodes = _matched(one, other, is_equal=is_equal)
    all_of = is_equal or _END in one or _END in other
    loads = _last_loads(ours, {a for a, _ in nodes}, all_of=all_of)
    others = _last_loads(theirs, {b for _, b in nodes}, all_of=all_of)
    if len(loads) != len(others) and ir.TernaryOp in map(type, ways):
        for event in (*loads, *others):
            event.offset = Unknown(_SELECTED)
        return True
    if not loads or len(loads) != len(others):
        return False
    found = list(zip(loads, others, strict=True))
    if list(dict.fromkeys((a.node, b.node) for a, b in found)) != nodes:
        return False
    if any(ends_way and len(a.scope) > 1 for a in loads):
        return False
    if not all(may_be_selected(a, b) for a, b in found):
        return False
    for load, other_load in found:
        _select(load, other_load, is_known=len(found) == len(nodes))
    return len(loads) == sum(isinstance(item, Event) for item in ours)


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


def may_be_selected(a: Event, b: Event) -> bool:
    """Returns whether two accesses are one instruction but for threads, array and addresses."""
    return (
        (a.width, a.issued, a.spare, a.assumptions) == (b.width, 1, b.spare, b.assumptions)
        and isinstance(a.offset, AffineInt)
        and isinstance(b.offset, AffineInt)
        and a.offset.is_beside(b.offset)
        and (a.word, a.width) != PAIR_OF_WORDS
    )


def _last_loads(items: Items, nodes: Container[ir.Node], *, all_of: bool) -> list[Event]:
    """Returns the loads of nodes that nothing else stands behind, last ones first.

    Args:
        items: that a way recorded.
        nodes: the places.
        all_of: none if other places are loaded in front of them.
    """
    found: list[Event] = []
    for item in reversed(items):
        if item == Fence("block") and not found:
            continue
        if not isinstance(item, Event) or item.kind is not AccessKind.LOAD or item.volatile:
            break
        if item.issued and item.node not in nodes:
            return [] if all_of else found
        found += [item] * (item.issued > 0)
    return found


def _is_equality(condition: ir.Node) -> bool:
    """Returns whether the one way knows a number that the other computes with: `t == 3`."""
    return isinstance(condition, ir.BinaryOp) and condition.op in ("==", "!=")


def _matched(
    one: Sequence[ir.Node | str], other: Sequence[ir.Node | str], *, is_equal: bool
) -> list[tuple[ir.Node, ir.Node]]:
    """Returns the places that two ways load by the same instructions, last ones first."""
    found: list[tuple[ir.Node, ir.Node]] = []
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if isinstance(a, ir.Cast) and isinstance(b, ir.Cast):
            if not are_equal(a.to_type, b.to_type):
                break
        elif isinstance(a, _OPERANDS) and isinstance(b, _OPERANDS):
            if is_equal and not are_equal(a, b):
                break
        elif isinstance(a, str) or isinstance(b, str):
            if a != b or a == _END:
                break
        else:
            found.append((a, b))
    return found


def _computed(node: ir.Node | None) -> Iterator[ir.Node | str]:
    """Yields what a way computes: operands, places, casts, operators and what is assigned."""
    match node:
        case ir.Compound(block_items=items):
            for item in items:
                yield from _computed(item)
        case ir.EmptyStatement():
            return
        case ir.Decl(name=name, init=ir.Expression() as value):
            yield from _operands_first(value)
            yield f"= {name}"
        case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=value):
            yield from _operands_first(value)
            yield f"= {name}"
        case ir.Assignment(op=op, lvalue=ir.ID(name=name) as operand, rvalue=value):
            yield from (operand, *_operands_first(value), op[:-1], f"= {name}")
        case ir.Assignment(rvalue=value):
            yield from (*_operands_first(value), f"store at {node.at}")
        case ir.TernaryOp(iftrue=one, iffalse=other):
            computed = list(_operands_first(one))
            is_same = list(map(_kind, computed)) == list(map(_kind, _operands_first(other)))
            yield from computed if is_same else (_END,)
        case ir.Expression():
            yield from _operands_first(node)
        case _:
            yield _END


def _kind(item: ir.Node | str) -> object:
    """Returns what is equal for the same instructions on other operands."""
    return item if isinstance(item, str) else isinstance(item, _OPERANDS)


def _operands_first(node: ir.Node) -> Iterator[ir.Node | str]:
    """Yields what an expression computes."""
    match node:
        case ir.BinaryOp(op=op, left=left, right=right) if op not in ("&&", "||"):
            yield from (*_operands_first(left), *_operands_first(right), op)
        case ir.UnaryOp(op="-" | "+" | "~" as op, expr=operand):
            yield from (*_operands_first(operand), f"unary {op}")
        case ir.Cast(expr=operand):
            yield from (*_operands_first(operand), node)
        case ir.FuncCall(name=ir.ID(name=name), args=arguments) if name in _STRAIGHT:
            for argument in arguments:
                yield from _operands_first(argument)
            yield name
        case ir.Expression() if is_part(node) or isinstance(node, _OPERANDS):
            yield node
        case _:
            yield _END
