"""Branches that LLVM makes one of, as the one before them hangs on the same condition.

SimplifyCFG threads a jump through a block that computes nothing. nvcc 13.0.88, -O3, sm_90, of an
aligned array, `t` the thread and `n` an argument:

| two neighbours | SASS |
| --- | --- |
| `a = t < n ? s[2 * t] : 0; b = t < n ? s[2 * t + 1] : 0;`, declarations, too | LDS.64 |
| `if (t < n) a = s[2 * t]; if (t < n) b = s[2 * t + 1];`, a constant for n, stores, `x < y` | 64 |
| four of them | LDS.128 |
| the same with `t < n` and `t < m` | two LDS |
| the same with `x += y;` or `d = sinf(a);` between | two LDS |
| two iterations of a loop that is unrolled, `if (t < n) a += s[4 * t + i];` | two LDS |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from smemlint.analysis.simt.loops.mod_ref import ModRef
from smemlint.frontend import ir

_BUILT_IN = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))


def branches_that_go_on(
    block: ir.Compound, mod_ref: Callable[[ir.Node], ModRef | None]
) -> Iterator[ir.Node]:
    """Yields the branches of a block that stand right behind one on the same condition."""
    for before, item in pairwise(block.block_items):
        first, second = _one_way_branch(before), _one_way_branch(item)
        if first is None or second is None:
            continue
        text = _written(first.cond)
        if not text or text != _written(second.cond):
            continue
        effects = mod_ref(first.iftrue) if isinstance(first, ir.If) and first.iftrue else None
        changed = _name_given(before) if effects is None else effects.modified
        if isinstance(first, ir.If) and effects is None:
            continue
        if changed.isdisjoint(text):
            yield second


def _one_way_branch(item: ir.Node) -> ir.If | ir.TernaryOp | None:
    """Returns the branch that a statement is, if it does nothing on its other way."""
    match item:
        case ir.If(iffalse=None, is_constexpr=False):
            return item
        case (
            ir.Decl(init=ir.TernaryOp() as choice, storage=())
            | ir.Assignment(op="=", lvalue=ir.ID(), rvalue=ir.TernaryOp() as choice)
        ) if isinstance(choice.iffalse, ir.Constant | ir.ID):
            return choice
    return None


def _name_given(item: ir.Node) -> frozenset[str]:
    match item:
        case ir.Decl(name=name) | ir.Assignment(lvalue=ir.ID(name=name)):
            return frozenset((name,))
    return frozenset()


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
