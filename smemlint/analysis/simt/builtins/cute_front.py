"""What is asked of every call, name and element: whether CuTe means it.

Only then what CuTe's functions and layouts do is loaded: half of all that evaluation needs.
"""

from __future__ import annotations

from smemlint.analysis.simt.builtins.cute_types import is_cute_name, uses_cute
from smemlint.analysis.simt.domain.ctypes import OpaqueType, RecordType, StaticType, array_member
from smemlint.analysis.simt.domain.environment import LValue, Variable
from smemlint.analysis.simt.domain.values import Cute, Pointer, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_ELEMENTS = frozenset(("data", "begin"))
_EXTENTS = frozenset(("size", "rank"))


def call_cute(ev: Evaluator, name: str, types: tuple[str, ...], node: ir.FuncCall) -> Value | None:
    """Returns the value of a function of CuTe's; None when the name is none."""
    if not uses_cute(ev):
        return None
    from smemlint.analysis.simt.builtins.cute_functions import call_function

    return call_function(ev, name, types, node)


def call_array_method(ev: Evaluator, callee: ir.StructRef) -> Value | None:
    """Returns the pointer that `a.data()` or `a.begin()` gives of an array; None of all others."""
    name, _ = ev.state.unit.template_arguments(callee.field.name)
    if not uses_cute(ev) or name not in _ELEMENTS or callee.type != ".":
        return None
    if not isinstance(callee.name, ir.ID | ir.StructRef | ir.ArrayRef):
        return None
    place = ev.lvalue(callee.name)
    array = array_member(place.type) if isinstance(place, LValue) else None
    if isinstance(place, LValue) and array is not None:
        return Pointer(place.object, place.offset, array.element, place.volatile)
    return None


def called_tensor_or_layout(ev: Evaluator, node: ir.FuncCall) -> Value | None:
    """Returns the tensor or layout whose element `t(i, j)` names; None of all other calls."""
    callee = node.name
    if isinstance(callee, ir.ID):
        return tensor_or_layout_named(ev, callee)
    if not isinstance(callee, ir.FuncCall) or not _makes_tensor(ev, callee):
        return None
    value = ev.evaluate(callee)
    return value if _is_tensor_or_layout(value) else None


def _makes_tensor(ev: Evaluator, node: ir.FuncCall) -> bool:
    """Returns whether a call is one of CuTe's that changes nothing: it may be evaluated twice."""
    callee = node.name
    if any(map(_is_assignment, node.walk())):
        return False
    if isinstance(callee, ir.StructRef):
        return uses_cute(ev) and _is_method_of_tensors(callee.field.name)
    if not isinstance(callee, ir.ID):
        return False
    name = ev.state.unit.template_arguments(callee.name)[0].rpartition("::")[2]
    is_function = uses_cute(ev) and _is_function_of_tensors(name)
    return is_function or tensor_or_layout_named(ev, callee) is not None


def _is_method_of_tensors(name: str) -> bool:
    from smemlint.analysis.simt.cute.methods import TENSOR_METHODS

    return name in TENSOR_METHODS


def _is_function_of_tensors(name: str) -> bool:
    from smemlint.analysis.simt.cute.functions import FUNCTIONS
    from smemlint.analysis.simt.cute.tiled import ALGORITHMS

    return name in FUNCTIONS and name not in ALGORITHMS


def _is_assignment(node: ir.Node) -> bool:
    if isinstance(node, ir.UnaryOp):
        return node.op in ir.STEPS
    return isinstance(node, ir.Assignment)


def tensor_or_layout_named(ev: Evaluator, node: ir.Node) -> Value | None:
    """Returns the tensor or layout that a name stands for; None of all others."""
    if node.__class__ is not ir.ID:
        return None
    name = node.name
    binding = ev.state.lookup(name)
    type_ = binding.type if isinstance(binding, Variable) else None
    this = ev.state.frame.this if binding is None else None
    if this is not None and isinstance(this.target, RecordType):
        member = this.target.member(name)
        type_ = member.type if member is not None else None
    target = getattr(type_, "target", type_)
    is_local = this is not None and this.object.space is Space.LOCAL  # else it would be loaded
    is_deduced = is_local and target.__class__ is OpaqueType  # by a class template
    if not is_deduced and not (
        target.__class__ is StaticType and _is_tensor_or_layout(target.value)
    ):
        return None
    value = ev.evaluate(node)  # it may have been assigned anew
    return value if _is_tensor_or_layout(value) else None


def holds_registers(ev: Evaluator, name: str) -> bool:
    """Returns whether a name is that of a tensor in registers, whose elements are not followed."""
    binding = ev.state.lookup(name)
    type_ = binding.type if isinstance(binding, Variable) else None
    target = getattr(type_, "target", type_)
    if not isinstance(target, StaticType) or not _is_tensor_or_layout(target.value):
        return False
    from smemlint.analysis.simt.builtins.cute_functions import is_of_registers

    return is_of_registers(target.value)


def is_extent(ev: Evaluator, name: str) -> bool:
    """Returns whether a function is one of CuTe's that only counts: `size<0>(t)`."""
    return name.removeprefix("cute::") in _EXTENTS and is_cute_name(ev, name)


def _is_tensor_or_layout(value: object) -> bool:
    if not isinstance(value, Cute):
        return False
    from smemlint.analysis.simt.builtins.cute_functions import is_tensor_or_layout

    return is_tensor_or_layout(value)


def element_by_subscript(ev: Evaluator, node: ir.ArrayRef) -> LValue | Unknown | None:
    """Returns the element `t[i]` of a tensor; None of all others."""
    value = tensor_or_layout_named(ev, node.name)
    if value is None:
        return None
    from smemlint.analysis.simt.builtins.cute_functions import element_at

    return element_at(ev, value, node.subscript)


def assign_data(ev: Evaluator, node: ir.Assignment, value: Value) -> bool:
    """Moves a tensor by `t.data() = pointer`; returns False of all other assignments."""
    callee = getattr(node.lvalue, "name", None)
    if not isinstance(callee, ir.StructRef) or callee.field.name != "data":
        return False
    content = tensor_or_layout_named(ev, callee.name)
    if content is None:
        return False
    from smemlint.analysis.simt.builtins.cute_functions import move_tensor

    return move_tensor(ev, content, callee.name, value, node)
