"""Shared and local arrays of Python kernels: how they are declared, and their C declarations."""

from __future__ import annotations

import ast

from pycparser import c_ast

from smemlint.frontend.python.dialects import element_type
from smemlint.frontend.python.imports import is_none
from smemlint.frontend.python.lower_calls import Calls
from smemlint.frontend.python.lower_expressions import LocalArray, integer, keyword

_SEQUENCE = (ast.Tuple, ast.List)


class LocalArrays(Calls):
    """Lowers the declarations of arrays."""

    def find_arrays(self) -> None:
        """Shared and local arrays, which indices need to know before they are declared."""
        for name, values in self.definition.assigned.items():
            if len(values) == 1 and isinstance(values[0], ast.Call):
                call = values[0]
                if self._declares_array(call):
                    self.arrays[name] = self._array(call)

    def _declares_array(self, call: ast.Call) -> bool:
        member = self.member(call.func)
        return self.dialect is not None and member in (*self.dialect.shared, *self.dialect.local)

    def _array(self, call: ast.Call) -> LocalArray:
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
        return LocalArray(extents, is_dynamic)

    def _element(self, call: ast.Call) -> str:
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
        kind = self.array_type(self._element(call), array)
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
