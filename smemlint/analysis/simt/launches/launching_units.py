"""Which of the units that include a header evaluate its kernels: those that call a launcher."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Sequence

from smemlint.analysis.program.roots import MainFiles
from smemlint.analysis.program.units import ProgramIndex, use_of
from smemlint.analysis.simt.amd import is_for_amd
from smemlint.analysis.simt.launches.instances import Instances
from smemlint.frontend.program import Function, Unit


class LaunchingUnits:
    """Finds the units that evaluate kernels of headers in place of others.

    Args:
        index: of the run.
        mains: of the run.
        instances_of: finds the instances of the kernels of a unit.
    """

    def __init__(
        self, index: ProgramIndex, mains: MainFiles, instances_of: Callable[[Unit], Instances]
    ) -> None:
        self._index = index
        self._mains = mains
        self._instances_of = instances_of
        self._instances: dict[str, Instances] = {}

    def instances(self, unit: Unit) -> Instances:
        """Returns the instances of the kernels of a unit."""
        if unit.path not in self._instances:
            self._instances[unit.path] = self._instances_of(unit)
        return self._instances[unit.path]

    def is_left(self, kernel: Function, unit: Unit) -> bool:
        """Returns whether a unit leaves a header's kernel to another that evaluates it.

        Units leave it to those that call a launching function of a header, which they do not. What
        they only leave to each other, they evaluate.
        """
        asked = {unit.path}
        worklist = self._callers(kernel, unit)
        while worklist:
            same, caller = worklist.pop()
            if caller.path not in asked:
                asked.add(caller.path)
                further = self._callers(same, caller)
                if not further:
                    return True
                worklist += further
        return False

    def _callers(self, kernel: Function, unit: Unit) -> list[tuple[Function, Unit]]:
        """Returns the other units that name a launcher of a kernel, which this one does not call.

        With each stands the kernel as it was read there.
        """
        path = posixpath.normpath(kernel.span.path)
        mains = [main for main in self._mains.evaluating(path) if main != unit.path]
        launchers = self.instances(unit).uncalled_launchers(kernel) if mains else []
        if not launchers:
            return []
        own = {*map(posixpath.normpath, unit.files), *self._index.files_below(unit.path)}
        naming = (main for main in mains if self._names_one(main, launchers, own))
        return [
            (same, caller)
            for caller in map(self._index.unit, naming)
            for same in caller.functions_named(kernel.name)
            if same.span == kernel.span and not is_for_amd(caller, self._index)
        ]

    def _names_one(self, main: str, launchers: Sequence[Function], own: Collection[str]) -> bool:
        """Returns whether files below a main file that are not a unit's own use a launcher."""
        files = self._index.files_below(main)
        callable_there = [f.name for f in launchers if posixpath.normpath(f.span.path) in files]
        uses = use_of(callable_there)
        further = (f for f in files if f not in own) if callable_there else ()
        texts = (self._index.read(file) or "" for file in further)
        return any(
            any(name in text for name in callable_there) and uses.search(text) for text in texts
        )
