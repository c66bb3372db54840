"""Dry runs: what an iteration changes is found by running it without a record, then undoing it."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.values import FloatValue, Pointer, Unknown
from smemlint.analysis.simt.interpreter.branches import Branches
from smemlint.analysis.simt.loops.mod_sets import Given, Writes, writes_of
from smemlint.analysis.simt.state import Variable

_NEVER_IDLE = (c_ast.Decl, c_ast.DeclList, c_ast.Typedef, c_ast.Return, c_ast.Pragma)


class DryRuns(Branches):
    """Knows which statements a dry run may skip."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._writes: dict[int, tuple[c_ast.Node, Writes | None]] = {}

    def is_idle(self, node: c_ast.Node) -> bool:
        """Whether a dry run may skip a statement: nothing that is followed can change."""
        if isinstance(node, _NEVER_IDLE):
            return False
        writes = self.writes_of(node)
        if writes is None or not all(map(self._is_idle_name, writes.names)):
            return False
        if not all(map(self.is_idle_gift, writes.given)):
            return False
        if not all(map(self._is_no_followed_pointer, writes.whole)):
            return False
        for name in writes.names:
            binding = self.lookup(name)
            if isinstance(binding, Variable) and binding.object.default is None:
                binding.object.default = FloatValue(FLOAT)
        return True

    def writes_of(self, node: c_ast.Node) -> Writes | None:
        """What a statement may change, read from its text once."""
        known = self._writes.get(id(node))
        if known is None:  # the node is kept: its id stays its own
            known = self._writes[id(node)] = node, writes_of(node)
        return known[1]

    def _is_no_followed_pointer(self, name: str) -> bool:
        """Whether a variable is no pointer, or one into global memory."""
        binding = self.lookup(name)
        if not isinstance(binding, Variable) or not isinstance(binding.type, PointerType):
            return True
        held = binding.object.cells.get(0)
        return isinstance(held, Pointer) and held.object.space is Space.GLOBAL

    def _is_idle_name(self, name: str) -> bool:
        """Whether nothing that is followed lies in a variable, or behind a pointer."""
        binding = self.lookup(name)
        if binding is None:
            return self.frame.this is None
        if not isinstance(binding, Variable):
            return False
        obj, kind = binding.object, binding.type
        held = obj.cells.get(0)
        if isinstance(held, Pointer):
            obj, kind = held.object, held.target
        while isinstance(kind, ArrayType):
            kind = kind.element
        return obj.space is not Space.LOCAL or isinstance(kind, OpaqueType) or is_floating(kind)

    def is_idle_gift(self, given: Given) -> bool:
        """Whether a call that is given a variable leaves what is followed alone."""
        if self.lookup(given.callee) is not None:
            return False
        if self._is_idle_name(given.name):
            return True
        binding = self.lookup(given.name)
        if given.callee == "__out" and isinstance(binding, Variable):
            cells = binding.object.cells.values()  # an output is unknown: so they may stay
            return bool(cells) and all(isinstance(v, Unknown) for v in cells)
        if given.is_address or not isinstance(binding, Variable):
            return False
        if not isinstance(binding.type, IntType):
            return False
        return not given.is_lvalue or self.takes_by_value(given.callee, given.index)


def is_floating(kind: CType) -> bool:
    """Whether a type holds floating-point numbers only."""
    if isinstance(kind, RecordType):
        return bool(kind.members) and all(is_floating(m.type) for m in kind.members)
    return isinstance(kind, FloatType)
