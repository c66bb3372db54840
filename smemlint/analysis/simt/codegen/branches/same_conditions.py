"""Branches that LLVM makes one of, as the one before them hangs on the same condition.

SimplifyCFG threads a jump through a block that computes nothing. nvcc 13.0.88, -O3, sm_90, of an
aligned array, `t` the thread and `n` an argument:

| two neighbours | SASS |
| --- | --- |
| `a = t < n ? s[2 * t] : 0; b = t < n ? s[2 * t + 1] : 0;`, declarations, too | LDS.64 |
| `if (t < n) a = s[2 * t]; if (t < n) b = s[2 * t + 1];`, a constant for n, stores, `x < y` | 64 |
| `: T(0)`, `: x * 2`, `: sinf(x)`, `: g[t]`, `else a = x / y;` behind both (13.5.37) | LDS.64 |
| four of them | LDS.128 |
| `r.x = t < n ? s[2 * t] : 0; r.y = ..`, `r[0] = ..`, of a reference to such (13.5.37) | LDS.64 |
| the same where `r` is a reference or an array in memory | two LDS |
| the same with `t < n` and `t < m` | two LDS |
| the same with `x += y;` or `d = sinf(a);` between | two LDS |
| two iterations of a loop that is unrolled, `if (t < n) a += s[4 * t + i];` | two LDS |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from smemlint.analysis.simt.loops.mod_ref import ModRef, root_of
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_BUILT_IN = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))


@dataclass(frozen=True, slots=True)
class Before:
    """The branch that stands before one on the same condition.

    Attributes:
        others: the other ways of both, from which a load would part those of the first ways.
        assigned: the variable that it gives a value; a store to memory would part them, too.
    """

    others: tuple[ir.Node, ...]
    assigned: str = ""


def branches_that_go_on(
    block: ir.Compound, mod_ref: Callable[[ir.Node], ModRef | None]
) -> Iterator[tuple[ir.Node, Before]]:
    """Yields branches that stand right behind one on the same condition, and that one."""
    for before, item in pairwise(block.block_items):
        first, second = _branch_of(before), _branch_of(item)
        if first is None or second is None:
            continue
        text = _written(first.cond)
        if not text or text != _written(second.cond):
            continue
        effects = mod_ref(before)
        if effects is not None and effects.modified.isdisjoint(text):
            others = tuple(b.iffalse for b in (first, second) if b.iffalse is not None)
            place = before.lvalue if isinstance(before, ir.Assignment) else None
            yield second, Before(others, root_of(place) or "" if place is not None else "")


def _branch_of(item: ir.Node) -> ir.If | ir.TernaryOp | None:
    match item:
        case (ir.If(is_constexpr=False) as branch) | ir.Decl(
            init=ir.TernaryOp() as branch, storage=()
        ):
            return branch
        case ir.Assignment(op="=", lvalue=place, rvalue=ir.TernaryOp() as branch):
            return branch if _is_one_place(place) else None
    return None


def _is_one_place(place: ir.Node) -> bool:
    """Returns whether an lvalue is a variable, a member of one or an element with a number."""
    match place:
        case ir.StructRef(type=".", name=of) | ir.ArrayRef(name=of, subscript=ir.Constant()):
            return _is_one_place(of)
    return isinstance(place, ir.ID)


def _written(node: ir.Node) -> tuple[str, ...]:
    """Returns a condition on variables and constants as words; empty for one that does more."""
    match node:
        case ir.Constant(value=value):
            return (str(value),)
        case ir.ID(name=name):
            return (name,)
        case ir.StructRef(name=ir.ID(name=name), field=ir.ID(name=axis)) if name in _BUILT_IN:
            return (f"{name}.{axis}",)
        case ir.UnaryOp(op="!" | "-" | "~" as op, expr=expr):
            inner = _written(expr)
            return (op, "(", *inner, ")") if inner else ()
        case ir.BinaryOp(op=op, left=left, right=right):
            parts = _written(left), _written(right)
            return ("(", *parts[0], op, *parts[1], ")") if all(parts) else ()
    return ()
