"""Lowers what Python kernels and their host code call: launches, built-in functions, atomics."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from smemlint.frontend import ir
from smemlint.frontend.python.imports import dotted
from smemlint.frontend.python.jit.definitions import Definition
from smemlint.frontend.python.jit.dialects import AXES, element_type
from smemlint.frontend.python.jit.ir_builder import pointer_to
from smemlint.frontend.python.jit.lower_expressions import lower_index
from smemlint.frontend.python.jit.lowering import Lowering, lowers
from smemlint.frontend.python.jit.syntax import arguments_of, indices_of, integer, listing_of
from smemlint.frontend.python.parameters import argument_of

_PYTHON = frozenset(("min", "max", "abs", "int", "float"))


@lowers(ast.Call)
def lower_call(lowering: Lowering, node: ast.Call) -> ir.Expression:
    """Lowers a call: a launch, a function of the dialect or of Python, or one of the file."""
    arguments = arguments_of(node)
    if isinstance(node.func, ast.Subscript) and len(indices_of(node.func)) >= 2:
        return _launch(lowering, node.func, arguments, node)
    if lowering.dialect is not None:
        found = _builtin(lowering, lowering.member(node.func), node, arguments)
        if found is not None:
            return found
    resolved = lowering.imports.resolve(node.func)
    found = _python_builtin(lowering, resolved, arguments, node)
    if found is not None:
        return found
    named = dotted(node.func)
    definition = lowering.definition.lookup(named) if named is not None else None
    is_jit = definition is not None and definition.makes_kernels
    if not is_jit and (isinstance(node.func, ast.Name) or definition is not None):
        if definition is not None and definition.is_kernel and len(arguments) >= 2:
            shared = argument_of(node, "shared_mem")
            parts = [node.func, *arguments[:2], *([shared] if shared is not None else [])]
            return _lower_launch(lowering, parts, arguments[2:3], node)
        bound = _bound(definition, node) if definition is not None else arguments
        if bound is None:
            return lowering.opaque(node, arguments)
        callee = lowering.expression(node.func)
        return lowering.make.call_of(callee, [lowering.expression(a) for a in bound], node)
    wrapped = _wrapped_kernel(lowering, node)
    return wrapped if wrapped is not None else lowering.opaque(node, arguments)


def _bound(definition: Definition, node: ast.Call) -> list[ast.expr] | None:
    """Returns the arguments of a call in the order of the parameters, up to the last one given.

    None where they are not all written out.
    """
    parameters = definition.parameters
    given = [
        argument_of(node, p.name, None if p.is_keyword else at) for at, p in enumerate(parameters)
    ]
    while given and given[-1] is None:
        given.pop()
    found = [
        (argument or p.default) if isinstance(p.default, ast.Constant) else argument
        for argument, p in zip(given, parameters, strict=False)
    ]
    values = [argument for argument in found if argument is not None]
    is_whole = len(node.args) + len(node.keywords) == len(given) - given.count(None)
    return values if is_whole and len(values) == len(found) else None


def _wrapped_kernel(lowering: Lowering, node: ast.Call) -> ir.Expression | None:
    """Returns `cuda.jit(f)` is `f`."""
    if len(node.args) == 1 and isinstance(node.args[0], ast.Name):
        found = lowering.definition.lookup(node.args[0].id)
        if found is not None and found.is_kernel:
            return lowering.make.name(found.unique, node)
    return None


def _launch(
    lowering: Lowering, head: ast.Subscript, arguments: list[ast.expr], node: ast.Call
) -> ir.Expression:
    """Returns `k[grid, block, stream, shared](..)`."""
    config = [i for i in indices_of(head) if not isinstance(i, ast.Slice)]
    shared = config[3:4]
    return _lower_launch(lowering, [head.value, *config[:2], *shared], arguments, node)


def _lower_launch(
    lowering: Lowering, parts: Sequence[ast.expr], arguments: Sequence[ast.expr], node: ast.Call
) -> ir.Expression:
    passed = list(arguments)
    if len(passed) == 1 and isinstance(passed[0], ast.Tuple):  # cupyx passes one tuple
        passed = list(passed[0].elts)
    meant = lowering.definition.resolved(parts[0])
    wrapped = _wrapped_kernel(lowering, meant) if isinstance(meant, ast.Call) else None
    kernel = wrapped if wrapped is not None else lowering.expression(parts[0])
    configuration = [lowering.expression(p) for p in parts[1:]]
    operands = tuple(lowering.expression(a) for a in passed)
    place = lowering.make.place(node)
    return ir.Launch(kernel, tuple(configuration), operands, at=place)


def _builtin(
    lowering: Lowering, member: str, node: ast.Call, arguments: list[ast.expr]
) -> ir.Expression | None:
    dialect, make = lowering.dialect, lowering.make
    assert dialect is not None
    if not member:
        return None
    if member in dialect.functions:
        lowered = [lowering.expression(a) for a in arguments]
        return make.call(dialect.functions[member], lowered, node)
    if member in dialect.atomics:
        return _atomic(lowering, dialect.atomics[member], arguments, node)
    if member in ("grid", "gridsize") and arguments and integer(arguments[0]) == 1:
        return global_index(lowering, member, 0, node)
    if member == "range":
        return None
    return lowering.opaque(node, arguments)


def global_index(lowering: Lowering, member: str, axis: int, node: ast.AST) -> ir.Expression:
    """Returns one coordinate of `grid(n)` or `gridsize(n)`."""
    make, wide, name = lowering.make, lowering.wide, AXES[axis]
    block = make.coordinate("blockDim", name, node, wide=wide)
    first = "blockIdx" if member == "grid" else "gridDim"
    scaled = make.binary("*", make.coordinate(first, name, node, wide=wide), block, node)
    if member == "gridsize":
        return scaled
    thread = make.coordinate("threadIdx", name, node, wide=wide)
    return make.binary("+", scaled, thread, node)


def _atomic(
    lowering: Lowering, function: str, arguments: list[ast.expr], node: ast.Call
) -> ir.Expression:
    if len(arguments) < 3:
        return lowering.opaque(node, arguments)
    array, index, *values = arguments
    name = array.id if isinstance(array, ast.Name) else ""
    place = lowering.expression(array)
    for depth, part in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
        place = lowering.make.element(place, lower_index(lowering, part, name, depth), node)
    address = lowering.make.unary("&", place, node)
    return lowering.make.call(function, [address, *map(lowering.expression, values)], node)


def _python_builtin(
    lowering: Lowering, resolved: str, arguments: list[ast.expr], node: ast.Call
) -> ir.Expression | None:
    lowered = [lowering.expression(a) for a in arguments] if resolved in _PYTHON else []
    match resolved:
        case "min" | "max" if len(lowered) >= 2:
            found = lowered[0]
            for other in lowered[1:]:
                found = lowering.make.call(resolved, [found, other], node)
            return found
        case "abs" if len(lowered) == 1:
            return lowering.make.call("abs", lowered, node)
        case "int" if len(lowered) == 1:
            return lowering.make.cast("int64_t" if lowering.wide else "int", lowered[0], node)
        case "float" if len(lowered) == 1:
            return lowering.make.cast("double", lowered[0], node)
        case "len" if len(arguments) == 1 and isinstance(arguments[0], ast.Name):
            name = arguments[0].id
            array = lowering.arrays.get(name)
            if array is not None and array.extents:
                return lowering.expression(array.extents[0])
            return lowering.argument_property(f"{name}.shape[0]", node)
    word = element_type(resolved) if "." in resolved else None
    if word is not None and len(arguments) == 1:
        return lowering.make.cast(word, lowering.expression(arguments[0]), node)
    return None


def stored(lowering: Lowering, target: ast.expr, given: ir.Expression) -> ir.Expression:
    """Returns an assignment, which may write shared memory where strides lead to the element."""
    if isinstance(target, ast.Subscript) and dotted(target.value) in lowering.strided:
        return lowering.make.call("__store_by_strides", [given], target)
    return given


def parameter_type(lowering: Lowering, name: str) -> ir.Type:
    """Returns a pointer with one star for each index that the body uses; else a number."""
    depth = 0
    for node in lowering.definition.own_nodes():
        if isinstance(node, ast.Subscript) and dotted(node.value) == name:
            depth = max(depth, len(indices_of(node)))
        elif isinstance(node, ast.For):
            array, _, element = listing_of(node)
            if dotted(array) == name:
                depth = max(depth, 2 if isinstance(element, ast.Tuple | ast.List) else 1)
        elif isinstance(node, ast.Call) and lowering.member(node.func) in (
            lowering.dialect.atomics if lowering.dialect is not None else ()
        ):
            first = node.args[0] if node.args else None
            if first is not None and dotted(first) == name:
                depth = max(depth, 1)
    return pointer_to("int64_t", depth)
