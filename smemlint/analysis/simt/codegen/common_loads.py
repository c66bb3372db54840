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
| `if (s[t] > s[t + 7]) ..` | `if (s[t] < s[t + 7]) ..` | each once (nvcc 13.5.37) |
| `if (s[t] > q[t]) ..` | `if (s[t] < s[t + 7]) ..` | `s[t]` once (the same) |
| `s[4 * t] * n` | `if (n > 5) v = s[4 * t] + in[t]` | `s` twice |

Where all threads take one way it is the same, and ptxas fuses the load with others of one way: of
`if (n > 3) v = s[2 * t] * 3 + s[2 * t + 1]; else v = s[2 * t];` an LDS.64 is all that is left, and
of a float4's `x * x + z * w` and `x` an LDS.128 (nvcc 13.5.37). Of a vector of which the ways read
other members, `float2 v = s[t];` with `v.x` and with `v.y`, both are loaded at once, in an LDS.64
or LDS.128, or in two LDS for x and z: open here. Functions that are inlined may compute something
else first: whether loads in them are moved is open.

The line table names no line for such a load, and shows one in front of it; it is counted with the
first way here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from smemlint.analysis.simt.codegen.branches.branch_shapes import are_equal
from smemlint.analysis.simt.codegen.selected_loads import PAIR_OF_WORDS, Items, load_selected
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.hardware.arch import WIDEST_ACCESS

_OPERATORS = frozenset(
    ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!=")
)
_SIGNS = frozenset(("-", "+", "~"))
_END = ""
"""What follows is not known to be the same instruction."""


def load_once(branch: ir.If | ir.TernaryOp, ours: Items, theirs: Items, *, ends_way: bool) -> None:
    """Gives loads that both ways begin or end with to the threads of both: see `load_selected`."""
    if not load_selected(branch, ours, theirs, ends_way=ends_way):
        load_in_front(branch, ours, theirs)


def load_in_front(branch: ir.If | ir.TernaryOp, ours: Items, theirs: Items) -> None:
    """Gives loads that both ways of a branch begin with to the threads of both."""
    if next(_loads(ours), None) is None or next(_loads(theirs), None) is None:
        return
    ways = _instructions(branch.iftrue), _instructions(branch.iffalse)
    loads, others = _loads(ours), _loads(theirs)
    for one, other in zip(*ways, strict=False):
        if isinstance(one, str) or isinstance(other, str):
            if one != other or one == _END:
                return
            continue
        a, b = next(loads, None), next(others, None)
        if a is None or b is None:
            return
        if a.node is one and b.node is other and _are_of_one_vector(a, b):
            for event in (*_loads(ours), *_loads(theirs)):
                if event.node is one or event.node is other:
                    event.may_fuse = WIDEST_ACCESS
            return
        if not _begin_alike(a, b):
            return
        kept, left = (a, b) if _reach(a, ours) >= _reach(b, theirs) else (b, a)
        if a.callers != b.callers or isinstance(one, ir.FuncCall) or isinstance(other, ir.FuncCall):
            left.may_fuse = WIDEST_ACCESS  # what else the functions compute first is open
            return
        if a.node is not one or b.node is not other or not _are_equal(a, b):
            return
        kept.mask = a.mask | b.mask
        kept.assumptions = tuple(each for each in a.assumptions if each in b.assumptions)
        left.issued = 0


def _are_of_one_vector(a: Event, b: Event) -> bool:
    """Returns whether two loads take other members of what is spelled as one vector."""
    is_one = 0 < a.word == b.word and a.object is b.object and are_equal(a.node, b.node)
    return is_one and not (_begin_alike(a, b) and a.width == b.width)


def _reach(load: Event, items: Items) -> int:
    """Returns how many bytes one instruction may load of what a way loads around a place."""
    distances = [
        int(np.abs(np.asarray(other.offset.base) - np.asarray(load.offset.base)).max())
        for other in items
        if isinstance(other, Event)
        and other.kind is AccessKind.LOAD
        and other.object is load.object
        and isinstance(other.offset, AffineInt)
        and isinstance(load.offset, AffineInt)
        and other.offset.is_beside(load.offset)
    ]
    return max(each for each in distances if each < WIDEST_ACCESS) + load.width


def begin_once(branch: ir.If | ir.TernaryOp, ours: Items, theirs: Items) -> None:
    """Takes in what the ways of a branch begin with whose condition is open."""
    load_in_front(branch, ours, theirs)
    mark_first(branch.iftrue, branch.iffalse, ours)


def mark_first(way: ir.Node | None, other: ir.Node | None, ours: Items) -> None:
    """Marks the load that a way of a branch begins with, where the other way does nothing."""
    first = next(iter(ours), None)
    if other is None and isinstance(first, Event) and first.kind is AccessKind.LOAD:
        first.begins_way = first.node is next(_instructions(way), None)


def _loads(items: Items) -> Iterator[Event]:
    """Yields the loads that stand before anything else."""
    for item in items:
        if not isinstance(item, Event) or item.kind is not AccessKind.LOAD or item.volatile:
            return
        yield item


def _begin_alike(a: Event, b: Event) -> bool:
    """Returns whether two accesses have one address."""
    return (
        a.object is b.object
        and isinstance(a.offset, AffineInt)
        and isinstance(b.offset, AffineInt)
        and a.offset.identity() == b.offset.identity()
    )


def _are_equal(a: Event, b: Event) -> bool:
    """Returns whether two accesses of one address are one instruction but for the threads."""
    same = (a.width, a.issued, a.spare) == (b.width, 1, b.spare)
    return same and (a.word, a.width) != PAIR_OF_WORDS


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
        case ir.If(cond=value) | (ir.Expression() as value):
            yield from _computed(value)
            yield _END
        case _:
            yield _END


def _computed(node: ir.Node) -> Iterator[ir.Node | str]:
    """Yields what an expression computes, operands first."""
    match node:
        case ir.BinaryOp(op=op, left=left, right=right) if op in _OPERATORS:
            yield from _computed(left)
            yield from _computed(right)
            yield op
        case ir.BinaryOp(op="&&" | "||", left=left):
            yield from _computed(left)
            yield _END
        case ir.UnaryOp(op=op, expr=ir.Expression() as operand) if op in _SIGNS:
            yield from _computed(operand)
            yield op
        case ir.FuncCall(args=(operand, *_)):
            yield from _computed(operand)
            yield _END
        case ir.ArrayRef() | ir.StructRef() | ir.UnaryOp(op="*") | ir.FuncCall():
            yield node
        case ir.ID(name=name) | ir.Constant(value=name):
            yield name
        case _:
            yield _END
