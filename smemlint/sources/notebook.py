"""Jupyter notebooks: their code cells as one Python module, and the way back to cells and file.

Cells are numbered from 1 with all others, as ruff and the file's own order have them. The format:
https://nbformat.readthedocs.io (version 4 and, with its worksheets, 3).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]  # in CPython since 2.7
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from smemlint.facts import Span
from smemlint.finding import Edit
from smemlint.lazy_dataclasses import dataclass

SUFFIX = ".ipynb"

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without the time that importing `ast` takes
_LINE_END = re.compile(r"\r\n?|\n")
_BODY_IS_CUDA = re.compile(
    r"%%(?:(?P<magic>cu|cuda|cuda_group_save)\b|(?P<writes>writefile|file)[ \t]++[\"']?"
    r"(?P<path>[^\s\"'\\-][^\s\"'\\]*\.(?:cuh?|hpp|h|inc|cpp|cc|cxx))[\"']?[ \t]*+\Z)"
)
_BODY_IS_PYTHON = re.compile(
    r"%%(?:(?:time|timeit|capture|prun|python3?)(?![^\s(])"
    r"|(?:writefile|file)[ \t].*\.py[\"']?\s*\Z)"
)
"""Cells whose text is of the module, those that are written to a file of their own among them."""
_MAGIC = re.compile(r"(?P<indent>\s*)(?:[%!?]|[\w.\[\], ]+=\s*[%!]|[\w.]+\?{1,2}\s*$)")
_TIMED = re.compile(
    r"(?P<indent>\s*+)(?P<magic>%(?:time|timeit|prun)\s++(?:-\S++\s++(?:\d++\s++)?)*+)(?=\S)"
)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.S
)  # one code point each


class NotANotebook(Exception):
    """The text is no notebook; the message says why, in words."""


class _Literal(str):
    """A string of a JSON text that knows where its first character stands."""

    __slots__ = ("at",)
    at: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell.

    Attributes:
        number: in the notebook, from 1, cells of every kind counted.
        first: the line of the module that it begins on.
        pieces: its source as the file has it, in order.
        lines: its source, lines for IPython alone made Python's.
        unread: why it is left out of the module; empty where it is not.
    """

    number: int
    first: int
    pieces: tuple[_Literal, ...]
    lines: tuple[str, ...]
    unread: str = ""

    @property
    def source(self) -> str:
        """As its author wrote it."""
        return "".join(self.pieces)


@dataclass(frozen=True, eq=False)
class Notebook:
    """A notebook."""

    text: str
    cells: tuple[Cell, ...]

    @staticmethod
    def of(text: str) -> Notebook:
        """Returns the notebook that a JSON text holds.

        Raises:
            NotANotebook: it is no JSON, or of another form.
        """
        try:
            document = _read(text)
        except json.JSONDecodeError as error:
            where = f"in line {error.lineno}, column {error.colno}"
            raise NotANotebook(f"not a notebook: {error.msg} {where}") from None
        except RecursionError:
            raise NotANotebook("not a notebook: nested too deeply") from None
        return Notebook(text, tuple(_cells(document)))

    @cached_property
    def module(self) -> str:
        """The code cells below each other; cells that are left out are empty lines."""
        return "\n".join(
            line for cell in self.cells for line in (cell.lines if not cell.unread else
                                                     [""] * len(cell.lines))
        )  # fmt: skip

    def cell_at(self, line: int) -> Cell | None:
        """Returns the cell that a line of the module belongs to."""
        index = bisect_right(self._firsts, line) - 1
        return self.cells[index] if index >= 0 else None

    def in_cell(self, span: Span) -> Span:
        """Returns a place of the module in lines of its cell, which the path names."""
        cell = self.cell_at(span.line)
        if cell is None:
            return span
        path = f"{span.path}:cell {cell.number}"
        shift = cell.first - 1
        end = min(span.end_line - shift, max(len(cell.lines), 1))
        return Span(path, span.line - shift, span.column, end, span.end_column)

    def in_file(self, span: Span) -> Span:
        """Returns a place of the module as a place in the file's JSON text."""
        start = self._offset(span.line, span.column)
        end = self._offset(span.end_line, span.end_column)
        if start is None or end is None:
            return Span(span.path, 1, 1, 1, 1)
        return Span(span.path, *self._position(start), *self._position(max(start, end)))

    def edit_in_file(self, edit: Edit) -> Edit:
        """Returns an edit of the module as one of the file, whose strings stay one a line."""
        escaped = json.dumps(edit.text, ensure_ascii=False)[1:-1]
        return Edit(self.in_file(edit.span), escaped)

    @cached_property
    def _firsts(self) -> list[int]:
        return [cell.first for cell in self.cells]

    @cached_property
    def _starts(self) -> list[int]:
        """Offsets of the lines of the file."""
        return [0, *(m.end() for m in _LINE_END.finditer(self.text))]

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def _offset(self, line: int, column: int) -> int | None:
        """Returns the offset in the file of a character of the module."""
        cell = self.cell_at(line)
        if cell is None:
            return None
        source = cell.source
        starts = [0, *(m.end() for m in _LINE_END.finditer(source))]
        row = line - cell.first
        at = min(starts[row] + column - 1 if row < len(starts) else len(source), len(source))
        for piece in cell.pieces:
            if at < len(piece) or (at == len(piece) and piece is cell.pieces[-1]):
                return self._behind(piece.at, at)
            at -= len(piece)
        return None

    def _behind(self, start: int, characters: int) -> int:
        """Returns the offset behind so many characters of a string that begins at an offset."""
        for _ in range(characters):
            match = _ESCAPE.match(self.text, start)
            start = match.end() if match is not None else start
        return start


def parted(path: str) -> tuple[str, int | None]:
    """Returns a path as `Notebook.in_cell` writes it: the file and the number of the cell."""
    file, mark, number = path.rpartition(f"{SUFFIX}:cell ")
    return (file + SUFFIX, int(number)) if mark and number.isdecimal() else (path, None)


def _read(text: str) -> Any:
    """Returns the document, each of its strings with its place."""

    def placed(document: str, at: int, strict: bool = True) -> tuple[_Literal, int]:
        value, end = scanstring(document, at, strict)
        literal = _Literal(value)
        literal.at = at
        return literal, end

    # Numbers mean nothing here, and Python reads none of more than 4,300 digits.
    decoder: Any = json.JSONDecoder(parse_int=str, parse_float=str)
    decoder.parse_string = placed
    decoder.scan_once = py_make_scanner(decoder)
    return decoder.decode(text)


def _cells(document: Any) -> Iterator[Cell]:
    if not isinstance(document, dict):
        raise NotANotebook("not a notebook: its JSON is no object")
    sheets = document.get("worksheets")  # of version 3
    first_sheet = sheets[0] if isinstance(sheets, list) and sheets else {}
    cells = document.get("cells", first_sheet.get("cells") if isinstance(first_sheet, dict) else 0)
    if not isinstance(cells, list):
        raise NotANotebook("not a notebook: it has no list of `cells`")
    line = 1
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            raise NotANotebook(f"not a notebook: cell {number} is no object")
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", []))
        given = source if isinstance(source, list) else [source]
        pieces = tuple(piece for piece in given if isinstance(piece, _Literal))
        if len(pieces) < len(given):
            raise NotANotebook(f"not a notebook: the source of cell {number} is no text")
        found = _cell(number, line, pieces)
        line += len(found.lines)
        yield found


def _cell(number: int, first: int, pieces: tuple[_Literal, ...]) -> Cell:
    rows = _LINE_END.split("".join(pieces))
    while len(rows) > 1 and not rows[-1]:
        rows.pop()
    head = next((i for i, row in enumerate(rows) if row.strip()), 0)
    if rows[head].startswith("%%"):
        if (cuda := _as_call(rows, head)) is not None:
            return Cell(number, first, pieces, cuda)
        if not _BODY_IS_PYTHON.match(rows[head]):
            magic = re.split(r"[\s(]", rows[head][2:], maxsplit=1)[0]
            return Cell(number, first, pieces, tuple(rows), f"cells of `%%{magic}` are not read")
        rows[head] = ""
    lines = tuple(_without_magics(rows))
    problem = _problem("\n".join(lines))
    return Cell(number, first, pieces, lines, problem)


def _as_call(rows: Sequence[str], head: int) -> tuple[str, ...] | None:
    """Returns a cell of CUDA text as the call that IPython makes of it; None for any other cell.

    The text stays where it is.
    """
    match = _BODY_IS_CUDA.match(rows[head])
    body = "\n".join(rows[head + 1 :])
    quote = next((q for q in ("'''", '"""') if q not in body), None)
    if match is None or quote is None or len(rows) == head + 1:
        return None
    line, magic = match["path"] or "", match["magic"] or match["writes"]
    call = f"get_ipython().run_cell_magic({magic!r}, {line!r}, r{quote}"
    return (*rows[:head], call, *rows[head + 1 : -1], f"{rows[-1]} {quote})")


def _without_magics(rows: Sequence[str]) -> Iterator[str]:
    """Replaces lines for IPython alone by `pass` or what they time, but for those in strings."""
    if not any(_MAGIC.match(row) for row in rows) or not _problem("\n".join(rows)):
        yield from rows
        return
    is_continued = False
    for row in rows:
        match = _MAGIC.match(row)
        if is_continued:
            is_continued = row.endswith("\\")
            yield ""
        elif match is not None and _problem(row.strip()):
            is_continued = row.endswith("\\")
            yield _timed(row) or f"{match['indent']}pass"
        else:
            yield row


def _timed(row: str) -> str:
    """Returns what `%timeit` runs, at its columns and as `_ = ..`; empty where it is no Python."""
    head = _TIMED.match(row)
    if head is None:
        return ""
    indent, width = head["indent"], len(head["magic"])
    found = f"{indent}{'_'.ljust(width - 2)}= {row[head.end() :]}"
    return "" if _problem(found.strip()) else found


def _problem(code: str) -> str:
    """Returns why code is no Python; empty where it is."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "cell", "exec", _ONLY_AST)
    except SyntaxError as error:
        where = f" in line {error.lineno}" if error.lineno else ""
        return f"not Python: {error.msg}{where}"
    except (RecursionError, MemoryError):
        return "not Python: nested too deeply"
    except ValueError as error:
        return f"not Python: {error}"
    return ""
