"""Runs a function's body for all threads of a block at once: the whole evaluator."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.evaluate.loops import Loops


class Interpreter(Loops):
    """Runs statements."""

    def execute(self, node: c_ast.Node | None) -> None:
        """Runs a statement for the active threads."""
        if node is None or not self.mask.any():
            return
        if self.trace.is_muted and self.is_idle(node):
            return
        self.step()
        method = self.executor(node)
        if method is not None:
            method(node)
        else:
            self.discarded = node
            self.evaluate(node)


__all__ = ["Interpreter"]
