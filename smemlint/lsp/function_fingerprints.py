"""What the evaluation of one function may see of a document that is edited.

A function is evaluated from all texts of the run, but of the bodies in it only from those that it
may come to by a name. As long as all else stays the same, so does what is known of the function;
and where lines were added to a body that it does not see, all of it stands that much lower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from smemlint.digests import blake2b
from smemlint.frontend.cuda.definitions import CudaFunction
from smemlint.frontend.cuda.unit import CudaUnit
from smemlint.frontend.program import Function, Unit
from smemlint.lazy_dataclasses import dataclass
from smemlint.lsp.token_text import TokenText, VisibleText
from smemlint.sources.pragmas import MARK

_COUNTS_OUTSIDE = re.compile(rf"{MARK}|\bSwizzle\b|(?<![a-z])cute")
"""What a body may hold that counts outside of it: pragmas, what units are asked for."""
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(\w*)", re.M)
_OPENS = frozenset(("if", "ifdef", "ifndef"))
_STAYS = frozenset((*_OPENS, "elif", "else", "endif", "error", "pragma", "warning"))
"""Directives that change nothing behind the body in which they are balanced."""
_FOR_THE_COMPILER = frozenset(("constexpr", "consteval"))


@dataclass(frozen=True, slots=True)
class _Body:
    """A function's body of several lines in the document: its token numbers."""

    start: int
    stop: int


class VisibleTexts:
    """The contexts of the functions of some units in one document."""

    def __init__(self, text: str, tokens: TokenText, units: Sequence[Unit]) -> None:
        self._text = text
        self._tokens = tokens
        self._units = units
        self._known: dict[tuple[int, tuple[str, ...]], VisibleText] = {}
        self._bodies: dict[_Body, list[Function]] = {}
        self._by_name: dict[str, list[Function]] = {}
        for unit in units:
            for function in unit.functions:
                self._by_name.setdefault(function.name, []).append(function)
                body = self._body(function, unit)
                if body is not None:
                    self._bodies.setdefault(body, []).append(function)

    def of(self, function: Function, *, hides: Iterable[str] = ("kernels", "hosts")) -> VisibleText:
        """Returns the context of one function."""
        key = id(function), tuple(hides)
        if key not in self._known:
            self._known[key] = self._of(function, key[1])
        return self._known[key]

    def _of(self, function: Function, hides: tuple[str, ...]) -> VisibleText:
        seen = self._reached(function)
        pieces: list[tuple[int, int]] = []
        at = 0
        for body, functions in sorted(self._bodies.items(), key=lambda item: item[0].start):
            is_hidden = body.start >= at and all(
                f is not function
                and ("kernels" if f.is_kernel else "hosts") in hides
                and (f.is_kernel or f.name not in seen)
                and _is_called_by_name(f)
                for f in functions
            )
            if is_hidden:
                pieces.append((at, body.start))
                at = body.stop
        return VisibleText.of(self._tokens, [*pieces, (at, len(self._tokens.marks))])

    # ---- names

    @cached_property
    def _always(self) -> frozenset[str]:
        """Words outside of functions, and of functions that need not be named."""
        found: set[str] = set()
        for unit in self._units:
            for group in unit.declarations.values():
                found.update(word for d in group for word in d.specifiers)
            for function in unit.functions:
                if not _is_called_by_name(function):
                    found |= function.words
        return frozenset(found)

    def _reached(self, function: Function) -> set[str]:
        """Names that lead from a function to others, over as many steps as it takes."""
        seen = set(self._always | function.words)
        worklist = list(seen)
        while worklist:
            for called in self._by_name.get(worklist.pop(), ()):
                if not called.is_kernel:
                    fresh = called.words - seen
                    seen |= fresh
                    worklist += fresh
        return seen

    # ---- bodies

    def _body(self, function: Function, unit: Unit) -> _Body | None:
        """Returns the body where it is in the document and nobody else can read it."""
        if not isinstance(function, CudaFunction) or not function.pieces.body:
            return None
        first, last = function.pieces.body[0], function.pieces.body[-1]
        if first.macro is not None or last.macro is not None:
            return None
        begin, end = unit.token_span(first), unit.token_span(last)
        if {begin.path, end.path} != {self._tokens.places.path} or begin.line == end.end_line:
            return None
        lines = self._tokens.places.lines
        start = lines.offset(begin.line, begin.column)
        stop = lines.offset(end.end_line, end.end_column)
        if not _stays_inside(self._text[start:stop]):
            return None
        return _Body(self._tokens.index(start), self._tokens.index(stop - 1) + 1)


def _stays_inside(body: str) -> bool:
    """Returns whether nothing in a body counts outside of it but what it calls."""
    depth = 0
    for directive in _DIRECTIVE.finditer(body):
        word, what = directive[1], directive[2]
        depth += (word in _OPENS) - (word == "endif")
        if word not in _STAYS or depth < 0 or "macro" in what:
            return False
    return depth == 0 and _COUNTS_OUTSIDE.search(body) is None


def outside(units: Sequence[Unit], texts: Mapping[str, str]) -> bytes:
    """Returns a digest of what the units read besides `texts`."""

    def state(file: str) -> str:
        """Returns what tells whether a file on disk changed."""
        try:
            status = Path(file).stat()
        except OSError:
            return file
        return f"{file} {status.st_mtime_ns} {status.st_size}"

    described = [u.path for u in units]
    for unit in units:
        if isinstance(unit, CudaUnit):
            described += unit.not_found
        described += (state(file) for file in unit.files if file not in texts)
    return digest(*described)


def digest(*texts: str) -> bytes:
    """Returns the digest of some texts, which their lengths keep apart."""
    state = blake2b(digest_size=32)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        state.update(b"%d " % len(data))
        state.update(data)
    return state.digest()


def _is_called_by_name(function: Function) -> bool:
    """Returns whether only code that names a function can come to it, and only when it runs."""
    return (
        function.record is None
        and not function.name.startswith("operator")
        and not function.specifiers & _FOR_THE_COMPILER
    )
