"""Runs of host functions: what each launches, on every path or on single ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product, zip_longest
from math import prod

from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.launches.bindings import is_known, scope_text
from smemlint.analysis.simt.launches.host_code import distinct
from smemlint.analysis.simt.launches.host_functions import execute_host_function, host_interpreter
from smemlint.analysis.simt.launches.host_interpreter import HostPaths
from smemlint.analysis.simt.launches.instantiations import (
    Instantiations,
    is_of_template,
    written_instantiations,
)
from smemlint.analysis.simt.launches.launch import Launch
from smemlint.analysis.simt.launches.launches import LaunchPolicy
from smemlint.analysis.simt.launches.open_parameters import Flows, IrrelevantChoices
from smemlint.analysis.simt.launches.valuation import OpenDefaults
from smemlint.analysis.simt.launches.written_variables import written_variables
from smemlint.facts import Span
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Unit
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_HOST_PATHS

_Text = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostRun:
    """What a host function launches.

    Attributes:
        is_cut: it was not executed to the end, and may launch more.
        asked: names of functions, and whether they launch: what else does makes no difference.
        steps: statements that were executed to find it.
        left_open: kernels that it launches of which ways through open choices may tell more.
        unnamed: see `LaunchPolicy`; at places where no kernel is known.
        begun: the runs on every path, where ways through open choices may tell more.
    """

    launches: tuple[Launch, ...]
    is_cut: bool
    asked: Mapping[str, bool] = field(default_factory=dict)
    steps: int = 0
    left_open: frozenset[str] = frozenset()
    unnamed: Mapping[Span, int | None] = field(default_factory=dict)
    unfollowed: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    begun: tuple[LaunchPolicy, ...] = ()

    def is_enough_for(self, kernel: str) -> bool:
        """Returns whether no way through open choices tells more of a kernel's launches."""
        may_be_named = bool(self.unnamed) and all(n.kernel != kernel for n in self.launches)
        return not self.left_open or not (kernel in self.left_open or may_be_named)


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """A host function that is run for what it launches.

    Attributes:
        linked: units whose functions it may call.
        has_no_caller: no call tells its template arguments; those that are written anywhere do.
        kernel: name of the one that is asked for; none for all that it launches.
        begun: its runs on every path, where it was run for another kernel; else none.
    """

    unit: Unit
    linked: Sequence[Unit]
    function: Function
    launching: frozenset[str]
    has_no_caller: bool = False
    kernel: str = ""
    begun: tuple[LaunchPolicy, ...] = ()


def launches_of(host: Host) -> HostRun:
    """Returns what it launches on every path; where the block is open, on single paths.

    Of open choices between known numbers all alternatives are taken where these are a few ways, and
    of one between a known and an unknown number the known one: the default path. Single paths are
    not run where every path says all of the launches of the kernel that is asked for, or has none.
    """
    unit, linked, function = host.unit, host.linked, host.function
    scopes: list[Scope] = []
    left = 0
    is_template = host.has_no_caller and is_of_template((unit, *linked), function)
    if is_template:
        scopes, left = instantiations_of(unit, linked, function)
    runs = [_run_under(host, *known) for known in zip_longest(scopes or [{}], host.begun)]
    is_uninstantiated = is_template and not scopes
    found = (
        replace(launch, is_uninstantiated=is_uninstantiated, left=left)
        for run in runs
        for launch in run.launches
    )
    joined = _joined_runs(found, runs)
    begun = tuple(policy for run in runs for policy in run.begun)
    return replace(joined, begun=begun if joined.left_open else ())


def instantiations_of(unit: Unit, linked: Sequence[Unit], function: Function) -> Instantiations:
    """Returns the bindings of a template's parameters that its unit and others spell."""
    policy = LaunchPolicy(unit, linked)
    ev = host_interpreter(policy)
    ev.state.frames.append(Frame("file", [{}]))
    return written_instantiations(ev, policy.linked, function)


def _run_under(host: Host, scope: Scope, begun: LaunchPolicy | None) -> HostRun:
    unit, linked, launching = host.unit, host.linked, host.launching
    units = tuple(dict.fromkeys((unit, *linked)))

    def functions_named(name: str) -> list[Function]:
        return distinct(f for u in units for f in u.functions_named(name))

    variables = written_variables(units)
    irrelevant = IrrelevantChoices(launching, functions_named, _flows(units), variables)
    launchers = [f for name in sorted(launching) for f in functions_named(name)]
    followed = irrelevant.variables_of((host.function, *launchers) if variables else ())

    known = HostPaths(launching, irrelevant_choices=irrelevant.of, followed=followed)

    def run(paths: HostPaths) -> LaunchPolicy:
        policy = LaunchPolicy(unit, linked, paths)
        is_whole = execute_host_function(policy, host.function, scope)
        policy.is_cut = not is_whole or policy.loses_code
        return policy

    strict = begun or run(known)
    on_every_path = _joined_runs(strict.launches, [strict])
    left_open = _open_kernels(strict.launches)
    on_every_path = replace(on_every_path, left_open=left_open, begun=(strict,))
    if host.kernel and on_every_path.is_enough_for(host.kernel):
        return on_every_path
    runs, latest = [strict], strict.launches
    found = _with_blocks(latest)
    is_open = any(launch.block is None and not launch.has_constant_block for launch in latest)
    hangs = any(n.block is None and n.hangs_on_choices for n in latest)
    widths = strict.alternatives.values()
    choices = {node: n for node, n in strict.alternatives.items() if node not in strict.irrelevant}
    if is_open and hangs and choices and 0 < prod(widths) <= MAX_HOST_PATHS:
        for taken in _paths(choices):
            runs.append(run(replace(known, taken=taken)))
            if len(runs) == 2 and _tells_no_more(runs[1], strict):
                break
        latest = _distinct(launch for policy in runs[1:] for launch in policy.launches)
        found += _of_other_places(_with_blocks(latest), found)
    others = _of_other_places((*strict.launches, *latest), found)
    is_open = not all(launch.has_constant_block for launch in others)
    if is_open and strict.has_default_path:
        runs.append(run(replace(known, default_path=True)))
        latest = runs[-1].launches
        found += _of_other_places(_with_blocks(latest), found)
        others = _of_other_places(strict.launches, found)
        is_open = not all(launch.has_constant_block for launch in others)
        is_same = _come_to_the_same(strict.launches, latest) or _tells_no_more(runs[-1], strict)
        if is_open and not is_same:
            runs.append(run(replace(known, default_path=True, open_defaults=OpenDefaults())))
            found += _of_other_places(_with_blocks(runs[-1].launches), found)
    found += _of_other_places(latest, found)
    found += _of_other_places(strict.launches, found)
    kept = set(found).union(*(policy.with_unknowns for policy in runs))
    joined = _joined_runs(_marked(found, [n for n in latest if n not in kept]), runs)
    return replace(joined, begun=(strict,))


def _with_blocks(launches: Iterable[Launch]) -> list[Launch]:
    return [launch for launch in launches if launch.block is not None]


def _come_to_the_same(launches: Sequence[Launch], others: Sequence[Launch]) -> bool:
    """Returns whether the default path comes to the launches of every path, in their order.

    Then no launch is behind a way that a default does not go: defaults that stay open find no more.
    """
    return [*map(_place_of, launches)] == [*map(_place_of, others)]


def _tells_no_more(way: LaunchPolicy, strict: LaunchPolicy) -> bool:
    """Returns whether a way through open choices leaves what it comes to as open as before.

    It comes to each launch that is open on every path: its block hangs on none of the choices.
    Where the run on every path was cut, a way may come further: to other instances at these places.
    """
    left = {(n.kernel, n.span) for n in way.launches if n.block is None}
    places = {(n.kernel, n.span) for n in strict.launches if n.block is None}
    shapes = {(_place_of(n), _openness_of(n)) for n in strict.launches}
    met = {_place_of(n) for n in strict.launches}
    open_at = {_openness_of(n) for n in strict.launches if n.block is None}
    return places <= left and all(
        (_place_of(n), _openness_of(n)) in shapes
        or (strict.is_cut and _place_of(n) not in met and _openness_of(n) in open_at)
        for n in way.launches
    )


def _openness_of(launch: Launch) -> Hashable:
    """Returns where a launch stands, and what is known of its block."""
    return launch.kernel, launch.span, launch.extents, launch.limits


def _place_of(launch: Launch) -> Hashable:
    return launch.kernel, launch.span, scope_text(launch.scope, launch.function)


def _open_kernels(launches: Sequence[Launch]) -> frozenset[str]:
    """Returns the kernels with a launch whose block or template arguments are not known."""
    return frozenset(
        launch.kernel
        for launch in launches
        if not (launch.block is not None or launch.has_constant_block)
        or not is_known(launch.scope, launch.function)
    )


def _marked(found: Iterable[Launch], latest: Iterable[Launch]) -> Iterator[Launch]:
    """Yields launches, those of known blocks marked whose block the latest runs left open, too."""
    still_open = {(launch.kernel, launch.span) for launch in latest if launch.block is None}
    for launch in found:
        is_both = launch.block is not None and (launch.kernel, launch.span) in still_open
        yield replace(launch, is_also_open=True) if is_both else launch


def _flows(units: Sequence[Unit]) -> Flows:
    """Returns what was read of the host functions of some units, for all that run them."""
    key = (Flows, *units)
    found = units[0].memory.get(key)
    if not isinstance(found, Flows):
        found = units[0].memory[key] = Flows()
    return found


def _joined_runs(launches: Iterable[Launch], runs: Iterable[HostRun | LaunchPolicy]) -> HostRun:
    """Returns these launches as what some runs of a function came to."""
    runs = tuple(runs)
    asked = {name: answer for run in runs for name, answer in run.asked.items()}
    steps = sum(run.steps for run in runs)
    left_open = frozenset().union(*(run.left_open for run in runs if isinstance(run, HostRun)))
    is_cut = any(run.is_cut for run in runs)
    found = tuple(launches)
    named = {launch.span for launch in found}
    places = {place: n for run in runs for place, n in run.unnamed.items() if place not in named}
    unfollowed = frozenset[str]().union(*(run.unfollowed for run in runs))
    kept = frozenset[str]().union(*(run.kept for run in runs))
    return HostRun(found, is_cut, asked, steps, left_open, places, unfollowed, kept)


def _paths(alternatives: Mapping[ir.Node, int]) -> Iterator[dict[ir.Node, int]]:
    """Yields every way through open choices: the alternative that each takes."""
    for picks in product(*map(range, alternatives.values())):
        yield dict(zip(alternatives, picks, strict=True))


def _distinct(launches: Iterable[Launch]) -> list[Launch]:
    """Returns the launches without those that another path comes to, too."""
    found: dict[Hashable, Launch] = {}
    for launch in launches:
        passed = tuple((name, str(value)) for name, value in launch.arguments.items())
        bound = scope_text(launch.scope, launch.function)
        found.setdefault(
            (launch.kernel, launch.span, launch.block, launch.shared, passed, bound), launch
        )
    return list(found.values())


def _of_other_places(launches: Iterable[Launch], found: Sequence[Launch]) -> list[Launch]:
    """Returns launches of other places, or with other known template arguments at the same."""
    texts: dict[Hashable, set[_Text]] = {}
    for launch in found:
        text = scope_text(launch.scope, launch.function)
        texts.setdefault((launch.kernel, launch.span), set()).add(text)
    others = []
    for launch in launches:
        known = texts.get((launch.kernel, launch.span))
        is_given = known is not None and is_known(launch.scope, launch.function)
        if known is None or (is_given and scope_text(launch.scope, launch.function) not in known):
            others.append(launch)
    return others
