"""Accesses: places are read and written; what touches shared memory is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.calls.inlined_calls import callers_of, opened_call
from smemlint.analysis.simt.domain.copies import (
    copied_pieces,
    has_padding,
    scalar_members,
    scalars_of,
    word_of,
)
from smemlint.analysis.simt.domain.ctypes import (
    BF16,
    I64,
    ArrayType,
    BitField,
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
    StaticType,
    TupleType,
    is_sized,
    is_unread_class,
)
from smemlint.analysis.simt.domain.data_lanes import lanes_of_any_data
from smemlint.analysis.simt.domain.data_ranges import agrees_by_warp, converted, one_for_a_warp
from smemlint.analysis.simt.domain.environment import LValue, is_any
from smemlint.analysis.simt.domain.swizzled import declared_use, swizzled
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.unknown_offset import is_lost, why_lost
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    Cute,
    FloatValue,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    assumed_by,
    offset_of,
)
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.interpreter.pieces_read import is_unread, pieces_read
from smemlint.analysis.simt.interpreter.pointers import (
    keep_pointer,
    kept_pointer,
    note_lost_address,
    note_lost_pointer,
    unsized,
)
from smemlint.analysis.simt.types.records import has_constructor
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.hardware.arch import WORD
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

if TYPE_CHECKING:
    from smemlint.analysis.simt.evaluator import Evaluator
    from smemlint.facts import LayoutUse, SharedArray
    from smemlint.layout.declared import DeclaredSwizzle


def read_lvalue(ev: Evaluator, place: LValue, node: ir.Node) -> Value:
    """Reads a place; an array decays to a pointer, shared memory records a load."""
    ctype = place.type
    if isinstance(ctype, ArrayType):
        return Pointer(place.object, place.offset, ctype.element, place.volatile)
    if place.object.space is Space.SHARED:
        return _read_shared(ev, place, node)
    if place.object.space is Space.LOCAL:
        if isinstance(ctype, StaticType) and isinstance(ctype.value, Cute):
            from smemlint.analysis.simt.cute.values import has_one_value

            if has_one_value(ctype.value):
                return ctype.value
        if is_lost(place.offset):
            return why_lost(place.object)
        if ctype.__class__ is RecordType and ctype.size <= 1 and not ctype.members:
            return Aggregate(ctype, {})
        value = ev.state.memory.read(place.object, place.offset, ctype, ev.state.mask)
        if isinstance(value, Unknown):
            if isinstance(ctype, PointerType):
                note_lost_pointer(ev, place.object, value, node)
            elif isinstance(ctype, TupleType):
                return _known_modes(ctype, value)
        return value
    return _read_elsewhere(ev, place, node)


def read_as_integer(ev: Evaluator, node: ir.ArrayRef, ctype: IntType) -> Value:
    """Reads an element that is cast to an integer: of floating-point numbers it is some integer."""
    place = ev.lvalue(node)
    if isinstance(place, Unknown):
        return place
    value = read_lvalue(ev, place, node)
    if not isinstance(value, FloatValue) or place.object.space is Space.LOCAL:
        return value
    as_integer = LValue(place.object, place.offset, ctype)
    return _loaded_value(ev, as_integer, node, f"{place.object.space.value} memory")


def _known_modes(ctype: TupleType, rest: Unknown) -> Cute:
    """Returns a tuple of which only those modes are known that its type tells."""
    modes: list[Value] = []
    for mode in ctype.modes:
        if isinstance(mode, StaticType) and isinstance(mode.value, Cute | AffineInt):
            modes.append(mode.value)
        else:
            modes.append(_known_modes(mode, rest) if isinstance(mode, TupleType) else rest)
    return Cute(tuple(modes))


def _read_shared(ev: Evaluator, place: LValue, node: ir.Node) -> Value:
    if is_unread_class(place.type) and place.object.type == place.type:
        text = f"what `{ev.state.source_text(node)}` is used for: its class was not read"
        message = Reason(ReasonCode.NOT_DECLARED, text)
        return ev.state.note_unfollowed(node, message)  # a reference to it loads nothing
    record_access(ev, AccessKind.LOAD, place, node)
    return kept_pointer(place) or _loaded_value(ev, place, node, "shared memory")


def _loaded_value(ev: Evaluator, place: LValue, node: ir.Node, where: str) -> Value:
    state = ev.state
    ctype = place.type
    match ctype:
        case FloatType():
            return FloatValue(ctype)
        case IntType() if place.offset.is_uniform and not is_lost(place.offset):
            state.sequence += 1
            return state.domain.symbol(
                state.key(node, f"load{state.sequence}"), state.source_text(node), ctype
            )
        case RecordType():
            cells: dict[int, Value] = {}
            for member in ctype.members:
                inner = LValue(place.object, place.offset, member.type)
                if not isinstance(member.type, ArrayType):
                    cells[member.offset] = _loaded_value(ev, inner, node, where)
            return Aggregate(ctype, cells)
        case _:
            why = Unknown.because(ReasonCode.DATA, f"a value read from {where}", is_data=True)
            if not isinstance(ctype, IntType):
                return why
            at = why_lost(place.object, place.offset) if is_lost(place.offset) else place.offset
            return one_for_a_warp(why) if agrees_by_warp(at) else converted(why, ctype)


def _read_elsewhere(ev: Evaluator, place: LValue, node: ir.Node) -> Value:
    """Returns a read of global, constant or parameter memory: of a pointer, one to its type."""
    if place.object.space is Space.PARAMETER:
        return _read_parameter(ev, place, ev.state.source_text(node) if node.at else "")
    is_pointer = isinstance(place.type, PointerType) and not place.type.is_reference
    if is_pointer and place.offset.is_uniform and not is_lost(place.offset):
        ev.state.sequence += 1
        key = ev.state.key(node, f"load{ev.state.sequence}")
        return unknown_argument(ev, place.type, key, ev.state.source_text(node))
    return _loaded_value(ev, place, node, "global memory")


def _read_parameter(ev: Evaluator, place: LValue, name: str) -> Value:
    """Returns a part of a struct that is passed by value, the scalars of a struct one by one."""
    obj, at = place.object, place.offset.constant
    if at is not None and isinstance(place.type, RecordType):
        parts = scalar_members(place.type, name or obj.name)
        if parts:
            places = {inner: LValue(obj, offset_of(at + inner), ctype) for _, inner, ctype in parts}
            names = {inner: shown for shown, inner, _ in parts}
            cells = {i: _read_parameter(ev, part, names[i]) for i, part in places.items()}
            return Aggregate(place.type, cells)
    content = obj.cells.get(at) if at is not None else None
    if content is not None:
        return content
    key = f"{obj.key}+{place.offset.identity()}"
    value = unknown_argument(ev, place.type, key, name or obj.name)
    if at is not None:
        obj.cells[at] = value
    return value


def unknown_argument(ev: Evaluator, ctype: CType, key: str, name: str) -> Value:
    """Returns what is known of an argument of a kernel: its type."""
    match ctype:
        case IntType():
            return ev.state.domain.symbol(key, name, ctype)
        case FloatType():
            return FloatValue(ctype)
        case PointerType():
            is_given = ev.policy.is_given_null and not ctype.is_reference
            obj = Object(name, ctype.target, Space.GLOBAL, key, is_given=is_given)
            return Pointer(obj, ORIGIN, ctype.target)
        case RecordType():
            cells = {
                m.offset: unknown_argument(ev, m.type, f"{key}.{m.name}", f"{name}.{m.name}")
                for m in ctype.members
                if not isinstance(m.type, ArrayType)
            }
            return Aggregate(ctype, cells)
        case StaticType() if isinstance(ctype.value, Cute | AffineInt):
            return ctype.value
        case TupleType():
            modes = enumerate(ctype.modes)
            return Cute(
                tuple(unknown_argument(ev, m, f"{key}<{i}>", f"{name}<{i}>") for i, m in modes)
            )
        case _:
            return Unknown.because(
                ReasonCode.UNKNOWN_VALUE, f"`{name}` is known only at run time", is_uniform=True
            )


def write_lvalue(
    ev: Evaluator, place: LValue, value: Value, node: ir.Node, *, source: ir.Node | None = None
) -> None:
    """Writes a place for the active threads; shared memory records a store.

    Args:
        ev: the evaluator.
        place: the bytes.
        value: what is written.
        node: the lvalue expression.
        source: the expression whose value is written, where that is known.
    """
    state = ev.state
    if place.object.space is Space.SHARED:
        record_access(ev, AccessKind.STORE, place, node, source)
        keep_pointer(ev, place, value, node)
        return
    if place.object.space is Space.PARAMETER:
        _copy_parameter(ev, place.object)
    if place.object.space is Space.LOCAL:
        if is_lost(place.offset):
            state.memory.forget(place.object, "was written at an index that is not known")
            return
        converted = convert(ev, value, place.type)
        if not place.offset.is_concrete:
            note_lost_address(ev, converted, node)
        state.memory.write(place.object, place.offset, place.type, converted, state.mask)


def _copy_parameter(ev: Evaluator, obj: Object) -> None:
    """Makes a struct that a kernel is given by value a variable that holds it: it is written."""
    _read_parameter(ev, LValue(obj, ORIGIN, obj.type), obj.name)
    text = f"`{obj.name}` is known only at run time"
    obj.default = Unknown.because(ReasonCode.UNKNOWN_VALUE, text, is_uniform=True)
    obj.space = Space.LOCAL


def record_access(
    ev: Evaluator,
    kind: AccessKind,
    place: LValue,
    node: ir.Node,
    source: ir.Node | None = None,
    **extra: object,
) -> None:
    """Adds an access of a shared place to the trace: one event per machine access.

    An object that is copied is stored on the line of its source, a temporary on that of `node`.

    Args:
        ev: the evaluator.
        kind: what is done.
        place: the bytes.
        node: the expression.
        source: the expression whose value is stored, where that is known.
        **extra: further attributes of `Event`.
    """
    if not is_any(ev.state.mask):
        return
    offset: AffineInt | Unknown = place.offset
    width = place.type.size
    pieces, read = [(0, width)], list[tuple[int, int]]()
    if isinstance(place.type, BitField) or not is_sized(place.type):
        offset = unsized(place.type)  # which bytes of its unit move, the compiler chooses
    elif not width:
        return  # an array without elements: no byte moves
    elif isinstance(place.type, RecordType):
        pieces = _pieces_of_record(ev, kind, place.type, source, extra)
    if kind is AccessKind.LOAD and not place.volatile:
        read, is_open = pieces_read(ev, place.type, node)
        pieces = read or pieces
        extra["may_part"] = is_open or extra.get("may_part", False)
        facts = ev.state.node_facts
        if node in facts.unread or is_unread(ev, node):
            extra["issued"] = 0
        elif node in facts.undefined and not any(loop.is_run_time for loop in ev.state.loops):
            offset = _added_to_nothing(facts.undefined[node])
    is_extended = kind is AccessKind.LOAD and _may_be_extended(place.type)
    word = extra.get("word", 0)
    if len(pieces) > 1:
        extra["whole"] = width
    for at, size in pieces:
        made_of = 1 if size == 2 else WORD if read else word
        is_made = (at, size) not in scalars_of(place.type)
        extends = None if is_extended and size == 2 else False
        extra.update(extends=extends, word=made_of if is_made else word)
        by = AffineInt(at, I64)
        moved = offset if isinstance(offset, Unknown) else ev.state.domain.add(offset, by)
        emit_event(ev, kind, place.object, moved, size, node, volatile=place.volatile, **extra)


def _pieces_of_record(
    ev: Evaluator,
    kind: AccessKind,
    ctype: RecordType,
    source: ir.Node | None,
    extra: dict[str, object],
) -> list[tuple[int, int]]:
    """Returns the bytes that move at once when an object is copied; adds what an event tells."""
    is_load = kind is AccessKind.LOAD
    extra["word"] = word_of(ctype)
    if source is not None and (
        ir.names_place(source) or isinstance(source, ir.Cast | ir.TernaryOp)
    ):
        extra["line_node"] = source
    if has_padding(ctype):
        if kind is AccessKind.STORE and source in ev.state.node_facts.filled:
            return list(scalars_of(ctype))
        is_copy = is_load or isinstance(source, ir.ArrayRef | ir.StructRef | ir.UnaryOp)
        may_part = not is_copy or has_constructor(ev, ctype)
        extra["may_part"] = may_part or extra.get("may_part", False)
    return list(copied_pieces(ctype, is_load=is_load))


def _may_be_extended(ctype: CType) -> bool:
    """Returns whether a register of 32 bits is made of two bytes, depending on their use.

    SASS of nvcc 13.0.88 (sm_90, -O3) for arrays of natural alignment: operands of `+`, `-` and `^`
    of short, copies of short to int, and conversions of __nv_bfloat16 and cutlass::bfloat16_t to
    float, are LDS.U16 or LDS.S16; copies in memory of all that nothing else reads, sums of
    __nv_bfloat16, comparisons of short and its conversions to float are LDS.64, and so is half.
    Products and `&` differ.
    """
    if isinstance(ctype, RecordType):
        return any(_may_be_extended(m.type) for m in ctype.members)
    return ctype == BF16 or (isinstance(ctype, IntType) and ctype.size == 2)


def _added_to_nothing(name: str) -> Unknown:
    text = f"`{name}` is added to but never given a value: the compiler may delete the sum"
    return Unknown.because(ReasonCode.NO_VALUE, text)


def emit_event(
    ev: Evaluator,
    kind: AccessKind,
    obj: Object | None,
    offset: AffineInt | Unknown,
    width: int,
    node: ir.Node,
    **extra: object,
) -> None:
    """Adds one event to the trace.

    Args:
        ev: the evaluator.
        kind: what is done.
        obj: the object; None where the pointer is not known.
        offset: bytes from its beginning.
        width: bytes a thread.
        node: the expression.
        **extra: further attributes of `Event`.
    """
    state = ev.state
    obj, offset, layout, assumptions = _located(ev, node, obj, offset)
    is_reached = state.loop_conditions.issuperset(assumptions)
    if not state.constexpr_conditions.isdisjoint(state.assumptions):
        text = "which branch of an `if constexpr` is compiled is not known"
        offset = Unknown.because(ReasonCode.UNKNOWN_CONDITION, text)
    if isinstance(offset, AffineInt):
        state.budget.last_progress = state.budget.steps
        assumptions = (*assumptions, *assumed_by(offset))
    event = Event(
        node,
        obj,
        kind,
        width,
        offset,
        state.mask,
        assumptions=assumptions,
        values=tuple(state.loop_values),
        depends_on_data=not state.data_conditions.isdisjoint(state.assumptions),
        is_reached=is_reached,
        may_be_confined=not state.confining_conditions.isdisjoint(state.assumptions),
        is_kept_together=state.divergent_conditions.isdisjoint(state.assumptions[-1:]),
        repeats=ev.state.open_loops > 0,
        **{  # type: ignore[arg-type]
            "layout": layout,
            "callers": callers_of(ev.state),
            "call": opened_call(ev.state, node, offset),
            **extra,
        },
    )
    split = offset.split if isinstance(offset, Unknown) else None
    if split is not None and lanes_of_any_data(event) is None:
        state.ask_for_residues(*split)
    state.trace.add(event)


def _located(
    ev: Evaluator, node: ir.Node, obj: Object | None, offset: AffineInt | Unknown
) -> tuple[Object | None, AffineInt | Unknown, LayoutUse | None, tuple[Assumption, ...]]:
    """Returns the array that is accessed, where, its layout, and what is taken for granted."""
    state, conditions = ev.state, ev.state.unit.conditions(node)
    layout, declared = None, None
    if obj is not None:
        if isinstance(offset, AffineInt) and is_lost(offset):
            offset = why_lost(obj, offset)
        layout, obj = obj.layout, obj.origin or obj
        conditions = (*conditions, *obj.conditions)
        declared = state.declared_swizzle(obj.shared) if obj.shared is not None else None
    built = (Assumption(Topic.BUILD, text, text) for text in dict.fromkeys(conditions))
    assumptions = (*built, *state.guessed, *state.assumptions)
    if declared is not None and obj is not None and obj.shared is not None:
        key = f"declared {obj.shared.name} {obj.shared.span}"
        if key not in state.layouts:
            state.layouts[key] = declared_use(obj.shared, declared, state.frames[0].name)
        layout = state.layouts[key]
        assumptions = (*assumptions, *layout.assumptions)
        if isinstance(offset, AffineInt):
            offset = _in_bytes(offset, declared, obj.shared)
    return obj, offset, layout, assumptions


def _in_bytes(
    offset: AffineInt, declared: DeclaredSwizzle, array: SharedArray
) -> AffineInt | Unknown:
    """Returns the byte offset that a declared swizzle makes of one."""
    try:
        return swizzled(offset, declared.in_bytes(array.element_bytes))
    except ValueError as error:
        return Unknown.because(ReasonCode.WRONG_PRAGMA, f"{declared} of `{array.name}`: {error}")
