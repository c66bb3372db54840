"""Which of the units that include a header evaluate its kernels: those that call a launcher."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain

from smemlint.analysis.program.roots import MainFiles
from smemlint.analysis.program.units import ProgramIndex, use_of
from smemlint.analysis.simt.amd import is_for_amd
from smemlint.analysis.simt.launches.instances import Instances
from smemlint.frontend.cuda.preprocessor.cutlass_headers import is_cutlass_header
from smemlint.frontend.program import Function, Unit


class LaunchingUnits:
    """Finds the units that evaluate kernels of headers in place of others."""

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

        Units leave it to those that call a launching function of a header, which they do not. Where
        none of them does, the first evaluates it for those that know no other launchers.
        """
        if self._is_left_to_callers(kernel, unit):
            return True
        first = self._mains.evaluating(posixpath.normpath(kernel.span.path))[:1]
        launchers = self.instances(unit).uncalled_launchers(kernel)
        if unit.path in first or not launchers:
            return False
        return any(
            self._is_alike(kernel, launchers, same, self._index.unit(main))
            and not self._is_left_to_callers(same, self._index.unit(main))
            for main in first
            for same in self._read_in(main, kernel)
        )

    def _is_alike(
        self, kernel: Function, launchers: Sequence[Function], same: Function, other: Unit
    ) -> bool:
        """Returns whether another unit has a kernel with the words and launchers of this one."""
        if (same.words, same.parameter_words) != (kernel.words, kernel.parameter_words):
            return False
        there = {function.span for function in self.instances(other).uncalled_launchers(same)}
        return all(function.span in there for function in launchers)

    def _is_left_to_callers(self, kernel: Function, unit: Unit) -> bool:
        """Returns whether another unit that evaluates a kernel calls a launcher of it."""
        asked = {unit.path}
        worklist = [self._callers(kernel, unit)]
        while worklist:
            for same, caller in worklist.pop():
                if caller.path not in asked:
                    asked.add(caller.path)
                    further = self._callers(same, caller)
                    first = next(further, None)
                    if first is None:
                        return True
                    worklist.append(chain((first,), further))
        return False

    def _read_in(self, main: str, kernel: Function) -> list[Function]:
        """Returns a kernel as it was read in the unit of a main file, if not for other GPUs."""
        unit = self._index.unit(main)
        found = [f for f in unit.functions_named(kernel.name) if f.span == kernel.span]
        return [] if found and is_for_amd(unit, self._index) else found

    def _callers(self, kernel: Function, unit: Unit) -> Iterator[tuple[Function, Unit]]:
        """Yields the other units that name a launcher of a kernel, which this one does not call.

        With each stands the kernel as it was read there.
        """
        path = posixpath.normpath(kernel.span.path)
        mains = [main for main in self._evaluating(path) if main != unit.path]
        launchers = self.instances(unit).uncalled_launchers(kernel) if mains else []
        if launchers:
            own = {*map(posixpath.normpath, unit.files), *self._index.files_below(unit.path)}
            for main in mains:
                if self._names_one(main, launchers, own):
                    for same in self._read_in(main, kernel):
                        yield same, self._index.unit(main)

    def _evaluating(self, path: str) -> list[str]:
        """Returns the main files whose units evaluate a file's kernels: of CUTLASS's, any may."""
        return self._mains.paths if is_cutlass_header(path) else self._mains.evaluating(path)

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
