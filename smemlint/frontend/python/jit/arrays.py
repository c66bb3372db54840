"""Shared and local arrays of Python kernels: how they are declared, and their C declarations."""

from __future__ import annotations

import ast

from smemlint.frontend import ir
from smemlint.frontend.python.imports import dotted, is_none
from smemlint.frontend.python.jit.dialects import element_type
from smemlint.frontend.python.jit.ir_builder import array_of
from smemlint.frontend.python.jit.lowering import CannotLower, LocalArray, Lowering
from smemlint.frontend.python.jit.passed_types import passed_element_type
from smemlint.frontend.python.jit.signatures import arrays_with_strides
from smemlint.frontend.python.jit.syntax import arguments_of, indices_of, integer
from smemlint.frontend.python.parameters import argument_of

_SEQUENCE = (ast.Tuple, ast.List)


def find_arrays(lowering: Lowering) -> None:
    """Finds what indices need before it is lowered: own arrays, and those that have strides."""
    lowering.strided = arrays_with_strides(lowering.definition, lowering.make)
    for name, values in lowering.definition.assigned.items():
        if len(values) == 1 and isinstance(values[0], ast.Call):
            call = values[0]
            if _declares_array(lowering, call):
                lowering.arrays[name] = _array(lowering, name, call)


def elements_of_row(lowering: Lowering, target: ast.expr, count: int) -> ast.expr:
    """Returns the elements that `rows[i] = a, b` assigns a tuple of so many to; else the target."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return target
    array, indices = lowering.arrays.get(target.value.id), indices_of(target)
    if array is None or len(array.extents) != len(indices) + 1:
        return target
    places = (ast.Tuple([*indices, ast.Constant(k)], ast.Load()) for k in range(count))
    row: list[ast.expr] = [ast.Subscript(target.value, place, ast.Store()) for place in places]
    return ast.fix_missing_locations(ast.copy_location(ast.Tuple(row, ast.Store()), target))


def array_of_several(
    lowering: Lowering, name: str, call: ast.Call, node: ast.AST, *, is_declared_once: bool
) -> ir.Decl | None:
    """Returns the declaration of an array whose name is given other values, too; None of no array.

    It has a name of its own, which the values of the other one point to.

    Args:
        lowering: of the function.
        name: that is given the array.
        call: that declares it.
        node: the assignment.
        is_declared_once: one block around all uses of the name declares it.

    Raises:
        CannotLower: the name is declared for several blocks, or an array that it is given has
            rows, whose extents the name does not have.
    """
    if not _declares_array(lowering, call):
        return None
    values = lowering.definition.assigned.get(name, ())
    calls = [v for v in values if isinstance(v, ast.Call) and _declares_array(lowering, v)]
    all_arrays = [_array(lowering, name, each) for each in calls]
    if not is_declared_once or any(len(a.extents) > 1 or a.may_have_rows for a in all_arrays):
        raise CannotLower(node, f"`{name}`, which is given several values,")
    array = _array(lowering, name, call)
    hidden = f"{name} of line {node.lineno}" if isinstance(node, ast.stmt) else name
    lowering.arrays[hidden] = array
    return declare_array(lowering, hidden, call, node)


def _declares_array(lowering: Lowering, call: ast.Call) -> bool:
    member = lowering.member(call.func)
    return lowering.dialect is not None and member in (
        *lowering.dialect.shared,
        *lowering.dialect.local,
    )


def _array(lowering: Lowering, name: str, call: ast.Call) -> LocalArray:
    member = lowering.member(call.func)
    at = 1 if member == "shared_memory" else 0
    shape = argument_of(call, "shape", at) or argument_of(call, "size")
    if shape is not None and isinstance(resolved := lowering.definition.resolved(shape), _SEQUENCE):
        shape = resolved
    if isinstance(shape, _SEQUENCE):
        extents = tuple(shape.elts)
    else:
        extents = (shape,) if shape is not None else ()
    first = extents[0] if extents else None
    is_dynamic = first is None or is_none(first) or integer(first) == 0
    is_named = isinstance(shape, ast.Name | ast.Attribute)
    may_have_rows = is_named and not is_dynamic and _may_have_rows(lowering, name, shape)
    is_shared = lowering.dialect is not None and member in lowering.dialect.shared
    return LocalArray(extents, is_dynamic, may_have_rows, is_shared)


def _may_have_rows(lowering: Lowering, name: str, shape: ast.expr | None) -> bool:
    """Returns whether an array can have more dimensions than its declaration shows."""
    if shape is None or isinstance(lowering.definition.resolved(shape), ast.Constant | ast.BinOp):
        return False
    for node in lowering.definition.own_nodes():
        if isinstance(node, ast.Subscript) and dotted(node.value) == name:
            if len(indices_of(node)) > 1:
                return True
        elif isinstance(node, ast.Call) and name in map(dotted, arguments_of(node)):
            return True
    return False


def _element_type(lowering: Lowering, name: str, call: ast.Call) -> str:
    if lowering.arrays[name].may_have_rows:
        return _named(lowering.arrays[name].extents[0])
    at = 0 if lowering.member(call.func) == "shared_memory" else 1
    dtype = argument_of(call, "dtype", at) or argument_of(call, "type")
    dtype = lowering.definition.resolved(dtype) if dtype is not None else None
    if isinstance(dtype, ast.Constant):
        word = element_type(dtype.value) if isinstance(dtype.value, str) else None
    elif isinstance(dtype, ast.Attribute) and dtype.attr == "dtype":
        word = passed_element_type(lowering.definition, dotted(dtype.value) or "", lowering.imports)
    else:
        word = element_type(lowering.imports.resolve(dtype)) if dtype is not None else None
    return word or (_named(dtype) if dtype is not None else "dtype")


def _named(node: ast.expr) -> str:
    """Returns a name for what is not known: that of the source, which no C type has."""
    name = dotted(node) or "its element type"
    return name if element_type(name) is None else f"{name} (not known)"


def declare_array(lowering: Lowering, name: str, call: ast.Call, node: ast.AST) -> ir.Decl:
    """Returns the declaration of an array in C."""
    array = lowering.arrays[name]
    type_ = _array_type(lowering, _element_type(lowering, name, call), array)
    assert lowering.dialect is not None
    storage = ["__shared__"] if lowering.member(call.func) in lowering.dialect.shared else []
    if array.is_dynamic:
        storage.append("extern")
    alignment = argument_of(call, "alignment")
    align = []
    if alignment is not None and integer(alignment) is not None:
        align.append(lowering.expression(alignment))
    return lowering.make.declare(name, type_, node, storage=storage, align=align)


def _array_type(lowering: Lowering, word: str, array: LocalArray) -> ir.Type:
    """Returns the C type of a shared or local array."""
    if array.is_dynamic:
        return array_of(word, [None])
    return array_of(word, [lowering.expression(e) for e in array.extents])
