"""Kernels of `cupyx.jit` and `numba.cuda`: a translation unit for the evaluator of CUDA C++."""

from __future__ import annotations

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.config.settings import Settings
from smemlint.facts import Facts
from smemlint.sources.source import Source


def analyze(source: Source, settings: Settings) -> tuple[Facts, Dependencies]:
    """Returns the facts of the file's kernels; only the file itself is searched for launches."""
    from smemlint.analysis.simt.analyze import Project
    from smemlint.frontend.python.jit.unit import PythonUnit

    project = Project([source], settings)
    facts = project.facts()
    unit = project.index.unit(source.path)
    reads = unit.imported.dependencies if isinstance(unit, PythonUnit) else {}
    return facts, Dependencies(dict.fromkeys(reads))
