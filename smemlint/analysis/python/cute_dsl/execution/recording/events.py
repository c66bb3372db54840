"""Instructions and single accesses as events of the kernel's trace."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    Origin,
    array_of,
)
from smemlint.analysis.simt.codegen.unrolled_sums import (
    without_iterations,
)
from smemlint.analysis.simt.cute.accesses import KINDS, may_stay_apart
from smemlint.analysis.simt.cute.partial_merging import Located, merged_partly
from smemlint.analysis.simt.cute.run_time import from_engine, thread_form
from smemlint.analysis.simt.domain.copy_sources import UNKNOWN_SOURCE, source_of_event
from smemlint.analysis.simt.domain.ctypes import I64
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.scev import atom, power_of_two
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Object
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.facts import AccessKind
from smemlint.layout import cute
from smemlint.layout.cute import CopiedFrom, Instruction
from smemlint.limits.budgets import MAX_ARRAY_BYTES
from smemlint.reasons import Reason, ReasonCode

_ASSEMBLY = frozenset(("cp.async", "ldmatrix", "stmatrix"))
_WIDEST = 16
"""Bytes of one instruction: NVVM splits the 32 that `autovec_copy` moves at once."""
_COLLECTIVE = (AccessKind.LDMATRIX, AccessKind.STMATRIX)
_PARTIAL = UnknownNumber(
    Reason(ReasonCode.UNKNOWN_CONDITION, "which threads take part in it is not known")
)
_OUTSIDE = UnknownNumber(
    Reason(ReasonCode.UNKNOWN_ADDRESS, "an address that lies outside of all shared memory")
)


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
    for instruction, offset, parts in merged_partly(
        located, has_swizzle, run.kernel.mask, _width_of_pointer_swizzle
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
                parts=parts,
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


def has_swizzle(tensor: cute.Tensor) -> bool:
    """Returns whether the layout of a tensor has a swizzle."""
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
    parts: Sequence[Located] = (),
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
        parts: accesses that the compiler may make instead.
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
    if parts:
        extra |= may_stay_apart(parts, node, origin.object, kernel.mask)
    kernel.trace.add(
        Event(
            node,  # type: ignore[arg-type]  # whoever reads it asks for a place only
            origin.object,
            kind,
            width,
            offset,
            kernel.mask,
            volatile=instruction is not None and _is_final(instruction, width),
            matrices=instruction.matrices if instruction is not None else 0,
            layout=origin.use,
            depends_on_data=kernel.data_branches > 0,
            is_assembly=is_assembly,
            **extra,  # type: ignore[arg-type]
        )
    )


def _is_final(instruction: Instruction, width: int) -> bool:
    """Returns whether LLVM merges an access no more: a vector is split behind its search."""
    return instruction.op in _ASSEMBLY or width < min(instruction.width, _WIDEST)


def emit_undecided(
    run: Execution, tensor: cute.Tensor, kind: AccessKind, reason: str, node: ast.AST
) -> None:
    """Records an access without a figure.

    Args:
        run: the execution.
        tensor: what is accessed.
        kind: what the access does.
        reason: why it has none.
        node: where.
    """
    unknown = UnknownNumber(Reason(ReasonCode.NOT_MODELLED, reason))
    emit(run, tensor, kind, max(tensor.bits // 8, 1), unknown, node)


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
    if has_swizzle(tensor):
        # The exclusive-or hides from the compiler which accesses are neighbours.
        if _is_sum(offset, tensor):  # as ptxas sees it: LLVM looked for vectors before
            offset.form = replace(thread_form(offset), alignment=tensor.bits // 8)
        else:
            offset.form = atom(offset.identity(), is_divergent=True)
    elif offset.form is None:
        offset.form = thread_form(offset)
    return offset


def _is_sum(offset: AffineInt, tensor: cute.Tensor) -> bool:
    """Returns whether LLVM sees that a swizzled offset is a sum of a thread's part and a constant.

    It makes `(a | c) ^ y` a sum if it knows that no bit is in two of them: the thread's part `a` is
    a multiple of a power of two above all bits that it changes, and the constant lies below, in
    bits that are neither changed nor read. Of `s[t, i]` with rows of 32 floats under
    `Swizzle<2,2,4>` the first four are one STS.128, the others, and all of `s[t + 1, i]`, an STS
    each (nvidia-cutlass-dsl 4.8.1, sm_90a).
    """
    layout, size = tensor.layout, tensor.bits // 8
    if not isinstance(layout, cute.ComposedLayout) or not isinstance(tensor.base, int) or not size:
        return False
    swizzle = layout.swizzle
    if swizzle.shift <= 0:
        return False
    before = np.asarray(swizzle((offset.base - tensor.base // 8) // size))  # its own inverse
    constant = int(before[0])
    steps = [before - constant, *(c * s.multiple // size for s, c in offset.terms)]
    unit = power_of_two(gcd(*(int(np.gcd.reduce(step, axis=None)) for step in steps)))
    read = ((1 << swizzle.bits) - 1) << swizzle.base + swizzle.shift
    changed = (read & -unit) >> swizzle.shift
    return changed < unit and 0 <= constant < unit and not constant & (changed | read)
