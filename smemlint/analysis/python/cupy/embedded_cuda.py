"""CUDA text inside Python: evaluated as a unit of its own, its facts come back to the file."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from smemlint.facts import Access, Facts, Instance, KernelFacts, NotAnalysed, SharedArray, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Line
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from smemlint.analysis.python.cupy.source_map import MappedText, Position
    from smemlint.analysis.simt.analyze import Project
    from smemlint.config.settings import Settings
    from smemlint.reasons import Assumption

_UNKNOWN = "smemlint_unknown"


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A launch of a kernel of the text.

    Attributes:
        kernel: as the text's language spells it, template arguments included.
        grid, block: extents; None for one that is not known.
        shared: dynamic shared memory in bytes; None when not known.
        arguments: known integers that are passed, None for everything else.
        span: of the call.
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
        calls: launches of its kernels.
        options: the compiler's, defines included.
        below: see `Source`.
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
        return _Relocation(self).facts(self.project(settings).facts())

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


class _Relocation:
    """Moves facts of an embedded text to their places in the Python file; each array once."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded
        self._arrays: dict[int, SharedArray] = {}
        folder, _, name = embedded.name.rpartition("/")
        optional = f"(?:{re.escape(folder)}/)?" if folder else ""
        self._named = re.compile(optional + re.escape(name) + r"(?::(\d+))?")

    def facts(self, facts: Facts) -> Facts:
        """Returns all facts at their new places."""
        return Facts(
            tuple(map(self._kernel, facts.kernels)),
            tuple(map(self._note, facts.not_analysed)),
            tuple(replace(use, span=self._span(use.span)) for use in facts.layouts),
        )

    def _kernel(self, kernel: KernelFacts) -> KernelFacts:
        instance = self._instance(kernel.instance)
        return replace(
            kernel,
            instance=instance,
            arrays=tuple(map(self._array, kernel.arrays)),
            accesses=tuple(self._access(access, instance) for access in kernel.accesses),
            not_analysed=tuple(map(self._note, kernel.not_analysed)),
            layouts=tuple(replace(use, span=self._span(use.span)) for use in kernel.layouts),
        )

    def _note(self, note: NotAnalysed) -> NotAnalysed:
        reason = replace(note.reason, text=self._renamed(note.reason.text))
        return NotAnalysed(self._span(note.span), note.kernel, reason)

    def _instance(self, instance: Instance) -> Instance:
        return replace(instance, span=self._span(instance.span), place=self._line(instance.place))

    def _array(self, array: SharedArray) -> SharedArray:
        if id(array) not in self._arrays:
            self._arrays[id(array)] = replace(array, span=self._span(array.span))
        return self._arrays[id(array)]

    def _access(self, access: Access, instance: Instance) -> Access:
        fusion = access.fusion
        if fusion is not None:
            fusion = replace(fusion, spans=tuple(map(self._span, fusion.spans)))
        return replace(
            access,
            span=self._span(access.span),
            line=self._row(access),
            instance=instance,
            array=self._array(access.array) if access.array is not None else None,
            assumptions=tuple(map(self._assumption, access.assumptions)),
            calls=tuple(replace(call, span=self._span(call.span)) for call in access.calls),
            fusion=fusion,
            chains=tuple(
                tuple(replace(caller, span=self._span(caller.span)) for caller in chain)
                for chain in access.chains
            ),
        )

    def _row(self, access: Access) -> int:
        """Returns the line of an access that a profiler shows; of an included file as it is."""
        if access.span.path != self._embedded.name:
            return access.line
        place = self._embedded.place(access.line, 1) or self._embedded.place(access.line - 1, 1)
        return place.line if place is not None else self._span(access.span).line

    def _assumption(self, assumption: Assumption) -> Assumption:
        wording = self._renamed(assumption.wording)
        return replace(assumption, wording=wording, place=self._line(assumption.place))

    def _line(self, line: Line | None) -> Line | None:
        if line is None or line.path != self._embedded.name:
            return line
        return self._place(line.line)

    def _place(self, line: int) -> Line:
        """Returns where a line of the unit stands: of the launch that it is, else of the text."""
        call = self._embedded.call_at(line)
        found = call.span if call is not None else self._embedded.place(line, 1)
        found = found or self._embedded.span
        return Line(found.path, found.line)

    def _renamed(self, text: str) -> str:
        """Returns a text with the name of the unit replaced by that of the Python file."""

        def named(match: re.Match[str]) -> str:
            place = self._place(int(match[1])) if match[1] else self._embedded.span
            return f"{posixpath.basename(place.path)}:{place.line}"

        return self._named.sub(named, text)

    def _span(self, span: Span) -> Span:
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
