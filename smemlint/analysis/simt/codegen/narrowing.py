"""Narrowed loads: of a vector or struct of which few members are read, the compiler loads those.

SASS of nvcc 13.0.88, sm_90, -O3, with `float4 v = s4[t]` and what is read of `v`: x alone is one
LDS, x and y or z and w one LDS.64, y and z, x and z or x and w two LDS, three members one LDS.128.
That is what becomes of loads of the members one by one, be they elements of arrays or in classes in
the class, and read by a function that takes it by value. Of `if (c) x = v.x + v.y; else x = v.w;`
each way loads its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_Part: TypeAlias = "tuple[str, str]"
"""A member, and which element of it."""
_Way: TypeAlias = "tuple[ir.Node, ...]"
"""The ways of branches that a statement stands in, outermost first."""
_LOADS = (ir.ArrayRef, ir.UnaryOp, ir.StructRef, ir.FuncCall)


@dataclass(frozen=True, slots=True)
class MembersRead:
    """What is read of a variable that is loaded whole.

    Attributes:
        names: of members.
        is_parted: ways of branches read others, each of which may load its own.
    """

    names: frozenset[str]
    is_parted: bool


def members_read(block: ir.Compound) -> dict[ir.Node, MembersRead]:
    """Returns the members that a block reads of variables which it loads whole.

    Args:
        block: with the declarations.

    Returns:
        By the initializer of each variable that only stands in front of a member's name.
    """
    loaded: dict[str, ir.Node] = {}
    several: set[str] = set()
    for item in block.block_items:
        if isinstance(item, ir.Decl) and item.name:
            init = _loading(item)
            if item.name in loaded or init is None:
                several.add(item.name)
            else:
                loaded[item.name] = init
    found = _read_of(block, {n: load for n, load in loaded.items() if n not in several})
    return {loaded[name]: members for name, members in found.items()}


def members_of_parameter(body: ir.Node, name: str) -> MembersRead | None:
    """Returns the members that a function reads of what it takes by value; None if it does more."""
    return _read_of(body, {name: body}).get(name)


def _read_of(block: ir.Node, names: Mapping[str, ir.Node]) -> dict[str, MembersRead]:
    """Returns what is read of variables that only stand in front of a member's name."""
    uses: dict[str, dict[_Part | None, set[_Way]]] = {name: {} for name in names}
    for name, member, way in _uses(block, names, ()) if names else ():
        uses[name].setdefault(member, set()).add(way)
    found: dict[str, MembersRead] = {}
    for name, read in uses.items():
        if read and None not in read:
            ways = {way for part in read.values() for way in part}
            is_parted = () not in ways and any(part != ways for part in read.values())
            found[name] = MembersRead(frozenset(part[0] for part in read if part), is_parted)
    return found


def filled_by_members(block: ir.Compound) -> Iterator[ir.Node]:
    """Yields the variables that a block stores or returns, each member given a value by itself.

    Args:
        block: with the declarations.
    """
    filled: set[str] = set()
    for item in block.block_items:
        if isinstance(item, ir.Decl) and isinstance(item.type, ir.TypeDecl) and item.name:
            has_values = isinstance(item.init, ir.InitList) and item.init.exprs
            if item.init is None or has_values:
                filled.add(item.name)
    stored: list[ir.ID] = []
    own = set(block.block_items) if filled else set()
    for node in block.walk() if filled else ():
        match node:
            case ir.Assignment(lvalue=ir.ID(name=name)) | ir.UnaryOp(op="&", expr=ir.ID(name=name)):
                filled.discard(name)
            case ir.Decl() if node not in own:
                filled.discard(node.name)
            case ir.Assignment(op="=", rvalue=ir.ID() as value) | ir.Return(expr=ir.ID() as value):
                stored.append(value)
    yield from (value for value in stored if value.name in filled)


def _loading(declaration: ir.Decl) -> ir.Node | None:
    """Returns the expression that a variable is loaded by."""
    init = declaration.init
    if not isinstance(declaration.type, ir.TypeDecl) or not isinstance(init, _LOADS):
        return None
    return init if not isinstance(init, ir.UnaryOp) or init.op == "*" else None


def _uses(
    node: ir.Node, names: Mapping[str, ir.Node], way: _Way
) -> Iterator[tuple[str, _Part | None, _Way]]:
    """Yields the uses of the names: the part that is read, None for any other use, and where."""
    match node:
        case ir.ID() if node.name in names:
            yield node.name, None, way
        case ir.ArrayRef(
            name=ir.StructRef(type=".", name=ir.ID(name=name), field=field),
            subscript=ir.Constant(value=index),
        ) if name in names:
            yield name, (field.name, index), way
        case ir.StructRef(name=ir.ID(name=name)) if name in names and node.type == ".":
            yield name, (node.field.name, ""), way
        case ir.UnaryOp(op="&", expr=ir.StructRef(name=ir.ID(name=name))) if name in names:
            yield name, None, way
        case ir.Decl() if node.name in names and node.init is not names[node.name]:
            yield node.name, None, way
        case _:
            for child in node.children():
                is_way = isinstance(node, ir.If) and child is not node.cond
                yield from _uses(child, names, (*way, child) if is_way else way)
