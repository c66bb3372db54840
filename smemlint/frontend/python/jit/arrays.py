"""Shared and local arrays of Python kernels: how they are declared, and their C declarations."""

from __future__ import annotations

import ast

from pycparser import c_ast

from smemlint.frontend.python.imports import dotted, is_none
from smemlint.frontend.python.jit.dialects import element_type
from smemlint.frontend.python.jit.lower_calls import Calls
from smemlint.frontend.python.jit.lower_expressions import (
    LocalArray,
    arguments_of,
    indices_of,
    integer,
    keyword,
)

_SEQUENCE = (ast.Tuple, ast.List)


class LocalArrays(Calls):
    """Lowers the declarations of arrays."""

    def find_arrays(self) -> None:
        """Shared and local arrays, which indices need to know before they are declared."""
        for name, values in self.definition.assigned.items():
            if len(values) == 1 and isinstance(values[0], ast.Call):
                call = values[0]
                if self._declares_array(call):
                    self.arrays[name] = self._array(name, call)

    def _declares_array(self, call: ast.Call) -> bool:
        member = self.member(call.func)
        return self.dialect is not None and member in (*self.dialect.shared, *self.dialect.local)

    def _array(self, name: str, call: ast.Call) -> LocalArray:
        shape = keyword(call, "shape") or keyword(call, "size")
        positional = call.args
        if shape is None:
            at = 1 if self.member(call.func) == "shared_memory" else 0
            shape = positional[at] if len(positional) > at else None
        if shape is not None and isinstance(whole := self.definition.followed(shape), _SEQUENCE):
            shape = whole
        if isinstance(shape, _SEQUENCE):
            extents = tuple(shape.elts)
        else:
            extents = (shape,) if shape is not None else ()
        first = extents[0] if extents else None
        is_dynamic = first is None or is_none(first) or integer(first) == 0
        is_named = isinstance(shape, ast.Name | ast.Attribute)
        may_have_rows = is_named and not is_dynamic and self._may_have_rows(name, shape)
        return LocalArray(extents, is_dynamic, may_have_rows)

    def _may_have_rows(self, name: str, shape: ast.expr | None) -> bool:
        """Whether the array `name` can have more dimensions than the one that is seen of it."""
        if shape is None or isinstance(self.definition.followed(shape), ast.Constant | ast.BinOp):
            return False
        for node in self.definition.own_nodes():
            if isinstance(node, ast.Subscript) and dotted(node.value) == name:
                if len(indices_of(node)) > 1:
                    return True
            elif isinstance(node, ast.Call) and name in map(dotted, arguments_of(node)):
                return True
        return False

    def _element(self, name: str, call: ast.Call) -> str:
        if self.arrays[name].may_have_rows:
            return "__unknown_shape"
        dtype = keyword(call, "dtype") or keyword(call, "type")
        positional = call.args
        if dtype is None:
            at = 0 if self.member(call.func) == "shared_memory" else 1
            dtype = positional[at] if len(positional) > at else None
        dtype = self.definition.followed(dtype) if dtype is not None else None
        if isinstance(dtype, ast.Constant):
            word = element_type(dtype.value) if isinstance(dtype.value, str) else None
        else:
            word = element_type(self.imports.resolve(dtype)) if dtype is not None else None
        return word or "__unknown_dtype"

    def array_declaration(self, name: str, call: ast.Call, node: ast.AST) -> c_ast.Node:
        """What declares the array in C."""
        array = self.arrays[name]
        kind = self.array_type(self._element(name, call), array)
        assert self.dialect is not None
        storage = ["__shared__"] if self.member(call.func) in self.dialect.shared else []
        if array.is_dynamic:
            storage.append("extern")
        inner = kind
        while not isinstance(inner, c_ast.TypeDecl):
            inner = inner.type
        inner.declname = name
        quals = [] if self.dialect.merges_accesses else ["volatile"]
        made = self.make.declare(name, kind, node, storage=storage, quals=quals)
        alignment = keyword(call, "alignment")
        if alignment is not None and integer(alignment) is not None:
            made.align = [c_ast.Alignas(self.expression(alignment))]
        return made
