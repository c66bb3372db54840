"""Variables of a block that are given what is loaded, and what their values are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.analysis.simt.codegen.branch_shapes import PLACES, is_counted
from smemlint.analysis.simt.codegen.slow_paths import NAMES
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_PURE = {*NAMES, "expf", "__expf", "fmaxf", "fminf", "max", "min", "fabsf", "fma", "fmaf"}


@dataclass(slots=True)
class LoadedValue:
    """What a block computes of a load, and of nothing else that changes."""

    loads: tuple[ir.Node, ...]
    names: frozenset[str]
    is_open: bool


def loaded_values(items: Sequence[ir.Node]) -> Iterator[tuple[int, LoadedValue]]:
    """Yields the variables of a block that are given what is loaded, and where."""
    own: set[str] = set()
    for k, item in enumerate(items):
        if isinstance(item, ir.Decl) and _is_plain(item):
            own.add(item.name)
        name, value = given_value(item)
        if name not in own or value is None:
            continue
        loads = _loads_of(value)
        if loads:
            others = (n for n in leaves_of(value) if not isinstance(n, ir.Constant))
            is_open = sum(1 for _ in others) > 1
            yield k, LoadedValue(loads, frozenset((name,)), is_open)


def given_value(item: ir.Node) -> tuple[str, ir.Node | None]:
    """Returns the variable that a statement gives a value, and the value; it does nothing else."""
    match item:
        case ir.Decl(name=name, init=ir.Expression() as value) if _is_plain(item):
            return name, value if _is_pure(value) else None
        case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=value):
            return name, value if _is_pure(value) else None
        case ir.Assignment(lvalue=ir.ID(name=name)):
            return name, item if _is_pure(item) else None
        case ir.For(cond=ir.BinaryOp(right=ir.Constant()), stmt=ir.Assignment() as sum_):
            return given_value(sum_)
        case ir.For(stmt=ir.Compound(block_items=(ir.Assignment() as sum_,))):
            return given_value(sum_) if not is_counted(item) else ("", None)
    return "", None


def _is_plain(item: ir.Decl) -> bool:
    return isinstance(item.type, ir.TypeDecl) and not item.storage


def _is_pure(value: ir.Node) -> bool:
    """Returns whether an expression is arithmetic on what it loads and names."""
    return all(isinstance(leaf, (*PLACES, ir.ID, ir.Constant)) for leaf in leaves_of(value))


def leaves_of(value: ir.Node) -> Iterator[ir.Node]:
    """Yields what arithmetic is made of: places, names, constants, and what is none."""
    worklist = [value]
    while worklist:
        match worklist.pop():
            case ir.BinaryOp(left=left, right=right):
                worklist += (right, left)
            case ir.Assignment(op=op, lvalue=left, rvalue=right) if op != "=":
                worklist += (right, left)
            case ir.Cast(expr=expr) | ir.UnaryOp(op="-" | "+" | "~" | "!", expr=expr):
                worklist.append(expr)
            case ir.FuncCall(name=ir.ID(name=name), args=args) if name in _PURE:
                worklist += reversed(args)
            case leaf:
                yield leaf


def _loads_of(value: ir.Node) -> tuple[ir.Node, ...]:
    return tuple(
        leaf
        for leaf in leaves_of(value)
        if isinstance(leaf, ir.ArrayRef) or (isinstance(leaf, ir.UnaryOp) and leaf.op == "*")
    )
