"""Executes a file as `python file.py` would: its kernels as its own launches instantiate them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smemlint.analysis.python.cute_dsl.execution.kernels import facts_of
from smemlint.analysis.python.cute_dsl.execution.model import DslModel
from smemlint.analysis.python.cute_dsl.execution.modules import Texts
from smemlint.analysis.python.cute_dsl.execution.program import Program
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.statements import ByThread, handlers
from smemlint.analysis.python.interpreter import Interpreter, OverBudget
from smemlint.analysis.python.interpreter.dispatch import EXPRESSIONS
from smemlint.analysis.python.interpreter.values import Symbol, is_known
from smemlint.facts import KernelFacts, NotAnalysed, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.analysis.python.interpreter.values import Scope, Value
    from smemlint.config.settings import Settings
    from smemlint.frontend.python.python_source import PythonText

MARKS = ("cute.kernel", "cutlass.cute.kernel", "kernel")
MAX_STEPS = 400_000
"""Of one execution of a file."""
_MOST_VARIANTS = 6
"""Choices of the command line that are executed besides the defaults."""
_COPIES = frozenset(("copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call"))
DEFAULTS = "arguments are those of the file's own `__main__`"


@dataclass(slots=True, eq=False)
class FileFacts:
    """What executing a file gives.

    Attributes:
        kernels: each instance once.
        notes: what was not followed.
        reads: other files that were read.
    """

    kernels: list[KernelFacts] = field(default_factory=list)
    notes: list[NotAnalysed] = field(default_factory=list)
    reads: dict[str, None] = field(default_factory=dict)


def execute_file(text: PythonText, settings: Settings) -> FileFacts:
    """Returns the facts of the kernels that a file launches."""
    found = FileFacts()
    reached: set[Span] = set()
    seen: set[object] = set()
    first = _Run(text, {})
    variants = [first, *(_Run(text, {name: value}) for name, value in _variants(first))]
    unlaunched: dict[ast.FunctionDef, str] = {}
    launched: set[ast.FunctionDef] = set()
    for variant in variants:
        reached |= variant.state.reached
        unlaunched.update(variant.state.unlaunched)
        assumptions = (DEFAULTS, *(f"`{k}` is {v!r}" for k, v in variant.overrides.items()))
        for kernel in variant.state.finished:
            launched.add(kernel.node)
            template = tuple((k, str(v)) for k, v in variant.overrides.items())
            facts = facts_of(variant.state, kernel, settings.arch, assumptions, template)
            key = _identity(facts)
            if key not in seen:
                seen.add(key)
                found.kernels.append(facts)
        found.reads.update(variant.state.texts.read)
    found.notes += _unreached(text, reached, launched, unlaunched, first.failure)
    return found


class _Run:
    """One execution of a file's host code."""

    def __init__(self, text: PythonText, overrides: Scope) -> None:
        self.overrides = overrides
        self.failure = ""
        self.state = Execution(Texts(text, self._interpret))
        self.program = Program(self.state, dict(overrides))
        expressions = {
            **EXPRESSIONS,
            ast.Call: self.program.evaluate_call,
            ast.Lambda: self.program.evaluate_lambda,
            ast.Compare: self.program.evaluate_comparison,
            ast.BoolOp: self.program.evaluate_logical,
        }
        self.interpreter = Interpreter(
            DslModel(self.state),
            MARKS,
            policy=ByThread(self.state),
            expressions=expressions,
            statements=handlers(self.state),  # type: ignore[arg-type]
            max_steps=MAX_STEPS,
        )
        scope: Scope = {"__name__": "__main__"}
        try:
            self.interpreter.run(text.tree.body, (scope,))
        except (OverBudget, RecursionError):
            self.failure = "its host code takes too long to follow"

    def _interpret(self, text: PythonText) -> Scope:
        scope: Scope = {"__name__": "a module"}
        kernel, self.state.kernel = self.state.kernel, None
        try:
            self.interpreter.run(text.tree.body, (scope,))
        finally:
            self.state.kernel = kernel
        return scope


def _variants(run: _Run) -> Iterator[tuple[str, Value]]:
    """Yields options of the command line with the choices that are not their defaults."""
    count = 0
    for parser in run.program.parsers:
        for name, choices in parser.choices.items():
            default = parser.options.get(name)
            for choice in choices:
                if not is_known(choice) or choice == default or name in ("benchmark", "init"):
                    continue
                count += 1
                if count > _MOST_VARIANTS:
                    return
                yield name, choice


def _identity(facts: KernelFacts) -> object:
    """What two instances with the same accesses have in common."""
    return (
        facts.instance.span,
        facts.instance.block,
        tuple(
            (a.span, a.kind, a.reason, tuple((p.addresses.tobytes(), p.count) for p in a.patterns))
            for a in facts.accesses
        ),
        tuple((n.span, n.reason) for n in facts.not_analysed),
    )


def _unreached(
    text: PythonText,
    reached: set[Span],
    launched: set[ast.FunctionDef],
    unlaunched: dict[ast.FunctionDef, str],
    failure: str,
) -> list[NotAnalysed]:
    """Returns a note for each function with copies that no execution reached."""
    found = []
    for function in (n for n in ast.walk(text.tree) if isinstance(n, ast.FunctionDef)):
        copies = [c for c in _own_copies(function) if text.span(c) not in reached]
        if not copies:
            continue
        reason = failure or unlaunched.get(function, "")
        if not reason and function in launched:
            reason = "no path that was followed reaches it"
        reason = reason or "no call of it could be followed from the file's own host code"
        what = "a copy" if len(copies) == 1 else f"{len(copies)} copies"
        found.append(NotAnalysed(text.span(copies[0]), function.name, f"{what} of CuTe: {reason}"))
    return found


def _own_copies(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yields the copies of a function, those of functions inside it left out."""
    worklist: list[ast.AST] = list(ast.iter_child_nodes(function))
    while worklist:
        node = worklist.pop(0)
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            is_cute = isinstance(owner, ast.Name) and owner.id in ("cute", "cutlass")
            if node.func.attr in _COPIES and is_cute:
                yield node
        worklist += ast.iter_child_nodes(node)


__all__ = ["FileFacts", "Symbol", "execute_file"]
