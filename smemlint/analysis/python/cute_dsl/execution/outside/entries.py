"""Functions of a file that are entered from outside, and how."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterator
from functools import partial

from smemlint.analysis.python.cute_dsl.execution.kernels import execute_guessed
from smemlint.analysis.python.cute_dsl.execution.outside import guesses
from smemlint.analysis.python.cute_dsl.execution.outside.callers import COMPILES, CallSite
from smemlint.analysis.python.cute_dsl.execution.run import MARKS, Run
from smemlint.analysis.python.interpreter.calls import call
from smemlint.analysis.python.interpreter.pytest_parameters import parametrizations
from smemlint.analysis.python.interpreter.values import Class, Function, Scope, Value
from smemlint.frontend.python.python_source import PythonText
from smemlint.frontend.python.syntax_walk import called_names
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import PLACE, Assumption, Line, Topic

JIT_MARKS = ("cute.jit", "cutlass.cute.jit", "jit")
NO_LAUNCH = Assumption(Topic.BLOCK, "no launch is in the file: the block shape is guessed")


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A function that is entered from outside, its class, and the call that it is entered for."""

    function: ast.FunctionDef
    owner: ast.ClassDef | None
    site: CallSite | None = None


def assumptions_of(entry: Entry, run: Run) -> tuple[Assumption, ...]:
    """Returns what the figures of an execution that was entered from outside take for granted."""
    if entry.site is not None:
        path, line = entry.site.text.path, entry.site.use.lineno
        given = Assumption(Topic.ARGUMENT, f"arguments are those of {PLACE}", "", Line(path, line))
        return (given, *run.state.guessed, *run.state.assumed)
    is_kernel = is_marked(entry.function, MARKS)
    return (*((NO_LAUNCH,) if is_kernel else ()), *run.state.guessed, *run.state.assumed)


def is_marked(function: ast.FunctionDef, marks: tuple[str, ...]) -> bool:
    """Returns whether one of a function's decorators is one of these."""
    return any(name in marks for name in called_names(function.decorator_list))


def entries_of(text: PythonText) -> list[Entry]:
    """Returns the functions of a file that lead to a kernel: of the host first, then kernels."""
    marked = (*_compilers(text), *_entries(text, JIT_MARKS), *_entries(text, MARKS))
    return [entry for entry in marked if _leads_to_a_kernel(text, entry)]


def has_kernels(text: PythonText) -> bool:
    """Returns whether a file defines a kernel: of what others execute, only these are its own."""
    return any(True for _ in _entries(text, MARKS))


def _leads_to_a_kernel(text: PythonText, entry: Entry) -> bool:
    """Returns whether a function is a kernel, or may launch one."""
    body = text.segment(entry.function)
    return is_marked(entry.function, MARKS) or ".launch(" in body or COMPILES in body


def _entries(text: PythonText, marks: tuple[str, ...]) -> Iterator[Entry]:
    """Yields the marked functions of the file and of its classes."""
    yield from (e for e in _all_functions(text) if is_marked(e.function, marks))


def _compilers(text: PythonText) -> Iterator[Entry]:
    """Yields the functions of the host that compile a kernel for the arguments that they know."""
    for entry in _all_functions(text):
        is_of_host = entry.owner is None or is_marked(entry.function, ("staticmethod",))
        is_compiled = is_marked(entry.function, (*JIT_MARKS, *MARKS))
        if is_of_host and not is_compiled and COMPILES in text.segment(entry.function):
            yield entry


def _all_functions(text: PythonText) -> Iterator[Entry]:
    for node in text.tree.body:
        if isinstance(node, ast.FunctionDef):
            yield Entry(node, None)
        elif isinstance(node, ast.ClassDef):
            yield from (Entry(m, node) for m in node.body if isinstance(m, ast.FunctionDef))


def outside(
    entry: Entry, guess: guesses.Guess, *, stops: bool = False
) -> Callable[[Run, Scope], None]:
    """Returns what enters a function once the file's definitions are executed.

    Args:
        entry: the function.
        guess: at its arguments.
        stops: whether an execution ends where its host refuses a guess.
    """

    def enter(run: Run, home: Scope) -> None:
        site = entry.site
        if guess.arch:
            text = f"the program runs on a device of {guess.arch}, which leads to this kernel"
            run.state.arch = guess.arch
            run.state.guessed.setdefault(Assumption(Topic.HOST, text))
        run.state.choice = guess.number
        run.state.assumes = guess.assumes
        run.state.types.stops = stops
        run.state.are_columns = dict(guess.are_columns)
        run.state.domain.splits.update({key: (0, value) for key, value in guess.settled})
        scope = home
        if site is not None:
            run.state.outcomes = site.outcomes
            run.state.completes = partial(guesses.completed, guess, run.state)
            scope = run.state.texts.scope(posixpath.normpath(site.text.path))
        owner = scope.get(entry.owner.name) if entry.owner is not None else None
        receiver: list[Value] = []
        if entry.owner is not None and not is_marked(entry.function, ("staticmethod",)):
            if not isinstance(owner, Class):
                return
            made = guesses.construct(run.interpreter, owner, guess, run.state)
            receiver = [made]
            if site is None:
                run.state.constructed.append(made)
        function = _entered(entry, scope, owner if isinstance(owner, Class) else None)
        conditions = site.outcomes if site is not None else ()
        asked = {n.id for c in conditions for n in ast.walk(c) if isinstance(n, ast.Name)}
        is_method = bool(receiver)
        arguments = guess.arguments(run.state, function.node, is_method=is_method, truths=asked)
        if site is not None:
            evaluate = partial(run.interpreter.evaluate, scopes=(scope,))
            arguments.update(*parametrizations(entry.function, evaluate).chosen[:1])
        if is_marked(function.node, MARKS):
            execute_guessed(run.state, run.interpreter, function, receiver, arguments, guess.block)
        else:
            call(run.interpreter, function, receiver, arguments)
        if site is not None:
            _call_constructed(run, guess)

    return enter


def _entered(entry: Entry, scope: Scope, owner: Class | None) -> Function:
    """Returns the function that is called: for a kernel what its class inherits to launch it."""
    if owner is not None and is_marked(entry.function, MARKS):
        launcher = owner.member("__call__")
        if isinstance(launcher, Function) and launcher.owner is not owner:
            return launcher
    return Function(entry.function, (scope,), is_kernel=False, owner=owner)


def _call_constructed(run: Run, guess: guesses.Guess) -> None:
    """Calls objects that a function constructed and that nothing called."""
    for instance in list(run.state.constructed):
        found = instance.type.member("__call__")
        if isinstance(found, Function) and found.node not in run.state.entered:
            arguments = guess.arguments(run.state, found.node, is_method=True)
            call(run.interpreter, found, [instance], arguments)
