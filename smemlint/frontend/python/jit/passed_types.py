"""Element types of the arrays that launches pass, read off the calls that made them.

A kernel asks for them by `cuda.shared.array(shape, a.dtype)`, where `a` is a parameter of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from smemlint.frontend.python.imports import Imports, dotted
from smemlint.frontend.python.jit.definitions import Definition
from smemlint.frontend.python.jit.dialects import element_type
from smemlint.frontend.python.parameters import argument_of
from smemlint.limits.budgets import MAX_ALIASES

_NEW = {"zeros": 1, "ones": 1, "empty": 1, "full": 2, "device_array": 1, "pinned_array": 1}
"""Functions that make arrays, with the position of the type; it is the default's without one."""
_TYPE_AT = {**_NEW, "array": 1, "asarray": 1}
_OF_ANOTHER = frozenset((
    "array", "asarray", "ascontiguousarray", "zeros_like", "ones_like", "empty_like", "full_like",
    "to_device", "device_array_like", "as_tensor", "as_cuda_array",
))  # fmt: skip
"""Functions that give an array of the type of their first argument, unless they name one."""
_RANDOM = frozenset(("rand", "randn", "random", "random_sample", "normal", "standard_normal"))
_SAME = frozenset(("copy", "reshape", "ravel", "flatten", "contiguous", "cuda", "clone"))
"""Methods that give an array of the same type."""
_OF_TORCH = {"float": "float", "long": "int64_t", "int": "int32_t"}


def passed_element_type(definition: Definition, parameter: str, imports: Imports) -> str | None:
    """Returns the C type of the elements that all launches in the file pass for a parameter.

    None where there is no launch, where one of them is not known, and where two differ.
    """
    names = [p.name for p in definition.parameters]
    if not definition.is_kernel or parameter not in names:
        return None
    found = {
        _element_type(argument, scope, imports) if argument is not None else None
        for scope in definition.host_scopes()
        for launch in _launches(definition, scope)
        for argument in (argument_of(launch, parameter, names.index(parameter)),)
    }
    return found.pop() if len(found) == 1 else None


def _launches(kernel: Definition, scope: Definition) -> Iterator[ast.Call]:
    """Yields `kernel[grid, block](..)` and `kernel(grid, block, (..))` as calls `kernel(..)`."""
    for node in scope.own_nodes():
        if not isinstance(node, ast.Call):
            continue
        func, arguments = node.func, list(node.args)
        if isinstance(func, ast.Subscript):
            func = func.value
        elif len(arguments) > 2 and isinstance(arguments[2], ast.Tuple):
            arguments = list(arguments[2].elts)
        if isinstance(func, ast.Name) and scope.lookup(func.id) is kernel:
            yield ast.Call(func, arguments, node.keywords)


def _element_type(node: ast.expr, scope: Definition, imports: Imports) -> str | None:
    """Returns the C type of the elements of an array that an expression makes."""
    for _ in range(MAX_ALIASES):
        name = node
        node, scope = _value_of(name, scope)
        if isinstance(node, ast.Name) and node is not name:
            continue
        if not isinstance(node, ast.Call):
            return None
        func = node.func
        if isinstance(func, ast.Attribute) and not _is_module(func, imports):
            is_moved = func.attr == "to" and all(isinstance(a, ast.Constant) for a in node.args)
            if func.attr in ("astype", "to") and not is_moved:
                return _named_type(node.args[0], scope, imports) if node.args else None
            if is_moved or func.attr in _SAME:
                node = func.value
                continue
        made = _made(node, scope, imports)
        if not isinstance(made, ast.expr):
            return made
        node = made
    return None


def _is_module(func: ast.Attribute, imports: Imports) -> bool:
    return isinstance(func.value, ast.Name) and func.value.id in imports.targets


def _value_of(node: ast.expr, scope: Definition) -> tuple[ast.expr, Definition]:
    """Returns what a name or a call of a function of the file stands for, and in which scope."""
    node = scope.resolved(node)
    if isinstance(node, ast.Call):
        returned = _returned(node, scope)
        return returned if returned is not None else (node, scope)
    if isinstance(node, ast.Name):
        found = list(_unpacked(node.id, scope))
        if len(found) == len(scope.assigned.get(node.id, ())) and len(set(map(_text, found))) == 1:
            call, at, count = found[0]
            match _returned(call, scope):
                case ast.Tuple(elts=values), inner if len(values) == count:
                    return values[at], inner
    return node, scope


def _unpacked(name: str, scope: Definition) -> Iterator[tuple[ast.Call, int, int]]:
    """Yields the calls whose results a name is given a part of: which one, of how many."""
    for statement in scope.own_nodes():
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Call() as call):
                for at, part in enumerate(parts):
                    if isinstance(part, ast.Name) and part.id == name:
                        yield call, at, len(parts)


def _text(found: tuple[ast.Call, int, int]) -> str:
    return f"{dotted(found[0].func)} {found[1]} {found[2]}"


def _returned(call: ast.Call, scope: Definition) -> tuple[ast.expr, Definition] | None:
    """Returns the one value that a function of host code returns."""
    function = scope.lookup(call.func.id) if isinstance(call.func, ast.Name) else None
    if function is None or function.dialect is not None:
        return None
    values = [n.value for n in function.own_nodes() if isinstance(n, ast.Return)]
    return (values[0], function) if len(values) == 1 and values[0] is not None else None


def _made(node: ast.Call, scope: Definition, imports: Imports) -> str | ast.expr | None:
    """Returns the type of what a function makes, or the array that has its type; else None."""
    module, _, name = imports.resolve(node.func).rpartition(".")
    library = module.partition(".")[0]
    if library not in ("numpy", "cupy", "torch", "numba"):
        return None
    dtype = argument_of(node, "dtype", _TYPE_AT.get(name) if library != "torch" else None)
    if dtype is not None:
        return _named_type(dtype, scope, imports)
    if name in _RANDOM or (name in _NEW and name != "full"):
        return "float" if library == "torch" else "double"
    return node.args[0] if name in _OF_ANOTHER and node.args else None


def _named_type(node: ast.expr, scope: Definition, imports: Imports) -> str | None:
    """Returns the C type that an expression names: `np.float32`, `"f4"`, `torch.half`."""
    node = scope.resolved(node)
    if isinstance(node, ast.Constant):
        return element_type(node.value) if isinstance(node.value, str) else None
    name = imports.resolve(node)
    if name.startswith("torch."):
        last = name.removeprefix("torch.")
        return _OF_TORCH.get(last) or element_type(f"numpy.{last}")
    return element_type(name)
