"""Selects the guesses at a function's arguments with which most of its accesses are decided."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution.outside import guesses
from smemlint.analysis.python.cute_dsl.execution.outside.agreement import (
    is_complete,
    is_mostly_decided,
)
from smemlint.analysis.python.cute_dsl.execution.outside.entries import (
    Entry,
    assumptions_of,
    is_marked,
    outside,
)
from smemlint.analysis.python.cute_dsl.execution.outside.guesses import Guess
from smemlint.analysis.python.cute_dsl.execution.outside.switches import switch_for
from smemlint.analysis.python.cute_dsl.execution.run import Run
from smemlint.analysis.python.interpreter.values import Scope, Value
from smemlint.limits.budgets import MAX_DSL_STEPS_TO_GUESS, MAX_REFUSED_GUESSES
from smemlint.limits.steps import current
from smemlint.reasons import ReasonCode

Guessed = tuple[Guess, Run]
"""A guess, and the execution with it."""


Execute = Callable[[Mapping[str, Value], Callable[[Run, Scope], None], bool], Run]
"""Executes a file with options of its command line and what enters it, also for a caller."""


class Selection:
    """Executes a file with guesses, and compares what is decided with them.

    Args:
        tree: the file.
        execute: executes it.
        callers_decide: returns whether calls in other files decide most of its kernels.
    """

    def __init__(
        self, tree: ast.Module, execute: Execute, callers_decide: Callable[[], bool]
    ) -> None:
        self._tree = tree
        self._execute = execute
        self._callers_decide = callers_decide

    def guessed(self, entry: Entry, guess: Guess) -> Guessed:
        """Returns an execution with a guess, without what the program refuses of it.

        One that leaves too few steps for another and for its counterpart is not corrected.
        """
        overrides: dict[str, Value] = {"dtype": guess.dtype.name} if guess.is_declared else {}
        is_called = entry.site is not None
        for left in reversed(range(MAX_REFUSED_GUESSES + 1)):
            before = current().spent
            enter = outside(entry, guess, stops=left > 0)
            run = self._execute(overrides, enter, is_called)
            other = guesses.corrected(guess, run.state)
            functions = [entry.function, *constructors(entry, run)]
            asked = switch_for(self._tree, run.state.failed, functions)
            other = replace(other, switched=tuple((asked | dict(other.switched)).items()))
            if other.is_like(guess) or 3 * (current().spent - before) > current().total - before:
                break
            guess = other
        return guess, run

    def best(self, entry: Entry, guess: Guess, *, is_first: bool) -> Guessed:
        """Returns the guess with which most is decided.

        Args:
            entry: the function.
            guess: what is changed.
            is_first: the rank of tensors is chosen, too.
        """
        guess, run = self.guessed(entry, guess)
        facts = run.facts(assumptions_of(entry, run))
        if not facts or not all(map(is_mostly_decided, facts)):
            # before further guesses spend the steps
            guess, run = self.with_shapes(entry, guess, run)
        if is_first and guesses.asks_for_tensors(run.state):
            guess, run = self._of_best_rank(entry, guess, run)
        if run.interpreter.steps < MAX_DSL_STEPS_TO_GUESS:
            guess, run = self.with_outcomes(entry, guess, run)
        return guess, run

    def on_its_device(self, entry: Entry, guess: Guess, run: Run) -> Guessed:
        """Returns a guess with the device on which the program comes to what the file defines."""
        for arch in guesses.other_devices(run.state) if not _is_reached(run) else ():
            other, tried = self.guessed(entry, replace(guess, arch=arch))
            if _is_reached(tried):
                return other, tried
        return guess, run

    def with_outcomes(self, entry: Entry, guess: Guess, run: Run) -> Guessed:
        """Returns a guess, with outcomes of conditions of the host if more is decided then.

        What a caller leaves open may keep an execution from what would be left to decide.
        """
        is_done = entry.site is None and _is_settled(entry, run)
        if is_done or not run.state.has_open_conditions:
            return guess, run
        other, tried = self.guessed(entry, replace(guess, assumes=True))
        is_better = _decided(entry, tried) > _decided(entry, run)
        return (other, tried) if is_better else (guess, run)

    def with_shapes(self, entry: Entry, guess: Guess, run: Run) -> Guessed:
        """Returns a guess with shapes of tiles, if no caller tells them and no less is known."""
        is_told = entry.site is None and self._callers_decide()
        if not run.state.asks_for_shapes or is_told:
            return guess, run
        other, tried = self.guessed(entry, replace(guess, shapes=True))
        is_better = _score(entry, tried) >= _score(entry, run)
        is_refused = tried.state.refusals - run.state.refusals
        return (other, tried) if is_better and not is_refused else (guess, run)

    def _of_best_rank(self, entry: Entry, guess: Guess, run: Run) -> Guessed:
        """Returns the guess at the rank of tensors under which most accesses are decided.

        Of a wrong one, CuTe refuses what the program does with its tensors. Among equal ones the
        one counts that leaves least to be noted.
        """
        best = *_score(entry, run), guess, run
        is_cheap = run.interpreter.steps < MAX_DSL_STEPS_TO_GUESS
        for rank in guesses.RANKS if is_cheap and not _is_settled(entry, run) else ():
            other, tried = self.guessed(entry, replace(guess, rank=rank))
            score = _score(entry, tried)
            if score > best[:2]:
                best = *score, other, tried
        return best[2:]


def _is_reached(run: Run) -> bool:
    """Returns whether an execution constructs or launches something of the file."""
    return bool(run.state.constructed or run.state.finished)


def _is_settled(entry: Entry, run: Run) -> bool:
    """Returns whether all accesses of an execution are decided."""
    facts = run.facts(assumptions_of(entry, run))
    return bool(facts) and all(map(is_complete, facts))


def _decided(entry: Entry, run: Run) -> int:
    """Returns how many accesses of an execution are decided."""
    return sum(facts.decided for facts in run.facts(assumptions_of(entry, run)))


def _score(entry: Entry, run: Run) -> tuple[int, int]:
    """Returns how much of an execution is decided, and how little was not followed."""
    notes = (n for f in run.facts(assumptions_of(entry, run)) for n in f.not_analysed)
    return _decided(entry, run), -sum(n.reason.code is not ReasonCode.NO_LANES for n in notes)


def constructors(entry: Entry, run: Run | None) -> Iterator[ast.FunctionDef]:
    """Yields the constructors whose arguments are guessed for a method."""
    if entry.owner is None or is_marked(entry.function, ("staticmethod",)):
        return
    for made in run.state.constructed if run is not None else ():
        if made.type.node is entry.owner:
            yield from guesses.constructors(made.type)
            return
    yield from (n for n in entry.owner.body if getattr(n, "name", "") == "__init__")  # type: ignore[misc]
