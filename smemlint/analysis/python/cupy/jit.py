"""Kernels of `cupyx.jit` and `numba.cuda`: a translation unit for the evaluator of CUDA C++."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.importers import Importers, module_of
from smemlint.config.settings import Settings
from smemlint.facts import Facts, NotAnalysed
from smemlint.frontend.python.jit.definitions import Definition
from smemlint.frontend.python.jit.unit import PythonUnit
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.source import Source


def analyze(source: Source, settings: Settings, importers: Importers) -> tuple[Facts, Dependencies]:
    """Returns the facts of the file's kernels, launched in it or in files that import them."""
    from smemlint.analysis.simt.analyze import Project
    from smemlint.frontend.python.jit.unit import PythonUnit

    searched = importers.through_packages(source.path)
    callers = {s.path: s for importing in searched.values() for s in importing}
    project = Project([source, *callers.values()], settings)
    facts = project.facts_of(source.path)
    unit = project.index.unit(source.path)
    if not isinstance(unit, PythonUnit):
        return facts, Dependencies()
    notes = Facts(not_analysed=tuple(_unreached(unit, facts)))
    reads = dict.fromkeys((*unit.imported.dependencies, *callers))
    found = Dependencies(reads)
    for path, importing in searched.items():
        found.searches[(module_of(path),)] = tuple(s.path for s in importing)
    return Facts.joined([facts, notes]), found


def _unreached(unit: PythonUnit, facts: Facts) -> Iterator[NotAnalysed]:
    """Yields a note for each function with shared memory that no kernel of the file calls."""
    spans = [a.span for kernel in facts.kernels for a in kernel.accesses]
    spans += [n.span for kernel in facts.kernels for n in kernel.not_analysed]
    spans += [n.span for n in facts.not_analysed]
    lines = {span.line for span in spans if span.path == unit.path}
    for definition in unit.definitions.all:
        if definition.dialect is None and _declares_shared(unit, definition):
            span = unit.source.span(definition.node)
            if lines.isdisjoint(range(span.line, span.end_line + 1)):
                reason = Reason(ReasonCode.NOT_REACHED, "no decorator or call makes it a kernel")
                yield NotAnalysed(span, definition.name, reason)


def _declares_shared(unit: PythonUnit, definition: Definition) -> bool:
    """Returns whether a function makes shared arrays itself."""
    from smemlint.frontend.python.jit.dialects import DIALECTS

    names = [
        unit.imports.resolve(node.func)
        for node in definition.own_nodes()
        if isinstance(node, ast.Call)
    ]
    return any(dialect.member(name) in dialect.shared for dialect in DIALECTS for name in names)
