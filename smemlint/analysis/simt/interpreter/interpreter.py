"""Runs a function's body for all threads of a block at once: the whole evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.masks import is_any
from smemlint.analysis.simt.loops.loops import Loops

if TYPE_CHECKING:
    from pycparser import c_ast

    from smemlint.analysis.simt.state import Mask


class Interpreter(Loops):
    """Runs statements."""

    _asked: Mask | None = None
    _answer = False

    def execute(self, node: c_ast.Node | None) -> None:
        """Runs a statement for the active threads."""
        if node is None or not self._is_any_active():
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

    def _is_any_active(self) -> bool:
        if self.mask is not self._asked:  # masks are never changed in place
            self._asked, self._answer = self.mask, is_any(self.mask)
        return self._answer


__all__ = ["Interpreter"]
