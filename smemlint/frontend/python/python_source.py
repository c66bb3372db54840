"""Python texts as syntax trees with spans in code points.

`ast` reads ten times as fast as libcst and positions are all that is needed: nothing is rewritten.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

from smemlint.facts import Facts, NotAnalysed, Span
from smemlint.files.sandbox import Sandbox
from smemlint.frontend.python.python2 import as_python_3, divide_as_python_2
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.source import Source, lines_of

_MAGIC = re.compile(r"^[!%]{1,2}[A-Za-z][^\n]*", re.MULTILINE)
"""A line of a notebook that was saved as a script, for IPython alone."""


class NotPython(Exception):
    """The text is no Python, for a reason; `span` is the place of the error."""

    def __init__(self, reason: Reason, span: Span) -> None:
        super().__init__(reason.text)
        self.reason = reason
        self.span = span

    @property
    def facts(self) -> Facts:
        """Returns the facts of such a text: a note that it is not analysed."""
        return Facts(not_analysed=(NotAnalysed(self.span, "", self.reason),))


@dataclass(eq=False)
class PythonText:
    """A parsed file."""

    path: str
    text: str
    tree: ast.Module
    below: str = ""

    @property
    def sandbox(self) -> Sandbox:
        """Returns what the file may read."""
        return Sandbox.around(self.path, self.below)

    @staticmethod
    def of(source: Source) -> PythonText:
        """Returns the parsed file.

        Raises:
            NotPython: it cannot be parsed.
        """
        try:
            tree = _parsed(source.text)
        except SyntaxError as error:
            line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
            where = Span(source.path, line, column, line, column)
            text = f"cannot be parsed as Python 3: {error.msg}"
            raise NotPython(Reason(ReasonCode.SYNTAX, text), where) from None
        except (RecursionError, MemoryError):
            where = Span(source.path, 1, 1, 1, 1)
            text = "cannot be parsed: nested too deeply"
            raise NotPython(Reason(ReasonCode.NESTING_LIMIT, text), where) from None
        except ValueError as error:
            where = Span(source.path, 1, 1, 1, 1)
            text = f"cannot be parsed as Python 3: {error}"
            raise NotPython(Reason(ReasonCode.SYNTAX, text), where) from None
        return PythonText(source.path, source.text, tree, source.below)

    @cached_property
    def _lines(self) -> Sequence[str]:
        return lines_of(self.text)

    def span(self, node: ast.AST) -> Span:
        """Returns the place of an expression or statement; the start of the file for the module."""
        line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1) or 1
        column = self._column(line, getattr(node, "col_offset", 0))
        return Span(
            self.path, line, column, end, self._column(end, getattr(node, "end_col_offset", 0))
        )

    def segment(self, node: ast.AST) -> str:
        """Returns the text of an expression or statement."""
        return self.within(self.span(node))

    def within(self, span: Span) -> str:
        """Returns the text of a place."""
        lines = list(self._lines[span.line - 1 : span.end_line])
        if not lines:
            return ""
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return "\n".join(lines)

    def spelling(self, node: ast.AST) -> str:
        """Returns the text of an expression or statement on one line."""
        return " ".join(self.segment(node).split())

    def name_span(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
        """Returns the place of a function's name."""
        span = self.span(node)
        row = self._lines[span.line - 1][span.column - 1 :]
        column = span.column + max(row.find(node.name, len("def")), 0)
        return Span(self.path, span.line, column, span.line, column + len(node.name))

    def _column(self, line: int, offset: int) -> int:
        """Returns a column from 1 in code points of an offset in UTF-8."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="replace")) + 1


def _parsed(text: str) -> ast.Module:
    """Returns the tree of a text; of one in Python 2, or for IPython, that of its nearest text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the linted text
        try:
            return ast.parse(text)
        except SyntaxError:
            plain = _MAGIC.sub("pass", text)
            if plain != text:
                with suppress(SyntaxError):
                    return ast.parse(plain)
            again = as_python_3(plain)
            if again is None:
                raise
            with suppress(SyntaxError):
                tree = ast.parse(again)
                divide_as_python_2(tree)
                return tree
            raise


def belong(text: PythonText, *nodes: ast.AST) -> None:
    """Records for nodes, or all of a file, that they are of this text: see `text_of`."""
    for node in nodes or ast.walk(text.tree):
        node.smemlint_text = text  # type: ignore[attr-defined]


def text_of(node: ast.AST, default: PythonText) -> PythonText:
    """Returns the text that `belong` recorded for a node, else the default."""
    found: PythonText = getattr(node, "smemlint_text", default)
    return found
