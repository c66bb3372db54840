"""Accesses of single elements, and instructions that a program writes itself."""

from __future__ import annotations

import ast

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.recording.events import (
    byte_offset,
    emit,
    emit_undecided,
    has_swizzle,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.storage import StorageField
from smemlint.analysis.python.cute_dsl.execution.values import (
    AnyTensor,
    Pointer,
    UnknownTensor,
)
from smemlint.analysis.python.interpreter.values import Value
from smemlint.analysis.simt.codegen.unrolled_sums import (
    at_static_zero,
    is_divergent,
    is_of_iteration,
)
from smemlint.analysis.simt.cute.accesses import KINDS
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.facts import AccessKind
from smemlint.layout import cute
from smemlint.layout.cute import CopiedFrom, Instruction


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
        run.kernel.loops.is_large |= run.kernel.loops.depth > 0 or not run.kernel.loops.count
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
        emit_undecided(run, tensor, kind, str(error), node)
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
    if not loops or not loops.depth or not isinstance(offset, AffineInt) or has_swizzle(tensor):
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
    """Records `pointer.load()` or `pointer.store(value)`."""
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


def elements_of(payload: object) -> object:
    """Returns what is subscribed as a tensor: elements one behind the other where it points.

    A pointer's own accesses leave its swizzle out.
    """
    pointer = payload.pointer if isinstance(payload, StorageField) else payload
    if not isinstance(pointer, Pointer):
        return payload
    bits, row = pointer.origin.dtype.bits, cute.Layout(1, 1)
    return cute.Tensor(pointer.space, bits, row, pointer.base, None, pointer.origin)


def _element_at(pointer: Pointer) -> tuple[cute.Tensor, AffineInt | UnknownNumber]:
    """Returns the element that a pointer points to, and its offset in bytes."""
    tensor = elements_of(pointer)
    assert isinstance(tensor, cute.Tensor)
    return tensor, byte_offset(cute.lanes_of(tensor.address_of(0)), tensor)
