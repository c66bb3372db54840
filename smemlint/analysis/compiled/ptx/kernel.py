"""Evaluates one PTX kernel at one block shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smemlint.analysis.compiled.accesses import accesses
from smemlint.analysis.compiled.machine import Machine
from smemlint.analysis.compiled.ptx.blocks import kernel_program
from smemlint.analysis.compiled.ptx.fusion import fusion_of
from smemlint.analysis.compiled.ptx.linear import LinearForms
from smemlint.analysis.compiled.ptx.lowering import Lowering
from smemlint.analysis.compiled.ptx.operands import Names
from smemlint.analysis.compiled.ptx.shared_memory import shared_memory
from smemlint.analysis.compiled.state import Geometry
from smemlint.facts import KernelFacts, NotAnalysed
from smemlint.frontend.ptx.syntax import Operation, Variable, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smemlint.facts import Instance, Span
    from smemlint.frontend.ptx.module import Module
    from smemlint.frontend.ptx.syntax import Body, Location, Statement


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A kernel to evaluate.

    Attributes:
        body: its statements.
        instance: with a block shape.
        span_of: the place for the user of a source location, or of a line of the PTX text.
        arch: the target.
        assumptions: what is taken for granted, in words.
        arguments: known arguments by parameter name and byte offset.
    """

    body: Body
    instance: Instance
    span_of: Callable[[Location, int], Span]
    arch: str
    assumptions: tuple[str, ...] = ()
    arguments: Mapping[tuple[str, int], int] = field(default_factory=dict)


def evaluate_kernel(module: Module, task: Task) -> KernelFacts:
    """The facts of one kernel instance; what could not be followed is in `not_analysed`."""
    instance = task.instance
    assert instance.block is not None
    statements = task.body.statements
    operations = [s for s in statements if isinstance(s, Operation)]
    variables = _shared_variables(module, statements, operations)
    memory = shared_memory(variables, lambda v: task.span_of(v.location, v.line))
    forms = LinearForms(operations, memory.addresses)
    local = [s for s in statements if isinstance(s, Variable) and s.space == "local"]
    lowering = Lowering(
        names=Names({**memory.addresses, **{v.name: i << 24 for i, v in enumerate(local)}}),
        span_of=lambda operation: task.span_of(operation.location, operation.line),
        call_of=lambda o: task.span_of(o.call, o.line) if o.call else None,
        arrays=memory.arrays,
        arguments=task.arguments,
        makes_generic=any(o.opcode[:2] == ("cvta", "shared") for o in operations),
        forms=forms,
        fusion=fusion_of(statements, forms, memory.arrays),
        read=frozenset(n for o in operations for i in o.operands[1:] for n in names_in(i)),
    )
    machine = Machine(kernel_program(statements, lowering), Geometry.of(instance.block))
    machine.run()
    failure = f"evaluation stopped after {machine.steps} instructions" if machine.is_spent else ""
    found = accesses(
        machine.recorder.sites,
        instance,
        arch=task.arch,
        assumptions=task.assumptions,
        failure=failure,
        arrays=tuple(memory.arrays.values()),
    )
    notes = [NotAnalysed(span, instance.kernel, reason) for span, reason in lowering.notes]
    if failure:
        notes.append(NotAnalysed(instance.span, instance.kernel, failure))
    return KernelFacts(instance, tuple(memory.arrays.values()), found, tuple(notes), machine.steps)


def _shared_variables(
    module: Module, statements: Sequence[Statement], operations: Sequence[Operation]
) -> list[Variable]:
    """Those of the kernel itself, then those of the file that it names."""
    own = [s for s in statements if isinstance(s, Variable) and s.space == "shared"]
    named = {name for operation in operations for o in operation.operands for name in names_in(o)}
    others = [v for v in module.variables.values() if v.space == "shared" and v.name in named]
    return own + others
