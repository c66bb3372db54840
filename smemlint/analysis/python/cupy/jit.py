"""Kernels of `cupyx.jit` and `numba.cuda`: a translation unit for the evaluator of CUDA C++."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.config.settings import Settings
    from smemlint.facts import Facts
    from smemlint.sources.source import Source


def facts_of(source: Source, settings: Settings) -> Facts:
    """Returns the facts of the file's kernels; their launches are looked for in the file itself."""
    from smemlint.analysis.simt.analyze import Project
    from smemlint.frontend.python.jit.unit import PythonUnit

    project = Project([source], settings)
    facts = project.facts()
    unit = project.index.unit(source.path)
    if isinstance(unit, PythonUnit):
        source.read_along.update(dict.fromkeys(unit.imported.dependencies, False))
    return facts
