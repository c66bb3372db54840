"""Evaluates one kernel instance: arguments unknown, every thread of a block at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import product

from smemlint.analysis.simt.budget import Budget, BudgetExceeded
from smemlint.analysis.simt.codegen.ptxas_fusion import array_bases, merged
from smemlint.analysis.simt.codegen.slow_paths import harmless_paths
from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import WARP, Geometry, Scope
from smemlint.analysis.simt.domain.swizzled import placed
from smemlint.analysis.simt.domain.trace import Event, Trace
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value, is_of_launch
from smemlint.analysis.simt.evaluator import Evaluator, Policy
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.kernel.alike import Found, relabelled
from smemlint.analysis.simt.kernel.consensus import conflicts, sampled_where_free
from smemlint.analysis.simt.kernel.finished import finished_accesses
from smemlint.analysis.simt.kernel.parameters import (
    NotedScope,
    parameter_binding,
    takes_numbers,
)
from smemlint.analysis.simt.kernel.summarize import AccessSummary
from smemlint.analysis.simt.kernel.task import KernelTask, Passed
from smemlint.analysis.simt.types.overloads import parameters_of
from smemlint.analysis.simt.types.statics import scope_of
from smemlint.analysis.simt.types.template_arguments import open_types
from smemlint.facts import Access, Certainty, KernelFacts, NotAnalysed, SharedArray
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Unit
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_EVENTS,
    MAX_EVENTS_TO_SPLIT,
    MAX_STEPS,
    MAX_STEPS_OF_SHARES,
    MAX_STEPS_TO_SPLIT,
    MAX_WORLDS,
)
from smemlint.limits.errors import OutOfSteps, stop_reason
from smemlint.limits.steps import spend
from smemlint.reasons import PLACE, Assumption, Reason, ReasonCode, Topic

_STEPS_TO_BEGIN = 50

_WORD = re.compile(r"\w+")
_EXTENTS = frozenset(("gridDim.x", "gridDim.y", "gridDim.z"))


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """What a kernel is evaluated with.

    Attributes:
        values: what the launch passes, as far as it is taken for known.
        is_null: any pointer among what it passes may be null.
        read: what of a launch the evaluation read so far, by name: parameters that are numbers or
            classes, and extents of the grid.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    is_null: bool = False
    read: set[str] = field(default_factory=set)

    def extent(self, name: str) -> AffineInt | None:
        """Returns an extent of the grid, if it is known, and notes that it was read."""
        self.read.add(name)
        value = self.values.get(name)
        return value if isinstance(value, AffineInt) else None

    def reads(self, passed: Passed) -> bool:
        """Returns whether the evaluation read any number that a launch passes."""
        names = (n if n in _EXTENTS else n.partition(".")[0] for n in passed.values)
        return not self.read.isdisjoint(names)


def evaluate_kernel(unit: Unit, task: KernelTask, arch: str) -> KernelFacts:
    """Returns the facts of one instance; what could not be followed is in `not_analysed`.

    Arguments are unknown at first; where that leaves accesses open and the launch passes known
    numbers, those are taken and named.
    """
    facts, arguments = _under_arguments(unit, task, arch)
    if not any(access.layout is not None for access in facts.accesses):
        return facts
    from smemlint.analysis.simt.cute.layout_trials import with_layout_advice

    return with_layout_advice(
        facts, lambda trial: _evaluated(unit, replace(task, trial=trial), arch, _Given(arguments))
    )


def _under_arguments(
    unit: Unit, task: KernelTask, arch: str
) -> tuple[KernelFacts, Mapping[str, Value]]:
    """Returns the facts, and the arguments of the launch that they were found with."""
    if task.needs_arguments:
        known = task.arguments()[0]
        return _under(unit, task, arch, known), known.values
    given = _Given()
    facts = _evaluated(unit, task, arch, given)
    is_open = any(map(_may_hang_on_an_argument, facts.accesses))
    conflicting = [a for a in facts.accesses if a.conditions and conflicts(a)]
    passed = next(iter(task.arguments()), None) if is_open or conflicting else None
    if passed is None or not given.reads(passed):
        return facts, {}
    confined = [access for access in conflicting if _is_confined(access, passed)]
    if not is_open and not confined:
        return facts, {}
    try:
        under_arguments = _under(unit, task, arch, passed)
    except OutOfSteps as spent:  # what is known without them stays
        note = NotAnalysed(task.instance.span, task.instance.kernel, stop_reason(spent))
        return replace(facts, not_analysed=(*facts.not_analysed, note)), {}
    is_freed = under_arguments.decided == facts.decided and _is_freed(confined, under_arguments)
    if under_arguments.decided <= facts.decided and not is_freed:
        return facts, {}
    return under_arguments, passed.values


def _under(unit: Unit, task: KernelTask, arch: str, passed: Passed) -> KernelFacts:
    """Returns the facts under what a launch passes."""
    shown = ", ".join(f"`{k}` = {v.base}" for k, v in passed.values.items())
    text = f"{shown} as passed at the launch at {PLACE}"
    assumed = Assumption(Topic.ARGUMENT, text, place=passed.place)
    assuming = replace(task, assumptions=(*task.assumptions, assumed))
    return replace(_evaluated(unit, assuming, arch, _Given(passed.values)), hangs_on_launch=True)


def _is_confined(access: Access, passed: Passed) -> bool:
    """Returns whether all launches pass so little that `i < n` may hold for a part of a warp."""
    small = {n for n, value in passed.numbers.items() if n in passed.always and value < WARP}
    named = (word for a in access.conditions for word in _WORD.findall(a.subject))
    return not small.isdisjoint(named)


def _is_freed(confined: Sequence[Access], facts: KernelFacts) -> bool:
    """Returns whether one of some conflicting accesses is free of conflicts under arguments."""
    free = {(a.span, a.kind) for a in facts.accesses if a.wavefronts == a.ideal}
    return any((access.span, access.kind) in free for access in confined)


def _may_hang_on_an_argument(access: Access) -> bool:
    is_open = access.certainty is Certainty.UNKNOWN and access.array is not None
    return is_open and not (access.reason is not None and access.reason.code.ends_evaluation)


def _evaluated(unit: Unit, task: KernelTask, arch: str, given: _Given) -> KernelFacts:
    """Returns the facts of an instance, which may be those of another that is alike."""
    alike = task.alike if task.trial is None else None
    values = {n: v for n, v in given.values.items() if isinstance(v, AffineInt) and v.form is None}
    if alike is None or len(values) < len(given.values):
        return _run_facts(unit, task, arch, given)

    def evaluate(assumptions: tuple[Assumption, ...]) -> Found:
        own = _Given(given.values)
        stand_in = replace(task, scope=alike.scope, types=alike.types, assumptions=assumptions)
        return _run_facts(unit, stand_in, arch, own), frozenset(own.read)

    passed = tuple((name, v.type, v.identity()) for name, v in values.items())
    found = alike.found((passed, arch, not task.assumptions), task.assumptions, evaluate)
    facts = None
    if found is not None:
        facts = relabelled(found[0], task.instance, task.assumptions, task.names)
    if found is None or facts is None:
        alike.fail()
        return _run_facts(unit, task, arch, given)
    given.read.update(found[1])
    return facts


def _run_facts(unit: Unit, task: KernelTask, arch: str, given: _Given) -> KernelFacts:
    """Returns the facts of an instance that is run; at places that only null leads to, of another.

    A kernel is taken to be given no null: where an optional argument is there, it does the most.
    """
    facts, first = _facts_of_runs(unit, task, arch, given)
    if task.trial is not None or not any(first.ev.state.null_ways.values()):
        return facts
    others, again = _facts_of_runs(unit, task, arch, replace(given, is_null=True))
    known = {(access.span, access.kind) for access in facts.accesses}
    new = [access for access in others.accesses if (access.span, access.kind) not in known]
    accesses = sorted((*facts.accesses, *new), key=lambda access: (access.span, access.kind))
    arrays = dict.fromkeys((*facts.arrays, *others.arrays)) if new else facts.arrays
    notes = facts.not_analysed
    if again.failure is not None:
        note = NotAnalysed(task.instance.span, task.instance.kernel, again.failure)
        notes = tuple(dict.fromkeys((*notes, note)))
    steps = facts.steps + others.steps
    return replace(
        facts, accesses=tuple(accesses), arrays=tuple(arrays), not_analysed=notes, steps=steps
    )


def _facts_of_runs(
    unit: Unit, task: KernelTask, arch: str, given: _Given
) -> tuple[KernelFacts, _Run]:
    """Returns the facts of an instance, and its first run."""
    assert task.instance.block is not None
    geometry = Geometry.of(task.instance.block, arch)
    first, lost = _first_run(unit, task, geometry, given)
    runs = [first]
    if first.ev.state.split_requests and first.trace.events <= MAX_EVENTS_TO_SPLIT:
        runs = _split_runs(unit, task, geometry, given, first)
    summarized = _summary(unit, task, arch, runs)
    arrays: dict[str, SharedArray] = {}
    for obj in first.ev.state.arrays.values():
        if obj.shared is not None:
            arrays.setdefault(f"{obj.name}:{obj.shared.span}", obj.shared)
    notes = [
        NotAnalysed(span, task.instance.kernel, reason, array)
        for (span, reason), array in first.ev.state.unfollowed.items()
    ]
    steps = lost + sum(run.ev.state.budget.steps for run in runs)
    if first.failure is not None:
        notes.append(NotAnalysed(task.instance.span, task.instance.kernel, first.failure))
    placing = _array_places(first.ev)
    layouts = {id(use): placed(use, placing) for use in first.ev.state.layouts.values()}
    accesses = tuple(
        replace(a, layout=layouts.get(id(a.layout), a.layout)) if a.layout is not None else a
        for a in summarized
    )
    facts = KernelFacts(
        task.instance,
        tuple(arrays.values()),
        accesses,
        tuple(notes),
        steps,
        tuple(layouts.values()),
    )
    return facts, first


def _summary(unit: Unit, task: KernelTask, arch: str, runs: Sequence[_Run]) -> tuple[Access, ...]:
    """Returns the accesses of all runs; what conflicts for some arguments only is only a sample.

    Iterations and blocks go through all residues of their numbers, an argument has one of them.
    """
    cases: dict[tuple[tuple[str, int], ...], AccessSummary] = {}
    together = AccessSummary(unit, task.instance, task.assumptions, arch)
    names: dict[str, str] = {}
    for run in runs:
        if run.failure is not None:
            events = _before_the_end(unit, task, run, run.failure)
        else:
            events = merged(run.trace, run.ev.state.arrays.values())
        fixed = {k: r for k, (_, r) in run.ev.state.domain.splits.items() if is_of_launch(k)}
        together.add(events)
        if fixed:
            case = AccessSummary(unit, task.instance, task.assumptions, arch)
            cases.setdefault(tuple(fixed.items()), case).add(events)
        split = run.ev.state.domain.parts.values()
        names.update((symbol.key, symbol.name) for symbol in split if symbol.key in fixed)
    if not cases:
        return together.facts()
    text = ", ".join(f"`{name}`" for name in names.values())
    why = Reason(ReasonCode.RESIDUES, f"the figure depends on the value of {text}")
    return sampled_where_free(together.facts(), [c.facts() for c in cases.values()], why)


def _before_the_end(unit: Unit, task: KernelTask, run: _Run, failure: Reason) -> list[Event]:
    """Returns the accesses of a run that a limit ended: of places not done with, none is known."""
    events = merged(run.trace, run.ev.state.arrays.values())
    tree = task.function.parse().tree
    known: frozenset[ir.Node] = frozenset()
    if tree is not None:
        recorded = list(run.trace.all_events())
        known = finished_accesses(unit, tree.body, recorded, run.ev.state.under_way)
    for event in events:
        if not all(part.node in known for part in event.fused):
            known -= {part.node for part in event.fused}
    return [e if e.node in known else replace(e, offset=Unknown(failure)) for e in events]


def _array_places(ev: Evaluator) -> dict[str, int]:
    """Returns where static arrays lie; the empty name is dynamic shared memory."""
    objects = {id(obj): obj for obj in ev.state.arrays.values()}
    bases = array_bases(objects.values())
    ends = [at + objects[key].type.size for key, at in bases.items()]
    return {"": max(ends, default=0), **{objects[key].name: at for key, at in bases.items()}}


class _Run:
    """One evaluation under one assignment of residues."""

    def __init__(
        self,
        unit: Unit,
        task: KernelTask,
        geometry: Geometry,
        given: _Given,
        splits: Mapping[str, tuple[int, int]],
        budget: Budget,
    ) -> None:
        spend(_STEPS_TO_BEGIN)
        self.trace = Trace(MAX_EVENTS, harmless_paths(geometry.arch))
        domain = AffineDomain(splits)
        policy = Policy()
        policy.is_given_null = given.is_null
        self.ev = Interpreter(unit, geometry, self.trace, policy, domain=domain, budget=budget)
        self.ev.state.declared_swizzle, self.ev.state.trial = task.declared, task.trial
        self.ev.state.extent_of = given.extent
        if task.types is not None:
            self.ev.state.resolution.cache = task.types
        self.failure: Reason | None = None
        try:
            _run(self.ev, task, given)
        except BudgetExceeded as spent:
            self.failure = spent.reason
        except RecursionError as spent:
            self.failure = stop_reason(spent)
        self.ev.state.sums.awaiting.clear()  # calls that were cut hold the evaluation


def _first_run(unit: Unit, task: KernelTask, geometry: Geometry, given: _Given) -> tuple[_Run, int]:
    """Returns a run, and the steps of another one that came to nothing.

    Where the budget does not suffice for all iterations of all loops, each loop gets a share of
    it, and one general iteration stands for those that it does not suffice for.
    """
    run = _Run(unit, task, geometry, given, {}, Budget(MAX_STEPS))
    if run.failure is None or run.failure.code is not ReasonCode.STEP_LIMIT:
        return run, 0
    budget = Budget(MAX_STEPS_OF_SHARES, has_shares=True)
    again = _Run(unit, task, geometry, given, {}, budget)
    if again.failure is not None:
        return run, again.ev.state.budget.steps
    return again, run.ev.state.budget.steps


def _split_runs(
    unit: Unit, task: KernelTask, geometry: Geometry, given: _Given, first: _Run
) -> list[_Run]:
    """Runs again for every residue of the unknowns that hide an address, within the budget."""
    moduli: dict[str, tuple[int, int]] = {}
    most = min(MAX_WORLDS, MAX_STEPS_TO_SPLIT // max(first.ev.state.budget.steps, 1))
    requests = dict(first.ev.state.split_requests)
    runs = [first]
    for _ in range(3):
        known, worlds = len(moduli), 1
        for key, (modulus, step) in {**moduli, **requests}.items():
            if worlds * modulus // step <= most:
                worlds *= modulus // step
                moduli[key] = modulus, step
        if len(moduli) == known:  # all are split, or no further one fits
            return runs
        keys = list(moduli)
        runs = []
        requests = {}
        for residues in product(*(range(0, *moduli[k]) for k in keys)):
            splits = {k: (moduli[k][0], r) for k, r in zip(keys, residues, strict=True)}
            run = _Run(unit, task, geometry, given, splits, first.ev.state.budget.renewed())
            runs.append(run)
            requests.update(run.ev.state.split_requests)
            if run.failure is not None:
                return [first]
    return runs


def _run(ev: Evaluator, task: KernelTask, passed: _Given) -> None:
    state = ev.state
    function = task.function
    parsed = function.parse()
    for dropped in parsed.dropped:
        state.unfollowed.setdefault((dropped.span, dropped.reason))
    if parsed.tree is None:
        raise BudgetExceeded("the kernel could not be parsed", ReasonCode.SYNTAX)
    record = _enclosing_record(ev, function)
    outer: list[Scope] = [scope_of(record)] if record is not None else []
    own = NotedScope(open_types(function.template, task.scope))
    frame = Frame(function.name, [*outer, dict(task.scope), own], None, record, function.scope)
    state.frames.append(frame)
    named = set()
    numbers = set()
    for param in parameters_of(parsed.tree):
        if param.name:
            named.add(param.name)
            given = [a for a in task.given if a.name == param.name]
            binding = parameter_binding(ev, param, passed.values, given)
            if takes_numbers(binding):
                numbers.add(param.name)
            state.bind(param.name, binding)
    for stated in task.given:
        if stated.name not in named:
            text = f"nothing is assumed by `{stated.text}`: the kernel has no such parameter"
            state.unfollowed.setdefault((function.span, Reason(ReasonCode.WRONG_PRAGMA, text)))
    try:
        ev.execute(parsed.tree.body)
    finally:
        passed.read.update(numbers & own.asked)


def _enclosing_record(ev: Evaluator, function: Function) -> RecordType | None:
    if function.record is None:
        return None
    with ev.state.within("file", {}, function.scope):
        ctype = ev.types.spelled(function.record)
    return ctype if isinstance(ctype, RecordType) else None
