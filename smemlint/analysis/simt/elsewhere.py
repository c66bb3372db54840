"""Kernels that a file launches and that are defined in an included file outside of the run."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from smemlint.analysis.simt.shared_functions import touches_shared
from smemlint.facts import NotAnalysed, Span
from smemlint.frontend.heuristics import launched_and_not_defined
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.analysis.program.units import ProgramIndex


def defined_elsewhere(index: ProgramIndex, path: str) -> Iterator[NotAnalysed]:
    """Yields a note for each kernel that a file launches by name and that another one defines.

    Args:
        index: of the run.
        path: of the file that launches.
    """
    text = index.read(path) or ""
    launches = launched_and_not_defined(text)
    if not launches:
        return
    unit = index.unit(path)
    for function in unit.functions:
        file = posixpath.normpath(function.span.path)
        if not function.is_kernel or file in index.sources or function.name not in launches:
            continue
        start = launches.pop(function.name)
        if touches_shared(function, unit):
            line = text.count("\n", 0, start) + 1
            column = start - text.rfind("\n", 0, start)
            where = Span(path, line, column, line, column + len(function.name))
            name = f"`{function.name}`"
            reason = f"{name} is defined in {file}, which is not among the files to analyse"
            yield NotAnalysed(where, "", Reason(ReasonCode.LEFT_OUT, reason))
