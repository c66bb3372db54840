"""Findings and facts of notebooks at the places that their readers know.

Everything is found in the module that the cells of a notebook make. People, and tools that know
notebooks, look for a cell and a line in it; tools that show files need lines of the JSON text.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.facts import Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Line
from smemlint.sources.notebook import Notebook, parted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smemlint.facts import Access, Caller, Facts, Fusion, Instance, NotAnalysed
    from smemlint.finding import Edit, Finding, Fix
    from smemlint.lint.result import Result
    from smemlint.reasons import Assumption
    from smemlint.sources.source import Source


@dataclass(frozen=True, eq=False)
class Notebooks:
    """The notebooks of a run.

    Attributes:
        of: by path.
        are_files: places are given in the JSON text; else in cells.
    """

    of: Mapping[str, Notebook]
    are_files: bool = False

    @staticmethod
    def among(sources: Sequence[Source], *, are_files: bool = False) -> Notebooks:
        """Returns those of the sources."""
        found = {s.path: s.notebook for s in sources if s.path.endswith(".ipynb")}
        return Notebooks({k: v for k, v in found.items() if v is not None}, are_files)

    def result(self, result: Result) -> Result:
        """Returns a result with the places of all that is reported."""
        if not self.of:
            return result
        return replace(
            result,
            findings=tuple(map(self._finding, result.findings)),
            hidden=tuple(map(self._finding, result.hidden)),
        )

    def facts(self, facts: Facts) -> Facts:
        """Returns facts with the places of accesses and of what was not analysed."""
        if not self.of:
            return facts
        kernels = (
            replace(
                kernel,
                instance=self._instance(kernel.instance),
                accesses=tuple(map(self._access, kernel.accesses)),
                not_analysed=tuple(map(self._note, kernel.not_analysed)),
            )
            for kernel in facts.kernels
        )
        notes = tuple(map(self._note, facts.not_analysed))
        return replace(facts, kernels=tuple(kernels), not_analysed=notes)

    def text_of(self, otherwise: Callable[[str], str]) -> Callable[[str], str]:
        """Returns the text of a file or cell by the path that places have."""

        def found(path: str) -> str:
            file, number = parted(path)
            notebook = self.of.get(file)
            if notebook is None:
                return otherwise(path)
            if self.are_files:
                return notebook.text
            return next((c.source for c in notebook.cells if c.number == number), notebook.module)

        return found

    # ---- one by one

    def _finding(self, finding: Finding) -> Finding:
        return replace(
            finding,
            message=self._moved(finding.message),
            span=self._span(finding.span),
            notes=tuple(map(self._moved, finding.notes)),
            help=self._moved(finding.help),
            related=tuple((self._span(span), self._moved(s)) for span, s in finding.related),
            access=self._access(finding.access) if finding.access is not None else None,
            fix=self._fix(finding.fix) if finding.fix is not None else None,
            others=tuple(map(self._finding, finding.others)),
            places=tuple(map(self._span, finding.places)),
            gaps=tuple(map(self._note, finding.gaps)),
        )

    def _access(self, access: Access) -> Access:
        notebook = self.of.get(access.span.path)
        line = access.line
        if notebook is not None:
            line = self._span(replace(access.span, line=line, end_line=line)).line
        array = access.array
        return replace(
            access,
            span=self._span(access.span),
            line=line,
            array=replace(array, span=self._span(array.span)) if array is not None else None,
            instance=self._instance(access.instance),
            assumptions=tuple(map(self._assumption, access.assumptions)),
            conditions=tuple(map(self._assumption, access.conditions)),
            fusion=self._fusion(access.fusion) if access.fusion is not None else None,
            chains=tuple(tuple(map(self._caller, chain)) for chain in access.chains),
            calls=tuple(replace(call, span=self._span(call.span)) for call in access.calls),
        )

    def _fusion(self, fusion: Fusion) -> Fusion:
        return replace(fusion, spans=tuple(map(self._span, fusion.spans)))

    def _caller(self, caller: Caller) -> Caller:
        return replace(caller, span=self._span(caller.span))

    def _assumption(self, assumption: Assumption) -> Assumption:
        return replace(
            assumption,
            wording=self._moved(assumption.wording),
            place=self._line(assumption.place),
        )

    def _instance(self, instance: Instance) -> Instance:
        return replace(instance, span=self._span(instance.span), place=self._line(instance.place))

    def _line(self, line: Line | None) -> Line | None:
        if line is None:
            return None
        span = self._span(Span(line.path, line.line, 1, line.line, 1))
        return Line(span.path, span.line)

    def _note(self, note: NotAnalysed) -> NotAnalysed:
        return replace(
            note,
            span=self._span(note.span),
            reason=replace(note.reason, text=self._moved(note.reason.text)),
        )

    def _fix(self, fix: Fix) -> Fix:
        return replace(fix, edits=tuple(map(self._edit, fix.edits)))

    def _edit(self, edit: Edit) -> Edit:
        notebook = self.of.get(edit.span.path)
        if notebook is not None and self.are_files:
            return notebook.edit_in_file(edit)
        return replace(edit, span=self._span(edit.span))

    def _span(self, span: Span) -> Span:
        notebook = self.of.get(span.path)
        if notebook is None:
            return span
        return notebook.in_file(span) if self.are_files else notebook.in_cell(span)

    def _moved(self, words: str) -> str:
        """Returns a text in which a line of the module became one of a cell."""
        if ".ipynb:" not in words:
            return words
        for path, notebook in self.of.items():
            name = posixpath.basename(path)

            def named(match: re.Match[str], name: str = name, notebook: Notebook = notebook) -> str:
                line = int(match[1])
                cell = notebook.cell_at(line)
                if cell is None:
                    return match[0]
                return f"{name}:cell {cell.number}:{line - cell.first + 1}"

            words = re.sub(rf"\b{re.escape(name)}:(\d+)", named, words)
        return words
