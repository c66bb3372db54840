"""Variables whose members are given values one by one, and which are stored whole."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.frontend import ir


def filled_by_members(block: ir.Compound) -> Iterator[ir.Node]:
    """Yields the variables that a block stores or returns, each member given a value by itself."""
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
