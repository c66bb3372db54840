"""Copies and element accesses of the DSL as shared accesses of the kernel that executes them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from math import gcd

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import (
    Call,
    function,
    method,
    needed_tensor,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    AnyTensor,
    Origin,
    Pointer,
    ThreadSlice,
    UnknownTensor,
    WithoutLanes,
    array_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import Unknown, Value
from smemlint.analysis.simt.codegen.unrolled_sums import (
    at_static_zero,
    is_divergent,
    is_of_iteration,
    without_iterations,
)
from smemlint.analysis.simt.cute.accesses import KINDS
from smemlint.analysis.simt.cute.partial_merging import merged_partly
from smemlint.analysis.simt.cute.run_time import from_engine, thread_form
from smemlint.analysis.simt.domain.copy_sources import UNKNOWN_SOURCE, source_of_event
from smemlint.analysis.simt.domain.ctypes import I64
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Object
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.facts import AccessKind
from smemlint.layout import cute
from smemlint.layout.cute import CopiedFrom, Instruction
from smemlint.limits.budgets import MAX_ARRAY_BYTES
from smemlint.reasons import Reason, ReasonCode

_ASSEMBLY = frozenset(("cp.async", "ldmatrix", "stmatrix"))
"""Never merged with others by the compiler."""
_WIDEST = 16
"""Bytes of one instruction: NVVM splits the 32 that `autovec_copy` moves at once."""
BARRIERS = ("tma_bar_ptr", "mbar_ptr")
"""Arguments of copies that end at a barrier of shared memory: only TMA and bulk copies do."""
_COLLECTIVE = (AccessKind.LDMATRIX, AccessKind.STMATRIX)
_PARTIAL = UnknownNumber(
    Reason(ReasonCode.UNKNOWN_CONDITION, "which threads take part in it is not known")
)
_OUTSIDE = UnknownNumber(
    Reason(ReasonCode.UNKNOWN_ADDRESS, "an address that lies outside of all shared memory")
)


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
    is_predicated = call.given.named.get("pred") is not None
    if any(isinstance(s, UnknownTensor) for s in sides):
        return _one_side(call, policy, sides)
    source, destination = sides
    assert isinstance(source, cute.Tensor) and isinstance(destination, cute.Tensor)
    try:
        issued = cute.copy(source, destination, policy, is_predicated=is_predicated)
    except cute.CuteError as error:
        call.run.types.learn_from_copy(sides)
        return _undecided(call, sides, str(error))
    atom = policy.atom if isinstance(policy, cute.TiledCopy) else policy
    is_merged = atom.op.mechanism is cute.Mechanism.AUTO_VECTORIZING
    has_vectors = any(8 * i.width > source.bits for i in issued)
    if is_merged and has_vectors and _is_by_element(call.given.named.get("pred"), source):
        return _undecided(call, sides, "which elements with predicates of their own are merged")
    issue(call.run, issued, call.node, is_merged=is_merged)
    return None


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
    return copy_plainly(call, _sides(call, 1), partial(cute.copy_elements, is_predicated=True))


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
    if not shared and cute.Space.SHARED not in spaces and None not in spaces:
        return None
    if not shared:
        call.run.note(call.node, f"`{call.name}`: {reason}", _only_array(sides))
        return None
    for tensor in shared:
        kind = AccessKind.LOAD if tensor is sides[0] else AccessKind.STORE
        _emit_undecided(call.run, tensor, kind, reason, call.node)
    _note_other_tensors(call, sides)
    return None


def _note_other_tensors(call: Call, sides: Sequence[AnyTensor]) -> None:
    """Notes what a copy may access besides a known tensor, whose layout then has to stay."""
    for side in sides:
        if isinstance(side, UnknownTensor) and side.may_be_shared:
            call.run.note(call.node, f"`{call.name}`: {side.reason}", side.object)


def _emit_undecided(
    run: Execution, tensor: cute.Tensor, kind: AccessKind, reason: str, node: ast.AST
) -> None:
    """Records an access without a figure."""
    unknown = UnknownNumber(Reason(ReasonCode.NOT_MODELLED, reason))
    emit(run, tensor, kind, max(tensor.bits // 8, 1), unknown, node)


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
            _emit_undecided(call.run, operand, AccessKind.LOAD, why, call.node)
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
    if isinstance(tensor, UnknownTensor) or not tensor.is_shared or call.run.kernel is None:
        return None
    try:
        plain = tensor.layout.plain
        registers = cute.make_register_tensor(tensor.bits, cute.make_fragment_like(plain))
        sides = (tensor, registers) if kind is AccessKind.LOAD else (registers, tensor)
        issue(call.run, cute.autovec_copy(*sides), call.node)
    except cute.CuteError as error:
        _emit_undecided(call.run, tensor, kind, str(error), call.node)
    return None


def access_element(
    run: Execution, tensor: AnyTensor, key: Value, kind: AccessKind, node: ast.AST
) -> None:
    """Records `tensor[key]` or an assignment to it.

    Args:
        run: the execution.
        tensor: what is subscribed.
        key: the coordinate.
        kind: a load or a store.
        node: the subscript.
    """
    if run.kernel is not None and tensor.space is cute.Space.GLOBAL and kind is AccessKind.LOAD:
        run.kernel.loops.is_large |= run.kernel.loops.depth > 0
    if isinstance(tensor, UnknownTensor):
        if tensor.space is cute.Space.SHARED:
            run.note(node, f"an element of a tensor of shared memory: {tensor.reason}")
        return
    if not tensor.is_shared or run.kernel is None:
        return
    try:
        at = numbers.coordinate(run, key)
        offset = _offset_of_element(run, tensor, at)
    except cute.CuteError as error:
        _emit_undecided(run, tensor, kind, str(error), node)
        return
    emit(run, tensor, kind, max(tensor.bits // 8, 1), offset, node)


def _offset_of_element(
    run: Execution, tensor: cute.Tensor, at: cute.Coordinate
) -> AffineInt | UnknownNumber:
    """Returns where an element lies, as the compiler computes it.

    Raises:
        CuteError: the tensor has no such coordinate.
    """
    offset = byte_offset(cute.lanes_of(tensor.address_of(at)), tensor)
    loops = run.kernel.loops if run.kernel is not None else None
    if not loops or not loops.depth or not isinstance(offset, AffineInt) or _has_swizzle(tensor):
        return offset
    if not any(map(is_of_iteration, (tensor.base, tensor.layout(at)))):
        return offset
    if not is_divergent(at):
        loops.leave_open(offset)
    else:
        rest = byte_offset(cute.lanes_of(tensor.address_of(at_static_zero(at))), tensor)
        if isinstance(rest, AffineInt):
            loops.hide(offset, rest)
    return offset


def access_pointer(run: Execution, pointer: Pointer, kind: AccessKind, node: ast.AST) -> None:
    """Records `pointer.load()` or `pointer.store(value)`.

    Args:
        run: the execution.
        pointer: to what is accessed.
        kind: a load or a store.
        node: where.
    """
    if pointer.space is cute.Space.SHARED:
        bits, (tensor, offset) = pointer.origin.dtype.bits, _element_at(pointer)
        emit(run, tensor, kind, max(bits // 8, 1), offset, node)


def issue_assembly(
    run: Execution,
    pointer: Pointer,
    op: str,
    width: int,
    node: ast.AST,
    *,
    matrices: int = 0,
    copied: CopiedFrom | None = None,
) -> None:
    """Records an instruction that the program writes itself.

    Args:
        run: the execution.
        pointer: to the shared memory that it names.
        op: what it does, a key of `KINDS`.
        width: bytes that a lane names.
        node: where.
        matrices: of ldmatrix and stmatrix.
        copied: of an asynchronous copy, what it reads.
    """
    tensor, offset = _element_at(pointer)
    instruction = Instruction(op, width, None, tensor, matrices, copied=copied, is_assembly=True)
    emit(run, tensor, KINDS[op], width, offset, node, instruction=instruction, is_assembly=True)


def _element_at(pointer: Pointer) -> tuple[cute.Tensor, AffineInt | UnknownNumber]:
    """Returns the element that a pointer points to, and its offset in bytes."""
    tensor = cute.Tensor(
        pointer.space,
        pointer.origin.dtype.bits,
        cute.Layout(1),
        pointer.base,
        pointer.swizzle,
        pointer.origin,
    )
    return tensor, byte_offset(cute.lanes_of(tensor.address_of(0)), tensor)


# ---- recording


def issue(
    run: Execution,
    instructions: Sequence[Instruction],
    node: ast.AST,
    *,
    is_merged: bool = False,
) -> None:
    """Records the instructions of one call.

    Args:
        run: the execution.
        instructions: what it issues.
        node: the call.
        is_merged: the compiler makes vectors of elements, as wide as their array lies.
    """
    located = [(i, byte_offset(i.address, i.tensor)) for i in instructions if i.op in KINDS]
    if run.kernel is None:
        return
    for instruction, offset in merged_partly(
        located, _has_swizzle, run.kernel.mask, _width_of_pointer_swizzle
    ):
        width = min(instruction.width, _WIDEST)  # 32 bytes are two instructions
        width = gcd(width, _first_byte(instruction.tensor)) if is_merged else width
        for at in range(0, instruction.width, width or 1):
            emit(
                run,
                instruction.tensor,
                KINDS[instruction.op],
                width,
                _behind(run, offset, at),
                node,
                instruction=instruction,
            )


def _first_byte(tensor: cute.Tensor) -> int:
    """Returns where the array of a tensor begins in shared memory; 0 where that is not known."""
    array = array_of(tensor)
    return array.shared.base if array is not None and array.shared is not None else 0


def _behind(
    run: Execution, offset: AffineInt | UnknownNumber, count: int
) -> AffineInt | UnknownNumber:
    """Returns an offset some bytes further."""
    if not count or not isinstance(offset, AffineInt):
        return offset
    return run.domain.add(offset, AffineInt(count, I64))


def _has_swizzle(tensor: cute.Tensor) -> bool:
    use = tensor.origin.use if isinstance(tensor.origin, Origin) else None
    return use is not None and use.swizzle is not None


def _width_of_pointer_swizzle(tensor: cute.Tensor) -> int:
    """Returns the width of the accesses behind a swizzled pointer, which are not merged; else 0.

    nvidia-cutlass-dsl 4.8.1 calculates the exclusive-or of each address by itself: a copy of eight
    halves to a row behind `Swizzle<3,4,3>` is eight STS.U16, and four STS where it moves pairs.
    """
    return max(tensor.bits // 8, 1) if tensor.swizzle is not None else 0


def emit(
    run: Execution,
    tensor: cute.Tensor,
    kind: AccessKind,
    width: int,
    offset: AffineInt | UnknownNumber,
    node: ast.AST,
    *,
    instruction: Instruction | None = None,
    is_assembly: bool = False,
) -> None:
    """Records one access of all active threads.

    Args:
        run: the execution, of which the kernel's trace takes the access.
        tensor: what is accessed; one without a known array is passed over.
        kind: what the access does.
        width: bytes a lane.
        offset: of each lane in the array, in bytes; or why it is not known.
        node: where.
        instruction: what a copy issues; None for a single element.
        is_assembly: the program writes the instruction itself.
    """
    kernel, origin = run.kernel, tensor.origin
    if kernel is None or not isinstance(origin, Origin) or origin.object is None:
        return
    if kernel.trace.is_full:
        return
    lanes = kernel.mask.reshape(-1, WARP)
    if kind in _COLLECTIVE and (lanes.any(axis=1) != lanes.all(axis=1)).any():
        offset = _PARTIAL  # who takes part was not followed: the instruction is one of whole warps
    extra = _source_of(instruction.copied) if instruction is not None and instruction.copied else {}
    kernel.trace.add(
        Event(
            node,  # type: ignore[arg-type]  # whoever reads it asks for a place only
            origin.object,
            kind,
            width,
            offset,
            kernel.mask,
            volatile=instruction is not None and instruction.op in _ASSEMBLY,
            matrices=instruction.matrices if instruction is not None else 0,
            layout=origin.use,
            depends_on_data=kernel.data_branches > 0,
            is_assembly=is_assembly,
            **extra,  # type: ignore[arg-type]
        )
    )


def _source_of(copied: CopiedFrom) -> dict[str, object]:
    """Returns what an asynchronous copy reads."""
    tensor = copied.tensor
    source: Object | None = None
    offset: AffineInt | UnknownNumber = UNKNOWN_SOURCE
    if tensor is not None and isinstance(tensor.origin, Origin):
        source, offset = tensor.origin.object, byte_offset(copied.address, tensor)
    return source_of_event(source, offset, form=copied.form, is_partial=copied.is_zero_filling)


def byte_offset(address: object, tensor: cute.Tensor) -> AffineInt | UnknownNumber:
    """Returns a lane address as a number of bytes; none is known outside of any array."""
    number: cute.Integer = address if isinstance(address, int) else cute.DynamicInt(address)
    found = from_engine(number)
    if not isinstance(found, AffineInt):
        return found
    if isinstance(found.base, int) and abs(found.base) >= MAX_ARRAY_BYTES:
        return _OUTSIDE
    found = without_iterations(found)
    offset = AffineInt(found.base, I64, found.terms, found.form)
    if isinstance(offset.base, int):
        return offset
    if _has_swizzle(tensor):
        # The exclusive-or hides from the compiler which accesses are neighbours.
        offset.form = atom(offset.identity(), is_divergent=True)
    elif offset.form is None:
        offset.form = thread_form(offset)
    return offset
