"""Execution of a launched kernel, and its accesses as facts."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from math import prod

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.recording.gaps import mark_gaps
from smemlint.analysis.python.cute_dsl.execution.state import MAX_THREADS, Execution, Kernel
from smemlint.analysis.python.cute_dsl.execution.values import Prepared
from smemlint.analysis.python.interpreter import Interpreter, OverBudget
from smemlint.analysis.python.interpreter.calls import call
from smemlint.analysis.python.interpreter.values import (
    BoundMethod,
    Function,
    Scope,
    Unknown,
    Value,
)
from smemlint.analysis.python.interpreter.values import Instance as PythonObject
from smemlint.analysis.simt.codegen.ptxas_fusion import merged
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.analysis.simt.kernel.summarize import AccessSummary
from smemlint.facts import Instance, KernelFacts, NotAnalysed, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_DSL_KERNELS, MAX_UNIFORM_OBJECTS
from smemlint.limits.errors import OutOfSteps
from smemlint.reasons import Assumption, Reason, ReasonCode

_STOPPED = Reason(ReasonCode.STEP_LIMIT, "evaluation stopped: the kernel takes too long to follow")


def execute_kernel(
    run: Execution, interpreter: Interpreter, prepared: Prepared, block: Value, node: ast.AST
) -> None:
    """Executes a kernel for all threads of a block at once.

    Args:
        run: the execution.
        interpreter: executes the statements.
        prepared: the kernel with its arguments.
        block: threads along x, y and z.
        node: the launch.
    """
    callee = prepared.kernel
    function = callee.function if isinstance(callee, BoundMethod) else callee
    if run.kernel is not None:
        return
    if len(run.finished) >= MAX_DSL_KERNELS:
        run.left_out[function.node] += 1
        return
    extents = _block_of(run, block)
    if extents is None:
        run.unlaunched.setdefault(function.node, "the block of its launch is not known")
        return
    if not run.takes_next(function.node):
        return
    kernel = run.begin(function.node.name, function.node, extents, node)
    outer = interpreter.open_paths
    interpreter.open_paths = 0
    arguments = list(prepared.arguments)
    if isinstance(callee, BoundMethod):
        arguments = [callee.owner, *arguments]
    arguments = [as_uniform(value) for value in arguments]
    named = {name: as_uniform(value) for name, value in prepared.named.items()}
    try:
        call(interpreter, function, arguments, named)
    except (OverBudget, OutOfSteps, RecursionError):
        kernel.failure = _STOPPED
        raise
    finally:
        interpreter.open_paths = outer
        run.end()


def execute_guessed(
    run: Execution,
    interpreter: Interpreter,
    function: Function,
    receiver: list[Value],
    arguments: Scope,
    block: tuple[int, int, int],
) -> None:
    """Executes a kernel that nothing launches with a guess at its block.

    Args:
        run: the execution.
        interpreter: executes the statements.
        function: the kernel.
        receiver: the object that it is a method of, if it is one.
        arguments: its parameters, by name.
        block: threads along x, y and z.
    """
    if not run.takes_next(function.node):
        return
    kernel = run.begin(function.node.name, function.node, block, None)
    try:
        call(interpreter, function, [as_uniform(value) for value in receiver], arguments)
    except (OverBudget, OutOfSteps, RecursionError):
        kernel.failure = _STOPPED
        raise
    finally:
        run.end()


def as_uniform(value: Value) -> Value:
    """Returns an argument of a launch; what is not known in it is marked as one for all threads.

    Attributes of objects are marked in place, those of the objects that they hold as well.
    """
    if isinstance(value, Unknown):
        return replace(value, is_uniform=True)
    if type(value) is tuple:
        return tuple(
            replace(item, is_uniform=True) if isinstance(item, Unknown) else item for item in value
        )
    worklist = [value]
    for owner in worklist:
        if not isinstance(owner, PythonObject):
            continue
        for name, held in owner.attributes.items():
            if isinstance(held, Unknown) and not held.is_uniform:
                text = f"the attribute `{name}` is not known"
                reason = held.reason or Reason(ReasonCode.UNKNOWN_VALUE, text)
                owner.attributes[name] = Unknown(reason, is_uniform=True)
            if isinstance(held, PythonObject) and all(held is not o for o in worklist):
                worklist += [held][: MAX_UNIFORM_OBJECTS - len(worklist)]
    return value


def _block_of(run: Execution, value: Value) -> tuple[int, int, int] | None:
    """Returns the threads along x, y and z."""
    parts = list(value) if isinstance(value, tuple | list) else [value]
    found: list[int] = []
    for part in parts:
        number = numbers.operand_of(run, part)
        constant = number.constant if isinstance(number, AffineInt) else None
        if constant is None or constant < 1:
            return None
        found.append(constant)
    found += [1] * (3 - len(found))
    return (
        (found[0], found[1], found[2]) if prod(found) <= MAX_THREADS and len(found) == 3 else None
    )


@dataclass(frozen=True, slots=True)
class Places:
    """What the summary of a trace asks of the text: where its nodes stand."""

    run: Execution

    def span(self, node: ast.AST) -> Span:
        """Returns the place of a node."""
        return self.run.span_of(node)

    def text(self, span: Span) -> str:
        """Returns the text of a place."""
        return self.run.text_within(span)

    def line(self, node: ast.AST) -> int:
        """Returns the line of a node."""
        return self.run.span_of(node).line


def facts_of(
    run: Execution,
    kernel: Kernel,
    assumptions: Sequence[Assumption],
    template: tuple[tuple[str, str], ...],
    steps: int,
) -> KernelFacts:
    """Returns the facts of an executed kernel; `steps` is what its execution took.

    Args:
        run: the execution.
        kernel: what was executed.
        assumptions: what its figures hang on.
        template: names and values of the arguments that are constant in it.
        steps: what its execution took.
    """
    launch = kernel.launch
    origin = f"launch in line {run.span_of(launch).line}" if launch is not None else ""
    instance = Instance(kernel.name, run.span_of_name(kernel.node), template, kernel.block, origin)
    summary = AccessSummary(Places(run), instance, assumptions, run.arch)  # type: ignore[arg-type]
    if kernel.failure is not None:
        events = (
            replace(e, offset=UnknownNumber(kernel.failure)) for e in kernel.trace.all_events()
        )
        summary.add(events)
    else:
        mark_gaps(kernel.trace.items)
        summary.add(merged(kernel.trace, ()))
    notes = [
        NotAnalysed(span, kernel.name, reason, array.shared if array is not None else None)
        for (span, reason), array in kernel.notes.items()
    ]
    if kernel.trace.is_full:
        notes.append(
            NotAnalysed(
                instance.span,
                kernel.name,
                Reason(ReasonCode.LEFT_OUT, "it has more accesses than are followed"),
            )
        )
    arrays = {a.name: a.shared for a in kernel.arrays if a.shared is not None}
    return KernelFacts(
        instance,
        tuple(arrays.values()),
        summary.facts(),
        tuple(notes),
        steps,
        tuple(kernel.layouts.values()),
    )
