"""What the evaluation of one function may see of a document that is edited.

A function is evaluated from all texts of the run, but of the bodies in it only from those that it
may come to by a name. As long as all else stays the same, so does what is known of the function;
and where lines were added to a body that it does not see, all of it stands that much lower.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.frontend.cuda.lexer.tokens import LineMap
from smemlint.frontend.cuda.unit import CudaFunction, CudaUnit
from smemlint.sources.pragmas import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from smemlint.frontend.program import Function, Unit

_COUNTS_OUTSIDE = ("#", MARK, "Swizzle", "cute")
"""What a body may hold that counts outside of it: directives, pragmas, what units are asked for."""
_FOR_THE_COMPILER = frozenset(("constexpr", "consteval"))


@dataclass(frozen=True, slots=True)
class VisibleText:
    """What a function may see.

    Attributes:
        digest: equal only for texts that are the same to it.
        starts: the lines where the pieces of the document that it sees begin, each a line or more
            behind the one before.
    """

    digest: bytes
    starts: tuple[int, ...]

    def line_in(self, other: VisibleText, line: int) -> int:
        """Where a line that is seen stands in another context of the same digest."""
        piece = bisect_right(self.starts, line) - 1
        return line + other.starts[piece] - self.starts[piece]


@dataclass(frozen=True, slots=True)
class _Body:
    """A function's body of several lines in the document: its offsets and where it ends."""

    start: int
    stop: int
    end_line: int
    end_column: int


class VisibleTexts:
    """The contexts of the functions of some units in one document.

    Args:
        path: of the document.
        text: of it.
        units: that are evaluated together.
    """

    def __init__(self, path: str, text: str, units: Sequence[Unit]) -> None:
        self._path = path
        self._text = text
        self._units = units
        self._lines = LineMap(text)
        self._bodies: dict[_Body, list[Function]] = {}
        self._by_name: dict[str, list[Function]] = {}
        for unit in units:
            for function in unit.functions:
                self._by_name.setdefault(function.name, []).append(function)
                body = self._body(function, unit)
                if body is not None:
                    self._bodies.setdefault(body, []).append(function)

    def of(self, function: Function, *, hides: Iterable[str] = ("kernels", "hosts")) -> VisibleText:
        """The context of one function.

        Args:
            function: of one of the units.
            hides: whose bodies may be hidden: `kernels`, `hosts` (all other functions), or both.
        """
        seen = self._reached(function)
        pieces: list[object] = []
        starts, at = [1], 0
        for body, functions in sorted(self._bodies.items(), key=lambda item: item[0].start):
            is_hidden = body.start >= at and all(
                f is not function
                and ("kernels" if f.is_kernel else "hosts") in hides
                and (f.is_kernel or f.name not in seen)
                and _is_called_by_name(f)
                for f in functions
            )
            if is_hidden:
                pieces += (self._text[at : body.start], body.end_column)
                starts.append(body.end_line)
                at = body.stop
        return VisibleText(digest(*map(str, pieces), self._text[at:]), tuple(starts))

    # ---- names

    def _functions(self) -> Iterable[Function]:
        return (f for unit in self._units for f in unit.functions)

    @cached_property
    def _always(self) -> frozenset[str]:
        """Words outside of functions, and of functions that need not be named."""
        found: set[str] = set()
        for unit in self._units:
            for group in unit.declarations.values():
                found.update(word for d in group for word in d.specifiers)
        for function in self._functions():
            if not _is_called_by_name(function):
                found |= function.words
        return frozenset(found)

    def _reached(self, function: Function) -> set[str]:
        """Names that lead from a function to others, over as many steps as it takes."""
        seen = set(self._always | function.words)
        work = list(seen)
        while work:
            for called in self._by_name.get(work.pop(), ()):
                if not called.is_kernel:
                    fresh = called.words - seen
                    seen |= fresh
                    work += fresh
        return seen

    # ---- bodies

    def _body(self, function: Function, unit: Unit) -> _Body | None:
        """The body where it can be hidden: it is written in the document and tells nobody else."""
        if not isinstance(function, CudaFunction) or not function.pieces.body:
            return None
        first, last = function.pieces.body[0], function.pieces.body[-1]
        if first.macro is not None or last.macro is not None:
            return None
        begin, end = unit.token_span(first), unit.token_span(last)
        if {begin.path, end.path} != {self._path} or begin.line == end.end_line:
            return None
        start = self._lines.offset(begin.line, begin.column)
        stop = self._lines.offset(end.end_line, end.end_column)
        if any(word in self._text[start:stop] for word in _COUNTS_OUTSIDE):
            return None
        return _Body(start, stop, end.end_line, end.end_column)


def outside(units: Sequence[Unit], texts: Mapping[str, str]) -> bytes:
    """A digest of what the units read besides `texts`."""

    def state(file: str) -> str:
        """What tells whether a file on disk changed."""
        try:
            status = Path(file).stat()
        except OSError:
            return file
        return f"{file} {status.st_mtime_ns} {status.st_size}"

    told = [u.path for u in units]
    for unit in units:
        if isinstance(unit, CudaUnit):
            told += unit.not_found
        told += (state(file) for file in unit.files if file not in texts)
    return digest(*told)


def digest(*texts: str) -> bytes:
    """Of some texts, each told from the next."""
    made = blake2b(digest_size=32)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        made.update(b"%d " % len(data))
        made.update(data)
    return made.digest()


def _is_called_by_name(function: Function) -> bool:
    """Whether only code that names a function can come to it, and only when it runs."""
    return (
        function.record is None
        and not function.name.startswith("operator")
        and not function.specifiers & _FOR_THE_COMPILER
    )
