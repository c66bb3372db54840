"""Variables of a block that are given what is loaded, and what their values are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.analysis.simt.codegen.branches.branch_shapes import (
    PLACES,
    is_counted,
    is_part,
    statements,
)
from smemlint.analysis.simt.codegen.slow_paths import NAMES
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

MATH_FUNCTIONS = frozenset((*NAMES, "expf", "__expf", "fmaxf", "fminf", "fabsf"))
PURE = MATH_FUNCTIONS | {"max", "min", "fma", "fmaf"}


@dataclass(frozen=True, slots=True)
class LoadedValue:
    """What a block computes of a load, and of nothing else that changes.

    Attributes:
        is_open: whether it sinks as a load does is not known.
        loop: that gives it to each element of an array.
        is_part: it is of one element or member, and the names are of all.
    """

    loads: tuple[ir.Node, ...]
    names: frozenset[str]
    is_open: bool
    loop: ir.For | None = None
    is_part: bool = False


def loaded_values(items: Sequence[ir.Node]) -> Iterator[tuple[int, LoadedValue]]:
    """Yields the variables of a block that are given what is loaded, and where."""
    own = set(own_variables(items))
    for k, item in enumerate(items):
        name, value = given_value(item)
        loads = loads_of(value) if name in own and value is not None else ()
        if not loads or value is None:
            continue
        is_open = not isinstance(value, ir.InitList) and is_sum(value)
        is_part = gives_part(item)
        if is_part:
            is_settled = _is_in_registers(name, items)
            if is_settled is None:
                continue
            is_open |= not is_settled
        loop = item if isinstance(item, ir.For) else None
        yield k, LoadedValue(loads, frozenset((name,)), is_open, loop, is_part)


def own_variables(items: Sequence[ir.Node]) -> Iterator[str]:
    """Yields the variables that statements declare and each thread has for itself."""
    for item in items:
        if isinstance(item, ir.Decl) and is_own(item):
            yield item.name


def given_value(item: ir.Node) -> tuple[str, ir.Node | None]:
    """Returns the variable that a statement gives a value, and the value; it does nothing else.

    So does one that gives a value to an element or member, and a short loop of such statements.
    """
    match item:
        case ir.Decl(name=name, init=ir.Expression() as value) if is_own(item):
            return name, value if _is_pure(value) else None
        case ir.Assignment(op="=", lvalue=place, rvalue=value):
            return variable_of(place), value if _is_pure(value) else None
        case ir.Assignment(lvalue=place):
            return variable_of(place), item if _is_pure(item) else None
        case ir.For(stmt=body) if not is_counted(item) and len(statements(body)) == 1:
            inner = statements(body)[0]
            return given_value(inner) if isinstance(inner, ir.Assignment | ir.For) else ("", None)
    return "", None


def gives_part(item: ir.Node) -> bool:
    """Returns whether a statement gives values to elements or members, see `given_value`."""
    while isinstance(item, ir.For):
        item = statements(item.stmt)[0]
    if isinstance(item, ir.Decl):
        return isinstance(item.type, ir.ArrayDecl)
    return isinstance(item, ir.Assignment) and not isinstance(item.lvalue, ir.ID)


def variable_of(place: ir.Node) -> str:
    """Returns the variable that a name, an element or a member is of; empty for none."""
    while isinstance(place, ir.ArrayRef) or (isinstance(place, ir.StructRef) and place.type == "."):
        place = place.name
    return place.name if isinstance(place, ir.ID) else ""


def is_own(item: ir.Decl) -> bool:
    """Returns whether a declaration is of a variable that each thread has."""
    ctype = item.type
    while isinstance(ctype, ir.ArrayDecl):
        ctype = ctype.type
    return isinstance(ctype, ir.TypeDecl) and not item.storage and not is_volatile(item)


def is_volatile(item: ir.Decl) -> bool:
    """Returns whether a variable lies in memory, so that all threads make what it is given."""
    ctype: ir.Type = item.type
    while isinstance(ctype, ir.ArrayDecl):
        ctype = ctype.type
    return "volatile" in (*item.quals, *getattr(ctype, "quals", ()))


def _is_in_registers(name: str, items: Sequence[ir.Node]) -> bool | None:
    """Returns whether all indexes of an array are constants once loops are unrolled.

    None where its address is taken, or something else is done with all of it.
    """
    counters: dict[str, bool] = {}
    places: list[ir.ArrayRef | ir.StructRef] = []
    uses = 0
    for node in (node for item in items for node in item.walk()):
        match node:
            case ir.For(cond=ir.BinaryOp(left=ir.ID(name=counter))):
                counters[counter] = not is_counted(node) and counters.get(counter, True)
            case ir.UnaryOp(op="&", expr=expr) if variable_of(expr) == name:
                return None
            case ir.Decl(type=ir.PtrDecl(), init=ir.Expression() as init):
                if variable_of(init) == name:
                    return None
            case ir.ID() if node.name == name:
                uses += 1
            case ir.ArrayRef() if variable_of(node) == name:
                places.append(node)
            case ir.StructRef():
                uses -= node.field.name == name
                if variable_of(node) == name:
                    places.append(node)
    if uses > sum(isinstance(place.name, ir.ID) for place in places):
        return None
    indexes = [place.subscript for place in places if isinstance(place, ir.ArrayRef)]
    parts = [part for index in indexes for part in index.walk()]
    return all(
        counters.get(part.name, False)
        if isinstance(part, ir.ID)
        else isinstance(part, ir.Constant | ir.BinaryOp)
        for part in parts
    )


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
            case ir.InitList(exprs=exprs):
                worklist += reversed(exprs)
            case ir.FuncCall(name=ir.ID(name=name), args=args) if name in PURE:
                worklist += reversed(args)
            case leaf:
                yield leaf


def is_sum(value: ir.Node) -> bool:
    """Returns whether an expression is made of more than one thing that is no constant."""
    return sum(not isinstance(leaf, ir.Constant) for leaf in leaves_of(value)) > 1


def loads_of(value: ir.Node) -> tuple[ir.Node, ...]:
    """Returns the places that arithmetic reads; none where it is more than arithmetic."""
    if not _is_pure(value):
        return ()
    return tuple(leaf for leaf in leaves_of(value) if is_part(leaf))


def ends_in_select(item: ir.Node, later: Sequence[ir.Node]) -> bool:
    """Returns whether a function ends here with a constant or arithmetic: with a select."""
    if not isinstance(item, ir.If) or (item.iffalse is None) != (len(later) == 1):
        return False
    found = [
        last.expr
        for way in (item.iftrue, item.iffalse or later[0])
        for last in [statements(way)[0] if way is not None and len(statements(way)) == 1 else None]
        if isinstance(last, ir.Return) and last.expr is not None
    ]
    parts = [leaf for value in found for leaf in leaves_of(value)]
    is_plain = all(isinstance(leaf, ir.ID | ir.Constant) for leaf in parts)
    is_plain = is_plain and not any(map(_calls_or_divides, found))
    return len(found) == 2 and is_plain and any(isinstance(v, ir.Constant) for v in found)


def _calls_or_divides(value: ir.Node) -> bool:
    return any(
        isinstance(node, ir.FuncCall) or (isinstance(node, ir.BinaryOp) and node.op in ("/", "%"))
        for node in value.walk()
    )
