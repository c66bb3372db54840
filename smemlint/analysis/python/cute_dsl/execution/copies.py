"""Copies and element accesses of the DSL as shared accesses of the kernel that executes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smemlint.analysis.python.cute_dsl.execution.call import (
    Call,
    function,
    method,
    needed_tensor,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.recording.events import (
    emit_undecided,
    issue,
)
from smemlint.analysis.python.cute_dsl.execution.sides import ELSEWHERE, is_elsewhere
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    AnyTensor,
    ThreadSlice,
    UnknownTensor,
    WithoutLanes,
    array_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import Unknown, Value
from smemlint.analysis.simt.domain.values import Object
from smemlint.facts import AccessKind
from smemlint.frontend.heuristics import names_shared_tensor
from smemlint.layout import cute
from smemlint.layout.cute import Instruction
from smemlint.reasons import ReasonCode

BARRIERS = ("tma_bar_ptr", "mbar_ptr")
"""Arguments of copies that end at a barrier of shared memory: only TMA and bulk copies do."""


# ---- copies


@function("copy", "copy_atom_call")
def copy(call: Call) -> Value:
    """Evaluates `copy(atom, source, destination, pred=)`."""
    policy = payload_of(call.value(0, "atom"))
    policy = policy.tiled if isinstance(policy, ThreadSlice) else policy
    sides = [needed_tensor(_first(call.value(i, n))) for i, n in ((1, "src"), (2, "dst"))]
    if isinstance(policy, WithoutLanes):
        _without_lanes(call, policy.mechanism, sides)
        return None
    barriers = (call.given.named.get(name) for name in BARRIERS)
    if any(b is not None and not isinstance(b, Unknown) for b in barriers):
        _without_lanes(call, "TMA or a bulk copy", sides)
        return None
    if _is_of_tensor_memory(policy):
        call.run.reached.add(call.run.span_of(call.node))
        return None
    if not isinstance(policy, cute.CopyAtom | cute.TiledCopy):
        policy = cute.CuteError(reason_of(call.value(0, "atom"), "its copy atom is not known"))
    return copy_by(call, policy, sides)


def _is_of_tensor_memory(policy: object) -> bool:
    """Returns whether a policy moves values between tensor memory and registers."""
    atom = policy.atom if isinstance(policy, cute.TiledCopy) else policy
    return isinstance(atom, cute.CopyAtom) and atom.op.tensor_memory is not None


def copy_by(
    call: Call, policy: cute.CopyAtom | cute.TiledCopy | cute.CuteError, sides: Sequence[AnyTensor]
) -> Value:
    """Records a copy from one side to the other by a policy, or why that is not known."""
    if not _touches_shared(call, sides):
        return None
    if isinstance(policy, cute.CuteError):
        return _undecided(call, sides, str(policy))
    atom = policy.atom if isinstance(policy, cute.TiledCopy) else policy
    sides = [_divided(side, atom) for side in sides]
    if any(isinstance(s, UnknownTensor) for s in sides):
        return _one_side(call, policy, sides)
    source, destination = sides
    assert isinstance(source, cute.Tensor) and isinstance(destination, cute.Tensor)
    try:
        issued = cute.copy(source, destination, policy)
    except cute.CuteError as error:
        call.run.types.learn_from_copy(sides)
        if isinstance(error, cute.Refused):
            call.run.refusals.add(call.run.span_of(call.node))
        return _undecided(call, sides, str(error))
    is_merged = atom.op.mechanism is cute.Mechanism.AUTO_VECTORIZING
    has_vectors = any(8 * i.width > source.bits for i in issued)
    if is_merged and has_vectors and _is_by_element(call.given.named.get("pred"), source):
        return _undecided(call, sides, "which elements with predicates of their own are merged")
    issue(call.run, issued, call.node, is_merged=is_merged)
    return None


def _divided(tensor: AnyTensor, atom: cute.CopyAtom) -> AnyTensor:
    """Returns a tensor whose innermost first mode is one of vectors if it holds several.

    The DSL divides it: `copy` of 32:1 by an atom of 128 bits is four ld.shared.v4.b32 of halves in
    nvidia-cutlass-dsl 4.8.1; CuTe refuses it in C++.
    """
    if isinstance(tensor, UnknownTensor) or not atom.op.has_lane_addresses:
        return tensor
    size = atom.source.mode(1).size
    if not isinstance(size, int) or size != atom.destination.mode(1).size:
        return tensor
    return tensor.apply(lambda layout: _in_vectors(layout, size))


def _in_vectors(layout: cute.Layout, size: int) -> cute.Layout:
    """Returns a layout whose innermost first mode is divided if it holds several vectors."""
    first, *rest = layout.modes()
    inner = first
    if isinstance(first.shape, tuple):
        inner = _in_vectors(first, size)
    elif isinstance(first.shape, int) and first.shape > size and not first.shape % size:
        inner = cute.logical_divide(first, cute.Layout(size))
    return cute.make_layout(inner, *rest) if inner is not first else layout


def _is_by_element(predicate: Value, source: cute.Tensor) -> bool:
    """Returns whether the elements of a copy have predicates of their own."""
    found, size = payload_of(predicate), source.size
    if not isinstance(found, cute.Tensor) or not isinstance(size, int) or size == 1:
        return False
    different = found.layout.plain.cosize
    return isinstance(different, int) and different >= size


def _first(value: Value) -> Value:
    """Returns the first of a list of tensors, operands that TMA moves together."""
    return value[0] if isinstance(value, list | tuple) and value else value


@function("autovec_copy")
def autovec_copy(call: Call) -> Value:
    """Evaluates `autovec_copy(source, destination)`."""
    return copy_plainly(call, _sides(call), cute.autovec_copy)


@function("basic_copy")
def basic_copy(call: Call) -> Value:
    """Evaluates `basic_copy(source, destination)`: element by element."""
    return copy_plainly(call, _sides(call), cute.copy_elements)


@function("basic_copy_if")
def basic_copy_if(call: Call) -> Value:
    """Evaluates `basic_copy_if(predicate, source, destination)`: element by element."""
    return copy_plainly(call, _sides(call, 1), cute.copy_elements)


def _sides(call: Call, first: int = 0) -> list[AnyTensor]:
    return [needed_tensor(call.value(first + i, n)) for i, n in enumerate(("src", "dst"))]


def copy_plainly(
    call: Call,
    sides: Sequence[AnyTensor],
    copied: Callable[[cute.Tensor, cute.Tensor], Sequence[Instruction]],
) -> Value:
    """Records a copy without a policy, whose instructions a function of the engine gives."""
    if not _touches_shared(call, sides):
        return None
    source, destination = sides
    if isinstance(source, UnknownTensor) or isinstance(destination, UnknownTensor):
        unknown = next(s for s in sides if isinstance(s, UnknownTensor))
        return _undecided(call, sides, unknown.reason)
    try:
        issued = copied(source, destination)
    except cute.CuteError as error:
        call.run.types.learn_from_copy(sides)
        return _undecided(call, sides, str(error))
    issue(call.run, issued, call.node)
    return None


def _touches_shared(call: Call, sides: Sequence[AnyTensor]) -> bool:
    call.run.reached.add(call.run.span_of(call.node))
    if call.run.kernel is None:
        return False
    return any(map(_may_be_shared, sides))


def _may_be_shared(tensor: AnyTensor) -> bool:
    return tensor.is_shared if isinstance(tensor, cute.Tensor) else tensor.may_be_shared


def _may_have_shared(call: Call) -> bool:
    """Returns whether a kernel has shared memory, or its file or that of a copy names any."""
    kernel, text_of = call.run.kernel, call.run.texts.text_of
    assert kernel is not None
    texts = (text_of(node).text for node in (kernel.node, call.node))
    return bool(kernel.arrays) or any(map(names_shared_tensor, texts))


def _only_array(sides: Sequence[AnyTensor]) -> Object | None:
    """Returns the shared array that a copy touches; None where it may touch another one."""
    arrays = {array_of(side) for side in filter(_may_be_shared, sides)}
    return arrays.pop() if len(arrays) == 1 else None


@function("block_copy")
def block_copy(call: Call) -> Value:
    """Evaluates `block_copy(atom, source, destination, ..)`, which has atoms of TMA and tcgen05."""
    sides = [needed_tensor(_first(call.value(i, n))) for i, n in ((1, "src"), (2, "dst"))]
    _without_lanes(call, "TMA", sides)
    return None


def _without_lanes(call: Call, mechanism: str, sides: Sequence[AnyTensor]) -> None:
    call.run.reached.add(call.run.span_of(call.node))
    note_without_lanes(call, mechanism, _only_array(sides))


def note_without_lanes(call: Call, mechanism: str, array: Object | None) -> None:
    """Notes a copy of which no lane names an address."""
    what = f"`{array.name}` is moved" if array is not None and array.name else "a copy"
    text = f"{what} by {mechanism}, which has no lane addresses"
    call.run.note(call.node, text, array, ReasonCode.NO_LANES)


def _undecided(call: Call, sides: Sequence[AnyTensor], reason: str) -> Value:
    """Records accesses without a figure, or a note where not even the array is known."""
    spaces = [s.space for s in sides]
    shared = [s for s in sides if isinstance(s, cute.Tensor) and s.is_shared]
    may_be_elsewhere = not shared and cute.Space.SHARED not in spaces
    if may_be_elsewhere and (None not in spaces or not _may_have_shared(call)):
        return None
    if may_be_elsewhere and is_elsewhere(call.node):
        call.run.note(call.node, ELSEWHERE.text, None, ELSEWHERE.code)
        return None
    if not shared:
        call.run.note(call.node, f"`{call.name}`: {reason}", _only_array(sides))
        return None
    for tensor in shared:
        kind = AccessKind.LOAD if tensor is sides[0] else AccessKind.STORE
        emit_undecided(call.run, tensor, kind, reason, call.node)
    _note_other_tensors(call, sides)
    return None


def _note_other_tensors(call: Call, sides: Sequence[AnyTensor]) -> None:
    """Notes what a copy may access besides a known tensor, whose layout then has to stay."""
    for side in sides:
        if isinstance(side, UnknownTensor) and side.may_be_shared:
            call.run.note(call.node, f"`{call.name}`: {side.reason}", side.object)


def _one_side(
    call: Call, policy: cute.CopyAtom | cute.TiledCopy, sides: Sequence[AnyTensor]
) -> Value:
    """Records what the side in shared memory does where the other one is not known.

    An operation of a fixed width has the same addresses whatever it moves them from or to.
    """
    atom = policy.atom if isinstance(policy, cute.TiledCopy) else policy
    unknown = next(s for s in sides if isinstance(s, UnknownTensor))
    mechanism = atom.op.mechanism
    is_fixed = (
        mechanism is not cute.Mechanism.AUTO_VECTORIZING and unknown.space is not cute.Space.SHARED
    )
    shared = next((s for s in sides if isinstance(s, cute.Tensor) and s.is_shared), None)
    if shared is None or not is_fixed:
        return _undecided(call, sides, unknown.reason)
    is_source = shared is sides[0]
    try:
        issued = cute.accesses_of_side(atom, shared, "S" if is_source else "D")
    except cute.CuteError as error:
        return _undecided(call, sides, str(error))
    issue(call.run, issued, call.node)
    if mechanism is cute.Mechanism.UNIVERSAL:  # the others move registers or global memory
        _note_other_tensors(call, sides)
    return None


@function("gemm", "mma_atom_call")
def gemm(call: Call) -> Value:
    """Evaluates `gemm(atom, d, a, b, c)`: the compiler loads operands that lie in shared memory."""
    operands = [needed_tensor(call.value(at, name)) for at, name in ((2, "a"), (3, "b"))]
    why = "how the compiler loads operands of `gemm` from shared memory is not modelled"
    for operand in operands:
        if not isinstance(operand, UnknownTensor) and operand.is_shared:
            emit_undecided(call.run, operand, AccessKind.LOAD, why, call.node)
        elif isinstance(operand, UnknownTensor) and operand.space is cute.Space.SHARED:
            call.run.note(call.node, f"`{call.name}`: {operand.reason}", operand.object)
    return None


# ---- elements


@method("fill")
def fill(call: Call) -> Value:
    """Evaluates `tensor.fill(value)`: a vector store for each run of neighbouring elements."""
    tensor = needed_tensor(call.owner)
    if isinstance(tensor, UnknownTensor):
        if tensor.space in (None, cute.Space.SHARED):
            call.run.reached.add(call.run.span_of(call.node))
            call.run.note(call.node, f"`fill`: {tensor.reason}")
        return None
    return _move_elements(call, tensor, AccessKind.STORE)


@method("store")
def store(call: Call) -> Value:
    """Evaluates `tensor.store(vector)`."""
    tensor = needed_tensor(call.owner)
    return _move_elements(call, tensor, AccessKind.STORE)


@method("load")
def load(call: Call) -> Value:
    """Evaluates `tensor.load()`: a vector of registers."""
    _move_elements(call, needed_tensor(call.owner), AccessKind.LOAD)
    return DATA


def _move_elements(call: Call, tensor: AnyTensor, kind: AccessKind) -> Value:
    """Records all elements of a tensor, which the DSL moves in vectors as `autovec_copy` does."""
    call.run.reach(call.node, tensor)
    if isinstance(tensor, UnknownTensor) or not tensor.is_shared or call.run.kernel is None:
        return None
    try:
        plain = tensor.layout.plain
        registers = cute.make_register_tensor(tensor.bits, cute.make_fragment_like(plain))
        sides = (tensor, registers) if kind is AccessKind.LOAD else (registers, tensor)
        issue(call.run, cute.autovec_copy(*sides), call.node)
    except cute.CuteError as error:
        emit_undecided(call.run, tensor, kind, str(error), call.node)
    return None
