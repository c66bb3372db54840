"""Findings and facts of notebooks at the places that their readers know.

Everything is found in the module that the cells of a notebook make. People, and tools that know
notebooks, look for a cell and a line in it; tools that show files need lines of the JSON text.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.lazy_dataclasses import dataclass
from smemlint.relocation import Places, Relocation
from smemlint.sources.notebook import Notebook, parted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smemlint.facts import Facts, Span
    from smemlint.finding import Edit
    from smemlint.lint.result import Result
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
        moved = Relocation(_InNotebooks(self)).moved
        return replace(result, findings=moved(result.findings), hidden=moved(result.hidden))

    def facts(self, facts: Facts) -> Facts:
        """Returns facts with the places of accesses and of what was not analysed."""
        return Relocation(_InNotebooks(self)).moved(facts) if self.of else facts

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


class _InNotebooks(Places):
    """Places in cells, or in the JSON text."""

    def __init__(self, notebooks: Notebooks) -> None:
        self._of = notebooks.of
        self._are_files = notebooks.are_files

    def span(self, span: Span) -> Span:
        notebook = self._of.get(span.path)
        if notebook is None:
            return span
        return notebook.in_file(span) if self._are_files else notebook.in_cell(span)

    def edit(self, edit: Edit) -> Edit:
        notebook = self._of.get(edit.span.path) if self._are_files else None
        return notebook.edit_in_file(edit) if notebook is not None else super().edit(edit)

    def text(self, text: str) -> str:
        """Returns a text in which a line of the module became one of a cell."""
        if ".ipynb:" not in text:
            return text
        for path, notebook in self._of.items():
            name = posixpath.basename(path)

            def named(match: re.Match[str], name: str = name, notebook: Notebook = notebook) -> str:
                line = int(match[1])
                cell = notebook.cell_at(line)
                if cell is None:
                    return match[0]
                return f"{name}:cell {cell.number}:{line - cell.first + 1}"

            text = re.sub(rf"\b{re.escape(name)}:(\d+)", named, text)
        return text
