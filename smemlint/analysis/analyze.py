"""Sources to facts: picks the analyses that a file needs, and imports no other."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from smemlint.analysis.compiled.files import compiled_facts, is_compiled, may_share_memory
from smemlint.analysis.compiled.launch import source_launches
from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.dialects import analyze_python, holds_marks
from smemlint.analysis.python.importers import Importers
from smemlint.facts import Facts, NotAnalysed, Span
from smemlint.frontend.text_heuristics import (
    built_includes,
    describes_swizzle,
    instantiated_includes,
    launched_and_not_defined,
    library_kernels,
    may_touch_shared,
    template_lines,
)
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.languages import is_python_path, is_template_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from smemlint.analysis.compiled.launch import SourceLaunches
    from smemlint.analysis.program.memo import AnalysisScope, Memo
    from smemlint.analysis.simt.analyze import Project
    from smemlint.config.settings import Settings
    from smemlint.sources.source import Source


def needs_analysis(source: Source) -> bool:
    """Returns whether some analysis may find facts in a file; imports none to tell."""
    if is_compiled(source):
        return may_share_memory(source)
    if is_python_path(source.path):
        return holds_marks(source.text)
    if is_template_path(source.path):
        return False
    text = source.text
    is_described = may_touch_shared(text) or describes_swizzle(text)
    return (
        is_described
        or bool(launched_and_not_defined(text))
        or bool(instantiated_includes(text))
        or bool(library_kernels(text))
        or bool(built_includes(source.path, text))
    )


def analyze(
    sources: Sequence[Source],
    settings: Settings,
    scope: AnalysisScope | None = None,
    memo: Memo | None = None,
) -> tuple[Facts, bool]:
    """Returns facts of the sources or a part of them, and whether an internal error cost some."""
    python = [s for s in sources if is_python_path(s.path)]
    crashes: list[NotAnalysed] = []
    parts: list[Facts] = []
    compiled: set[str] = set()
    importers = Importers(python)
    for source in python if scope is None else [s for s in python if s.path == scope.path]:
        facts, dependencies = analyze_python(source, settings, crashes.append, importers)
        parts.append(facts)
        compiled.update(dependencies.compiled)
    cuda = [s for s in sources if _is_cuda(s) and s.path not in compiled]
    if any(map(needs_analysis, cuda)):
        from smemlint.analysis.simt.analyze import Project

        binaries = [s for s in sources if is_compiled(s)]
        program = Project(cuda, settings, crashes.append, scope, memo, compiled=binaries)
        parts.insert(0, program.facts())
    paths = [s.path for s in sources]
    launches = source_launches(kernel for part in parts for kernel in part.kernels)
    for source in sources:
        if is_compiled(source) and (scope is None or source.path == scope.path):
            parts.append(compiled_facts(source, settings, paths, crashes.append, launches))
    facts = Facts.joined(parts)
    notes = (*unreadable_sources(sources), *facts.not_analysed, *crashes)
    return replace(facts, not_analysed=notes), bool(crashes)


class Analyzer:
    """Analyses the files of a run one by one, each under its own settings.

    It lives in every process of a run and keeps the units that it read from one file to the next.

    Attributes:
        launches: of kernels, in the sources; compiled code has none of its own.

    Args:
        sources: the files of the run.
        settings_of: the settings of a file; a unit is analysed under those of its main file.
        crashed: called with what an internal error cost.
        memo: remembered steps of earlier analyses.
        document: the only file of interest; empty for all.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        settings_of: Callable[[str], Settings],
        crashed: Callable[[NotAnalysed], None],
        memo: Memo | None = None,
        document: str = "",
    ) -> None:
        self._sources = sources
        self._cuda = [s for s in sources if _is_cuda(s)]
        self._compiled = {s.path: s for s in sources if is_compiled(s)}
        self._python = {s.path: s for s in sources if is_python_path(s.path)}
        self._importers = Importers(tuple(self._python.values()))
        self._settings_of = settings_of
        self._crashed = crashed
        self._memo = memo
        self._document = document
        self._programs: dict[int, Project] = {}
        self.launches: SourceLaunches = {}

    @cached_property
    def needs_units(self) -> bool:
        """Whether any file belongs to a translation unit that is worth reading."""
        return any(map(needs_analysis, self._cuda))

    def files(self) -> list[str]:
        """Returns what is analysed one by one: main files of units, then Python, then PTX files."""
        units = self.program().tasks() if self.needs_units else []
        others = {**self._python, **self._compiled}
        return [*units, *(path for path, source in others.items() if needs_analysis(source))]

    def files_for(self, path: str) -> list[str]:
        """Returns those of `files` that decide what is known of one file."""
        if path in self._python:  # an editor hands over what was compiled of its document
            return [path, *self._compiled]
        if path in self._compiled:
            return [path]
        from smemlint.analysis.program.memo import AnalysisScope
        from smemlint.analysis.simt.analyze import Project

        around = Project(self._cuda, self._settings_of(path), scope=AnalysisScope(path))
        own = (path,) if self.program(path).is_task(path) else ()
        return list(dict.fromkeys((*around.main_files.paths, *own)))

    def characters(self, path: str) -> int:
        """Returns how long a file of the run and those that it includes are together."""
        index = self.program().index if self.needs_units else None
        if index is None or path not in index.sources:
            return 0
        return sum(len(index.read(file) or "") for file in index.files_below(path))

    def analyze(self, path: str) -> tuple[Facts, Dependencies]:
        """Returns the facts of one of `files`, and what they depend on.

        Raises:
            LimitReached: see `discard_unfinished`.
        """
        if path in self._python:
            source, settings = self._python[path], self._settings_of(path)
            facts, found = analyze_python(source, settings, self._crashed, self._importers)
            reads = dict.fromkeys((path, *found.reads, *found.compiled))
            return facts, replace(found, reads=reads)
        if path in self._compiled:
            paths = [s.path for s in self._sources]
            settings, source = self._settings_of(path), self._compiled[path]
            facts = compiled_facts(source, settings, paths, self._crashed, self.launches)
            from smemlint.analysis.compiled.triton_cache import triton_files

            return facts, Dependencies(dict.fromkeys((path, *triton_files(path))))
        return self.program(path).alone(path)

    def discard_unfinished(self, path: str, *, is_stopped: bool) -> None:
        """Forgets what an analysis that a limit broke off may have left half done."""
        program = self._programs.get(id(self._settings_of(path)))
        if program is not None and (is_stopped or program.guard.has_run_out):
            program.renew()

    def program(self, path: str = "") -> Project:
        """Returns the files and units that a file, or the first one, is analysed with."""
        from smemlint.analysis.simt.analyze import Project

        settings = self._settings_of(path or self._sources[0].path)
        if id(settings) not in self._programs:
            program = Project(
                self._cuda,
                settings,
                self._crashed,
                memo=self._memo,
                compiled=tuple(self._compiled.values()),
                document=self._document,
            )
            self._programs[id(settings)] = program
        return self._programs[id(settings)]

    def unused_swizzle_pragmas(self, dependencies: Iterable[Dependencies]) -> Iterator[NotAnalysed]:
        """Yields the pragmas for arrays that no analysis accessed; `dependencies` are of all."""
        if self.needs_units:
            used = {place for found in dependencies for place in found.swizzles}
            yield from self.program().user.unused_swizzle_pragmas(used)


def _is_cuda(source: Source) -> bool:
    """Returns whether a file belongs to translation units of CUDA C++."""
    is_other = is_python_path(source.path) or is_template_path(source.path)
    return not is_other and not is_compiled(source)


def without_compiled(files: Collection[str], dependencies: Iterable[Dependencies]) -> list[str]:
    """Returns the files without those of kernels that Python programs of the run compile."""
    compiled = {path for found in dependencies for path in found.compiled}
    return [path for path in files if path not in compiled]


def unreadable_sources(sources: Sequence[Source]) -> list[NotAnalysed]:
    """Returns notes on files, and cells of notebooks, that could not be read."""
    found = []
    for source in sources:
        source.text  # noqa: B018 - reading finds the problem
        if source.problem:
            found.append(
                NotAnalysed(
                    Span(source.path, 1, 1, 1, 1), "", Reason(ReasonCode.UNREADABLE, source.problem)
                )
            )
        elif is_template_path(source.path) and (lines := template_lines(source.text)):
            reason = Reason(ReasonCode.NOT_MODELLED, "a program makes the kernels of this template")
            found.append(NotAnalysed(Span(source.path, lines[0], 1, lines[0], 1), "", reason))
        if source.notebook is not None:
            found += (
                NotAnalysed(
                    Span(source.path, cell.first, 1, cell.first, 1),
                    "",
                    Reason(ReasonCode.UNREADABLE, cell.unread),
                )
                for cell in source.notebook.cells
                if cell.unread and (may_touch_shared(cell.source) or holds_marks(cell.source))
            )
    return found
