"""Executes a file as `python file.py` would: its kernels as its own launches instantiate them.

What that does not reach is entered from outside: host functions that launch kernels and `__call__`
of objects first, with guesses at their arguments, then kernels with guesses at their block. A
figure on which guesses differ is a sample only.
"""

from __future__ import annotations

import ast
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from smemlint.analysis.python.cute_dsl.execution import guesses
from smemlint.analysis.python.cute_dsl.execution.kernels import execute_guessed, facts_of
from smemlint.analysis.python.cute_dsl.execution.left_out import (
    LeftOut,
    leaves_copies,
    unreached_allocations,
    unreached_copies,
)
from smemlint.analysis.python.cute_dsl.execution.model import DslModel
from smemlint.analysis.python.cute_dsl.execution.modules import ImportedFiles, Texts
from smemlint.analysis.python.cute_dsl.execution.program import Program
from smemlint.analysis.python.cute_dsl.execution.state import Execution, KernelTrial
from smemlint.analysis.python.cute_dsl.execution.statements import ByThread, handlers
from smemlint.analysis.python.interpreter import Interpreter, OverBudget
from smemlint.analysis.python.interpreter.calls import call
from smemlint.analysis.python.interpreter.dispatch import EXPRESSIONS
from smemlint.analysis.python.interpreter.values import Class, Function, is_known
from smemlint.analysis.simt.cute.layout_trials import with_layout_advice
from smemlint.analysis.simt.kernel.consensus import consensus
from smemlint.facts import KernelFacts, LayoutUse, NotAnalysed, Span
from smemlint.frontend.heuristics import names_flag, names_shared_tensor
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_DSL_ENTRIES,
    MAX_DSL_STEPS,
    MAX_DSL_STEPS_TO_GUESS,
    MAX_DSL_VARIANTS,
)
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from smemlint.analysis.python.interpreter.dispatch import ExpressionHandlers
    from smemlint.analysis.python.interpreter.values import DType, Scope, Value
    from smemlint.analysis.simt.cute.layout_trials import LayoutTrial
    from smemlint.config.settings import Settings
    from smemlint.frontend.python.python_source import PythonText

MARKS = ("cute.kernel", "cutlass.cute.kernel", "kernel")
JIT_MARKS = ("cute.jit", "cutlass.cute.jit", "jit")
_COMPILES = "cute.compile("
_DIFFERS = Reason(ReasonCode.UNKNOWN_VALUE, "the figure depends on arguments that are not known")
DEFAULTS = Assumption(Topic.ARGUMENT, "arguments are those of the file's own `__main__`")
NO_LAUNCH = Assumption(Topic.BLOCK, "no launch is in the file: the block shape is guessed")


@dataclass(slots=True, eq=False)
class FileFacts:
    """What executing a file gives.

    Attributes:
        kernels: each instance once.
        notes: what was not followed.
        reads: other files that were read.
        reached: places of calls that were executed.
        entered: functions that were executed.
        layouts: thread layouts that are not compact.
    """

    kernels: list[KernelFacts] = field(default_factory=list)
    notes: list[NotAnalysed] = field(default_factory=list)
    reads: dict[str, None] = field(default_factory=dict)
    reached: set[Span] = field(default_factory=set)
    entered: set[ast.FunctionDef] = field(default_factory=set)
    layouts: dict[object, LayoutUse] = field(default_factory=dict)


def execute_file(text: PythonText, settings: Settings) -> FileFacts:
    """Returns the facts of the kernels of a file."""
    file = _File(text, settings)
    file.run_main()
    file.run_from_outside()
    reached, entered = file.found.reached, file.found.entered
    file.found.notes += (
        unreached_copies(text, reached, entered, file.failure)
        or file.unfinished()
        or unreached_allocations(text, entered)
    )
    file.found.notes += file.left_out.notes()
    return file.found


class _File:
    """One file and what its executions gave so far."""

    def __init__(self, text: PythonText, settings: Settings) -> None:
        self.text = text
        self.files = ImportedFiles(text)
        self.settings = settings
        self.found = FileFacts()
        self.left_out = LeftOut(text.path)
        self.failure = ""
        self._unfinished: dict[ast.FunctionDef, str] = {}
        self._seen: set[object] = set()

    def run_main(self) -> None:
        """Executes the file as a program: with its defaults, and its choices."""
        first = _Run(self.files, self.settings.arch, {})
        self.failure = first.failure
        self._take(first, (DEFAULTS,))
        choices = _choices(first)
        self.left_out.add("choices of options are not executed", len(choices) - MAX_DSL_VARIANTS)
        for name, value in choices[:MAX_DSL_VARIANTS]:
            self._run_with_option(name, value, first)
        flags = _flags(first) if first.state.finished else []
        for name, value in flags[: max(MAX_DSL_VARIANTS - len(choices), 0)]:
            if not leaves_copies(self.text, self.found.reached):
                return
            self._run_with_option(name, value, first)

    def _run_with_option(self, name: str, value: Value, first: _Run) -> None:
        """Adds what the program does with another option, unless it then refuses to go on."""
        variant = _Run(self.files, self.settings.arch, {name: value})
        if variant.state.refusals - first.state.refusals:
            return
        self._take(variant, (DEFAULTS, Assumption(Topic.ARGUMENT, f"`{name}` is {value!r}", name)))

    def _take(self, run: _Run, assumptions: tuple[Assumption, ...]) -> None:
        for facts in self._facts(run, assumptions):
            self._add(facts)

    def _facts(self, run: _Run, assumptions: tuple[Assumption, ...]) -> list[KernelFacts]:
        state, found = run.state, self.found
        self.left_out.add_run(state)
        found.reached |= state.reached
        found.entered |= state.entered
        found.layouts.update(state.layouts)
        found.reads.update(state.texts.read)
        return run.advised_facts(assumptions)

    def _add(self, facts: KernelFacts) -> None:
        key = _identity(facts)
        if key not in self._seen:
            self._seen.add(key)
            self.found.kernels.append(facts)

    def run_from_outside(self) -> None:
        """Enters the functions that the program does not: host functions, then kernels."""
        if not names_shared_tensor(self.text.text):
            return
        marked = [
            *_compilers(self.text),
            *_entries(self.text, JIT_MARKS),
            *_entries(self.text, MARKS),
        ]
        entries = [e for e in marked if self._leads_to_a_kernel(e)]
        for entry in entries[:MAX_DSL_ENTRIES]:
            if entry.function not in self.found.entered:
                self._enter(entry)
        left = [e for e in entries[MAX_DSL_ENTRIES:] if e.function not in self.found.entered]
        self.left_out.add("functions are not entered", len(left))

    def unfinished(self) -> list[NotAnalysed]:
        """Returns a note for each function whose execution did not come to its end."""
        return [
            NotAnalysed(self.text.span(f), f.name, Reason(ReasonCode.STEP_LIMIT, why))
            for f, why in self._unfinished.items()
        ]

    def _leads_to_a_kernel(self, entry: _Entry) -> bool:
        """Returns whether a function is a kernel, or may launch one."""
        text = self.text.segment(entry.function)
        return _is_marked(entry.function, MARKS) or ".launch(" in text or _COMPILES in text

    @cached_property
    def _types(self) -> list[DType]:
        """The element types that are guessed."""
        return guesses.declared_types(self.text.tree) or [guesses.HALF]

    def _enter(self, entry: _Entry) -> None:
        """Executes a function with guesses at its arguments, each element type by itself."""
        is_declared = len(self._types) > 1
        rank: int | None = None
        for dtype in self._types:
            guess = guesses.Guess(dtype=dtype, is_declared=is_declared, rank=rank or 0)
            run = self._guessed(entry, guess)
            if rank is None and guesses.asks_for_tensors(run.state):
                guess, run = self._of_best_rank(entry, guess, run)
            rank = guess.rank
            self._add_guesses(entry, guess, run)
            leaves = leaves_copies(self.text, self.found.reached)
            if guesses.asks_for_flags(run.state) and leaves:
                other = replace(guess, flags=True)
                self._add_guesses(entry, other, self._guessed(entry, other))
            if not guesses.asks_for_type(run.state):
                return

    def _guessed(self, entry: _Entry, guess: guesses.Guess) -> _Run:
        overrides: dict[str, Value] = {"dtype": guess.dtype.name} if guess.is_declared else {}
        return _Run(self.files, self.settings.arch, overrides, _outside(entry, guess))

    def _of_best_rank(
        self, entry: _Entry, guess: guesses.Guess, run: _Run
    ) -> tuple[guesses.Guess, _Run]:
        """Returns the guess at the rank of tensors under which most accesses are decided.

        Of a wrong one, CuTe refuses what the program does with its tensors.
        """
        best = self._decided(entry, run), guess, run
        for rank in guesses.RANKS if run.interpreter.steps < MAX_DSL_STEPS_TO_GUESS else ():
            other = replace(guess, rank=rank)
            tried = self._guessed(entry, other)
            decided = self._decided(entry, tried)
            if decided > best[0]:
                best = decided, other, tried
        return best[1:]

    def _decided(self, entry: _Entry, run: _Run) -> int:
        """Returns how many accesses of an execution are decided."""
        return sum(facts.decided for facts in run.facts(_assumptions(entry, run)))

    def _add_guesses(self, entry: _Entry, guess: guesses.Guess, first: _Run) -> None:
        """Adds what a guess and those that differ from it in numbers and blocks agree on."""
        is_kernel = _is_marked(entry.function, MARKS)
        others = guesses.others(guess, first.state, is_kernel=is_kernel)
        by_kernel: dict[Span, list[KernelFacts]] = {}
        for run in (first, *(self._guessed(entry, other) for other in others)):
            if run.state.refusals - first.state.refusals:
                continue  # the program does not take this number
            if run.failure:
                self._unfinished[entry.function] = run.failure
            for facts in self._facts(run, _assumptions(entry, run)):
                by_kernel.setdefault(facts.instance.span, []).append(facts)
        for found in by_kernel.values():
            self._add(consensus(found, _DIFFERS))


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A function that is entered from outside, and its class."""

    function: ast.FunctionDef
    owner: ast.ClassDef | None


def _assumptions(entry: _Entry, run: _Run) -> tuple[Assumption, ...]:
    """Returns what the figures of an execution that was entered from outside take for granted."""
    is_kernel = _is_marked(entry.function, MARKS)
    return (*((NO_LAUNCH,) if is_kernel else ()), *run.state.guessed)


def _is_marked(function: ast.FunctionDef, marks: tuple[str, ...]) -> bool:
    return any(
        ast.unparse(d.func if isinstance(d, ast.Call) else d) in marks
        for d in function.decorator_list
    )


def _entries(text: PythonText, marks: tuple[str, ...]) -> Iterator[_Entry]:
    """Yields the marked functions of the file and of its classes."""
    yield from (e for e in _all_functions(text) if _is_marked(e.function, marks))


def _compilers(text: PythonText) -> Iterator[_Entry]:
    """Yields the functions of the host that compile a kernel for the arguments that they know."""
    for entry in _all_functions(text):
        is_of_host = entry.owner is None or _is_marked(entry.function, ("staticmethod",))
        is_compiled = _is_marked(entry.function, (*JIT_MARKS, *MARKS))
        if is_of_host and not is_compiled and _COMPILES in text.segment(entry.function):
            yield entry


def _all_functions(text: PythonText) -> Iterator[_Entry]:
    for node in text.tree.body:
        if isinstance(node, ast.FunctionDef):
            yield _Entry(node, None)
        elif isinstance(node, ast.ClassDef):
            yield from (_Entry(m, node) for m in node.body if isinstance(m, ast.FunctionDef))


def _outside(entry: _Entry, guess: guesses.Guess) -> Callable[[_Run, Scope], None]:
    """Returns what enters a function once the file's definitions are executed."""

    def enter(run: _Run, scope: Scope) -> None:
        owner = scope.get(entry.owner.name) if entry.owner is not None else None
        receiver: list[Value] = []
        if entry.owner is not None and not _is_marked(entry.function, ("staticmethod",)):
            if not isinstance(owner, Class):
                return
            receiver = [guesses.construct(run.interpreter, owner, guess, run.state)]
        function = Function(
            entry.function,
            (scope,),
            is_kernel=False,
            owner=owner if isinstance(owner, Class) else None,
        )
        arguments = guess.arguments(run.state, entry.function, is_method=bool(receiver))
        if _is_marked(entry.function, MARKS):
            execute_guessed(run.state, run.interpreter, function, receiver, arguments, guess.block)
        else:
            call(run.interpreter, function, receiver, arguments)

    return enter


class _Run:
    """One execution of a file.

    Args:
        files: the file and what it imports.
        arch: the target.
        overrides: options of its command line that are not at their defaults.
        enter: what is executed behind its definitions; None for its own `__main__`.
        trial: the kernel that is executed alone with another layout; None for all with their own.
    """

    def __init__(
        self,
        files: ImportedFiles,
        arch: str,
        overrides: Mapping[str, Value],
        enter: Callable[[_Run, Scope], None] | None = None,
        trial: KernelTrial | None = None,
    ) -> None:
        self.files = files
        self.overrides = overrides
        self.enter = enter
        self.failure = ""
        self._priced: dict[tuple[Assumption, ...], list[KernelFacts]] = {}
        self.state = Execution(Texts(files, self._interpret), arch, trial)
        self.program = Program(self.state, dict(overrides))
        expressions: ExpressionHandlers = {
            **EXPRESSIONS,
            ast.Call: self.program.evaluate_call,
            ast.Lambda: self.program.evaluate_lambda,
            ast.Compare: self.program.evaluate_comparison,
            ast.BoolOp: self.program.evaluate_logical,
            ast.IfExp: self.program.evaluate_conditional,
            ast.Tuple: self.program.evaluate_tuple,
            ast.Set: self.program.evaluate_set,
        }
        self.interpreter = Interpreter(
            DslModel(self.state),
            MARKS,
            policy=ByThread(self.state),
            expressions=expressions,
            statements=handlers(self.state),  # type: ignore[arg-type]
            max_steps=MAX_DSL_STEPS,
        )
        scope: Scope = {"__name__": "__main__" if enter is None else "a module"}
        try:
            self.interpreter.run(files.home.tree.body, (scope,))
            if enter is not None:
                enter(self, scope)
        except (OverBudget, RecursionError):
            self.failure = "it takes too long to follow"

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
        again = _Run(self.files, self.state.arch, self.overrides, self.enter, trial)
        return next(iter(again.facts(assumptions)), None)

    def _interpret(self, text: PythonText) -> Scope:
        scope: Scope = {"__name__": "a module"}
        kernel, self.state.kernel = self.state.kernel, None
        try:
            self.interpreter.run(text.tree.body, (scope,))
        finally:
            self.state.kernel = kernel
        return scope


def _choices(run: _Run) -> list[tuple[str, Value]]:
    """Options of the command line with the choices that are not their defaults."""
    return [
        (name, choice)
        for parser in run.program.parsers
        for name, choices in parser.choices.items()
        for choice in choices
        if is_known(choice) and choice != parser.options.get(name)
    ]


def _flags(run: _Run) -> list[tuple[str, Value]]:
    """Flags of the command line, by their names of the program, that are not at their defaults."""
    return [
        (name, not parser.options.get(name))
        for parser in run.program.parsers
        for name in parser.options
        if name in parser.flags and names_flag(name)
    ]


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
