"""The launches of a kernel: from the host functions that name it, up to callers where that helps.

Only host code that can launch the kernel in question is run, and callers only as long as something
that they may tell is open: a block, a template argument, or (where it is asked for) an argument.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from functools import cached_property

from smemlint.analysis.simt.launches.bindings import is_known
from smemlint.analysis.simt.launches.host_code import HostCode
from smemlint.analysis.simt.launches.host_runs import HostRun, instantiations_of
from smemlint.analysis.simt.launches.instantiations import is_instantiated, is_of_template
from smemlint.analysis.simt.launches.launch import Launch
from smemlint.analysis.simt.launches.open_parameters import OpenParameters, open_parameters
from smemlint.analysis.simt.launches.search import LaunchSearch
from smemlint.analysis.simt.launches.written_variables import written_variables
from smemlint.analysis.simt.types.overloads import Shape, signature_of, type_words
from smemlint.facts import Span
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.limits.budgets import MAX_CALLERS_UP, MAX_STEPS_TO_ARGUMENTS
from smemlint.reasons import Topic

_PARAMETER = re.compile(r"[\w>]\s*&+\s*\w*$")
"""`const Params &p`: text that declares a reference, and passes none."""


class Wanted(Enum):
    """What of a launch is asked for."""

    SHAPE = auto()
    ARGUMENTS = auto()


class _CallersTooLong(Exception):
    """The callers of what launches a kernel do too much to be run for its arguments alone."""


class FoundLaunches:
    """The launches of the kernels of one unit."""

    def __init__(self, search: LaunchSearch) -> None:
        self._search = search
        self._found: dict[tuple[int, Wanted], HostRun] = {}

    def of(self, kernel: Function, expected: Wanted = Wanted.SHAPE) -> HostRun:
        """Returns the launches of a kernel, as known as callers make what is wanted.

        Arguments that short callers do not tell are left open.
        """
        key = id(kernel), expected
        if key not in self._found:
            try:
                self._found[key] = _Climb(self._search, kernel, expected).launches()
            except _CallersTooLong:
                self._found[key] = self.of(kernel)
        return self._found[key]


class _Climb:
    """The search for the launches of one kernel."""

    def __init__(self, search: LaunchSearch, kernel: Function, expected: Wanted) -> None:
        self._search = search
        self._kernel = kernel
        self._wanted = expected
        self._units = search.units_of(kernel)
        self._launching: frozenset[str] = frozenset()
        self._beside: frozenset[str] = frozenset()  # that launch other kernels
        self._found: dict[Function, list[Launch]] = {}
        self._above: dict[Function, list[Function]] = {}
        self._cut: set[Function] = set()
        self._followed: set[Function] = set()  # to the end
        self._silent: set[Function] = set()  # of these, those without a launch of the kernel
        self._unused: list[Function] = []  # run where no instance launches the kernel
        self._unnamed: dict[Function, Mapping[Span, int | None]] = {}  # see `HostRun`
        self._unfollowed: set[str] = set()  # see `HostRun`
        self._steps: dict[HostRun, int] | None = None  # of callers that are run for arguments

    def launches(self) -> HostRun:
        """Returns what the functions launch that name the kernel, or callers of theirs."""
        nearest, givers = self._host.launchers_of(self._kernel.name)
        self._launching = self._host.launching_below(nearest) | givers
        self._beside = self._host.launching_beside(nearest)
        for function in nearest:
            self._found[function] = self._run(function)
        shapeless = [f for f in nearest if any(n.block is None for n in self._found[f])]
        if shapeless and self._search.link_makers_of_shapes(self._units, shapeless):
            self._found |= {function: self._run(function) for function in nearest}
        self._steps = {} if self._wanted is Wanted.ARGUMENTS else None
        self._climb([f for f in nearest if self._is_open(f) and self._may_be_fixed(f)])
        runs = self._found
        found = self._settled(runs)
        if self._unused and all(launch.is_uninstantiated for launch in found):
            unused = {f: self._run(f, has_no_caller=True) for f in self._unused}
            found = self._settled(runs | unused)
        is_cut = any(self._found[function] for function in self._cut & self._found.keys())
        own = (self._unnamed.get(function, {}) for function in self._found)
        unnamed = {place: n for places in own for place, n in places.items()}
        return HostRun(tuple(found), is_cut, unnamed=unnamed)

    def _climb(self, level: Sequence[Function]) -> None:
        """Finds the callers that may tell what is open, level by level.

        None of them is run but those whose own callers would be looked for in other units.
        """
        for _ in range(MAX_CALLERS_UP):
            self._launching |= {f.name for f in level}
            for function in level:
                if self._is_called_elsewhere(function):
                    if function not in self._found and self._is_top(function):
                        continue
                    self._search.link_callers(self._units, function)
                self._above[function] = self._host.callers(function)
            found = dict.fromkeys(c for f in level for c in self._above.get(f, ()))
            new = [c for c in found if c not in self._above and c not in self._found]
            level = [c for c in new if not self._is_instantiated(c) and self._may_be_fixed(c)]
            tops = [c for c in new if c not in level]
            silent = {c for c in tops if self._open_parameters(c).are_passed_on}
            for function, callers in self._above.items():
                self._above[function] = [c for c in callers if c not in silent]

    def _settled(self, runs: Mapping[Function, list[Launch]]) -> list[Launch]:
        """Returns the launches of functions that were run, or those of their callers instead."""
        self._found = dict(runs)
        done: dict[Function, bool] = {}
        for function in runs:
            self._settle(function, done)
        return [launch for launches in self._found.values() for launch in launches]

    def _settle(self, function: Function, done: dict[Function, bool]) -> bool:
        """Finds the launches of the callers of a function, else its own; returns whether any are.

        Callers are run with what their callers tell them, and so take the place of what they call.
        Between a caller that takes too long to follow and what names the kernel, nothing is run.
        """
        if function in done:
            return done[function]
        done[function] = function in self._found and function not in self._above
        if not done[function]:
            callers = self._above.get(function)
            for caller in callers or ():  # those that it calls in turn see what is known so far
                done[function] |= self._settle(caller, done)
            if done[function] and function.name in self._unfollowed:
                self._found[function] = self._run(function)  # they do not come to all that it does
            elif done[function]:
                self._found[function] = []
                self._unnamed.pop(function, None)
            elif function not in self._found and not self._cut.isdisjoint(callers or ()):
                self._cut.add(function)  # what it calls would take as long again
            elif function not in self._found and self._is_silent(function):
                self._silent.add(function)
                self._unused.append(function)
            elif function not in self._found and self._is_unused(function):
                self._unused.append(function)
            elif callers is None or self._is_of_template(function) or function not in self._found:
                is_uncalled = callers == [] and self._is_of_template(function)
                has_no_caller = is_uncalled or (
                    callers is not None and self._is_of_template(function)
                )
                self._found[function] = self._run(function, has_no_caller=has_no_caller)
                done[function] = bool(self._found[function])
                if not done[function] and function in self._followed:
                    self._silent.add(function)
        return done[function]

    def _is_silent(self, function: Function) -> bool:
        """Returns whether a template has no instance that launches: its callers launch nothing."""
        callers = self._above.get(function, ())
        return bool(callers and function.template) and self._silent.issuperset(callers)

    def _is_unused(self, function: Function) -> bool:
        """Returns whether no unit compiles a template: it has no instances, and no used callers."""
        callers = self._above.get(function)
        if not function.template or callers is None:
            return False
        if not callers:
            return not any(any(u.template_ids(function.name)) for u in self._units)
        if not all(caller in self._unused for caller in callers):
            return False
        return not instantiations_of(self._host.owner(function), self._units, function).scopes

    @property
    def _host(self) -> HostCode:
        return self._search.host_code(self._units)

    def _run(self, function: Function, *, has_no_caller: bool = False) -> list[Launch]:
        is_alone = has_no_caller or self._is_instantiated(function)
        has_no_caller = is_alone and self._is_of_template(function)
        launching = self._host.without_itself(function, self._launching | self._beside)
        name = self._kernel.name
        run = self._search.run(self._units, function, launching, name, has_no_caller=has_no_caller)
        if self._search.link_writers(self._units, run.kept):
            return self._run(function, has_no_caller=has_no_caller)
        if self._steps is not None:
            self._steps[run] = run.steps
            if sum(self._steps.values()) > MAX_STEPS_TO_ARGUMENTS:
                raise _CallersTooLong
        self._unnamed[function] = run.unnamed
        self._unfollowed |= run.unfollowed
        if not run.is_cut:
            self._followed.add(function)
        elif run.launches:
            self._cut.add(function)
        return [launch for launch in run.launches if launch.is_of(self._kernel)]

    def _is_instantiated(self, function: Function) -> bool:
        """Returns whether the kernel's unit compiles instances of a function, and calls none."""
        return is_instantiated(self._units[0], function) and not self._search.has_callers(function)

    def _is_of_template(self, function: Function) -> bool:
        return is_of_template(self._units, function)

    def _is_called_elsewhere(self, function: Function) -> bool:
        """Returns whether callers of a function are looked for in other units."""
        is_of_file = "static" in function.specifiers and function.span.path == self._units[0].path
        if is_of_file or self._search.is_called_here(function, self._kernel):
            return False
        return self._search.is_named_beyond(self._units, function)

    # ---- what callers may tell

    def _is_open(self, function: Function) -> bool:
        launches = self._found[function]
        if not launches:
            return bool(self._unnamed.get(function)) or not any(self._found.values())
        if self._is_instantiated(function):
            return False
        return not all(map(self._is_settled, launches))

    def _is_top(self, function: Function) -> bool:
        """Returns whether nobody can tell more of what a function launches: nothing is open.

        What launches nothing launches nothing for any caller, unless template arguments decide,
        those of a method's class included.
        """
        if self._open_parameters(function).are_passed_on:
            return False
        launches = self._run(function)
        is_silent = function in self._followed and not self._is_of_template(function)
        return all(map(self._is_settled, launches)) if launches else is_silent

    def _is_settled(self, launch: Launch) -> bool:
        if self._wanted is Wanted.ARGUMENTS and not self._numbers <= launch.arguments.keys():
            return False
        if any(assumption.topic is Topic.TEMPLATE for assumption in launch.assumed):
            return False  # a default, which callers may give another argument
        return launch.block is not None and is_known(launch.scope, self._kernel)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        """The kernel's parameters that may be integers."""
        signature = signature_of(self._kernel)
        both = zip(signature.parameters, signature.shapes, strict=True)
        numbers = (p for p, shape in both if shape in (Shape.INTEGRAL, Shape.OTHER))
        records = self._units[0].records
        return frozenset(
            p.name for p in numbers if p.name and not records.keys() & {*type_words(p)}
        )

    def _open_parameters(self, function: Function) -> OpenParameters:
        host = self._host
        flows = self._search.flows(host)
        variables = written_variables(self._units)
        launching = self._launching
        return open_parameters(function, self._kernel, launching, host.named, flows, variables)

    def _may_be_fixed(self, function: Function) -> bool:
        """Returns whether some caller may fix what a function leaves open."""
        if function in self._found and not self._found[function]:
            return True
        found = self._open_parameters(function)
        needed = found.shape
        if self._wanted is Wanted.ARGUMENTS:
            needed |= found.arguments
        params = signature_of(function).parameters
        places = {p.name: (k, p.type) for k, p in enumerate(params) if p.name in needed}
        if len(places) < len(needed):
            return True  # template parameters, `this`, or variables of files
        return bool(needed) and self._search.is_fixed_by_a_call(
            function.name, lambda call: any(_tells(call, k, kind) for k, kind in places.values())
        )


def _tells(call: Sequence[str], position: int, kind: ir.Node) -> bool:
    """Returns whether a call may tell what a parameter's value is, or what it refers to.

    A pointer tells something if it is an object's address, a reference unless it is a pointer's
    target: what other pointers point to is not known to the caller, either.
    """
    argument = call[position] if position < len(call) else ""
    if not isinstance(kind, ir.PtrDecl):
        return True
    is_reference = bool({"&", "&&"} & set(kind.quals or ()))
    if is_reference:
        return not (argument.startswith("*") or _PARAMETER.search(argument))
    return argument.startswith("&")
