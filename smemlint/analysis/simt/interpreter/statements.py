"""Executes blocks and the statements that hold others."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.calls.destruction import end_lifetimes
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.forward_jumps import without_forward_jumps
from smemlint.frontend import ir
from smemlint.frontend.program import DIRECTIVE


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
