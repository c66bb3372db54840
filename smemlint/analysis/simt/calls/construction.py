"""Construction: class objects come from constructors and their member initializers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from smemlint.analysis.simt.calls.class_conversions import converted_object
from smemlint.analysis.simt.calls.class_deduction import deduced_class
from smemlint.analysis.simt.calls.inlining import inline_named
from smemlint.analysis.simt.calls.operands import operand_of, operand_value
from smemlint.analysis.simt.calls.unfollowed import (
    given_values,
    is_shared_address,
    note_shared_argument,
    unfollowed_construct,
)
from smemlint.analysis.simt.dispatch import evaluates, locates
from smemlint.analysis.simt.domain.ctypes import (
    FUNCTION,
    ArrayType,
    CType,
    FloatType,
    IntType,
    Member,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
    TupleType,
    is_opaque,
)
from smemlint.analysis.simt.domain.environment import LValue, is_reference, type_of
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    CallableValue,
    Cute,
    FloatValue,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    offset_of,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.interpreter.lvalues import part_of, place_of_value
from smemlint.analysis.simt.types.declared_types import declared_type
from smemlint.analysis.simt.types.record_layout import lay_out
from smemlint.analysis.simt.types.statics import place_of, scope_of, static_value
from smemlint.frontend import ir
from smemlint.frontend.program import Record
from smemlint.reasons import ReasonCode

_ARRAY = re.compile(r"(?:::)?(?:cuda::)?std::array")
_TUPLE = re.compile(r"(?:\w+::)*(?:tuple|pair)\s*<")


def construct(
    ev: Evaluator, ctype: CType, arguments: Sequence[ir.Expression], node: ir.Node
) -> Value:
    """Returns a value of a type from constructor arguments."""
    state = ev.state
    if not isinstance(ctype, RecordType):
        values, is_shared = given_values(ev, arguments)
        if isinstance(ctype, StaticType):
            return static_value(ctype)
        if isinstance(ctype, TupleType):
            return _tuple_of(ctype, values)
        if isinstance(ctype, OpaqueType) and _TUPLE.match(ctype.spelling):
            return Cute(tuple(values))
        if isinstance(ctype, OpaqueType) and _ARRAY.fullmatch(ctype.spelling):
            found = _array_of(values)
            if found is not None:
                return found
        if isinstance(ctype, OpaqueType):
            pointers = (v for v in values if isinstance(v, Pointer))
            if is_shared or any(p.object.space is Space.SHARED for p in pointers):
                note_shared_argument(ev, ctype.spelling, node)
            return Unknown.because(ReasonCode.UNKNOWN_TYPE, f"`{ctype.spelling}` is not known")
        if not values:
            return zero_value(ctype)
        return convert(ev, converted_object(ev, values[0], ctype, node), ctype)
    ctype = deduced_class(ev, ctype, arguments)
    assert isinstance(ctype, RecordType)
    obj = state.new_local(ctype.name, ctype, state.key(node, ctype.name))
    place = LValue(obj, ORIGIN, ctype)
    construct_at(ev, place, arguments, node)
    return read_lvalue(ev, place, node)


@evaluates(ir.New)
def evaluate_new(ev: Evaluator, node: ir.New) -> Value:
    """Returns where `new (p) T(x)` makes its object; what host code makes elsewhere is its own."""
    if len(node.args) < 2:
        return unfollowed_construct(ev, "what `new` makes", node.args, node)
    given, made = (ev.evaluate(operand) for operand in node.args)
    ctype = type_of(made)
    if isinstance(node.args[0], ir.Constant) and ev.policy.follows_lists:
        return made_object(ev, made, node)
    if not isinstance(given, Pointer) or is_opaque(ctype):
        if is_shared_address(ev.state, given):
            note_shared_argument(ev, "new", node)
        return Unknown.because(ReasonCode.NOT_MODELLED, "what `new` makes is not followed")
    pointer = replace(given, target=ctype, is_reference=False)
    place = LValue(pointer.object, pointer.offset, ctype, pointer.is_volatile)
    write_lvalue(ev, place, made, node)
    return pointer


def made_object(ev: Evaluator, value: Value, node: ir.Node) -> Value:
    """Returns a pointer to an object of its own that holds a value of a class."""
    if not isinstance(value, Aggregate) or not isinstance(value.type, RecordType):
        return Unknown.because(ReasonCode.NOT_MODELLED, "what `new` makes is not followed")
    ev.state.sequence += 1
    key = ev.state.key(node, f"new{ev.state.sequence}")
    obj = Object("new", value.type, Space.LOCAL, key, dict(value.cells), born=ev.state.mask)
    return Pointer(obj, ORIGIN, value.type)


def _array_of(values: Sequence[Value]) -> Aggregate | None:
    """Returns what `std::array{a, b}` makes of values of one type; None for unknown types."""
    functions = all(isinstance(v, CallableValue) for v in values)
    kinds = [PointerType(FUNCTION) if functions else type_of(v) for v in values]
    if not kinds or is_opaque(kinds[0]) or any(ctype != kinds[0] for ctype in kinds):
        return None
    element = kinds[0]
    whole = lay_out("array", [("", ArrayType(element, len(values)), 0)])
    return Aggregate(whole, {i * element.size: value for i, value in enumerate(values)})


def _tuple_of(ctype: TupleType, values: Sequence[Value]) -> Value:
    """Returns a tuple of the values given; modes with one value only have that."""
    if not values:
        return zero_value(ctype)
    if len(values) != len(ctype.modes):
        return values[0]  # a copy
    modes = zip(ctype.modes, values, strict=True)
    return Cute(tuple(static_value(m) if isinstance(m, StaticType) else v for m, v in modes))


def construct_at(
    ev: Evaluator, place: LValue, arguments: Sequence[ir.Expression], node: ir.Node
) -> None:
    """Runs a constructor, or initializes member by member where there is none."""
    ctype = place.type
    assert isinstance(ctype, RecordType)
    if place.object.space is Space.LOCAL:
        _initialize_by_default(ev, place, ctype, set())
    if ctype.record is not None and (
        arguments or any(True for _ in ev.policy.functions(ev, ctype.name))
    ):
        call = ir.FuncCall(ir.ID(ctype.name, at=node.at), tuple(arguments), at=node.at)
        if inline_named(ev, ctype.name, ctype, call, place.pointer()) is not None:
            return
    if any(isinstance(a, ir.NamedInitializer) for a in arguments):
        _initialize_named(ev, place, ctype, arguments)
        return
    is_braced = any(init_arguments(a) is not None for a in arguments)
    is_list = len(arguments) > 1 or any(isinstance(a, ir.Constant) for a in arguments)
    only = ctype.members[0].type if len(ctype.members) == 1 else None
    if isinstance(only, ArrayType) and is_list and not is_braced:  # the inner braces are left out
        elements = LValue(place.object, place.offset, only)
        fill_array(ev, elements, ir.InitList(tuple(arguments), at=node.at))
        return
    if is_braced:
        for member, argument in zip(ctype.members, arguments, strict=False):
            initialize_element(ev, part_of(ev, place, member), argument)
        return
    members = ctype.members
    kinds = [m.type for m in members[: len(arguments)]]
    bound = {i for i, kind in enumerate(kinds) if is_reference(kind)}
    if len(arguments) == 1 and bound and declared_type(ev, arguments[0]) in (None, ctype):
        bound.clear()  # a copy
    values = [None if i in bound else ev.evaluate(a) for i, a in enumerate(arguments)]
    if len(values) == 1 and isinstance(values[0], Aggregate):
        write_lvalue(ev, place, converted_object(ev, values[0], ctype, node), node)
        return
    if ctype.name == "dim3":
        values = [*values, *(AffineInt(1, m.type) for m in members[len(values) :])]  # type: ignore[arg-type]
    for i, (member, value) in enumerate(zip(members, values, strict=False)):
        at = part_of(ev, place, member)
        if value is None:
            _refer(ev, at, arguments[i])
        else:
            write_lvalue(ev, at, value, node)


def _refer(ev: Evaluator, place: LValue, argument: ir.Node) -> None:
    """Makes a member that is a reference refer to an operand, or to a temporary that holds it."""
    operand = operand_of(ev, argument)
    of: LValue | Unknown | None = operand.place
    if of is None:
        of = place_of_value(ev, operand_value(ev, operand), argument)
    value = of.pointer() if isinstance(of, LValue) else of
    write_lvalue(ev, place, value, argument)


def _initialize_named(
    ev: Evaluator, place: LValue, ctype: RecordType, arguments: Sequence[ir.Expression]
) -> None:
    """Initializes the members that `{.a = 1, .b = {2}}` names."""
    for argument in arguments:
        name = argument.name[0] if isinstance(argument, ir.NamedInitializer) else None
        member = ctype.member(name.name) if isinstance(name, ir.ID) else None
        if not isinstance(argument, ir.NamedInitializer) or member is None:
            ev.state.memory.forget(place.object, "is made of a list that is not followed")
            return
        initialize_element(ev, part_of(ev, place, member), argument.expr)


def _initialize_by_default(
    ev: Evaluator, place: LValue, ctype: RecordType, without: set[RecordType]
) -> None:
    """Gives members the values that stand with their declarations; those of bases first.

    A value of a member that none is declared for waits for the constructor's list.
    """
    has_any = False
    unset = {m.name for m in ctype.members if m.name not in ctype.initial}
    for member in ctype.members:
        init = cast("ir.Node | None", ctype.initial.get(member.name))
        inner = member.type if init is None else None
        if init is None and (not isinstance(inner, RecordType) or inner in without):
            continue
        if isinstance(inner, RecordType):
            _initialize_by_default(ev, part_of(ev, place, member), inner, without)
            has_any |= inner not in without
            continue
        has_any = True
        if init is not None and unset.isdisjoint(ev.state.node_facts.names_in(init)):
            initialize_as_declared(ev, place, ctype, member, init)
    if not has_any:
        without.add(ctype)


def initialize_as_declared(
    ev: Evaluator, place: LValue, ctype: RecordType, member: Member, init: ir.Node
) -> None:
    """Gives a member the value that stands with its declaration.

    Args:
        ev: executes.
        place: of the object.
        ctype: its class.
        member: the member.
        init: that value.
    """
    with ev.state.within(f"member {ctype.name}", scope_of(ctype), place_of(ctype)):
        ev.state.frame.this, ev.state.frame.record = place.pointer(), ctype
        initialize_element(ev, part_of(ev, place, member), init)


@evaluates(ir.Construct)
def evaluate_construction(ev: Evaluator, node: ir.Construct) -> Value:
    """Returns a value of the type that is named; `Holder<T>::get()` may be a call."""
    ctype = ev.types.resolve(node.type)
    called = _called(ev, ctype, node)
    return ev.evaluate(called) if called is not None else construct(ev, ctype, node.args, node)


@locates(ir.Construct)
def locate_construction(ev: Evaluator, node: ir.Construct) -> LValue | Unknown:
    """Returns a temporary of the type that is named, or what a call refers to."""
    ctype = ev.types.resolve(node.type)
    called = _called(ev, ctype, node)
    if called is not None:
        return ev.lvalue(called)
    return place_of_value(ev, construct(ev, ctype, node.args, node), node)


def _called(ev: Evaluator, ctype: CType, node: ir.Construct) -> ir.FuncCall | None:
    """Returns the call that a construction is whose name is no type but a function."""
    if isinstance(ctype, RecordType) and ctype.record is not None:
        names = node.type.names if isinstance(node.type, ir.IdentifierType) else ()
        if len(names) != 1 or "::" in names[0] or ev.state.lookup(names[0]) is not None:
            return None
        is_call = _hides_class(ev, names[0], cast("Record", ctype.record))
        return ir.FuncCall(ir.ID(names[0], at=node.at), node.args, at=node.at) if is_call else None
    if not is_opaque(ctype) or not isinstance(ctype, OpaqueType):
        return None
    name, _ = ev.state.unit.template_arguments(ctype.spelling)
    owner, _, last = name.rpartition("::")
    if not owner or not ev.state.unit.functions_named(last):
        return None
    return ir.FuncCall(ir.ID(ctype.spelling, at=node.at), node.args, at=node.at)


def _hides_class(ev: Evaluator, spelling: str, record: Record) -> bool:
    """Returns whether an unqualified name means a function here, and no class of its name.

    `reduce(x)` behind `void reduce(int)` is a call, whatever class `library::reduce` is.
    """
    unit = ev.state.unit
    name, _ = unit.template_arguments(spelling)
    functions = frozenset(f.scope for f in unit.functions_named(name) if f.record is None)
    if not functions or name != record.name or record.scope in functions:
        return False
    meant = unit.scopes_meant(functions | {record.scope}, (name,), ev.state.place)
    return record.scope not in meant


def zero_value(ctype: CType) -> Value:
    """Returns a value-initialized scalar."""
    if isinstance(ctype, IntType):
        return AffineInt(0, ctype)
    if isinstance(ctype, StaticType):
        return static_value(ctype)
    if isinstance(ctype, TupleType):
        return Cute(tuple(map(zero_value, ctype.modes)))
    return (
        FloatValue(ctype)
        if isinstance(ctype, FloatType)
        else Unknown.because(ReasonCode.NO_VALUE, "nothing was written yet")
    )


def with_extent(ctype: CType, init: ir.Node | None) -> CType:
    """Returns an array without an extent with that of its list; every other type as it is."""
    if not isinstance(ctype, ArrayType) or ctype.count is not None:
        return ctype
    if not isinstance(init, ir.InitList) or not init.exprs:
        return ctype
    is_flat = isinstance(ctype.element, ArrayType | RecordType)
    if any(
        isinstance(e, ir.NamedInitializer)
        or _is_open_pack(e)
        or (is_flat and isinstance(e, ir.Constant))
        for e in init.exprs
    ):
        return ctype
    return ArrayType(ctype.element, len(init.exprs))


def fill_array(ev: Evaluator, place: LValue, init: ir.Node) -> None:
    """Initializes an array, element by element; what is not named is zero."""
    ctype = place.type
    assert isinstance(ctype, ArrayType)
    items = init_arguments(init)
    if items is None:
        ev.evaluate(init)
        return
    scalar: CType = ctype
    while isinstance(scalar, ArrayType):
        scalar = scalar.element
    if isinstance(scalar, RecordType):
        place.object.default = None
    else:
        place.object.default = zero_value(scalar)
    if not isinstance(scalar, IntType | PointerType | RecordType):
        for item in items:
            if not isinstance(item, ir.InitList):
                ev.evaluate(item)
        return
    if any(map(_is_open_pack, items)):
        ev.state.memory.forget(place.object, "is made of a pack")
        return
    for i, item in enumerate(items):
        initialize_element(ev, _element(ev, place, ctype, i), item)


def _is_open_pack(item: ir.Node) -> bool:
    return isinstance(item, ir.PackExpansion) and item.index < 0


def _element(ev: Evaluator, place: LValue, ctype: ArrayType, index: int) -> LValue:
    at = ev.state.domain.add(place.offset, offset_of(index * ctype.element.size))
    return LValue(place.object, at, ctype.element)


def initialize_element(ev: Evaluator, place: LValue, item: ir.Node) -> None:
    """Initializes an element or a member by what stands in a list."""
    items = init_arguments(item)
    if is_reference(place.type) and place.object.space is Space.LOCAL:
        _refer(ev, place, first_argument(item) or item)
    elif isinstance(place.type, ArrayType):
        fill_array(ev, place, item)
    elif isinstance(place.type, RecordType) and items is not None:
        construct_at(ev, place, items, item)
    elif items == ():
        write_lvalue(ev, place, zero_value(place.type), item)
    else:
        write_lvalue(ev, place, ev.evaluate(first_argument(item) or item), item)


def init_arguments(init: ir.Node) -> tuple[ir.Expression, ...] | None:
    """Returns the operands of `(args)` and `{..}` initializers; None for `= expression`."""
    if isinstance(init, ir.InitList):
        return init.exprs
    if isinstance(init, ir.DirectInit | ir.BraceList):
        return init.args
    return None


def first_argument(init: ir.Node | None) -> ir.Node | None:
    """Returns the one operand of an initializer of a scalar; None where it has none."""
    if init is None:
        return None
    arguments = init_arguments(init)
    if arguments is None:
        return init
    return arguments[0] if arguments else None
