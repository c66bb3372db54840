"""Inline PTX: what reads and runs it is imported when a function has some."""

from __future__ import annotations

from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.values import Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir


@evaluates(ir.Assembly)
def evaluate_assembly(ev: Evaluator, node: ir.Assembly) -> Value:
    """Runs the instructions of an `asm` statement."""
    from smemlint.analysis.simt.inline_ptx.statements import run_assembly

    return run_assembly(ev, node)
