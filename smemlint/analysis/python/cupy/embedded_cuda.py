"""CUDA text inside Python: evaluated as a unit of its own, its facts come back to the file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from smemlint.analysis.python.cupy.source_map import MappedText, Position
from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.facts import Access, Facts, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Line
from smemlint.relocation import Places, Relocation
from smemlint.sources.source import Source

_UNKNOWN = "smemlint_unknown"


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A launch of a kernel of the text.

    Attributes:
        kernel: as the text's language spells it, template arguments included.
        grid, block: extents; None for one that is not known.
        shared: dynamic shared memory in bytes; None when not known.
        arguments: known integers that are passed, None for everything else.
    """

    kernel: str
    grid: tuple[int | None, ...]
    block: tuple[int | None, ...]
    shared: int | None
    arguments: tuple[int | None, ...]
    span: Span


@dataclass(eq=False)
class Embedded:
    """A CUDA text of a Python file.

    Attributes:
        text: with the place of its characters.
        span: of the call that it is given to.
        name: of the unit that it makes, unique in the run.
        defines: macros of the compiler's options.
        options: the compiler's, defines included.
    """

    text: MappedText
    span: Span
    name: str
    defines: Mapping[str, str]
    calls: Sequence[KernelCall]
    options: tuple[str, ...] = ()
    below: str = ""

    def facts(self, settings: Settings) -> Facts:
        """Returns the facts of the text's kernels, at their places in the Python file."""
        return Relocation(_InFile(self)).moved(self.project(settings).facts())

    def project(self, settings: Settings) -> Project:
        """Returns a run of the text alone, with host code for the launches of the Python file."""
        from smemlint.analysis.simt.analyze import Project

        defined = replace(settings, define={**settings.define, **self.defines})
        given = str(self.text) + self._host()
        return Project([Source(self.name, given, below=self.below)], defined)

    def _host(self) -> str:
        """Returns host code with the launches of the Python file, one a line."""
        lines = [_launch(call) for call in self.calls]
        return "\nvoid smemlint_launches() {\n" + "\n".join(lines) + "\n}\n" if lines else ""

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", str(self.text)))]

    def place(self, line: int, column: int) -> Position | None:
        """Returns where a character of the text stands in the Python file."""
        if not 1 <= line <= len(self._starts):
            return None
        at = self._starts[line - 1] + column - 1
        return self.text.place(at)

    def call_at(self, line: int) -> KernelCall | None:
        """Returns the launch that a line behind the text stands for."""
        index = line - len(self._starts) - 2
        return self.calls[index] if 0 <= index < len(self.calls) else None


def _launch(call: KernelCall) -> str:
    grid = ", ".join(_known(g) for g in call.grid) or "1"
    block = ", ".join(map(_known, call.block))
    shared = _known(call.shared)
    arguments = ", ".join(map(_known, call.arguments))
    return f"{call.kernel}<<<dim3({grid}), dim3({block}), {shared}>>>({arguments});"


def _known(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)


class _InFile(Places):
    """Places in the Python file of what stands in an embedded text."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded
        folder, _, name = embedded.name.rpartition("/")
        optional = f"(?:{re.escape(folder)}/)?" if folder else ""
        self._named = re.compile(optional + re.escape(name) + r"(?::(\d+))?")

    def row(self, access: Access) -> int:
        """Returns the line of an access that a profiler shows; of an included file as it is."""
        if access.span.path != self._embedded.name:
            return access.line
        place = self._embedded.place(access.line, 1) or self._embedded.place(access.line - 1, 1)
        return place.line if place is not None else self.span(access.span).line

    def line(self, line: Line) -> Line:
        return self._place(line.line) if line.path == self._embedded.name else line

    def _place(self, line: int) -> Line:
        """Returns where a line of the unit stands: of the launch that it is, else of the text."""
        call = self._embedded.call_at(line)
        found = call.span if call is not None else self._embedded.place(line, 1)
        found = found or self._embedded.span
        return Line(found.path, found.line)

    def text(self, text: str) -> str:
        """Returns a text with the name of the unit replaced by that of the Python file."""

        def named(match: re.Match[str]) -> str:
            place = self._place(int(match[1])) if match[1] else self._embedded.span
            return f"{posixpath.basename(place.path)}:{place.line}"

        return self._named.sub(named, text)

    def span(self, span: Span) -> Span:
        if span.path != self._embedded.name:
            return span
        call = self._embedded.call_at(span.line)
        first = self._embedded.place(span.line, span.column)
        last = self._embedded.place(span.end_line, max(span.end_column - 1, 1))
        if call is not None or first is None:
            return call.span if call is not None else self._embedded.span
        if last is None or last.path != first.path or (last.line, last.column) < (
            first.line, first.column,
        ):  # fmt: skip
            last = first
        return Span(first.path, first.line, first.column, last.line, last.column + 1)
