"""What a program launched beside what the analysis evaluates its kernels for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.analysis.program.memo import AnalysisScope
from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.sources.discovery import find_sources
from tests.oracle.compiled.instances import Instance, base_name, matching
from tests.oracle.compiled.toolchain import demangle

if TYPE_CHECKING:
    from smemlint.analysis.simt.kernel.task import KernelTask
    from tests.oracle.launches.runtime import Launched, Program


class Verdict(StrEnum):
    """How a launch that was seen and the analysis agree."""

    SAME = "same"
    GUESSED = "block guessed"
    OTHER_BLOCK = "other block"
    NO_INSTANCE = "instance not evaluated"
    OTHER_SIZE = "other dynamic size"
    NO_SIZE = "dynamic size not known"
    NO_KERNEL = "kernel not read"
    NEVER = "evaluated, never launched"


@dataclass(frozen=True, slots=True)
class Row:
    """One launch and what the analysis has for its kernel.

    Attributes:
        kernel: as c++filt spells it.
        launched: block and dynamic shared bytes; None for an instance that is never launched.
        evaluated: what the analysis has: templates, blocks, where they are from, sizes.
        is_said: a note says that launches or instances were left out.
    """

    main: str
    kernel: str
    verdict: Verdict
    launched: tuple[tuple[int, int, int], int] | None
    evaluated: tuple[str, ...]
    is_said: bool = False


def compared(program: Program, launched: Sequence[Launched]) -> list[Row]:
    """Returns a row for each launch, and for each instance of a kernel that none has."""
    tasks, said = tasks_of(program)
    names = demangle(sorted({launch.name for launch in launched}))
    by_kernel: dict[str, list[KernelTask]] = defaultdict(list)
    for task in tasks:
        by_kernel[task.instance.kernel].append(task)
    rows, met = [], set()
    spelled = {id(task): instance_of(task) for task in tasks}
    means = {key: matching(own, names, spelled.values()) for key, own in spelled.items()}
    for launch in launched:
        own = by_kernel.get(base_name(names[launch.name]), [])
        fitting = [task for task in own if launch.name in means[id(task)]]
        met.update(map(id, (task for task in fitting if task.instance.block == launch.block)))
        verdict = _verdict(launch, own, fitting)
        shown = tuple(sorted({_shown(task) for task in fitting or own}))
        what = names[launch.name][:200], verdict, (launch.block, launch.shared)
        rows.append(Row(str(program.main), *what, shown, base_name(names[launch.name]) in said))
    seen = {base_name(name) for name in names.values()}
    for kernel in sorted(seen & by_kernel.keys()):
        for task in by_kernel[kernel]:
            if id(task) not in met and task.instance.origin:
                shown = (_shown(task),)
                rows.append(Row(str(program.main), kernel, Verdict.NEVER, None, shown))
    return rows


def _verdict(launch: Launched, own: Sequence[KernelTask], fitting: Sequence[KernelTask]) -> Verdict:
    if not own:
        return Verdict.NO_KERNEL
    if not fitting:
        return Verdict.NO_INSTANCE
    same = [task for task in fitting if task.instance.block == launch.block]
    if not any(task.instance.origin for task in same):
        guessed = any(not task.instance.origin for task in fitting)
        return Verdict.GUESSED if guessed else Verdict.OTHER_BLOCK
    sizes = {task.shared for task in same}
    if launch.shared in sizes:
        return Verdict.SAME
    return Verdict.NO_SIZE if None in sizes else Verdict.OTHER_SIZE


def tasks_of(program: Program) -> tuple[list[KernelTask], set[str]]:
    """Returns what the kernels of a program are evaluated for, and which it says more of.

    These are all kernels, also those without shared memory, of which `analyze` says nothing.
    """
    files = (program.main, *program.others)
    headers = (p for p in program.main.parent.iterdir() if p.suffix in (".h", ".cuh", ".hpp"))
    sources = find_sources([str(path) for path in (*files, *headers)])
    found: dict[int, KernelTask] = {}
    said: set[str] = set()
    for path in files:
        project = Project(sources, Settings(), scope=AnalysisScope(str(path)))
        for unit in map(project.index.unit, project.main_files.paths):
            instances = project.instances_in(unit)
            for function in (f for f in unit.functions if f.is_kernel):
                for group in instances.of(function):
                    found.update({id(task): task for task in group})
                is_short = instances.is_cut(function) or instances.left_open(function)
                if is_short or instances.left(function) or instances.unnamed(function):
                    said.add(function.name)
    return list(found.values()), said


def instance_of(task: KernelTask) -> Instance:
    """Returns the instance of a task as the oracle spells it."""
    given = task.instance
    return Instance(given.span.path, given.kernel, given.template, given.block)


def _shown(task: KernelTask) -> str:
    template = ",".join(value for _, value in task.instance.template)
    origin = Path(task.instance.origin).name or "guess"
    return f"<{template}> {task.instance.block} {origin} shared={task.shared}"


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """Returns how many rows have each verdict."""
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        found[str(row.verdict)] += 1
    return dict(sorted(found.items()))
