"""A Python source as a libcst tree, with the exact source range of every node."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from smemlint.facts import Span

if TYPE_CHECKING:
    from collections.abc import Callable


class CannotParse(Exception):
    """The text is not Python 3; `span` is where it stops being it."""

    def __init__(self, span: Span, reason: str) -> None:
        super().__init__(reason)
        self.span = span
        self.reason = reason


@dataclass(frozen=True, eq=False)
class PythonTree:
    """A parsed module.

    Attributes:
        path: as given.
        text: the source.
        module: its tree.
    """

    path: str
    text: str
    module: cst.Module

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, object]:
        wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
        return wrapper.resolve(PositionProvider)

    @cached_property
    def lines(self) -> list[str]:
        """The source by lines, as Python splits them."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands, parentheses around it left out."""
        found = self._positions.get(node)
        if found is None:
            return Span(self.path, 1, 1, 1, 1)
        start, end = found.start, found.end  # type: ignore[attr-defined]
        return Span(self.path, start.line, start.column + 1, end.line, end.column + 1)

    def source(self, span: Span) -> str:
        """Source text of a range."""
        lines = self.lines[span.line - 1 : span.end_line]
        if not lines:
            return ""
        lines = [*lines[:-1], lines[-1][: span.end_column - 1]]
        return "\n".join([lines[0][span.column - 1 :], *lines[1:]])

    def spelling(self, node: cst.CSTNode) -> str:
        """Source text of a node on one line."""
        return " ".join(self.source(self.span(node)).split())


def parse_python(path: str, text: str) -> PythonTree:
    """Parses a module.

    Raises:
        CannotParse: the text is not Python 3, or is nested too deeply.
    """
    try:
        module = cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, ValueError) as error:
        raise _said_by_python(path, text, error) from None
    return PythonTree(path, text, module)


def _said_by_python(path: str, text: str, error: Exception) -> CannotParse:
    """The place and reason as Python's own parser gives them, which knows them better."""
    line, column, reason = 1, 1, str(error).split("\n", 1)[0]
    try:
        ast.parse(text)
    except SyntaxError as found:
        line, column, reason = found.lineno or 1, found.offset or 1, found.msg
    except (RecursionError, ValueError, MemoryError) as found:
        reason = str(found)
    where = Span(path, line, column, line, column + 1)
    return CannotParse(where, f"cannot be parsed as Python 3: {reason}")


def walk(
    node: cst.CSTNode, *, into: Callable[[cst.CSTNode], bool] | None = None
) -> Iterator[cst.CSTNode]:
    """A node and all below it in source order; `into` says whose children are visited."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if into is None or current is node or into(current):
            stack.extend(reversed(current.children))


def statements(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of a body, those that share a line one by one."""
    for item in getattr(body, "body", ()):
        if isinstance(item, cst.SimpleStatementLine):
            yield from item.body
        else:
            yield item
