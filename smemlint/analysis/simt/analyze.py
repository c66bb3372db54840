"""Evaluates the sources of a run, unit by unit, kernel by kernel."""

from __future__ import annotations

import posixpath
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from smemlint.analysis.program.dependencies import Journal
from smemlint.analysis.program.roots import Roots
from smemlint.analysis.simt.kernel.consensus import agreed
from smemlint.analysis.simt.launches.instance_budget import Effort
from smemlint.analysis.simt.launches.instances import Instances
from smemlint.analysis.simt.state import BudgetExceeded
from smemlint.analysis.simt.unreached import unreached
from smemlint.analysis.simt.written_layouts import MENTION, written_layouts
from smemlint.facts import Facts, KernelFacts, NotAnalysed, Span
from smemlint.limits.errors import LimitReached, broke_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smemlint.analysis.program.memo import Part, Work
    from smemlint.analysis.simt.kernel.evaluate import Task
    from smemlint.config.settings import Settings
    from smemlint.facts import LayoutUse
    from smemlint.frontend.program import Function, Unit
    from smemlint.sources.source import Source

_MAX_RECURSION = 6000


def evaluate_project(
    sources: Sequence[Source],
    settings: Settings,
    crashed: Callable[[NotAnalysed], None] | None = None,
    part: Part | None = None,
    work: Work | None = None,
) -> Facts:
    """The facts of all kernels in `sources` that touch shared memory.

    A file that others include is evaluated in up to three of the units that include it, since its
    macros and launches may be theirs; each kernel instance is reported once.

    Args:
        sources: the files of the run.
        settings: see `smemlint.config.settings.Settings`.
        crashed: told of every kernel that an internal error cost; without it, errors are raised.
        part: what to evaluate; everything by default.
        work: what is known from before; everything is done anew without it.
    """
    return Project(sources, settings, crashed, part, work).facts()


class Project(Roots):
    """The files of a run and what is known across them."""

    def renewed(self) -> Project:
        """The same project without what an evaluation that broke off may have left half done."""
        sources = tuple(self.sources.values())
        fresh = Project(sources, self.settings, self._crashed, self._part, self.work)
        fresh._texts, fresh._includes = self._texts, self._includes
        fresh._refusals = self._refusals
        if "_chosen" in self.__dict__:
            fresh.__dict__["_chosen"] = self._chosen
        return fresh

    def facts(self) -> Facts:
        """Evaluates every unit."""
        kernels: list[KernelFacts] = []
        notes: list[NotAnalysed] = []
        layouts: list[LayoutUse] = []
        seen: set[Span] = set()
        for path in self.tasks():
            part = self.facts_of(path)
            kernels += part.kernels
            notes += part.not_analysed
            layouts += (use for use in part.layouts if use.span not in seen)
            seen.update(use.span for use in part.layouts)
        notes += self.idle_swizzles(self.journal.swizzles)
        return Facts(tuple(kernels), tuple(dict.fromkeys(notes)), tuple(layouts))

    def tasks(self) -> list[str]:
        """What is evaluated one by one: roots of units, then files that write swizzles down."""
        written = [] if self._part is not None else self._writing()
        return list(dict.fromkeys((*self._roots, *written)))

    def instances_of(self, kernel: Span) -> list[tuple[Unit, Task]]:
        """The instances of the kernel whose name stands there, in all units that hold it."""
        with _deep_recursion():
            return [
                (unit, task)
                for unit in map(self.unit, self._roots)
                for function in unit.functions
                if function.is_kernel and function.span == kernel
                for group in Instances(self, unit).of(function)
                for task in group
            ]

    def _writing(self) -> list[str]:
        return [p for p in self.sources if MENTION.search(self.read(p) or "")]

    def facts_of(self, path: str) -> Facts:
        """One task: kernel instances that none before it had, and the swizzles written down."""
        kernels: list[KernelFacts] = []
        notes: list[NotAnalysed] = []
        layouts: list[LayoutUse] = []
        with _deep_recursion(), self._guarded(path):
            if path in self._roots:
                self._evaluate_unit(self.unit(path), kernels, notes)
        layouts += (use for kernel in kernels for use in kernel.layouts)
        if MENTION.search(self.read(path) or ""):
            with self._guarded(path):
                layouts += (u for u in written_layouts(self.unit(path)) if self._is_of_the_run(u))
        notes += self._stopped
        self._stopped = []
        return Facts(tuple(kernels), tuple(dict.fromkeys(notes)), tuple(layouts))

    def alone(self, path: str) -> tuple[Facts, Journal]:
        """One task as if it were the first, and what its facts rest on."""
        self._forget_units()
        self._seen.clear()
        self.journal = journal = Journal()
        facts = self.facts_of(path)
        self.journal = Journal()
        return facts, journal

    def _is_of_the_run(self, use: LayoutUse) -> bool:
        return posixpath.normpath(use.span.path) in self.sources

    def _evaluate_unit(
        self, unit: Unit, kernels: list[KernelFacts], notes: list[NotAnalysed]
    ) -> None:
        """Adds the facts of a unit, kernel by kernel: what is found stays when time runs out."""
        notes += [NotAnalysed(n.span, "", n.reason) for n in unit.notices]
        notes += self.refused_makefiles(unit.path)
        notes += [
            NotAnalysed(n.span, "", n.reason) for n in unit.unread if self._is_here(n.span, unit)
        ]
        notes += unreached(unit, (f for f in unit.functions if self._is_here(f.span, unit)))
        functions = [f for f in unit.functions if f.is_kernel and self._is_wanted(f, unit)]
        if not functions:
            return
        if unit.not_found:
            missing_files = ", ".join(unit.not_found)
            where = Span(unit.path, 1, 1, 1, 1)
            notes.append(NotAnalysed(where, "", f"includes were not found: {missing_files}"))
        instances = Instances(self, unit)
        for function in functions:
            groups: list[list[Task]] = []
            with self._guarded(unit.path, function):
                groups = instances.of(function)
            effort = Effort()
            for tasks in groups:
                instance = tasks[0].instance
                if effort.leaves(instance.block):
                    continue
                key = (function.span, instance.template, instance.block)
                if key in self._seen:
                    continue
                self._seen.add(key)
                with self._guarded(unit.path, function):
                    facts = self._evaluated(unit, tasks)
                    kernels.append(agreed(facts, tasks))
                    effort.add(kernels[-1], sum(f.steps for f in facts))
            if effort.left:
                left = "instance is" if effort.left == 1 else "instances are"
                said = f"{effort.left} further {left} not evaluated"
                notes.append(NotAnalysed(function.span, function.name, said))

    def _evaluated(self, unit: Unit, tasks: Sequence[Task]) -> list[KernelFacts]:
        """The facts of an instance, or of each guess at it as long as one decides anything."""
        first, *others = tasks
        facts = [self.work.evaluate(unit, first, self.settings.arch)]
        if any(a.certainty.is_decided for a in facts[0].accesses):
            facts += [self.work.evaluate(unit, t, self.settings.arch) for t in others]
        return facts

    @contextmanager
    def _guarded(self, path: str, function: Function | None = None) -> Iterator[None]:
        """An internal error, or a limit, costs one kernel or file, which is said."""
        span = function.span if function is not None else Span(path, 1, 1, 1, 1)
        name = function.name if function is not None else ""
        try:
            yield
        except LimitReached as spent:
            self.has_run_out = True
            self._stopped.append(NotAnalysed(span, name, str(spent)))
        except MemoryError:
            self._stopped.append(NotAnalysed(span, name, "evaluation stopped: out of memory"))
        except OverflowError:
            said = "evaluation stopped: a number has more than 64 bits"
            self._stopped.append(NotAnalysed(span, name, said))
        except BudgetExceeded as spent:
            self._stopped.append(NotAnalysed(span, name, f"evaluation stopped: {spent}"))
        except RecursionError:
            said = "evaluation stopped: the code is nested too deeply"
            self._stopped.append(NotAnalysed(span, name, said))
        except Exception as error:
            self.has_run_out |= broke_off(error)
            if self.has_run_out:  # it broke off anywhere, and left things half done
                self._stopped.append(NotAnalysed(span, name, "evaluation stopped before"))
                return
            if self._crashed is None:
                raise
            what = f"internal error: {type(error).__name__}: {error}"
            self._crashed(NotAnalysed(span, name, what))

    def _is_wanted(self, function: Function, unit: Unit) -> bool:
        """Whether the kernel is evaluated in this unit and may touch shared memory."""
        if not self._is_here(function.span, unit):
            return False
        if self._part is not None and function.name not in self._part.kernels:
            return False
        return touches_shared(function, unit)

    def _is_here(self, span: Span, unit: Unit) -> bool:
        """Whether what a function there does is evaluated in this unit."""
        path = posixpath.normpath(span.path)
        if path not in self.sources:
            return False
        is_of_unit = self.is_evaluated_in(path, unit.path)
        self.journal.units[path, unit.path] = is_of_unit
        return is_of_unit


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Lets inlined calls nest: one of the language is some forty of the interpreter."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _MAX_RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def touches_shared(function: Function, unit: Unit) -> bool:
    """Whether a function or one that it may call names shared memory."""
    shared = {"__shared__", "ldmatrix", "__cvta_generic_to_shared"}
    for group in unit.declarations.values():
        for declaration in group:
            if declaration.kind == "variable" and "__shared__" in declaration.specifiers:
                shared.add(declaration.name)
    seen: set[str] = set()
    work = [function]
    while work:
        current = work.pop()
        words = current.words
        if words & shared or any("shared" in w for w in words):
            return True
        for word in words - seen:
            seen.add(word)
            work.extend(unit.functions_named(word))
            for record in unit.records.get(word, ()):
                work.extend(f for f in unit.functions if f.record == record.name)
    return False
