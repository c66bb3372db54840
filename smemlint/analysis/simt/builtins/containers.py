"""Containers in host code: `thrust::device_vector<T>` and its like, and lists of sizes.

Of global memory only the type of the elements matters: it chooses the template arguments of a
launch. A `std::vector` that begins with a list is an array, until a method changes it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.construction import construct, made_object
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.domain.ctypes import (
    I64,
    U64,
    ArrayType,
    CType,
    OpaqueType,
    PointerType,
    RecordType,
    UnreadTemplate,
    array_member,
)
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import (
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
from smemlint.analysis.simt.types.record_layout import lay_out
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.frontend import ir
from smemlint.frontend.heuristics import gives_elements
from smemlint.lazy_patterns import pattern
from smemlint.reasons import ReasonCode

_ON_DEVICE = frozenset(("device_vector", "universal_vector", "device_ptr", "DeviceAllocation"))
_CONTAINERS = _ON_DEVICE | {"host_vector", "vector"}
_TO_ELEMENTS = frozenset(("data", "begin", "get"))
_LIST = pattern(r"(?:std::)?(?:vector|initializer_list)\s*<\s*(?P<element>[^,]+?)\s*>")
_READING = frozenset(("cbegin", "cend", "empty"))
_ENDS = frozenset(("data", "begin", "end"))
_OF_SIZE = frozenset(("back", "cend", "empty", "end", "size"))


def list_type(ev: Evaluator, ctype: CType, init: ir.Node | None) -> RecordType | None:
    """Returns what a `std::vector` that begins with a list is; None of all others."""
    found = _LIST.fullmatch(ctype.spelling) if isinstance(ctype, OpaqueType) else None
    if found is None or not isinstance(init, ir.InitList) or not init.exprs:
        return None
    element = type_argument(ev, found["element"])
    if element is None or not element.size:
        return None
    return lay_out(found[0], [("", ArrayType(element, len(init.exprs)), 0)])


def call_container_method(
    ev: Evaluator, place: LValue, method: str, node: ir.FuncCall
) -> Value | None:
    """Returns what `v.data()`, `v.size()`, `v.at(i)` and the ends give; None of other methods.

    A method that may change a list leaves its elements unknown.
    """
    spelling = getattr(place.type, "spelling", "") or getattr(place.type, "name", "")
    if isinstance(place.type, PointerType) and isinstance(node.name, ir.StructRef):
        return _call_smart_pointer(ev, node.name, method, node)
    if method in _TO_ELEMENTS and not isinstance(place.type, RecordType):
        of = node.name.name if isinstance(node.name, ir.StructRef) else node
        return _elements(ev, place.type, of, _CONTAINERS)
    array = array_member(place.type)
    if array is None:
        return None
    if method in _OF_SIZE and has_open_size(ev, place):
        return Unknown.because(ReasonCode.UNKNOWN_VALUE, f"`{place.object.name}` was changed")
    if method == "size":
        return AffineInt(array.count or 0, U64)
    is_list = _LIST.fullmatch(spelling) is not None
    if is_list and method in _ENDS:
        start = number((array.count or 0) * array.element.size if method == "end" else 0, I64)
        return Pointer(place.object, ev.state.domain.add(place.offset, start), array.element)
    element = _element(ev, array, method, node)
    if element is None and method not in _READING and is_list:
        ev.state.memory.forget(place.object, f"was changed by `{method}`")
    return element


def _call_smart_pointer(
    ev: Evaluator, callee: ir.StructRef, method: str, node: ir.FuncCall
) -> Value | None:
    """Returns what `p.get()` and `p.reset(q)` give: here a smart pointer is what it holds."""
    if method == "reset" and len(node.args) == 1:
        return ev.evaluate(ir.Assignment("=", callee.name, node.args[0], at=node.at))
    return ev.evaluate(callee.name) if method in ("get", "release") and not node.args else None


def has_open_size(ev: Evaluator, place: LValue) -> bool:
    """Returns whether a method or a function may have changed how many elements a list has."""
    if _LIST.fullmatch(getattr(place.type, "name", "")) is None:
        return False
    held = place.object.cells.values()
    return ev.state.memory.is_forgotten(place.object) or any(isinstance(v, Unknown) for v in held)


def _element(ev: Evaluator, array: ArrayType, method: str, node: ir.FuncCall) -> Value | None:
    """Returns a reference to what `a.at(i)`, `a.front()` and `a.back()` name; None of others."""
    last = ir.Constant("int", str((array.count or 1) - 1), at=node.at)
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
    """Returns what `tensor.data_ptr<T>()` of an unread class points to; None of other methods."""
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
    return Pointer(obj, offset_of(0), element)


@builtin("make_unique", "make_shared", is_scoped=True)
def _make_owned(ev: Evaluator, call: BuiltinCall) -> Value:
    """Makes what `std::make_unique<T>(x)` does: here a smart pointer is what it holds."""
    named = type_argument(ev, call.template_arguments[0]) if call.template_arguments else None
    if named is None or not ev.policy.follows_lists:
        return unfollowed_call(ev, call.name, call.node)
    return made_object(ev, construct(ev, named, call.node.args, call.node), call.node)
