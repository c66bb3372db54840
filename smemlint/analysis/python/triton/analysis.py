"""Classic Triton (`@triton.jit`): what the source decides of shared memory and nobody repairs.

Registers and shared memory are the compiler's; what is left to the source is which dimension of a
matrix product's operands is contiguous, and how much a software pipeline keeps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator
from functools import partial

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.calls import call, call_from_outside, functions_of
from smemlint.analysis.python.interpreter.guarded import run_within_budget
from smemlint.analysis.python.interpreter.pytest_parameters import parametrizations
from smemlint.analysis.python.interpreter.values import Function, Launch, Scope
from smemlint.analysis.python.triton.hidden_parameters import hidden_parameters
from smemlint.analysis.python.triton.launches import choices_of
from smemlint.analysis.python.triton.model import TritonModel
from smemlint.analysis.python.triton.tiles import Descriptor, HostTensor
from smemlint.config.settings import Settings
from smemlint.facts import DotUse, Facts, NotAnalysed
from smemlint.frontend.python.python_source import NotPython, PythonText
from smemlint.limits.budgets import MAX_TRITON_LAUNCHES
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic
from smemlint.sources.pragmas import MARK
from smemlint.sources.source import Source

KERNEL_MARKS = ("triton.jit", "jit")
_DEFAULT_STAGES = 3
_LEAST_WARPS = 4


def analyze(source: Source, settings: Settings) -> tuple[Facts, Dependencies]:
    """Returns matrix products with the operands of launches, and offsets that pragmas declare."""
    return _facts_of(source, settings), Dependencies()


def _facts_of(source: Source, settings: Settings) -> Facts:
    has_products = ".dot(" in source.text
    has_offsets = MARK in source.text and "shared(" in source.text
    if not has_products and not has_offsets:
        return Facts()
    try:
        text = PythonText.of(source)
    except NotPython as problem:
        return problem.facts
    found = _File(text).facts() if has_products else Facts()
    if not has_offsets:
        return found
    from smemlint.analysis.python.triton.declared_offsets import kernels_of

    kernels, layouts, notes = kernels_of(text, settings)
    return Facts.joined([found, Facts(tuple(kernels), tuple(notes), tuple(layouts))])


class _File:
    """One file: kernels are executed with the arguments of their launches."""

    def __init__(self, text: PythonText) -> None:
        self._text = text
        self._model = TritonModel(text.span)
        self._notes: list[NotAnalysed] = []
        self._left: dict[str, dict[NotAnalysed, None]] = {}

    def facts(self) -> Facts:
        """Returns the matrix products of all launches."""
        interpreter = Interpreter(self._model, KERNEL_MARKS)
        scope: Scope = {}
        self._guarded("", interpreter, partial(interpreter.run, self._text.tree.body, (scope,)))
        for function in functions_of(scope):
            if not function.is_kernel:
                evaluate = partial(interpreter.evaluate, scopes=(scope,))
                before = len(interpreter.launches)
                chosen, left = parametrizations(function.node, evaluate)
                for arguments in chosen:
                    enter = partial(call_from_outside, interpreter, function, arguments)
                    self._guarded(function.node.name, interpreter, enter)
                for launch in interpreter.launches[before:]:
                    self._leave(launch, function.node, left, "parametrizations")
        found: dict[object, DotUse] = {}
        known: dict[ast.FunctionDef, list[Launch]] = {}
        for launch in filter(_passes_tensors, interpreter.launches):
            known.setdefault(launch.function.node, []).append(launch)
        launches = [launch for mine in known.values() for launch in mine[:MAX_TRITON_LAUNCHES]]
        for launch in [*launches, *self._bare(scope, known)]:
            scopes = launch.function.scopes
            choices = choices_of(launch, partial(interpreter.evaluate, scopes=scopes))
            for choice in choices.launches:
                for dot in self._of(choice):
                    found.setdefault((dot.span, dot.operands, dot.stages), dot)
            node = launch.function.node
            self._leave(launch, node, choices.left, "configurations of its autotuner")
            self._leave(launch, node, len(known.get(node, ())) - MAX_TRITON_LAUNCHES, "launches")
        kernels = dict.fromkeys(dot.kernel for dot in found.values())
        self._notes += dict.fromkeys(n for kernel in kernels for n in self._left.get(kernel, ()))
        return Facts(not_analysed=tuple(self._notes), dots=tuple(found.values()))

    def _of(self, launch: Launch) -> list[DotUse]:
        """Returns the matrix products of one launch."""
        model = self._model
        warps = launch.options.get("num_warps", _LEAST_WARPS)
        if not isinstance(warps, int) or warps < _LEAST_WARPS:
            return []  # fewer do not make a warp group, and the operands go another way
        stages = launch.options.get("num_stages", _DEFAULT_STAGES)
        model.dots = []
        model.kernel = launch.function.node.name
        model.warps = warps
        model.stages = stages if isinstance(stages, int) else None
        model.assumptions = (
            (Assumption(Topic.ARGUMENT, f"launched in line {launch.line}"),) if launch.line else ()
        )
        interpreter = Interpreter(model, KERNEL_MARKS)
        model.is_in_loop = lambda: interpreter.loops > 0
        hidden = hidden_parameters(launch.function.node, launch.arguments)
        arguments = {**launch.arguments, **hidden}
        enter = partial(call, interpreter, launch.function, (), arguments)
        self._guarded(model.kernel, interpreter, enter)
        return model.dots

    def _bare(self, scope: Scope, analysed: Container[ast.FunctionDef]) -> Iterator[Launch]:
        """Yields kernels whose launches pass nothing known, where their own text hides strides."""
        launched = {
            ast.unparse(node.func.value)
            for node in ast.walk(self._text.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
        }
        for function in scope.values():
            if not isinstance(function, Function) or function.node in analysed:
                continue
            is_launched = function.is_kernel and function.node.name in launched
            if is_launched and hidden_parameters(function.node, {}):
                yield Launch(function, {})

    def _leave(self, launch: Launch, node: ast.FunctionDef, count: int, what: str) -> None:
        """Remembers how much of a function is left, in case that the kernel has products."""
        if count > 0:
            reason = Reason(ReasonCode.LEFT_OUT, f"{count} further {what} are not evaluated")
            note = NotAnalysed(self._text.span(node), node.name, reason)
            self._left.setdefault(launch.function.node.name, {})[note] = None

    def _guarded(self, name: str, interpreter: Interpreter, action: Callable[[], object]) -> None:
        interpreter.steps = 0
        self._notes += run_within_budget(action, self._text.path, name)


def _passes_tensors(launch: Launch) -> bool:
    """Returns whether the launch passes a tensor whose type or strides are known."""
    return any(isinstance(v, HostTensor | Descriptor) for v in launch.arguments.values())
