"""Containers in host code: `thrust::device_vector<T>` and its like, and lists of sizes.

Of global memory only the type of the elements matters: it chooses the template arguments of a
launch. A `std::vector` that begins with a list is an array, until a method changes it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from smemlint.analysis.simt.domain.ctypes import (
    U64,
    ArrayType,
    CType,
    OpaqueType,
    RecordType,
    array_member,
    lay_out,
)
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import AffineInt, Object, Pointer, Space, Value, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.frontend import ir

_CONTAINER = re.compile(
    r"(?:thrust::|std::|cutlass::)?"
    r"(?:device_vector|host_vector|universal_vector|vector|device_ptr|DeviceAllocation)"
    r"\s*<\s*(?P<element>[^,]+?)\s*>"
)
_TO_ELEMENTS = frozenset(("data", "begin", "get"))
_LIST = re.compile(r"(?:std::)?(?:vector|initializer_list)\s*<\s*(?P<element>[^,]+?)\s*>")
_READING = frozenset(("end", "cbegin", "cend", "empty"))


def list_type(ev: Evaluator, kind: CType, init: ir.Node | None) -> RecordType | None:
    """Returns what a `std::vector` that begins with a list is; None of all others."""
    found = _LIST.fullmatch(kind.spelling) if isinstance(kind, OpaqueType) else None
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
    if method in _TO_ELEMENTS:
        return _elements(ev, spelling, node)
    array = array_member(place.type)
    if array is None:
        return None
    if method == "size":
        return AffineInt(array.count or 0, U64)
    element = _element(ev, array, method, node)
    if element is None and method not in _READING and _LIST.fullmatch(spelling) is not None:
        ev.state.memory.forget(place.object, f"was changed by `{method}`")
    return element


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


def _elements(ev: Evaluator, spelling: str, node: ir.FuncCall) -> Pointer | None:
    """Returns what `v.data()` points to; None where the object is no such container."""
    found = _CONTAINER.fullmatch(spelling)
    element = type_argument(ev, found["element"]) if found is not None else None
    if element is None or not element.size:
        return None
    of = node.name.name if isinstance(node.name, ir.StructRef) else node
    obj = Object("elements", element, Space.GLOBAL, ev.state.key(of, "elements"))
    return Pointer(obj, offset_of(0), element)
