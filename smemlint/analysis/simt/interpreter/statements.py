"""Executes blocks and the statements that hold others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemlint.analysis.simt.calls.destruction import end_lifetimes
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.frontend.program import DIRECTIVE

Items = tuple[ir.BlockItem, ...]


@executes(ir.Compound)
def execute_block(ev: Evaluator, node: ir.Compound) -> None:
    """Executes a block in a scope of its own."""
    state = ev.state
    frame = state.frame
    is_of_kernel = len(state.frames) == 1
    if ev.policy.tracks_scev:  # what the compiler makes of loads of host code is not asked
        state.node_facts.read_block(node)
    frame.enter_scope()
    try:
        for item in _items_of(ev, node):
            if is_of_kernel:
                state.under_way = item
            ev.execute(item)
        end_lifetimes(ev, frame.scopes[-1], node)
    finally:
        frame.leave_scope()


def _items_of(ev: Evaluator, node: ir.Compound) -> Sequence[ir.BlockItem]:
    """Returns the statements of a block; those that jump forward as branches."""
    known = ev.state.node_facts.without_jumps
    if node in known:
        return known[node]
    items = node.block_items
    has_labels = any(isinstance(item, ir.Label) for item in items)
    known[node] = without_forward_jumps(items) if has_labels else items
    return known[node]


@executes(ir.EmptyStatement)
def execute_nothing(ev: Evaluator, node: ir.EmptyStatement) -> None:
    """Does nothing."""


@executes(ir.Using)
def execute_directive(ev: Evaluator, node: ir.Using) -> None:
    """Makes names visible up to the end of the block."""
    ev.state.frame.open_names(DIRECTIVE + node.text)


@executes(ir.DeclList)
def execute_declarations(ev: Evaluator, node: ir.DeclList) -> None:
    """Executes declarations, one by one."""
    for decl in node.decls:
        ev.execute(decl)


@executes(ir.Label)
def execute_labelled(ev: Evaluator, node: ir.Label) -> None:
    """Executes a statement with a label."""
    ev.policy.on_jump(ev, node)
    ev.execute(node.stmt)


def without_forward_jumps(items: Sequence[ir.BlockItem]) -> Items:
    """Returns the statements of a block with its jumps to a later label of it as branches.

    Of `if (c) goto end; work(); end:` what stands between the jump and its label becomes the other
    way of the branch.
    """
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
            item, iftrue=ir.Compound(begun, at=item.at), iffalse=ir.Compound(other, at=item.at)
        ),
    )
