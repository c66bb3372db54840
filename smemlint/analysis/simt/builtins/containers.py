"""Containers in host code: `thrust::device_vector<T>` and its like, and lists of sizes.

Of global memory only the type of the elements matters: it chooses the template arguments of a
launch. A `std::vector` that begins with a list, or empty, is an array and a size.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.construction import construct, initialize_element, made_object
from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I64,
    LIST_SIZE,
    U64,
    ArrayType,
    CType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    UnreadTemplate,
    array_member,
)
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
    offset_of,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.lvalues import part_of
from smemlint.analysis.simt.types.record_layout import lay_out
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.frontend import ir
from smemlint.frontend.heuristics import accessor_class, gives_elements
from smemlint.lazy_patterns import pattern
from smemlint.limits.budgets import MAX_LIST_ELEMENTS
from smemlint.reasons import ReasonCode

_ON_DEVICE = frozenset(("device_vector", "universal_vector", "device_ptr", "DeviceAllocation"))
_CONTAINERS = _ON_DEVICE | {"host_vector", "vector"}
_TO_ELEMENTS = frozenset(("data", "begin", "get"))
_LIST = pattern(r"(?:std::)?(?:vector|initializer_list)\s*<\s*(?P<element>[^,]+?)\s*>")
_READING = frozenset(("capacity", "max_size", "reserve", "shrink_to_fit"))
_ENDS = frozenset(("data", "begin", "end", "cbegin", "cend"))
_ADDING = frozenset(("push_back", "emplace_back"))
_RESIZING = _ADDING | {"clear", "pop_back"}
_OF_SIZE = frozenset(("back", "cend", "empty", "end", "size"))


def list_type(ev: Evaluator, ctype: CType, init: ir.Node | None) -> RecordType | None:
    """Returns what a `std::vector` is that begins with a list or empty; None of all others.

    One that begins empty is of numbers, functions or objects of a class: it may be of shapes.
    """
    found = _LIST.fullmatch(ctype.spelling) if isinstance(ctype, OpaqueType) else None
    if found is None or not isinstance(init, ir.InitList | None):
        return None
    count = len(init.exprs) if init is not None else 0
    element = type_argument(ev, found["element"])
    if element is None or not element.size:
        return None
    if not count and not isinstance(element, IntType | RecordType | PointerType):
        return None
    elements = ArrayType(element, max(count, MAX_LIST_ELEMENTS))
    return lay_out(found[0], [("", elements, 0), (LIST_SIZE, U64, 0)])


def set_list_size(ev: Evaluator, place: LValue, count: int) -> None:
    """Writes how many elements a list has; what is no list has as many as its type says."""
    at = _place_of_size(ev, place)
    if at is not None:
        ev.state.memory.write(at.object, at.offset, U64, AffineInt(count, U64), ev.state.mask)


def list_size(ev: Evaluator, place: LValue) -> int | None:
    """Returns how many elements a list or an array has; None where that is not known."""
    at = _place_of_size(ev, place)
    if at is None:
        array = array_member(place.type)
        return array.count if array is not None else None
    offset = at.offset.constant
    value = at.object.cells.get(offset) if offset is not None else None
    return value.constant if isinstance(value, AffineInt) else None


def _place_of_size(ev: Evaluator, place: LValue) -> LValue | None:
    member = place.type.member(LIST_SIZE) if isinstance(place.type, RecordType) else None
    return part_of(ev, place, member) if member is not None else None


def call_container_method(
    ev: Evaluator, place: LValue, method: str, node: ir.FuncCall
) -> Value | None:
    """Returns what `v.data()`, `v.size()`, `v.at(i)` and the ends give; None of other methods.

    A method that may change a list, and is not followed, leaves its elements unknown.
    """
    if isinstance(place.type, PointerType) and isinstance(node.name, ir.StructRef):
        return _call_smart_pointer(ev, node.name, method, node)
    if method in _TO_ELEMENTS and not isinstance(place.type, RecordType):
        of = node.name.name if isinstance(node.name, ir.StructRef) else node
        return _elements(ev, place.type, of, _CONTAINERS)
    array = array_member(place.type)
    if array is None:
        return None
    is_list = _place_of_size(ev, place) is not None
    size = list_size(ev, place)
    if size is None and method in _OF_SIZE:
        return Unknown.because(ReasonCode.UNKNOWN_VALUE, f"`{place.object.name}` was changed")
    if method in ("size", "empty"):
        count = size or 0
        return AffineInt(count, U64) if method == "size" else number(not count, BOOL)
    if is_list and method in _ENDS:
        return _end_of(ev, place, array.element, size or 0, method)
    element = _element(ev, size, method, node)
    if element is not None or not is_list or method in _READING:
        return element
    if not _resize(ev, place, array, method, node):
        ev.state.memory.forget(place.object, f"was changed by `{method}`")
    return number(0) if method in _RESIZING else None


def _end_of(ev: Evaluator, place: LValue, element: CType, count: int, name: str) -> Pointer:
    """Returns a pointer to the first of so many elements, or behind the last: `begin`, `cend`."""
    start = number(count * element.size if "end" in name else 0, I64)
    return Pointer(place.object, ev.state.domain.add(place.offset, start), element)


def _resize(ev: Evaluator, place: LValue, array: ArrayType, method: str, node: ir.FuncCall) -> bool:
    """Follows a method that adds or takes the last elements; returns whether it was followed."""
    size = list_size(ev, place)
    if method == "clear":
        set_list_size(ev, place, 0)
    elif method == "pop_back" and size:
        set_list_size(ev, place, size - 1)
    elif method in _ADDING and size is not None and size < (array.count or 0) and node.args:
        offset = ev.state.domain.add(place.offset, offset_of(size * array.element.size))
        initialize_element(ev, LValue(place.object, offset, array.element), _added(node, method))
        set_list_size(ev, place, size + 1)
    else:
        return False
    return True


def _added(node: ir.FuncCall, method: str) -> ir.Expression:
    """Returns what the new element of `v.push_back(x)` or `v.emplace_back(x, y)` is made of."""
    if method == "push_back" and len(node.args) == 1:
        return node.args[0]
    return ir.BraceList(node.args, at=node.at)


@builtin("begin", "end", "cbegin", "cend", is_scoped=True, least=1)
def _of_range(ev: Evaluator, call: BuiltinCall) -> Value:
    """Returns what `std::begin(a)` and its like give of an array or a list."""
    place, name = operand_of(ev, call.node.args[0]).place, call.name.rpartition("::")[2]
    if isinstance(place, LValue) and isinstance(place.type, ArrayType) and place.type.count:
        return _end_of(ev, place, place.type.element, place.type.count, name)
    if isinstance(place, LValue):
        found = call_container_method(ev, place, name, call.node)
        if found is not None:
            return found
    return unfollowed_call(ev, call.name, call.node)


def _call_smart_pointer(
    ev: Evaluator, callee: ir.StructRef, method: str, node: ir.FuncCall
) -> Value | None:
    """Returns what `p.get()` and `p.reset(q)` give: here a smart pointer is what it holds."""
    if method == "reset" and len(node.args) == 1:
        return ev.evaluate(ir.Assignment("=", callee.name, node.args[0], at=node.at))
    return ev.evaluate(callee.name) if method in ("get", "release") and not node.args else None


def _element(ev: Evaluator, size: int | None, method: str, node: ir.FuncCall) -> Value | None:
    """Returns a reference to what `a.at(i)`, `a.front()` and `a.back()` name; None of others."""
    last = ir.Constant("int", str((size or 1) - 1), at=node.at)
    ends = {"front": ir.Constant("int", "0", at=node.at), "back": last}
    index = node.args[0] if method == "at" and len(node.args) == 1 else ends.get(method)
    if index is None or not isinstance(node.name, ir.StructRef):
        return None
    owner = node.name.name
    if node.name.type == "->":
        owner = ir.UnaryOp("*", owner, at=node.at)
    place = ev.lvalue(ir.ArrayRef(owner, index, at=node.at))
    if isinstance(place, LValue):
        return replace(place.pointer(), is_reference=True)
    return place


def elements_of_unread(
    ev: Evaluator, method: str, arguments: Sequence[str], node: ir.FuncCall
) -> Pointer | None:
    """Returns what `tensor.data_ptr<T>()` of an unread class points to; None of other methods.

    `tensor.packed_accessor32<T, 2>()` gives a reference to an object of a class template.
    """
    accessor = accessor_class(method) if arguments else ""
    ctype = type_argument(ev, f"{accessor}<{', '.join(arguments)}>") if accessor else None
    if ctype is not None:
        obj = Object("accessor", ctype, Space.LOCAL, ev.state.key(node, "accessor"))
        return Pointer(obj, ORIGIN, ctype, is_reference=True)
    if len(arguments) != 1 or not gives_elements(method):
        return None
    return _pointer_to(ev, type_argument(ev, arguments[0]), node)


def elements_on_device(ev: Evaluator, ctype: CType, of: ir.Node) -> Pointer | None:
    """Returns what `v[i]` of `thrust::device_vector<T>` is an element of; None of other types."""
    return _elements(ev, ctype, of, _ON_DEVICE)


@builtin("raw_pointer_cast", least=1)
def raw_pointer_cast(ev: Evaluator, call: BuiltinCall) -> Value:
    """Returns the pointer that Thrust's `device_ptr` holds: here it is one."""
    return ev.evaluate(call.node.args[0])


def _elements(ev: Evaluator, ctype: CType, of: ir.Node, containers: Set[str]) -> Pointer | None:
    if not isinstance(ctype, UnreadTemplate) or ctype.template not in containers:
        return None
    return _pointer_to(ev, ctype.arguments[0], of)


def _pointer_to(ev: Evaluator, element: CType | int | None, of: ir.Node) -> Pointer | None:
    """Returns a pointer to elements of a known size in global memory."""
    if element is None or isinstance(element, int) or not element.size:
        return None
    obj = Object("elements", element, Space.GLOBAL, ev.state.key(of, "elements"))
    return Pointer(obj, ORIGIN, element)


@builtin("make_unique", "make_shared", is_scoped=True)
def _make_owned(ev: Evaluator, call: BuiltinCall) -> Value:
    """Makes what `std::make_unique<T>(x)` does: here a smart pointer is what it holds."""
    named = type_argument(ev, call.template_arguments[0]) if call.template_arguments else None
    if named is None or not ev.policy.follows_lists:
        return unfollowed_call(ev, call.name, call.node)
    return made_object(ev, construct(ev, named, call.node.args, call.node), call.node)
