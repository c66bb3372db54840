"""Evaluates the sources of a run, unit by unit, kernel by kernel."""

from __future__ import annotations

import posixpath
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property, partial

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.program.memo import AnalysisScope, Memo
from smemlint.analysis.program.roots import MainFiles, main_files
from smemlint.analysis.program.units import ProgramIndex
from smemlint.analysis.program.user_input import UserInput
from smemlint.analysis.simt.amd import is_for_amd
from smemlint.analysis.simt.domain.environment import MAX_THREADS
from smemlint.analysis.simt.elsewhere import defined_elsewhere
from smemlint.analysis.simt.guard import Guard
from smemlint.analysis.simt.kernel.alike_instances import with_alike
from smemlint.analysis.simt.kernel.consensus import consensus
from smemlint.analysis.simt.kernel.evaluate import evaluate_kernel
from smemlint.analysis.simt.kernel.further_launches import further_launches
from smemlint.analysis.simt.kernel.task import KernelTask
from smemlint.analysis.simt.launches.host_runs import launches_of
from smemlint.analysis.simt.launches.instance_budget import InstanceBudget, by_family
from smemlint.analysis.simt.launches.instances import Instances
from smemlint.analysis.simt.launches.launching_units import LaunchingUnits
from smemlint.analysis.simt.shared_functions import names_defined_in, new_words, touches_shared
from smemlint.analysis.simt.unreached import reaches_nothing, unreached, unreached_under_guesses
from smemlint.config.settings import Settings
from smemlint.facts import Facts, KernelFacts, LayoutUse, NotAnalysed, Span
from smemlint.frontend.cuda.kernel_strings import KernelString, kernel_strings
from smemlint.frontend.cuda.lexer.tokens import LineMap
from smemlint.frontend.cuda.preprocessor.cutlass_headers import is_cutlass_header
from smemlint.frontend.cuda.unit import load_unit
from smemlint.frontend.program import Function, Unit
from smemlint.frontend.text_heuristics import (
    built_includes,
    describes_swizzle,
    launched_and_not_defined,
    library_kernels,
)
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_PYTHON_FRAMES
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.source import Source

DIRECT = Memo(evaluate_kernel, launches_of, load_unit)
"""Everything is done anew."""


class Project:
    """The analysis of a run.

    A file that others include is evaluated in up to three of the units that include it, since its
    macros and launches may be theirs; each kernel instance is reported once.

    Args:
        sources: the files of the run.
        settings: see `smemlint.config.settings.Settings`.
        crashed: called with each internal error; without it, they are raised.
        scope: what to evaluate; everything by default.
        memo: what is known from before; everything is done anew without it.
        compiled: compiled code of the run; what launches pass is noted of kernels that it names.
        document: the only file of interest; empty for all. Kernels of other files that cannot
            come to its code are not evaluated, unless it is the main file.
        reads_strings: whether kernels in strings of the files are evaluated, too.

    Attributes:
        index: the files and units of the run.
        user: what pragmas and settings state.
        guard: turns failures into notes.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        settings: Settings,
        crashed: Callable[[NotAnalysed], None] | None = None,
        scope: AnalysisScope | None = None,
        memo: Memo | None = None,
        *,
        compiled: Sequence[Source] = (),
        document: str = "",
        reads_strings: bool = True,
    ) -> None:
        self._scope = scope
        self._document = posixpath.normpath(document) if document else ""
        self._compiled = compiled
        self._reads_strings = reads_strings
        self._memo = memo or DIRECT
        self._seen: set[tuple[Span, object, object]] = set()
        self._set_index(ProgramIndex(sources, settings, self._memo.load))
        self.guard = Guard(crashed)

    def _set_index(self, index: ProgramIndex) -> None:
        self.index = index
        self.user = UserInput(index)

    @cached_property
    def main_files(self) -> MainFiles:
        """The main files of the units to evaluate."""
        return main_files(self.index, self._scope.path if self._scope is not None else None)

    def renew(self) -> None:
        """Forgets what an evaluation that broke off may have left half done."""
        self._set_index(self.index.renewed())
        self._seen.clear()
        self.guard = Guard(self.guard.crashed)

    def facts(self) -> Facts:
        """Returns the facts of every unit."""
        facts = [self.facts_of(path) for path in self.tasks()]
        unused = self.user.unused_swizzle_pragmas(self.index.dependencies.swizzles)
        return Facts.merged([*facts, Facts(not_analysed=tuple(unused))])

    def tasks(self) -> list[str]:
        """Returns what is evaluated one by one: main files, files with swizzles or launches."""
        mains = self.main_files.paths
        if self._scope is not None:
            return mains
        written = (p for p in self.index.sources if self._writes_layouts(p))
        launching = (p for p in self.index.sources if self._launches_others(p))
        strings = (p for p in self.index.sources if self._kernel_strings(p))
        return list(dict.fromkeys((*mains, *written, *launching, *strings)))

    def is_task(self, path: str) -> bool:
        """Returns whether a file is one of `tasks`."""
        is_main = path in self.main_files.paths
        if is_main or self._scope is not None:
            return is_main
        has_layouts = self._writes_layouts(path) or self._launches_others(path)
        return has_layouts or bool(self._kernel_strings(path))

    def instances_of(self, kernel: Span) -> list[tuple[Unit, KernelTask]]:
        """Returns the instances of the kernel whose name stands there, in all its units."""
        with _deep_recursion():
            return [
                (unit, task)
                for unit in map(self.index.unit, self.main_files.paths)
                for function in unit.functions
                if function.is_kernel and function.span == kernel
                for group in self.instances_in(unit).of(function)
                for task in group
            ]

    def facts_of(self, path: str) -> Facts:
        """Returns the facts of one task.

        They are those of kernel instances that no task before it had, and of the swizzles that are
        written down.
        """
        kernels: list[KernelFacts] = []
        notes: list[NotAnalysed] = []
        layouts: list[LayoutUse] = []
        where = Span(path, 1, 1, 1, 1)
        with _deep_recursion(), self.guard.protect(where):
            if path in self.main_files.paths:
                for unit in (self.index.unit(path), *self._units_of_left_out(path)):
                    self._evaluate_unit(unit, kernels, notes)
        layouts += (use for kernel in kernels for use in kernel.layouts)
        with self.guard.protect(where):
            reaching = (k.instance.span.path for k in kernels if k.accesses)
            followed = sum(map(is_cutlass_header, reaching))
            notes += defined_elsewhere(self.index, path, followed)
        if self._writes_layouts(path):
            from smemlint.analysis.simt.launches.tensor_maps import tensor_maps
            from smemlint.analysis.simt.written_swizzles import written_swizzles

            with self.guard.protect(where):
                unit = self.index.unit(path)
                written = (*written_swizzles(unit), *tensor_maps(unit))
                layouts += (
                    u for u in written if posixpath.normpath(u.span.path) in self.index.sources
                )
        with self.guard.protect(where):
            for found in self._kernel_strings(path):
                facts = self._facts_of_string(path, found)
                kernels += facts.kernels
                notes += facts.not_analysed
        notes += self.guard.taken_notes()
        return Facts(tuple(kernels), tuple(dict.fromkeys(notes)), tuple(layouts))

    def _units_of_left_out(self, main: str) -> Iterator[Unit]:
        """Yields the units of files that are in the unit of none of their main files.

        They are included on a condition that is not met, as that of another platform.
        """
        for path, mains in self.main_files.beginning_with(main):
            units = map(self.index.unit, mains)
            if not any(path in map(posixpath.normpath, unit.files) for unit in units):
                yield self.index.unit(path)

    def alone(self, path: str) -> tuple[Facts, Dependencies]:
        """Returns the facts of one task as if it were the first, and what they rest on."""
        self._seen.clear()
        dependencies = self.index.begin_task()
        facts = self.facts_of(path)
        self.index.dependencies = Dependencies()
        return facts, dependencies

    def _kernel_strings(self, path: str) -> list[KernelString]:
        """Returns the texts of kernels in the strings of a file."""
        return list(kernel_strings(self.index.read(path) or "")) if self._reads_strings else []

    def _facts_of_string(self, path: str, found: KernelString) -> Facts:
        """Returns the facts of the kernels of a string, at their places in the file."""
        if found.program is None:
            at = LineMap(self.index.read(path) or "")(found.start)
            text = "a kernel in a string that the program puts together at run time"
            where = Span(path, *at, *at)
            note = NotAnalysed(where, "", Reason(ReasonCode.NOT_MODELLED, text))
            return Facts(not_analysed=(note,))
        below = self.index.sources[path].below if path in self.index.sources else ""
        source = Source(path, found.program, below=below)
        program = Project([source], self.index.settings, self.guard.crashed, reads_strings=False)
        facts, dependencies = program.alone(path)
        self.index.dependencies.add(dependencies)
        return facts

    def _writes_layouts(self, path: str) -> bool:
        return describes_swizzle(self.index.read(path) or "")

    def _launches_others(self, path: str) -> bool:
        text = self.index.read(path) or ""
        built = built_includes(path, text)
        return bool(launched_and_not_defined(text) or library_kernels(text)) or (
            bool(built) and self._names.isdisjoint(map(posixpath.basename, built))
        )

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of the files of the run, without their folders."""
        return frozenset(map(posixpath.basename, self.index.sources))

    def instances_in(self, unit: Unit) -> Instances:
        """Returns what finds the instances of the kernels of a unit."""
        return Instances(self.index, self.user, self._memo, unit, self.main_files)

    def _evaluate_unit(
        self, unit: Unit, kernels: list[KernelFacts], notes: list[NotAnalysed]
    ) -> None:
        """Adds the facts of a unit, in the order of its kernels.

        The first instance of every kernel is evaluated before further ones of any, and what is
        found stays when time runs out.
        """
        where = Span(unit.path, 1, 1, 1, 1)
        if is_for_amd(unit, self.index):
            text = "written for AMD GPUs, which have other banks"
            notes.append(NotAnalysed(where, "", Reason(ReasonCode.OTHER_HARDWARE, text)))
            return
        notes += [NotAnalysed(n.span, "", n.reason) for n in unit.notices]
        notes += self.index.unused_builds(unit.path)
        notes += [
            NotAnalysed(n.span, "", n.reason) for n in unit.unread if self._is_here(n.span, unit)
        ]
        notes += unreached(unit, (f for f in unit.functions if self._is_here(f.span, unit)))
        functions = [f for f in unit.functions if f.is_kernel and self._is_wanted(f, unit)]
        if not functions:
            return
        if unit.not_found:
            text = f"includes were not found: {', '.join(unit.not_found)}"
            notes.append(NotAnalysed(where, "", Reason(ReasonCode.MISSING, text)))
        units = LaunchingUnits(self.index, self.main_files, self.instances_in)
        found = [_Found() for _ in functions]
        evaluations = [
            self._evaluate_function(unit, function, units, own)
            for function, own in zip(functions, found, strict=True)
        ]
        try:
            for evaluation in evaluations:
                next(evaluation, None)
                self._memo.found([kernel for own in found for kernel in own.kernels])
            _exhaust_in_turn(evaluations)
        finally:
            for own in found:
                kernels += own.kernels
                notes += own.notes
        unsearched = units.instances(unit).unsearched
        if unsearched:
            files = "file that names" if unsearched == 1 else "files that name"
            text = f"{unsearched} further {files} its kernels: not searched for launches"
            notes.append(NotAnalysed(where, "", Reason(ReasonCode.LEFT_OUT, text)))

    def _evaluate_function(
        self, unit: Unit, function: Function, units: LaunchingUnits, found: _Found
    ) -> Iterator[None]:
        """Adds the facts of a kernel, instance by instance, and gives way to others after each."""
        instances = units.instances(unit)
        groups: list[list[KernelTask]] = []
        with self.guard.protect(function.span, function.name):
            if units.is_left(function, unit):
                return
            groups = with_alike(instances.of(function))
        budget = InstanceBudget()
        for tasks in by_family(groups):
            instance = tasks[0].instance
            if budget.leaves(tasks[0]):
                continue
            key = (function.span, instance.template, instance.block)
            if key in self._seen:
                continue
            self._seen.add(key)
            further: Callable[[], list[KernelFacts]] = list
            leave = budget.leave if budget.instances else None
            with self.guard.protect(function.span, function.name, leave), budget.measured():
                facts = self._evaluated(unit, tasks)
                kernel = consensus(facts)
                if any(function.name in source.text for source in self._compiled):
                    kernel = replace(kernel, passed=tasks[0].passed())
                found.kernels.append(kernel)
                budget.add(tasks[0], kernel, sum(f.steps for f in facts))
                found.notes += unreached_under_guesses(function, facts)
                if len(tasks) == 1:
                    further = partial(self._further_launches, unit, tasks[0], kernel, budget)
            yield
            with self.guard.protect(function.span, function.name, budget.leave):
                found.kernels += further()
        for text in _left_out(instances, function, budget):
            reason = Reason(ReasonCode.LEFT_OUT, text)
            found.notes.append(NotAnalysed(function.span, function.name, reason))

    def _further_launches(
        self, unit: Unit, task: KernelTask, found: KernelFacts, budget: InstanceBudget
    ) -> list[KernelFacts]:
        """Returns the facts of launches that pass other numbers, as far as they differ."""

        def evaluate(task: KernelTask) -> KernelFacts:
            return consensus([self._memo.evaluate(unit, task, self.index.settings.arch)])

        others, left, steps = further_launches(found, task, evaluate, budget.cost)
        budget.left += left
        budget.steps += steps
        return others

    def _evaluated(self, unit: Unit, tasks: Sequence[KernelTask]) -> list[KernelFacts]:
        """Returns the facts of an instance, or of each guess as long as one decides anything."""
        first, *others = tasks
        arch = self.index.settings.arch
        facts = [self._memo.evaluate(unit, first, arch)]
        if any(a.certainty.is_decided for a in facts[0].accesses) or reaches_nothing(facts[0]):
            facts += [self._memo.evaluate(unit, t, arch) for t in others]
        return sorted(facts, key=reaches_nothing)

    def _is_wanted(self, function: Function, unit: Unit) -> bool:
        """Returns whether the kernel is evaluated in this unit and may touch shared memory."""
        if not self._is_here(function.span, unit):
            return False
        if self._scope is not None and function.name not in self._scope.kernels:
            return False
        if self._document not in ("", posixpath.normpath(unit.path)) and not self._may_come_to(
            self._document, function, unit
        ):
            return False
        return touches_shared(function, unit)

    def _may_come_to(self, path: str, function: Function, unit: Unit) -> bool:
        """Returns whether a kernel, or what it calls, names something that a file defines.

        What may use operators is not looked for: any kernel may.
        """
        if posixpath.normpath(function.span.path) == path:
            return True
        names = names_defined_in(unit, path)
        if any(name.startswith("operator") for name in names):
            return True
        return any(not words.isdisjoint(names) for words in new_words(function, unit))

    def _is_here(self, span: Span, unit: Unit) -> bool:
        """Returns whether what a function there does is evaluated in this unit."""
        path = posixpath.normpath(span.path)
        if is_cutlass_header(path):
            return True
        if path not in self.index.sources:
            return False
        place = self.main_files.place_of(unit.path, path)
        self.index.dependencies.units[path, unit.path] = place
        return place is not None


@dataclass(slots=True, eq=False)
class _Found:
    """What is known of one kernel so far."""

    kernels: list[KernelFacts] = field(default_factory=list)
    notes: list[NotAnalysed] = field(default_factory=list)


def _left_out(instances: Instances, function: Function, budget: InstanceBudget) -> Iterator[str]:
    """Yields what is said of instances of a kernel that are not evaluated."""
    if count := budget.left + instances.left(function):
        yield f"{count} further {'instance is' if count == 1 else 'instances are'} not evaluated"
    if places := instances.left_open(function):
        is_one = len(places) == 1
        which = "the launch" if is_one else f"{len(places)} launches, the first of them"
        has = "has a block" if is_one else "have blocks"
        yield f"{which} at {places[0]} {has} of an unknown size: not evaluated for that"
    if places := instances.failing(function):
        more = f" and {len(places) - 1} more" if places[1:] else ""
        yield f"the launch at {places[0]}{more} fails: a block has at most {MAX_THREADS} threads"
    if unnamed := instances.unnamed(function):
        more = f" and {len(unnamed) - 1} more" if unnamed[1:] else ""
        yield f"the launch at {unnamed[0]}{more} is of a kernel that is not known: perhaps this"
    if instances.is_cut(function):
        yield "what launches it was not followed to its end: later launches are not known"


def _exhaust_in_turn(evaluations: Iterable[Iterator[None]]) -> None:
    """Runs each by one step before any by a further one, until all have ended."""
    waiting = deque(evaluations)
    while waiting:
        first = waiting.popleft()
        for _ in first:
            waiting.append(first)
            break


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Lets inlined calls nest: one of the language is some forty of the interpreter."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, MAX_PYTHON_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
