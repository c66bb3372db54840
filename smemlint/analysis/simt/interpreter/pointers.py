"""Pointer arithmetic, pointers whose offset is not followed, and addresses that are stored."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.codegen.slots import position_of
from smemlint.analysis.simt.domain import data_ranges
from smemlint.analysis.simt.domain.bitwise_scev import parted_scev
from smemlint.analysis.simt.domain.copies import is_copied_by_first_member
from smemlint.analysis.simt.domain.ctypes import (
    I8,
    I32,
    I64,
    ArrayType,
    CType,
    PointerType,
    RecordType,
    is_16_bit_float,
    is_sized,
)
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.integer_scev import buried_by, multiple_scev, scev_of
from smemlint.analysis.simt.domain.linear_forms import is_plain
from smemlint.analysis.simt.domain.masking import propagated
from smemlint.analysis.simt.domain.scev import Scev, Shifted, divided_by, scaled, undivided
from smemlint.analysis.simt.domain.unknown_offset import forget_offset
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    DataRange,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

TEXT = ArrayType(I8, None)
"""The type of the objects that string literals are: what they hold is not followed."""
_BEHIND_SHIFTS = (Shifted.MASKED, Shifted.PARTED)


def dereference(ev: Evaluator, value: Value, node: ir.Node) -> LValue | Unknown:
    """Returns what a pointer value points to."""
    if isinstance(value, Pointer):
        return LValue(value.object, value.offset, value.target, value.is_volatile)
    if isinstance(value, Aggregate):  # an iterator or smart pointer
        text = f"`{ev.state.source_text(node)}` dereferences a class object"
        return ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_MODELLED, text))
    return (
        value
        if isinstance(value, Unknown)
        else Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "a number is dereferenced")
    )


def advance(
    ev: Evaluator, pointer: Pointer, index: Value, sign: int = 1, *, is_computed: bool = False
) -> Pointer | Unknown:
    """Returns `pointer + index` in elements of what it points to.

    Args:
        ev: the evaluator.
        pointer: where it starts.
        index: how many elements.
        sign: 1, or -1 to go back.
        is_computed: the pointer is a value, not the first element of an array or of a row.
    """
    size = pointer.target.size
    if data_ranges.is_divergent_data(index) and size and not pointer.offset.terms:
        bytes_on = data_ranges.scaled(index, sign * size)
        if isinstance(bytes_on, DataRange):
            return data_ranges.moved(bytes_on, pointer.offset.base)
        return bytes_on
    if isinstance(index, Unknown):
        return propagated(index, index)
    if not isinstance(index, AffineInt):
        return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "an index is not an integer")
    is_priced = pointer.object.space is not Space.LOCAL
    if size == 0 or (is_priced and not is_sized(pointer.target)):
        return unsized(pointer.target)
    form = None if is_plain(index) else scev_of(index)
    wide = AffineInt(index.base, I64, index.terms, form)
    step = ev.state.domain.multiply(wide, AffineInt(size, I64))
    if isinstance(step, Unknown):
        return step
    offset = ev.state.domain.add(pointer.offset, step, sign)
    if form is not None and isinstance(pointer.target, ArrayType):
        ev.state.sums.rows.add((_start_of(pointer.object, offset), scev_of(offset).terms))
    elif form is not None and is_computed and sign > 0:
        offset.form = _advanced_scev(ev, pointer, step, offset)
    if pointer.object.space is Space.SHARED and _is_class(pointer.target):
        offset.form = _class_scev(ev, pointer, index, offset)
    if form is not None and form.shifted in _BEHIND_SHIFTS and ev.state.open_loops:
        offset.form = replace(scev_of(offset), is_open=True)
    is_sum = form is not None and bool(form.terms and scev_of(pointer.offset).terms)
    if is_computed and is_sum and ev.policy.tracks_scev:
        offset.form = replace(scev_of(offset), buried=buried_by(pointer.offset, step))
    return Pointer(pointer.object, offset, pointer.target, pointer.is_volatile)


def summed_scev(ev: Evaluator, a: AffineInt, b: AffineInt, total: AffineInt) -> Scev:
    """Returns the form of a sum as the compiler computes it."""
    form = scev_of(total)
    if not ev.policy.tracks_scev or ev.state.trace.is_muted:
        return form
    x, y = scev_of(a), scev_of(b)
    whole = multiple_scev(a, b) or undivided(x, y)
    if whole is not None:
        return whole
    for constant, other in ((a, y), (b, x)):
        if isinstance(constant.base, int) and not scev_of(constant).terms:
            ev.state.sums.moved(other, constant.base)
    form = ev.state.sums.rewritten(x, y, form, total.type.bits)
    form = form if ev.state.open_loops else parted_scev(x, y, form)
    buried = buried_by(a, b) if x.terms and y.terms else x.buried or y.buried
    return form if form.buried == buried else replace(form, buried=buried)


def _advanced_scev(ev: Evaluator, pointer: Pointer, step: AffineInt, to: AffineInt) -> Scev:
    """Returns the form of a pointer that went on, which the compiler may compute as an index."""
    form, size = scev_of(to), pointer.target.size
    if not ev.policy.tracks_scev or ev.state.trace.is_muted:
        return form
    place = _start_of(pointer.object, pointer.offset)
    ev.state.sums.questions += 1
    if (place, scev_of(pointer.offset).terms) in ev.state.sums.rows:
        return form
    forms = [divided_by(each, size) for each in (scev_of(pointer.offset), scev_of(step), form)]
    if any(each is None for each in forms):
        return form
    start, by, whole = (each for each in forms if each is not None)
    has_constant = position_of(step, 0) != 0
    if start.terms and by.is_rewritten:  # LLVM may add the index's parts one by one
        form, whole = replace(form, is_open=True), replace(whole, is_open=True)
    result = ev.state.sums.rewritten(start, by, whole, I32.bits, place, is_open=has_constant)
    return form if result is whole else scaled(result, size)


def _is_class(ctype: CType) -> bool:
    """Returns whether LLVM sees a class: a half, a built-in vector or a class of the source."""
    return isinstance(ctype, RecordType) or is_16_bit_float(ctype)


def _class_scev(ev: Evaluator, pointer: Pointer, index: AffineInt, to: AffineInt) -> Scev:
    """Returns the form of a place in an array of classes, which another place may be made of."""
    form, target = scev_of(to), pointer.target
    if not ev.policy.tracks_scev or ev.state.trace.is_muted:
        return form
    is_signed = index.type.signed and index.type.bits == I32.bits
    is_vector = isinstance(target, RecordType) and target.record is None
    return ev.state.sums.of_index(
        form,
        _start_of(pointer.object, AffineInt(0, I64)),
        is_first=position_of(to, 0) == 0,
        may_be_made=(is_signed or not scev_of(index).terms)
        and not (is_vector and not is_copied_by_first_member(target)),
    )


def vector_of_member(ev: Evaluator, vector: Pointer, record: RecordType) -> AffineInt:
    """Returns where a vector is of which a member is accessed, as the compiler computes it."""
    to = vector.offset
    if vector.object.space is not Space.SHARED or record.record is not None:
        return to
    if not ev.policy.tracks_scev or ev.state.trace.is_muted or not scev_of(to).terms:
        return to
    array = _start_of(vector.object, AffineInt(0, I64))
    form = ev.state.sums.of_member(scev_of(to), array)
    return AffineInt(to.base, to.type, to.terms, form)


def _start_of(obj: Object, offset: AffineInt) -> tuple[str, int]:
    """Returns the array, and the constant in an offset that its form tells from another one."""
    return (obj.origin or obj).key, position_of(offset, 0)


def advance_or_forget(ev: Evaluator, pointer: Pointer, by: Value, sign: int = 1) -> Value:
    """Returns a pointer that went on; into a shared array it stays one, wherever it points."""
    moved = advance(ev, pointer, by, sign, is_computed=True)
    return forget_offset(pointer, moved) if isinstance(moved, Unknown) else moved


def unsized(ctype: CType) -> Unknown:
    """Returns why nothing is known that depends on the size of a type."""
    if isinstance(ctype, ArrayType) and is_sized(ctype.element):
        return Unknown(_unknown_extent(ctype))
    return Unknown.because(
        ReasonCode.UNKNOWN_TYPE, f"the size of `{type_name(ctype)}` is not known"
    )


def _unknown_extent(ctype: CType) -> Reason:
    """Returns why an extent of an array of known elements is not known."""
    while isinstance(ctype, ArrayType):
        if ctype.undecided is not None:
            return ctype.undecided
        ctype = ctype.element
    return Reason(ReasonCode.UNKNOWN_TYPE, "the array's inner extent is not known")


def type_name(ctype: CType) -> str:
    """Returns a type as messages name it."""
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    return getattr(ctype, "spelling", None) or getattr(ctype, "name", None) or "the element"


def keep_pointer(ev: Evaluator, place: LValue, value: Value, node: ir.Node) -> None:
    """Keeps the address in shared memory that a pointer which lies there itself is given.

    The threads share the pointer: it has the value that was stored last, whichever of them did.
    """
    if not isinstance(place.type, PointerType):
        return
    is_variable = place.type == place.object.type
    kept = None
    if is_variable and isinstance(value, Pointer) and isinstance(value.offset.base, int):
        kept = value if value.object.space is Space.SHARED else None
    if kept is None:
        note_lost_address(ev, value, node)
    if is_variable:
        ev.state.memory.set_cell(place.object, 0, kept)


def kept_pointer(place: LValue) -> Pointer | None:
    """Returns the address that a pointer in shared memory was given last, where it is kept."""
    kept = place.object.cells.get(0)
    return kept if isinstance(kept, Pointer) and place.type == place.object.type else None


def note_lost_address(ev: Evaluator, value: Value, node: ir.Node) -> None:
    """Notes that an address in shared memory is written where it is not followed."""
    if isinstance(value, Pointer) and value.object.space is Space.SHARED:
        text = f"`{ev.state.source_text(node)}` points into shared memory and is not followed"
        ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_MODELLED, text))


def note_lost_pointer(ev: Evaluator, obj: Object, value: Unknown, node: ir.Node) -> None:
    """Notes that a pointer of several into shared memory was read, and which is not known."""
    content = (v for v in obj.cells.values() if isinstance(v, Pointer))
    if any(pointer.object.space is Space.SHARED for pointer in content):
        ev.state.note_unfollowed(node, value.reason)
