"""Desugars CUDA C++ to the tokens of C's grammar; see `parse` for the contract."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.frontend.cuda.parser.desugar_expressions import desugar_arguments, desugar_expression
from smemlint.frontend.cuda.parser.desugar_statements import desugar_statements
from smemlint.frontend.cuda.parser.grammar import Grammar
from smemlint.frontend.cuda.parser.qualified_names import Word


class Desugarer(Grammar):
    """Collects the grammar tokens of statements, expressions and types."""

    def expression(self, words: Sequence[Word]) -> None:
        """Desugars an expression; an empty one gives nothing."""
        desugar_expression(self, words)

    def arguments(self, words: Sequence[Word]) -> None:
        """Desugars comma-separated arguments."""
        desugar_arguments(self, words)

    def statements(self, words: Sequence[Word], i: int, stop: int) -> None:
        """Desugars the statements from `i` to `stop`."""
        desugar_statements(self, words, i, stop)
