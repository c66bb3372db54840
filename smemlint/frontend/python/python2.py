"""Statements of Python 2 that Python 3 refuses, rewritten in place: all else keeps its column.

Much of what calls PyCUDA was written for Python 2. Of the statements only the kernels beside them
matter: `print x` becomes a tuple, and the names that `except E, e` and `raise E, x` mention go.
A division is one of Python 2 there.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence

from smemlint.limits.budgets import MAX_IMPORTED_CHARACTERS

_STATEMENTS = {"print": "0   ,", "exec": "0  ,"}
_NO_OPERAND = frozenset(("(", "=", ".", ",", ":", ")", ">>", "+=", ";"))
_LAYOUT = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def divide_as_python_2(tree: ast.Module) -> None:
    """Makes divisions those of Python 2, unless the file imports the later ones."""
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    if any(n.module == "__future__" and "division" in [a.name for a in n.names] for n in imports):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            node.op = ast.Div()
            node.op.smemlint_rounds = True  # type: ignore[attr-defined]


def rounds_down(operation: ast.AST) -> bool:
    """Returns whether an operator is a division that is rounded down for two integers."""
    return hasattr(operation, "smemlint_rounds")


def as_python_3(text: str) -> str | None:
    """Returns a text with such statements rewritten; None where there are none."""
    if len(text) > MAX_IMPORTED_CHARACTERS:
        return None
    lines = [list(line) for line in io.StringIO(text)]
    changed = False
    try:
        for statement in _logical_lines(text):
            changed |= _rewrite(statement, lines)
    except (tokenize.TokenError, SyntaxError):
        return None
    return "".join(map("".join, lines)) if changed else None


def _logical_lines(text: str) -> Iterator[list[tokenize.TokenInfo]]:
    """Yields the tokens of each simple statement, and of each head of a compound one."""
    found: list[tokenize.TokenInfo] = []
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            continue
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        ends = token.type == tokenize.NEWLINE or (depth == 0 and token.string in (":", ";"))
        found.append(token)
        if ends:
            yield found
            found = []


def _rewrite(statement: Sequence[tokenize.TokenInfo], lines: list[list[str]]) -> bool:
    """Writes one statement of Python 2 anew in place; returns whether it was one."""
    first, rest = statement[0], statement[1:-1]
    if first.string in _STATEMENTS and rest and rest[0].string not in _NO_OPERAND:
        row, column = first.start
        lines[row - 1][column : first.end[1]] = _STATEMENTS[first.string]
        return True
    if first.string not in ("except", "raise"):
        return False
    depth = 0
    for token in rest:
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        if depth == 0 and token.string == ",":
            _blank(lines, token.start, rest[-1].end)
            return True
    return False


def _blank(lines: list[list[str]], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Overwrites a range with blanks, its ends of lines left out."""
    for row in range(start[0], end[0] + 1):
        line = lines[row - 1]
        for column in range(start[1] if row == start[0] else 0, len(line)):
            if (row < end[0] or column < end[1]) and line[column] not in "\r\n":
                line[column] = " "
