"""Executes blocks and the statements that hold others."""

from __future__ import annotations

from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.evaluator import Evaluator
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
        for item in node.block_items:
            if is_of_kernel:
                state.under_way = item
            ev.execute(item)
    finally:
        frame.leave_scope()


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
    ev.execute(node.stmt)
