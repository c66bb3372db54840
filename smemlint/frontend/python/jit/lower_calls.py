"""Lowers what Python kernels and their host code call: launches, built-in functions, atomics."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from smemlint.frontend.python.imports import dotted
from smemlint.frontend.python.jit.dialects import element_type
from smemlint.frontend.python.jit.ir_builder import pointer_to
from smemlint.frontend.python.jit.lower_expressions import (
    AXES,
    Expressions,
    arguments_of,
    indices_of,
    integer,
    keyword,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycparser import c_ast

_PYTHON = frozenset(("min", "max", "abs", "int", "float"))


class Calls(Expressions):
    """Lowers expressions with calls in them."""

    def _lower_Call(self, node: ast.Call) -> c_ast.Node:
        arguments = arguments_of(node)
        if isinstance(node.func, ast.Subscript) and len(indices_of(node.func)) >= 2:
            return self._launch(node.func, arguments, node)
        if self.dialect is not None:
            found = self._builtin(self.member(node.func), node, arguments)
            if found is not None:
                return found
        resolved = self.imports.resolve(node.func)
        found = self._python_builtin(resolved, arguments, node)
        if found is not None:
            return found
        named = dotted(node.func)
        definition = self.definition.lookup(named) if named is not None else None
        if isinstance(node.func, ast.Name) or definition is not None:
            if definition is not None and definition.is_kernel and len(arguments) >= 2:
                shared = keyword(node, "shared_mem")
                parts = [node.func, *arguments[:2], *([shared] if shared is not None else [])]
                return self._launched(parts, arguments[2:3], node)
            callee = self.expression(node.func)
            return self.make.call_of(callee, [self.expression(a) for a in arguments], node)
        wrapped = self._wrapped(node)
        if wrapped is not None:
            return wrapped
        return self.opaque(node, arguments)

    def _wrapped(self, node: ast.Call) -> c_ast.Node | None:
        """`cuda.jit(f)` is `f`."""
        if len(node.args) == 1 and isinstance(node.args[0], ast.Name):
            found = self.definition.lookup(node.args[0].id)
            if found is not None and found.is_kernel:
                return self.make.name(found.unique, node)
        return None

    def _launch(self, head: ast.Subscript, arguments: list[ast.expr], node: ast.Call) -> c_ast.Node:
        """`k[grid, block, stream, shared](..)`."""
        config = [i for i in indices_of(head) if not isinstance(i, ast.Slice)]
        shared = config[3:4]
        return self._launched([head.value, *config[:2], *shared], arguments, node)

    def _launched(
        self,
        parts: Sequence[ast.expr],
        arguments: Sequence[ast.expr],
        node: ast.Call,
    ) -> c_ast.Node:
        passed = list(arguments)
        if len(passed) == 1 and isinstance(passed[0], ast.Tuple):  # cupyx passes one tuple
            passed = list(passed[0].elts)
        head = self.make.call("__launch", [self.expression(p) for p in parts], node)
        return self.make.call_of(head, [self.expression(a) for a in passed], node)

    def _builtin(self, member: str, node: ast.Call, arguments: list[ast.expr]) -> c_ast.Node | None:
        dialect, make = self.dialect, self.make
        assert dialect is not None
        if not member:
            return None
        if member in dialect.functions:
            lowered = [self.expression(a) for a in arguments]
            return make.call(dialect.functions[member], lowered, node)
        if member in dialect.atomics:
            return self._atomic(dialect.atomics[member], arguments, node)
        if member in ("grid", "gridsize") and arguments and integer(arguments[0]) == 1:
            return self.global_index(member, 0, node)
        if member == "range":
            return None
        return self.opaque(node, arguments)

    def global_index(self, member: str, axis: int, node: ast.AST) -> c_ast.Node:
        """One coordinate of `grid(n)` or `gridsize(n)`."""
        make, wide, name = self.make, self.wide, AXES[axis]
        block = make.coordinate("blockDim", name, node, wide=wide)
        first = "blockIdx" if member == "grid" else "gridDim"
        scaled = make.binary("*", make.coordinate(first, name, node, wide=wide), block, node)
        if member == "gridsize":
            return scaled
        thread = make.coordinate("threadIdx", name, node, wide=wide)
        return make.binary("+", scaled, thread, node)

    def _atomic(self, function: str, arguments: list[ast.expr], node: ast.Call) -> c_ast.Node:
        if len(arguments) < 3:
            return self.opaque(node, arguments)
        array, index, *values = arguments
        known = self.arrays.get(array.id) if isinstance(array, ast.Name) else None
        place = self.expression(array)
        for depth, part in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
            extent = known.extent(depth) if known is not None else None
            place = self.make.element(place, self.index(part, extent), node)
        address = self.make.unary("&", place, node)
        return self.make.call(function, [address, *map(self.expression, values)], node)

    def _python_builtin(
        self, resolved: str, arguments: list[ast.expr], node: ast.Call
    ) -> c_ast.Node | None:
        lowered = [self.expression(a) for a in arguments] if resolved in _PYTHON else []
        match resolved:
            case "min" | "max" if len(lowered) >= 2:
                found = lowered[0]
                for other in lowered[1:]:
                    found = self.make.call(resolved, [found, other], node)
                return found
            case "abs" if len(lowered) == 1:
                return self.make.call("abs", lowered, node)
            case "int" if len(lowered) == 1:
                return self.make.cast("int64_t" if self.wide else "int", lowered[0], node)
            case "float" if len(lowered) == 1:
                return self.make.cast("double", lowered[0], node)
            case "len" if len(arguments) == 1 and isinstance(arguments[0], ast.Name):
                name = arguments[0].id
                array = self.arrays.get(name)
                if array is not None and array.extents:
                    return self.expression(array.extents[0])
                return self.brought(f"{name}.shape[0]", node)
        word = element_type(resolved) if "." in resolved else None
        if word is not None and len(arguments) == 1:
            return self.make.cast(word, self.expression(arguments[0]), node)
        return None

    def parameter_type(self, name: str) -> c_ast.Node:
        """A pointer with one star for each index that the body gives it; a number without any."""
        depth = 0
        for node in self.definition.own_nodes():
            if isinstance(node, ast.Subscript) and dotted(node.value) == name:
                depth = max(depth, len(indices_of(node)))
            elif isinstance(node, ast.Call) and self.member(node.func) in (
                self.dialect.atomics if self.dialect is not None else ()
            ):
                first = node.args[0] if node.args else None
                if first is not None and dotted(first) == name:
                    depth = max(depth, 1)
        return pointer_to("int64_t", depth)
