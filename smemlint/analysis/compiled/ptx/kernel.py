"""Evaluates one PTX kernel at one block shape."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field

from smemlint.analysis.compiled.accesses import accesses
from smemlint.analysis.compiled.async_copies import ALIGNED, Probe, with_copies
from smemlint.analysis.compiled.machine import Machine
from smemlint.analysis.compiled.program import Program
from smemlint.analysis.compiled.ptx.blocks import kernel_program
from smemlint.analysis.compiled.ptx.fusion import fusion_of
from smemlint.analysis.compiled.ptx.linear import LinearForms
from smemlint.analysis.compiled.ptx.lowering import PARAMETER_BITS, Lowering
from smemlint.analysis.compiled.ptx.operands import Names
from smemlint.analysis.compiled.ptx.shared_memory import shared_memory
from smemlint.analysis.compiled.recorder import Issued, Recorder, Site
from smemlint.analysis.compiled.state import Geometry
from smemlint.analysis.compiled.values import Value
from smemlint.facts import Instance, KernelFacts, NotAnalysed, Span
from smemlint.frontend.ptx.module import Module, Parameter
from smemlint.frontend.ptx.syntax import Body, Location, Operation, Statement, Variable, names_in
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Reason, ReasonCode

WIDEST_SCALAR = 8
"""Bytes of the largest parameter that is one number or pointer."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelTask:
    """A kernel to evaluate.

    Attributes:
        span_of: the place for the user of a source location, or of a line of the PTX text.
        arguments: known arguments by parameter name and byte offset.
    """

    body: Body
    instance: Instance
    span_of: Callable[[Location, int], Span]
    arch: str
    assumptions: tuple[Assumption, ...] = ()
    arguments: Mapping[tuple[str, int], int] = field(default_factory=dict)
    parameters: Sequence[Parameter] = ()


def evaluate_kernel(module: Module, task: KernelTask) -> KernelFacts:
    """Returns the facts of one kernel instance; what could not be followed is in `not_analysed`."""
    instance = task.instance
    assert instance.block is not None
    statements = task.body.statements
    operations = [s for s in statements if isinstance(s, Operation)]
    variables = _shared_variables(module, statements, operations)
    memory = shared_memory(variables, lambda v: task.span_of(v.location, v.line))
    forms = LinearForms(operations, memory.addresses)
    local = [s for s in statements if isinstance(s, Variable) and s.space == "local"]
    parameters = {p.name: i << PARAMETER_BITS for i, p in enumerate(task.parameters)}
    locals_at = {v.name: i << 24 for i, v in enumerate(local)}
    lowering = Lowering(
        names=Names({**parameters, **memory.addresses, **locals_at}),
        span_of=lambda operation: task.span_of(operation.location, operation.line),
        call_of=lambda o: task.span_of(o.call, o.line) if o.call else None,
        arrays=memory.arrays,
        arguments=task.arguments,
        parameters=tuple(parameters),
        makes_generic=any(o.opcode[:2] == ("cvta", "shared") for o in operations),
        forms=forms,
        fusion=fusion_of(statements, forms, memory.arrays),
        read=frozenset(n for o in operations for i in o.operands[1:] for n in names_in(i)),
        arch=task.arch,
        sharing=module.sharing,
    )
    program = kernel_program(statements, lowering)
    machine = Machine(program, Geometry.of(instance.block))
    machine.run()
    text = f"evaluation stopped after {machine.steps} instructions"
    failure = Reason(ReasonCode.STEP_LIMIT, text) if machine.is_spent else None
    found = accesses(
        with_copies(machine.recorder.sites, _probe(program, task, operations)),
        instance,
        arch=task.arch,
        assumptions=task.assumptions,
        failure=failure,
        arrays=tuple(memory.arrays.values()),
    )
    notes = [NotAnalysed(span, instance.kernel, reason) for span, reason in lowering.notes]
    if failure is not None:
        notes.append(NotAnalysed(instance.span, instance.kernel, failure))
    return KernelFacts(instance, tuple(memory.arrays.values()), found, tuple(notes), machine.steps)


def _probe(program: Program, task: KernelTask, operations: Sequence[Operation]) -> Probe:
    """Runs the kernel again with numbers in the place of its arguments.

    The fields of a structure are the words that are loaded of it: which of them are pointers
    nothing says, so that all of them take one number.
    """
    pointers = _pointers(operations)
    scalars = {p.name for p in task.parameters if p.type[:1] in "bsu" and p.bytes in (4, 8)}
    structures = frozenset(p.name for p in task.parameters if p.bytes > WIDEST_SCALAR)
    fields = structures if _reads_any(operations, structures) else frozenset()

    def run(number: int) -> Mapping[Site, Issued] | None:
        assert task.instance.block is not None
        launch: dict[Hashable, Value] = {f"%ctaid.{axis}": Value(0) for axis in "xyz"}
        for name in scalars:
            launch[name, 0] = Value(ALIGNED if name in pointers else number)
        launch |= {(name, None): Value(number) for name in fields}
        launch |= {place: Value(value) for place, value in task.arguments.items()}
        recorder = Recorder(has_sources=True)
        machine = Machine(program, Geometry.of(task.instance.block, launch), recorder)
        machine.run()
        return None if machine.is_spent else recorder.sites

    return Probe(run, has_pointers_apart=not fields)


def _reads_any(operations: Sequence[Operation], parameters: frozenset[str]) -> bool:
    """Returns whether the kernel reads one of the parameters, or takes its address."""
    return any(not parameters.isdisjoint(names_in(o)) for i in operations for o in i.operands)


def _pointers(operations: Sequence[Operation]) -> frozenset[str]:
    """Returns the parameters that are loaded to become addresses of global memory."""
    loaded: dict[str, str] = {}
    found: set[str] = set()
    for operation in operations:
        names = [name for o in operation.operands for name in names_in(o)]
        if operation.opcode[:2] == ("ld", "param") and len(names) == 2:
            loaded[names[0]] = names[1]
        elif operation.opcode[:2] == ("cvta", "to") and len(names) == 2:
            found.update(loaded[name] for name in names[1:] if name in loaded)
    return frozenset(found)


def _shared_variables(
    module: Module, statements: Sequence[Statement], operations: Sequence[Operation]
) -> list[Variable]:
    """Returns those of the kernel itself, then those of the file that it names."""
    own = [s for s in statements if isinstance(s, Variable) and s.space == "shared"]
    named = {name for operation in operations for o in operation.operands for name in names_in(o)}
    others = [v for v in module.variables.values() if v.space == "shared" and v.name in named]
    return own + others
