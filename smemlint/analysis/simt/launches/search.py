"""Where a kernel may be launched: the units that are read for it, and runs of their host code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from smemlint.analysis.program.memo import Memo
from smemlint.analysis.program.roots import MainFiles
from smemlint.analysis.program.units import ProgramIndex, reachable
from smemlint.analysis.simt.launches.host_code import LAUNCH_WORDS, HostCode, UnitHostCode, home_of
from smemlint.analysis.simt.launches.host_runs import Host, HostRun
from smemlint.analysis.simt.launches.instantiations import is_instantiated
from smemlint.analysis.simt.launches.launches import LaunchPolicy
from smemlint.analysis.simt.launches.open_parameters import Flows
from smemlint.analysis.simt.launches.written_calls import written_calls
from smemlint.frontend.line_searches import launched_names
from smemlint.frontend.program import Function, Unit
from smemlint.frontend.text_heuristics import names_another
from smemlint.limits.budgets import MAX_LINKED_CHARACTERS, MAX_LINKED_FILES, MAX_MAIN_FILES
from smemlint.sources.languages import is_python_path


def _anything(path: str) -> bool:
    return True


class LaunchSearch:
    """Finds the host code that may launch the kernels of one unit, and runs it.

    Attributes:
        unsearched: files that name a kernel, may launch it, and were not looked through.
    """

    def __init__(self, index: ProgramIndex, memo: Memo, unit: Unit, mains: MainFiles) -> None:
        self.unsearched: dict[str, None] = {}
        self._index = index
        self._memo = memo
        self._unit = unit
        self._mains = mains
        self._code: dict[int, UnitHostCode] = {}
        self._hosts: dict[tuple[int, ...], HostCode] = {}
        self._runs: dict[object, list[HostRun]] = {}
        self._flows: dict[HostCode, Flows] = {}
        self._uncalled_launchers: dict[Function, list[Function]] = {}

    def units_of(self, kernel: Function) -> list[Unit]:
        """Returns the kernel's unit, and those of files that name the kernel and may launch it."""
        units = [self._unit]
        if self.is_launched_here(kernel):
            return units
        near = self._index.mentioning((kernel.name,), self._unit.path, self._unit.files)
        for path in self._link(units, filter(self._may_mean(kernel), near)):
            text = self._index.read(path) or ""
            if any(word in text for word in LAUNCH_WORDS):
                self.unsearched[path] = None
        return [units[0], *(u for u in units[1:] if not self._declares_another(u, kernel))]

    def _declares_another(self, unit: Unit, kernel: Function) -> bool:
        """Returns whether a unit means by a kernel's name a function that it declares, no kernel.

        It has a name of its own for that: launches of the name would need the kernel's declaration.
        """
        declared = [p.is_kernel for p in unit.prototypes(kernel.name) if p.scope == kernel.scope]
        declared += [
            f.is_kernel for f in unit.functions_named(kernel.name) if f.scope == kernel.scope
        ]
        if not declared or any(declared):
            return False
        texts = (self._index.read(path) or "" for path in unit.files)
        launched = (name for text in texts for name, _ in launched_names(text))
        return kernel.name not in launched

    def uncalled_launchers(self, kernel: Function) -> list[Function]:
        """Returns the functions of headers that come to launch a kernel, if the unit calls none.

        Empty where the unit launches the kernel, or nothing in it would.
        """
        if kernel not in self._uncalled_launchers:
            launchers, _ = self.host_code((self._unit,)).launchers_of(kernel.name)
            self._uncalled_launchers[kernel] = self._uncalled(launchers)
        return self._uncalled_launchers[kernel]

    def has_callers(self, function: Function) -> bool:
        """Returns whether code of the unit calls a function, other than templates without use."""
        callers = self.host_code((self._unit,)).callers(function)
        return bool(callers) and not self._uncalled(callers)

    def _uncalled(self, functions: Sequence[Function]) -> list[Function]:
        """Returns functions of headers and all that come to call them; none if the unit uses one.

        It does so in its main file, in a table or by an explicit instantiation.
        """
        own = self.host_code((self._unit,))
        worklist = list(functions)
        found: dict[Function, None] = {}
        while worklist:
            function = worklist.pop()
            if function in found:
                continue
            is_own = function.span.path == self._unit.path or own.is_in_a_table(function.name)
            if is_own or is_instantiated(self._unit, function):
                return []
            found[function] = None
            worklist += own.callers(function)
        return list(found)

    def is_launched_here(self, kernel: Function) -> bool:
        """Returns whether the unit launches a kernel of a header, and no other unit is asked.

        Other units that include the header launch instances of their own, and are asked for them.
        """
        if kernel.span.path == self._unit.path:
            return False
        launchers, _ = self.host_code((self._unit,)).launchers_of(kernel.name)
        return bool(launchers) and not self._asks_others(kernel, kernel.name)

    def is_called_here(self, function: Function, kernel: Function) -> bool:
        """Returns whether callers of a header's function are looked for in the unit alone.

        Other units that include the header launch instances of their own, and are asked for them.
        """
        if function.span.path == self._unit.path or self._asks_others(kernel, function.name):
            return False
        is_of_header = kernel.span.path != self._unit.path
        if is_of_header and not self.uncalled_launchers(kernel):
            return True
        return bool(self.host_code((self._unit,)).callers(function))

    def _asks_others(self, kernel: Function, name: str) -> bool:
        """Returns whether a unit asks others for their launches of a kernel of a header.

        Where more of them include the header than it is evaluated in, the first of those does.
        """
        mains = self._mains.of.get(posixpath.normpath(kernel.span.path), ())
        if self._unit.path not in mains[:1]:
            return False
        near = self._index.mentioning((name,), self._unit.path)
        return sum(path not in self._unit.files for path in near) >= MAX_MAIN_FILES

    def _may_mean(self, kernel: Function) -> Callable[[str], bool]:
        """Returns what tells of a file whether it may mean the kernel where it has its name."""

        def may_mean(path: str) -> bool:
            return not names_another(self._index.read(path) or "", kernel.name)

        return _anything if is_python_path(self._unit.path) else may_mean

    def link_callers(self, units: list[Unit], function: Function) -> None:
        """Adds the units of files that may call a function to some units, as memory allows."""
        self._link(units, self._may_call(function))

    def link_makers_of_shapes(self, units: list[Unit], functions: Iterable[Function]) -> bool:
        """Adds the units of files that define what functions call to make a block.

        Returns:
            Whether there are any.
        """
        words = sorted(frozenset().union(*(function.words for function in functions)))
        names = [word for word in words if _is_declared_maker(units, word)]
        defines = _definition_of(names)
        near = self._index.mentioning(names, self._unit.path)
        before = len(units)
        self._link(units, [p for p in near if defines.search(self._index.read(p) or "")])
        return len(units) > before

    def link_writers(self, units: list[Unit], variables: Iterable[str]) -> bool:
        """Adds the units of files that declare variables of some units, and may write them.

        Returns:
            Whether there are any.
        """
        before = len(units)
        for name in sorted(variables):
            declared = [d for unit in units for d in unit.declarations.get(name, ())]
            is_extern = any("extern" in d.specifiers for d in declared)
            near = self._index.mentioning((name,), self._unit.path)
            texts = {path: self._index.read(path) or "" for path in near}
            self._link(units, [p for p, text in texts.items() if is_extern or "extern" in text])
        return len(units) > before

    def _link(self, units: list[Unit], paths: Iterable[str]) -> list[str]:
        """Adds the units of some files, as memory allows; returns those that are in none."""
        near = list(paths)
        for path in [p for p in near if p not in self._unit.files][:MAX_LINKED_FILES]:
            if sum(map(self._index.characters, units)) > MAX_LINKED_CHARACTERS:
                break
            if not any(path in u.files for u in units):
                units.append(self._index.unit(path))
        return [p for p in near if not any(p in u.files for u in units)]

    def is_named_beyond(self, units: Sequence[Unit], function: Function) -> bool:
        """Returns whether a file that is in none of some units may call a function."""
        return any(all(path not in u.files for u in units) for path in self._may_call(function))

    def _may_call(self, function: Function) -> list[str]:
        """Returns files that name a function, without those that cannot see what they would call.

        A template, and a class of which it is a method, is seen where its header is included. Of a
        function that no header has, another program may have one of its own: every `main.cu` a
        `run_test()`. Where one program begins, no other does.
        """
        found = self._index.mentioning((function.name,), self._unit.path)
        home = home_of(function)
        if not self._mains.includers.get(home):
            begins = _definition_of(("main",)).search(self._index.read(home) or "")
            defines = _definition_of((function.name, *(("main",) if begins else ())))
            found = [p for p in found if p == home or not defines.search(self._index.read(p) or "")]
        is_method = function.owner is not None and home in self._index.sources
        if not is_method and not (function.template and self._mains.includers.get(home)):
            return found
        seeing = reachable((home,), lambda p: self._mains.includers.get(p, ()))
        others = [path for path in found if path not in seeing]
        for path in reachable(others, self._index.includes):
            self._index.read(path)  # another include in it would matter
        return [path for path in found if path in seeing]

    def host_code(self, units: Sequence[Unit]) -> HostCode:
        """Returns the host functions of some units."""
        key = tuple(map(id, units))
        if key not in self._hosts:
            for unit in units:
                if id(unit) not in self._code:
                    self._code[id(unit)] = UnitHostCode(unit)
            self._hosts[key] = HostCode(self._code[id(unit)] for unit in units)
        return self._hosts[key]

    def flows(self, host: HostCode) -> Flows:
        """Returns what was read of host functions to learn what their launches depend on."""
        return self._flows.setdefault(host, Flows())

    def run(
        self,
        units: Sequence[Unit],
        function: Function,
        launching: frozenset[str],
        kernel: str,
        *,
        has_no_caller: bool = False,
    ) -> HostRun:
        """Returns what a host function launches, once for all kernels that ask the same of it.

        Args:
            units: whose functions it may call.
            function: host code.
            launching: see `HostPaths`.
            kernel: see `Host`.
            has_no_caller: see `Host`.
        """
        owner = self.host_code(units).owner(function)
        if function.span.path == owner.path and _has_main(owner):
            units = [u for u in units if u is owner or not _has_main(u) or _defines(u, kernel)]
        known = self._runs.setdefault((tuple(map(id, units)), id(function), has_no_caller), [])
        begun: tuple[LaunchPolicy, ...] = ()
        for run in known:
            if all((n in launching) == answer for n, answer in run.asked.items()):
                if run.is_enough_for(kernel):
                    return run
                begun = run.begun
        host = Host(owner, units, function, launching, has_no_caller, kernel, begun)
        found = self._memo.launches(host)
        known.append(found)
        return found

    def is_fixed_by_a_call(self, name: str, fixes: Callable[[Sequence[str]], bool]) -> bool:
        """Returns whether the arguments of a call in the run's files fix a parameter."""
        paths = self._index.mentioning((name,), self._unit.path)
        texts = (self._index.read(path) or "" for path in paths)
        return any(fixes(call) for text in texts for call in written_calls(text, name))


def _has_main(unit: Unit) -> bool:
    """Returns whether a unit begins a program: no other that does can call its functions."""
    return any(f.is_host and not f.scope for f in unit.functions_named("main"))


def _defines(unit: Unit, kernel: str) -> bool:
    """Returns whether the main file of a unit, no header, defines a kernel."""
    return any(f.span.path == unit.path for f in unit.functions_named(kernel))


def _definition_of(names: Iterable[str]) -> re.Pattern[str]:
    """Returns what finds the definition of a function of one of some names."""
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\s*+\([^;{{}}()]*+\)\s*+\{{")


def _is_declared_maker(units: Sequence[Unit], name: str) -> bool:
    """Returns whether units declare a host function of a `dim3`, and define none of its name."""
    declared = [p for unit in units for p in unit.prototypes(name) if not p.is_kernel]
    texts = (text for p in declared for text in (p.result, *(p.parameters or ())))
    is_maker = any("dim3" in text.split() for text in texts)
    return is_maker and not any(unit.functions_named(name) for unit in units)
