"""Jumps forward within a block, as branches: `if (c) goto end; work(); end:`.

What stands between the jump and its label becomes the other way of the branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemlint.frontend import ir

Items = tuple[ir.BlockItem, ...]


def without_forward_jumps(items: Sequence[ir.BlockItem]) -> Items:
    """Returns the statements of a block with its jumps to a later label of it as branches."""
    labels = {item.name: i for i, item in enumerate(items) if isinstance(item, ir.Label)}
    for i, item in enumerate(items):
        name = _target(item)
        end = labels.get(name, 0)
        if end > i:
            between = (
                *items[i + 1 : end],
                ir.Label(name, ir.EmptyStatement(at=item.at), at=item.at),
            )
            rest = without_forward_jumps(items[end:])
            return (*items[:i], *_branched(item, between), *rest)
    return tuple(items)


def _target(item: ir.Node | None) -> str:
    """Returns the label that a statement ends in a jump to, or its first way does; else ''."""
    match item:
        case ir.Goto(name=name):
            return name
        case ir.Compound(block_items=[*_, last]):
            return _target(last) if isinstance(last, ir.Goto) else ""
        case ir.If(iftrue=way):
            return "" if isinstance(way, ir.If) else _target(way)
    return ""


def _branched(item: ir.BlockItem, between: Items) -> Items:
    """Returns a jump as the branch around what it leaves out."""
    way = item.iftrue if isinstance(item, ir.If) else item
    begun = way.block_items[:-1] if isinstance(way, ir.Compound) else ()
    if not isinstance(item, ir.If):
        return (ir.Compound(begun, at=item.at),)
    other = (item.iffalse, *between) if item.iffalse is not None else between
    return (
        replace(
            item,
            iftrue=ir.Compound(begun, at=item.at),
            iffalse=ir.Compound(other, at=item.at),
        ),
    )
