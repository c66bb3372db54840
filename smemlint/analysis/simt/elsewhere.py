"""Kernels that a file launches or instantiates, and that a file outside of the run defines."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from smemlint.analysis.simt.shared_functions import touches_shared
from smemlint.facts import NotAnalysed, Span
from smemlint.frontend.heuristics import instantiated_includes, launched_and_not_defined
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.analysis.program.units import ProgramIndex


def defined_elsewhere(index: ProgramIndex, path: str) -> Iterator[NotAnalysed]:
    """Yields a note for each kernel of another file that a file launches by name or instantiates.

    Args:
        index: of the run.
        path: of the file that launches.
    """
    text = index.read(path) or ""
    launches = launched_and_not_defined(text)
    headers = {posixpath.basename(name) for name in instantiated_includes(text)}
    if not launches and not headers:
        return
    unit = index.unit(path)
    for function in unit.functions:
        file = posixpath.normpath(function.span.path)
        if not function.is_kernel or file in index.sources:
            continue
        start = launches.pop(function.name, None)
        if start is None and posixpath.basename(file) not in headers:
            continue
        if touches_shared(function, unit):
            where = Span(path, 1, 1, 1, 1)
            if start is not None:
                line = text.count("\n", 0, start) + 1
                column = start - text.rfind("\n", 0, start)
                where = Span(path, line, column, line, column + len(function.name))
            name = f"`{function.name}`"
            reason = f"{name} is defined in {file}, which is not among the files to analyse"
            yield NotAnalysed(where, "", Reason(ReasonCode.LEFT_OUT, reason))
