"""Narrowed loads: of a vector or struct of which few members are read, the compiler loads those.

SASS of nvcc 13.0.88, sm_90, -O3, with `float4 v = s4[t]` and what is read of `v`: x alone is one
LDS, x and y or z and w one LDS.64, y and z, x and z or x and w two LDS, three members one LDS.128.
That is what becomes of loads of the members one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemlint.frontend import ir

_LOADS = (ir.ArrayRef, ir.UnaryOp, ir.StructRef, ir.FuncCall)


def members_read(block: ir.Compound) -> dict[ir.Node, frozenset[str]]:
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
    if not loaded:
        return {}
    found: dict[str, set[str]] = {name: set() for name in loaded}
    for name, member in _uses(block, loaded):
        if member is None:
            several.add(name)
        else:
            found[name].add(member)
    return {
        loaded[name]: frozenset(members)
        for name, members in found.items()
        if members and name not in several
    }


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


def _uses(node: ir.Node, names: Mapping[str, ir.Node]) -> Iterator[tuple[str, str | None]]:
    """Yields the uses of the names: the member that is read, or None for any other use."""
    match node:
        case ir.ID() if node.name in names:
            yield node.name, None
        case ir.StructRef(name=ir.ID(name=name)) if name in names and node.type == ".":
            yield name, node.field.name
        case ir.UnaryOp(op="&", expr=ir.StructRef(name=ir.ID(name=name))) if name in names:
            yield name, None
        case ir.Decl() if node.name in names and node.init is not names[node.name]:
            yield node.name, None
        case _:
            for child in node.children():
                yield from _uses(child, names)
