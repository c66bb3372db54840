"""One execution of a file: its definitions, then its `__main__` or what enters it from outside."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Set
from functools import partial

from smemlint.analysis.python.cute_dsl.execution import expressions, statements
from smemlint.analysis.python.cute_dsl.execution.kernels import facts_of
from smemlint.analysis.python.cute_dsl.execution.model import DslModel
from smemlint.analysis.python.cute_dsl.execution.modules import ImportedFiles, Texts
from smemlint.analysis.python.cute_dsl.execution.outside.guessed_types import RefutedGuess
from smemlint.analysis.python.cute_dsl.execution.program import Program
from smemlint.analysis.python.cute_dsl.execution.state import Execution, KernelTrial
from smemlint.analysis.python.interpreter import Interpreter, OverBudget
from smemlint.analysis.python.interpreter.values import Scope, Value, is_known
from smemlint.analysis.simt.cute.layout_trials import LayoutTrial, with_layout_advice
from smemlint.facts import KernelFacts
from smemlint.frontend.heuristics import names_flag
from smemlint.frontend.python.python_source import PythonText
from smemlint.limits.budgets import MAX_DSL_STEPS
from smemlint.limits.errors import OutOfSteps
from smemlint.limits.steps import current, step_limit
from smemlint.reasons import Assumption

MARKS = ("cute.kernel", "cutlass.cute.kernel", "kernel")


class Run:
    """One execution of a file.

    Args:
        files: the file and what it imports.
        arch: the target.
        overrides: options of its command line that are not at their defaults.
        enter: what is executed behind its definitions; None for its own `__main__`.
        trial: the kernel that is executed alone with another layout; None for all with their own.
        most: steps that it may take.
    """

    def __init__(
        self,
        files: ImportedFiles,
        arch: str,
        overrides: Mapping[str, Value],
        enter: Callable[[Run, Scope], None] | None = None,
        trial: KernelTrial | None = None,
        *,
        most: int,
    ) -> None:
        self.files = files
        self.overrides = overrides
        self.enter = enter
        self.failure = ""
        self._priced: dict[tuple[Assumption, ...], list[KernelFacts]] = {}
        self.state = Execution(Texts(files, self._interpret), arch, trial)
        self.program = Program(self.state, dict(overrides))
        self.interpreter = Interpreter(
            DslModel(self.state),
            MARKS,
            policy=statements.ByThread(self.state),
            expressions={**expressions.handlers(self.state), ast.Call: self.program.evaluate_call},
            statements=statements.handlers(self.state),  # type: ignore[arg-type]
            max_steps=MAX_DSL_STEPS,
        )
        scope: Scope = {"__name__": "__main__" if enter is None else "a module"}
        self.state.texts.define(scope)
        outer = current()
        try:
            with step_limit(min(most, outer.total - outer.spent)) as part:
                part.checks = outer.checks
                self.interpreter.run(files.home.tree.body, (scope,))
                if enter is not None:
                    enter(self, scope)
        except (OverBudget, OutOfSteps, RecursionError):
            self.failure = "it takes too long to follow"
        except RefutedGuess:
            pass
        finally:
            outer.spend(min(part.spent, part.total))

    def facts(self, assumptions: tuple[Assumption, ...]) -> list[KernelFacts]:
        """Returns the facts of the kernels that it executed, priced once."""
        if assumptions not in self._priced:
            template = tuple((k, str(v)) for k, v in self.overrides.items())
            steps = self.interpreter.steps
            self._priced[assumptions] = [
                facts_of(self.state, kernel, assumptions, template, steps)
                for kernel in self.state.finished
            ]
        return self._priced[assumptions]

    def advised_facts(self, assumptions: tuple[Assumption, ...]) -> list[KernelFacts]:
        """Returns the same with the layouts that free tensors with conflicts."""
        return [
            with_layout_advice(facts, partial(self._tried, number, assumptions))
            for number, facts in enumerate(self.facts(assumptions))
        ]

    def _tried(
        self, number: int, assumptions: tuple[Assumption, ...], layout: LayoutTrial
    ) -> KernelFacts | None:
        """Returns the facts of one of the kernels with another layout; None if it is not met."""
        trial = KernelTrial(number, layout)
        again = Run(
            self.files, self.state.arch, self.overrides, self.enter, trial, most=MAX_DSL_STEPS
        )
        return next(iter(again.facts(assumptions)), None)

    def _interpret(self, text: PythonText) -> Scope:
        scope: Scope = {"__name__": "a module"}
        state = self.state
        kernel, assumes = state.kernel, state.assumes
        state.kernel, state.assumes = None, False
        try:
            self.interpreter.run(text.tree.body, (scope,))
        finally:
            state.kernel, state.assumes = kernel, assumes
        return scope


def choices_of(run: Run) -> list[tuple[str, Value]]:
    """Returns options of the command line with the choices that are not their defaults."""
    return [
        (name, choice)
        for parser in run.program.parsers
        for name, choices in parser.choices.items()
        for choice in choices
        if is_known(choice) and choice != parser.options.get(name)
    ]


def flags_of(run: Run, named: Set[str]) -> list[tuple[str, Value]]:
    """Returns flags of the command line, by name, that are not at their defaults.

    Those come first that conditions name which lead to copies.
    """
    found = [
        (name, not parser.options.get(name))
        for parser in run.program.parsers
        for name in parser.options
        if name in parser.flags and (names_flag(name) or name in named)
    ]
    return sorted(found, key=lambda flag: flag[0] not in named)
