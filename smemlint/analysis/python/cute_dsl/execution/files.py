"""Executes a file as `python file.py` would: its kernels as its own launches instantiate them.

What that does not reach is entered from outside: host functions that launch kernels and `__call__`
of objects first, with guesses at their arguments, then kernels with guesses at their block. A
figure on which guesses differ is a sample only.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from functools import cached_property

from smemlint.analysis.python.cute_dsl.execution.left_out import (
    LeftOut,
    notes_of,
    unreached_accesses,
    unreached_allocations,
)
from smemlint.analysis.python.cute_dsl.execution.outside import guesses
from smemlint.analysis.python.cute_dsl.execution.outside.agreement import (
    NO_SUCH_LAUNCH,
    ONE_LENGTH,
    REFUSED,
    beyond,
    decided_elsewhere,
    gains,
    is_complete,
    is_mostly_decided,
    joined,
    most_decided,
    settled_in,
)
from smemlint.analysis.python.cute_dsl.execution.outside.callers import Callers
from smemlint.analysis.python.cute_dsl.execution.outside.declared_types import declared_types
from smemlint.analysis.python.cute_dsl.execution.outside.entries import (
    Entry,
    assumptions_of,
    entries_of,
    has_kernels,
    is_marked,
)
from smemlint.analysis.python.cute_dsl.execution.outside.guesses import Guess
from smemlint.analysis.python.cute_dsl.execution.outside.selection import Selection, constructors
from smemlint.analysis.python.cute_dsl.execution.outside.switches import (
    Switch,
    switches_to,
)
from smemlint.analysis.python.cute_dsl.execution.outside.ways import Access, ways_of
from smemlint.analysis.python.cute_dsl.execution.run import MARKS, Run, choices_of, flags_of
from smemlint.analysis.python.interpreter.values import DType, Scope, Value
from smemlint.analysis.simt.kernel.consensus import sampled
from smemlint.config.settings import Settings
from smemlint.facts import AccessKind, KernelFacts, LayoutUse, NotAnalysed, Span
from smemlint.frontend.heuristics import guessed_rows, names_shared_tensor
from smemlint.frontend.python.parameters import parameters_of
from smemlint.frontend.python.python_source import PythonText
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_DSL_ENTRIES,
    MAX_DSL_SETTLED,
    MAX_DSL_STEPS_TO_SWITCH,
    MAX_DSL_SWITCHES,
    MAX_DSL_VARIANTS,
)
from smemlint.limits.steps import current
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

DEFAULTS = Assumption(Topic.ARGUMENT, "arguments are those of the file's own `__main__`")


@dataclass(slots=True, eq=False)
class FileFacts:
    """What executing a file gives.

    Attributes:
        kernels: each instance once.
        notes: what was not followed.
        reads: other files that were read.
        reached: places of calls and subscripts that were executed.
        entered: functions that were executed.
        shared_names: variables that hold shared memory, each with its function.
        layouts: thread layouts that are not compact.
    """

    kernels: list[KernelFacts] = field(default_factory=list)
    notes: list[NotAnalysed] = field(default_factory=list)
    reads: dict[str, None] = field(default_factory=dict)
    reached: set[Span] = field(default_factory=set)
    entered: set[ast.FunctionDef] = field(default_factory=set)
    shared_names: set[tuple[ast.FunctionDef, str]] = field(default_factory=set)
    layouts: dict[object, LayoutUse] = field(default_factory=dict)


def execute_file(text: PythonText, settings: Settings, callers: Callers) -> FileFacts:
    """Returns the facts of the kernels of a file."""
    file = _File(text, settings, callers)
    file.run_main()
    file.run_from_outside()
    entered = file.found.entered
    file.found.notes += (
        notes_of(text, file.unreached(), entered, file.failure)
        or file.unfinished()
        or unreached_allocations(text, entered)
    )
    file.left_out.add("imported files are not read", len(callers.files.left_out))
    file.found.notes += file.left_out.notes()
    return file.found


class _File:
    """One file and what its executions gave so far."""

    def __init__(self, text: PythonText, settings: Settings, callers: Callers) -> None:
        self.text = text
        self.settings = settings
        self._callers = callers
        self.found = FileFacts()
        self.left_out = LeftOut(text.path)
        self.failure = ""
        self._unfinished: dict[ast.FunctionDef, str] = {}
        self._seen: set[object] = set()
        self._called: list[tuple[list[Run], list[KernelFacts]]] | None = None
        self._selection = Selection(text.tree, self._run, self._callers_decide)

    def _run(
        self,
        overrides: Mapping[str, Value],
        enter: Callable[[Run, Scope], None] | None = None,
        is_called: bool = False,
    ) -> Run:
        """Executes the file once; what calls in other files take leaves half of all steps."""
        budget = current()
        kept = budget.total >> (1 if is_called else 6)
        run = Run(
            self._callers.files,
            self.settings.arch,
            overrides,
            enter,
            most=max(budget.total - budget.spent - kept, 0),
        )
        self.found.reads.update(run.state.texts.read)
        return run

    def run_main(self) -> None:
        """Executes the file as a program: with its defaults, and its choices."""
        first = self._run({})
        self.failure = first.failure
        self._take(first, (DEFAULTS,))
        choices = choices_of(first)
        self.left_out.add("choices of options are not executed", len(choices) - MAX_DSL_VARIANTS)
        for name, value in choices[:MAX_DSL_VARIANTS]:
            self._run_with_option(name, value, first)
        flags = flags_of(first, self._named_on_the_way()) if first.state.finished else []
        for name, value in flags[: max(MAX_DSL_VARIANTS - len(choices), 0)]:
            if not self._leaves_accesses():
                return
            self._run_with_option(name, value, first)

    def _named_on_the_way(self) -> frozenset[str]:
        """Returns what the conditions name that lead to accesses which are not executed."""
        return ways_of(self.text.tree).names_on_the_way([a for _, a in self.unreached()])

    def unreached(self) -> Iterator[tuple[ast.FunctionDef, Access]]:
        """Yields what may access shared memory and was not executed, with its function."""
        return unreached_accesses(self.text, self.found.reached, self.found.shared_names)

    def _leaves_accesses(self) -> bool:
        return any(True for _ in self.unreached())

    def _run_with_option(self, name: str, value: Value, first: Run) -> None:
        """Adds what the program does with another option, unless it then refuses to go on."""
        variant = self._run({name: value})
        if variant.state.refusals - first.state.refusals:
            return
        self._take(variant, (DEFAULTS, Assumption(Topic.ARGUMENT, f"`{name}` is {value!r}", name)))

    def _take(self, run: Run, assumptions: tuple[Assumption, ...]) -> None:
        self._keep([run], run.advised_facts((*assumptions, *run.state.guessed)))

    def _keep(self, runs: Sequence[Run], kernels: Sequence[KernelFacts]) -> None:
        """Takes note of executions and of what they gave."""
        found = self.found
        for state in (run.state for run in runs):
            self.left_out.add_run(state)
            found.reached |= state.reached
            found.entered |= state.entered
            found.shared_names |= state.shared_names
            found.layouts.update(state.layouts)
        for facts in kernels:
            self._add(facts)

    def _add(self, facts: KernelFacts) -> None:
        key = _identity(facts)
        if key not in self._seen:
            self._seen.add(key)
            self.found.kernels.append(facts)

    def run_from_outside(self) -> None:
        """Enters the functions that the program does not: host functions, kernels, then callers."""
        if not names_shared_tensor(self.text.text):
            return
        entries = entries_of(self.text)
        for entry in entries[:MAX_DSL_ENTRIES]:
            if entry.function not in self.found.entered:
                self._enter(entry)
            else:
                guess = replace(self._first_guess(self._types[0]), shapes=True)
                self._switch(entry, guess, None)
        left = [e for e in entries[MAX_DSL_ENTRIES:] if e.function not in self.found.entered]
        self.left_out.add("functions are not entered", len(left))
        if self._leaves_something():
            for runs, kernels in self._call_from_outside():
                self._prefer(runs, kernels)

    def _leaves_something(self) -> bool:
        """Returns whether an access of the file is not reached, or an access is not decided."""
        are_complete = all(map(is_complete, self.found.kernels))
        return not are_complete or self._leaves_accesses()

    def _call_from_outside(self) -> list[tuple[list[Run], list[KernelFacts]]]:
        """Returns what functions of other files lead to that call what the file defines."""
        if self._called is not None:
            return self._called
        called = self._called = []
        select = self._selection
        sites = self._callers.sites if has_kernels(self.text) else []
        for at, site in enumerate(sites):
            if current().spent > current().total >> 1:
                self.left_out.add("calls in other files are not followed", len(sites) - at)
                break
            entry = Entry(site.function, site.owner, site)
            guess = self._first_guess(self._types[0])
            guess, run = select.on_its_device(entry, *select.guessed(entry, guess))
            if run.state.constructed:
                guess, run = select.with_shapes(entry, guess, run)
            guess, run = select.with_outcomes(entry, guess, run)
            known = [*self.found.kernels, *(f for _, kernels in called for f in kernels)]
            if gains(run.facts(assumptions_of(entry, run)), known):
                called.append(self._agreed(entry, guess, run))
        return called

    def _callers_decide(self) -> bool:
        """Returns whether calls in other files decide most of a kernel of this one."""
        called = (facts for _, kernels in self._call_from_outside() for facts in kernels)
        return any(map(is_mostly_decided, called))

    def _prefer(self, runs: Sequence[Run], kernels: Sequence[KernelFacts]) -> None:
        """Takes complete kernels as further instances, others in place of what decides less.

        Of those that decide no more, what they do at places that are not known is taken.
        """
        for facts in kernels:
            if facts.decided > most_decided(facts, self.found.kernels):
                left = (
                    k
                    if k.instance.span != facts.instance.span or is_complete(k)
                    else decided_elsewhere(k, facts)
                    for k in self.found.kernels
                )
                self.found.kernels = [k for k in left if k is not None]
            elif not is_complete(facts):
                facts = beyond(facts, self._places, frozenset(self.found.reached))
                if not facts.accesses:
                    continue
            self._keep(runs, [facts])

    @property
    def _places(self) -> set[tuple[Span, AccessKind]]:
        """The places of accesses that are known."""
        return {(a.span, a.kind) for k in self.found.kernels for a in k.accesses}

    def unfinished(self) -> list[NotAnalysed]:
        """Returns a note for each function whose execution did not come to its end."""
        return [
            NotAnalysed(self.text.span(f), f.name, Reason(ReasonCode.STEP_LIMIT, why))
            for f, why in self._unfinished.items()
        ]

    @cached_property
    def _types(self) -> list[DType]:
        """The element types that are guessed."""
        return declared_types(self.text.tree) or [guesses.HALF]

    def _first_guess(self, dtype: DType) -> Guess:
        return Guess(dtype=dtype, defaults=lambda: self._callers.defaults)

    def _enter(self, entry: Entry) -> None:
        """Executes a function with guesses at its arguments, each element type by itself."""
        is_declared = len(self._types) > 1
        rank: int | None = None
        shapes = False
        for dtype in self._types:
            guess = replace(
                self._first_guess(dtype), is_declared=is_declared, rank=rank or 0, shapes=shapes
            )
            guess, run = self._selection.best(entry, guess, is_first=rank is None)
            rank, shapes = guess.rank, guess.shapes
            self._add_guesses(entry, guess, run)
            leaves = self._leaves_accesses() or run.state.asks_for_options
            if guesses.asks_for_flags(run.state) and leaves:
                other = replace(guess, flags=True)
                self._add_guesses(entry, *self._selection.guessed(entry, other))
            self._switch(entry, guess, run)
            if not guesses.asks_for_type(run.state):
                return

    def _switch(self, entry: Entry, guess: Guess, run: Run | None) -> None:
        """Adds what arguments lead to that are not the defaults, where accesses are left.

        Args:
            entry: the function.
            guess: at its other arguments.
            run: its execution with them; None where the program's own execution came to it.
        """
        if run is not None and run.interpreter.steps > MAX_DSL_STEPS_TO_SWITCH:
            return
        functions = [entry.function, *constructors(entry, run)]
        refusals = run.state.refusals if run is not None else set()
        is_launched = run is None and is_marked(entry.function, MARKS)
        tried: list[Switch] = [{}]
        while len(tried) <= MAX_DSL_SWITCHES:
            further = switches_to(self.text.tree, [a for _, a in self.unreached()], functions)
            switch = next((s for s in further if s not in tried), None)
            if switch is None:
                break
            tried.append(switch)
            other = replace(guess, switched=tuple(switch.items()))
            self._add_switched(entry, other, refusals, is_launched=is_launched)
        asks = run is not None and guesses.asks_for_flags(run.state)
        for switch in _rows_of(functions):
            for flags in (False, True) if asks else (guess.flags,):
                if self._leaves_accesses():
                    other = replace(guess, flags=flags, switched=tuple(switch.items()))
                    self._add_switched(entry, other, refusals, is_launched=is_launched)

    def _add_switched(
        self, entry: Entry, guess: Guess, refusals: Set[Span], *, is_launched: bool
    ) -> None:
        """Adds what a guess leads to that is not known, unless it has further refusals.

        Of a kernel that was launched with other arguments, the figures are samples.
        """
        guess, tried = self._selection.guessed(entry, guess)
        if tried.state.refusals - refusals or tried.state.reached <= self.found.reached:
            return
        known, reached = self._places, frozenset(self.found.reached)
        facts = tried.facts(assumptions_of(entry, tried))
        runs, agreed = (
            [tried],
            list(filter(_says_something, (beyond(f, known, reached) for f in facts))),
        )
        if agreed:
            runs, agreed = self._agreed(entry, guess, tried)
            agreed = [beyond(f, known, reached) for f in agreed]
            if any(guessed_rows(name) for name, _ in guess.switched):
                agreed = [sampled(facts, ONE_LENGTH) for facts in agreed]
            elif is_launched:
                agreed = [sampled(facts, NO_SUCH_LAUNCH) for facts in agreed]
        self._keep(runs, list(filter(_says_something, agreed)))

    def _add_guesses(self, entry: Entry, guess: Guess, first: Run) -> None:
        """Adds what a guess and those that differ from it agree on."""
        runs, agreed = self._agreed(entry, guess, first)
        failure = next((run.failure for run in runs if run.failure), "")
        if failure:
            self._unfinished[entry.function] = failure
        self._keep(runs, agreed)

    def _agreed(
        self, entry: Entry, guess: Guess, first: Run
    ) -> tuple[list[Run], list[KernelFacts]]:
        """Returns what a guess and those that differ in numbers and blocks agree on."""
        is_kernel = is_marked(entry.function, MARKS)
        others = guesses.others(guess, first.state, is_kernel=is_kernel)
        runs = [first, *(self._selection.guessed(entry, other)[1] for other in others)]
        # the program does not take the numbers that it refuses
        runs.sort(key=lambda run: len(run.state.refusals))
        runs = [run for run in runs if not run.state.refusals - runs[0].state.refusals]
        by_kernel: dict[Span, list[KernelFacts]] = {}
        for run in runs:
            for facts in run.advised_facts(assumptions_of(entry, run)):
                by_kernel.setdefault(facts.instance.span, []).append(facts)
        agreed = [joined(found) for found in by_kernel.values()]
        if any(guesses.corrected(guess, run.state).types != guess.types for run in runs):
            agreed = [sampled(facts, REFUSED) for facts in agreed]
        return runs, self._settled(entry, guess, first, agreed)

    def _settled(
        self, entry: Entry, guess: Guess, first: Run, agreed: list[KernelFacts]
    ) -> list[KernelFacts]:
        """Returns kernels with what they do where a condition settles a number that is open."""
        places = [a.span for f in agreed for a in f.accesses if not a.certainty.is_decided]
        found = first.state.settling.around(places) if not guess.settled else {}
        for numbers, at in list(found.items())[:MAX_DSL_SETTLED]:
            other = replace(guess, settled=numbers)
            _, again = self._agreed(entry, other, self._selection.guessed(entry, other)[1])
            for facts in again:
                agreed = [settled_in(f, facts, at) for f in agreed]
        return agreed


def _rows_of(functions: Sequence[ast.FunctionDef]) -> Iterator[Switch]:
    """Yields other lengths of rows that functions may be given."""
    for name in (p.name for f in functions for p in parameters_of(f.args) if p.default is None):
        for extent in guessed_rows(name):
            yield {name: extent}


def _says_something(facts: KernelFacts) -> bool:
    return bool(facts.accesses or facts.not_analysed)


def _identity(facts: KernelFacts) -> object:
    """Returns what two instances with the same accesses have in common."""
    return (
        facts.instance.span,
        facts.instance.block,
        tuple(
            (a.span, a.kind, a.reason, tuple((p.addresses.tobytes(), p.count) for p in a.patterns))
            for a in facts.accesses
        ),
        tuple((n.span, n.reason) for n in facts.not_analysed),
    )
