"""Edits of Python sources, made on libcst's concrete syntax tree.

An edit is placed in the one token that holds it: a comment, a string literal (whose text may be
CUDA C++), a name or a number; or it makes an element of a tuple or list a number or a sum.
Everything else is written back byte for byte. An edit that would cross a token boundary is refused,
so that no edit can change what Python reads elsewhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import libcst as cst
from libcst.metadata import (
    CodePosition,
    CodeRange,
    MetadataWrapper,
    PositionProvider,
    WhitespaceInclusivePositionProvider,
)

from smemlint.finding import Edit
from smemlint.fix.edits import CannotEdit
from smemlint.frontend.cuda.lexer.tokens import LineMap
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SYNTAX_DEPTH

_VALUES = (cst.SimpleString, cst.FormattedStringText, cst.Name, cst.Integer, cst.Float)
_STRINGS = (cst.SimpleString, cst.FormattedString)
_LINE_ENDS = (cst.TrailingWhitespace, cst.EmptyLine)
_LINE_END = re.compile(r"((?:[ \t\f]|\\\r?\n)*)(#[^\r\n]*)?(\r\n|\r|\n|)")
_STAND_IN = 0xF0080 - 0xDC80
"""From a lone surrogate, which stands for a byte that is no UTF-8, to a private character."""
_UNDECODED = re.compile("[\udc80-\udcff]")
_STAND_INS = re.compile("[\U000f0080-\U000f00ff]")
_UNSAFE = re.compile("[\U000f0080-\U000f00ff]|\r(?!\n)")


_IN_F_STRINGS = frozenset("{}'\"\\")
"""Characters that end or escape the text between the fields of an f-string."""

Node = TypeVar("Node", bound=cst.CSTNode)


def edit_python(text: str, edits: Iterable[Edit]) -> str:
    """Applies edits to a module; an edit that is given twice is made once.

    Args:
        text: of the module; bytes that are no UTF-8 as lone surrogates.
        edits: of its file, lines and columns in code points.

    Raises:
        CannotEdit: the module cannot be read, or an edit fits in no single token.
    """
    lines = LineMap(text)
    replacements = {
        _Replacement(lines.offset(s.line, s.column), lines.offset(s.end_line, s.end_column), new)
        for s, new in {(e.span, e.text) for e in edits}
    }
    editor = _Editor(text, replacements)
    result = editor.apply()
    if editor.left:
        first = min(editor.left, key=lambda r: r.start)
        raise CannotEdit(f"the edit at offset {first.start} lies in no single token")
    return result


def insert_comment_lines(text: str, comments: Mapping[int, str]) -> tuple[str, frozenset[int]]:
    """Inserts comment lines, each before a line and indented like it.

    Args:
        text: of the module; bytes that are no UTF-8 as lone surrogates.
        comments: by the number of the line that the comment precedes, `#` included.

    Returns:
        The module, and the lines before which no comment can stand (inside a string literal or
        behind a backslash, say): nothing is inserted there.

    Raises:
        CannotEdit: the module cannot be read.
    """
    inserter = _Inserter(text, comments)
    result = inserter.apply()
    return result, frozenset(inserter.left)


def lines_in_strings(text: str) -> frozenset[int]:
    """Returns the lines that begin inside a string literal.

    Raises:
        CannotEdit: the module cannot be read.
    """
    found: set[int] = set()
    for node, place in _read(text).resolve(PositionProvider).items():
        if isinstance(node, _STRINGS):
            found.update(range(place.start.line + 1, place.end.line + 1))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """Replaces the characters from `start` to `end`, offsets in the module."""

    start: int
    end: int
    text: str


class _Transformer(cst.CSTTransformer):
    """A transformation of one module that keeps all bytes which it does not mean to change."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._wrapper = _read(text)

    def apply(self) -> str:
        """Returns the text of the transformed module."""
        return _decoded(self._wrapper.module.visit(self).code)


class _Editor(_Transformer):
    """Applies each replacement in the token that holds it."""

    def __init__(self, text: str, replacements: Iterable[_Replacement]) -> None:
        super().__init__(text)
        self.left = set(replacements)
        self._text = text
        self._lines = LineMap(text)
        self._positions = self._wrapper.resolve(WhitespaceInclusivePositionProvider)

    def on_leave(self, original_node: Node, updated_node: Node) -> Node | cst.RemovalSentinel:
        """Replaces a token's text, or removes its line where nothing of it is left."""
        if not self.left:
            return updated_node
        if isinstance(original_node, cst.Element):
            return self._with_extent(original_node, updated_node)
        if not isinstance(original_node, (*_VALUES, *_LINE_ENDS)):
            return updated_node
        place = self._positions[original_node]
        start, end = self._offset(place.start), self._offset(place.end)
        replacements = [r for r in self.left if start <= r.start and r.end <= end]
        if not replacements:
            return updated_node
        token = self._text[start:end]
        replaced = _replaced(token, start, replacements)
        changed = _with_text(updated_node, replaced)
        if changed is None:
            return updated_node
        self.left.difference_update(replacements)
        return changed

    def _with_extent(self, original: cst.Element, updated: Node) -> Node:
        """Replaces an element of a tuple or list by a number or a sum: `(32, TILE)` -> `(32, 33)`.

        Nothing outside of the element is read in another way: commas or brackets are around it.
        """
        place = self._positions[original.value]
        start, end = self._offset(place.start), self._offset(place.end)
        replacements = [r for r in self.left if start <= r.start and r.end <= end]
        if not replacements:
            return updated
        try:
            value = cst.parse_expression(_replaced(self._text[start:end], start, replacements))
        except (cst.ParserSyntaxError, RecursionError):
            return updated
        is_sum = isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add)
        if not is_sum and not isinstance(value, cst.Integer):
            return updated
        self.left.difference_update(replacements)
        return updated.with_changes(value=value)

    def _offset(self, position: CodePosition) -> int:
        return self._lines.offset(position.line, position.column + 1)


class _Inserter(_Transformer):
    """Inserts comment lines in front of statements and of lines inside brackets."""

    def __init__(self, text: str, comments: Mapping[int, str]) -> None:
        super().__init__(text)
        self.left = dict(comments)
        self._rows = text.split("\n")
        self._starts = self._wrapper.resolve(PositionProvider)
        self._ranges: Mapping[cst.CSTNode, CodeRange] = self._wrapper.resolve(
            WhitespaceInclusivePositionProvider
        )

    def on_leave(self, original_node: Node, updated_node: Node) -> Node:
        """Puts the comment of a line where the tree holds the empty lines before it."""
        if not self.left:
            return updated_node
        if isinstance(original_node, cst.ParenthesizedWhitespace):
            line = self._ranges[original_node].end.line
            return self._extended(updated_node, "empty_lines", line)
        if hasattr(original_node, "leading_lines"):
            line = self._starts[original_node].start.line
            has_decorators = bool(getattr(original_node, "decorators", ()))
            field = "lines_after_decorators" if has_decorators else "leading_lines"
            return self._extended(updated_node, field, line)
        return updated_node

    def _extended(self, node: Node, field: str, line: int) -> Node:
        comment = self.left.pop(line, None)
        if comment is None:
            return node
        row = self._rows[line - 1]
        indent = cst.SimpleWhitespace(row[: len(row) - len(row.lstrip(" \t\f"))])
        added = cst.EmptyLine(indent=False, whitespace=indent, comment=cst.Comment(comment))
        changes: dict[str, Any] = {field: (*getattr(node, field), added)}
        return node.with_changes(**changes)


def _read(text: str) -> MetadataWrapper:
    """Reads a module; every byte of it is in the tree.

    Raises:
        CannotEdit: libcst does not read it, or would not write it back as it is.
    """
    if _UNSAFE.search(text):
        raise CannotEdit("a line ends with a carriage return alone, or private characters")
    if not _is_shallow(text):
        raise CannotEdit("Python does not read the module, or it nests too deeply")
    readable = _UNDECODED.sub(lambda match: chr(ord(match[0]) + _STAND_IN), text)
    try:
        module = cst.parse_module(readable)
    except (cst.ParserSyntaxError, UnicodeError, RecursionError) as error:
        raise CannotEdit(f"libcst does not read the module: {error}") from error
    if module.code != readable:
        raise CannotEdit("libcst does not keep the module as it is")
    return MetadataWrapper(module, unsafe_skip_copy=True)


def _is_shallow(text: str) -> bool:
    """Returns whether a module parses and libcst's parser has the stack for it."""
    try:
        level: list[ast.AST] = [ast.parse(text.encode("utf-8", "replace"))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for _ in range(MAX_SYNTAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


def _decoded(code: str) -> str:
    """Puts the bytes that are no UTF-8 back in place of their stand-ins."""
    return _STAND_INS.sub(lambda match: chr(ord(match[0]) - _STAND_IN), code)


def _replaced(token: str, start: int, replacements: Sequence[_Replacement]) -> str:
    """Returns a token's text with replacements, whose offsets are the module's.

    Raises:
        CannotEdit: two of them overlap.
    """
    pieces, at = [], 0
    for replacement in sorted(replacements, key=lambda r: (r.start, r.end)):
        if replacement.start - start < at:
            raise CannotEdit(f"two edits overlap at offset {replacement.start}")
        pieces += [token[at : replacement.start - start], replacement.text]
        at = replacement.end - start
    return "".join((*pieces, token[at:]))


def _with_text(node: Node, text: str) -> Node | cst.RemovalSentinel | None:
    """Returns a token with another text; None where that text is no such token."""
    if not isinstance(node, _LINE_ENDS):
        return node.with_changes(value=text) if _is_same_token(node, text) else None
    if not text and isinstance(node, cst.EmptyLine):
        return cst.RemoveFromParent()
    match = _LINE_END.fullmatch(text)
    if match is None:
        return None
    space, comment, newline = match.groups()
    is_line = isinstance(node, cst.EmptyLine)
    changed: Any = node.with_changes(
        whitespace=cst.SimpleWhitespace(space),
        comment=cst.Comment(comment) if comment else None,
        newline=cst.Newline(newline or None),
        **({"indent": False} if is_line else {}),
    )
    return changed  # type: ignore[no-any-return]


def _is_same_token(node: cst.CSTNode, text: str) -> bool:
    """Returns whether a text reads as one token of the sort that a node is."""
    if isinstance(node, cst.FormattedStringText):  # the literal's quotes are not in the text
        return not _IN_F_STRINGS & (set(text) - set(node.value))
    try:
        return type(cst.parse_expression(text)) is type(node)
    except (cst.ParserSyntaxError, RecursionError):
        return False
