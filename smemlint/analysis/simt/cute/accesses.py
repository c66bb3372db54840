"""Instructions of a copy as accesses of the kernel, at the line where the user wrote the copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.cute.partial_merging import Located, merged_partly
from smemlint.analysis.simt.cute.run_time import from_engine, thread_form
from smemlint.analysis.simt.cute.values import Origin
from smemlint.analysis.simt.domain.copy_sources import UNKNOWN_SOURCE, source_of_event
from smemlint.analysis.simt.domain.ctypes import I64
from smemlint.analysis.simt.domain.scev import CHUNK, atom
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Object, Unknown
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import emit_event
from smemlint.facts import AccessKind, LayoutUse, SharedArray
from smemlint.frontend import ir
from smemlint.hardware.arch import WIDEST_ACCESS
from smemlint.layout.cute import CopiedFrom, DynamicInt, Instruction, Integer, Tensor
from smemlint.reasons import Reason, ReasonCode

KINDS = {
    "load": AccessKind.LOAD,
    "store": AccessKind.STORE,
    "cp.async": AccessKind.ASYNC_COPY,
    "ldmatrix": AccessKind.LDMATRIX,
    "stmatrix": AccessKind.STMATRIX,
}
_INLINE_ASSEMBLY = frozenset(("cp.async", "ldmatrix", "stmatrix"))
"""Never merged with others by the compiler."""


def issue(
    ev: Evaluator, instructions: list[Instruction], node: ir.Node, *, is_fill: bool = False
) -> None:
    """Records the instructions of one call, and notes which move data without lane addresses."""
    located = [
        (
            instruction,
            offset_of_address(instruction.address, instruction.tensor, is_of_copy=not is_fill),
        )
        for instruction in instructions
        if instruction.op in KINDS
    ]
    for instruction in instructions:
        if instruction.op not in KINDS:
            note_without_lanes(ev, node, instruction.tensor, instruction.op)
    width = _width_of_fills if is_fill else None
    written = ev.state.written_by_user(node)
    of_text: dict[str, object] = {"callers": ()} if written is not node else {}
    for instruction, offset, parts in merged_partly(located, _has_swizzle, ev.state.mask, width):
        origin = instruction.tensor.origin
        assert isinstance(origin, Origin)
        extra = _source_of(instruction.copied) if instruction.copied is not None else {}
        extra |= of_text
        if parts:
            extra |= may_stay_apart(parts, written, origin.pointer.object, ev.state.mask)
        emit_event(
            ev,
            KINDS[instruction.op],
            origin.pointer.object,
            offset,
            instruction.width,
            written,
            matrices=instruction.matrices,
            volatile=instruction.op in _INLINE_ASSEMBLY,
            is_assembly=instruction.is_assembly,
            # The line table names the call of CuTe's function alone, where it begins.
            line_node=written.name if isinstance(written, ir.FuncCall) else None,
            call=None,
            **extra,
        )


def may_stay_apart(
    parts: Sequence[Located], node: Any, array: Object | None, mask: NDArray[np.bool_]
) -> dict[str, object]:
    """Returns what says of an event that its instruction is one of several, or these."""
    apart = (Event(node, array, KINDS[i.op], i.width, offset, mask) for i, offset in parts)
    return {"may_part": True, "fused": tuple(apart)}


def note_without_lanes(ev: Evaluator, node: ir.Node, tensor: Tensor | None, mechanism: str) -> None:
    """Notes a copy or an MMA in which no lane names an address; None for unknown operands."""
    name, array = (name_of(tensor), array_of(tensor)) if tensor is not None else (None, None)
    note_moved_without_lanes(ev, node, name, array, mechanism)


def note_moved_without_lanes(
    ev: Evaluator, node: ir.Node, name: str | None, array: SharedArray | None, mechanism: str
) -> None:
    """Notes that no lane names an address of what is moved.

    Args:
        ev: the evaluator.
        node: the call.
        name: of what is moved; None where that is not known.
        array: that it lies in.
        mechanism: which moves it.
    """
    what = f"`{name}`" if name is not None else "what it is given"
    text = f"{what} is moved by {mechanism}, which has no lane addresses"
    span = ev.state.unit.span(ev.state.written_by_user(node))
    place = span, Reason(ReasonCode.NO_LANES, text)
    ev.state.unfollowed.setdefault(place, array)


def _has_swizzle(tensor: Tensor) -> bool:
    return isinstance(tensor.origin, Origin) and tensor.origin.use is not None


def _width_of_fills(tensor: Tensor) -> int:
    """Returns the bytes of the compiler's stores of one value into a tensor; 0 if not known.

    Under `Swizzle<B,M,B>` of elements all neighbours become vectors if the array is aligned to 16
    bytes, none if it is aligned to an element (CUTLASS 4.7, nvcc 13.0, sm_80: 34 kernels, and
    FlashAttention 2's forward for heads of 64 and 128). With another shift some do, of 11 kernels.
    So it is not known where the swizzle keeps less than a vector together.
    """
    origin = tensor.origin
    use = origin.use if isinstance(origin, Origin) else None
    if use is None or use.swizzle is None or use.units != "elements":
        return 0
    array = array_of(tensor)
    bits, base, shift = use.swizzle
    if array is None or bits != abs(shift) or tensor.bits << base < 8 * WIDEST_ACCESS:
        return 0
    if array.alignment >= WIDEST_ACCESS:
        return WIDEST_ACCESS
    return tensor.bits // 8 if array.alignment <= tensor.bits // 8 else 0


def _source_of(copied: CopiedFrom) -> dict[str, object]:
    """Returns what an asynchronous copy reads, for the event."""
    tensor = copied.tensor
    source: Object | None = None
    offset: AffineInt | Unknown = UNKNOWN_SOURCE
    if tensor is not None and isinstance(tensor.origin, Origin):
        source = tensor.origin.pointer.object
        offset = offset_of_address(copied.address, tensor)
    return source_of_event(source, offset, form=copied.form, is_partial=copied.is_zero_filling)


def name_of(tensor: Tensor) -> str:
    """Returns the name of what a tensor points into."""
    origin = tensor.origin
    return origin.pointer.object.name if isinstance(origin, Origin) else "a tensor"


def array_of(tensor: Tensor) -> SharedArray | None:
    """Returns the shared array that a tensor points into; None where it is not known."""
    origin = tensor.origin
    return origin.pointer.object.shared if isinstance(origin, Origin) else None


def _known_alignment(offset: AffineInt, use: LayoutUse, element: int) -> int:
    """Returns what the compiler knows to divide a swizzled offset.

    A swizzle of offsets leaves their low bits alone; of a swizzled generic address nothing is known
    (nvcc 13.0, sm_90: four members of 4 bytes were one STS.128 in the one, four STS in the other).
    """
    if use.units != "elements" or use.swizzle is None:
        return 1
    form = offset.form or thread_form(offset)
    return min(form.alignment, element << use.swizzle[1])


def offset_of_address(
    address: object, tensor: Tensor, *, is_of_copy: bool = False
) -> AffineInt | Unknown:
    """Returns the byte offset of a lane address in the object that a tensor points into.

    What other calls copy of a chunk of the swizzle may become one vector with it: floats of a row
    that were copied one by one, `copy(tiled, part(_, _, k), ..)`, were LDS.128 (nvcc 13.5, sm_90a),
    `tile(thread, k)` is LDS.
    """
    number: Integer = address if isinstance(address, int) else DynamicInt(address)
    found = from_engine(number)
    if isinstance(found, Unknown):
        return found
    offset = AffineInt(found.base, I64, found.terms, found.form)
    origin = tensor.origin
    if isinstance(offset.base, int):
        return offset
    if isinstance(origin, Origin) and origin.use is not None:
        # The exclusive-or hides from the compiler which accesses are neighbours.
        alignment = _known_alignment(offset, origin.use, tensor.bits // 8)
        within = int(offset.base.flat[0]) % alignment if is_of_copy else 0
        chunk = AffineInt(offset.base - within, I64, offset.terms)
        key = f"{CHUNK}{chunk.identity()}" if is_of_copy else chunk.identity()
        offset.form = replace(atom(key, alignment, is_divergent=True), ptxas_alignment=1)
    elif offset.form is None:
        offset.form = thread_form(offset)
    return offset
