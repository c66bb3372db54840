"""Inert loops: those that only compute floating-point numbers are run for their cost alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smemlint.analysis.simt.builtins.intrinsics import PURE_FUNCTIONS
from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    ArrayType,
    PointerType,
)
from smemlint.analysis.simt.domain.masks import is_any
from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.values import (
    FloatValue,
    Int,
    Pointer,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.loops.float_effects import Effects, effects_of
from smemlint.analysis.simt.loops.known_trips import LoopParts, Turns, counter_of
from smemlint.analysis.simt.loops.modified import is_floating
from smemlint.analysis.simt.state import Loop, Variable
from smemlint.analysis.simt.types.resolve import CTYPES

if TYPE_CHECKING:
    from pycparser import c_ast


class InertLoops(Turns):
    """Runs loops that touch nothing which is followed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._effects: dict[int, Effects | None] = {}

    def _is_inert(self, node: c_ast.Node) -> bool:
        """Whether the loop only computes floating-point numbers and touches no shared memory."""
        if id(node) not in self._effects:
            self._effects[id(node)] = effects_of(node, PURE_FUNCTIONS)
        effects = self._effects[id(node)]
        if effects is None:
            return False
        return all(self._is_harmless(n, written=n in effects.writes) for n in effects.reads)

    def _is_harmless(self, name: str, *, written: bool) -> bool:
        binding = self.lookup(name)
        if not isinstance(binding, Variable):
            return not written and (binding is None or isinstance(binding, (*CTYPES, Int)))
        obj, kind = binding.object, binding.type
        held = obj.cells.get(0)
        if isinstance(held, Pointer):
            obj, kind = held.object, held.target
        elif isinstance(held, Unknown) and isinstance(kind, PointerType):
            return False
        while isinstance(kind, ArrayType):
            kind = kind.element
        if obj.space is Space.SHARED:
            return False
        return not written or obj.space is Space.GLOBAL or is_floating(kind)

    def _run_inert(self, parts: LoopParts) -> None:
        """Runs the body once and the header to its end, for what the iterations cost."""
        loop = Loop(self.none_active(), self.none_active(), counter_of(parts.node))
        entry = self.mask
        before = [around.cost for around in self.loops]
        self.loops.append(loop)
        trips = 0
        try:
            while trips < self.max_trips and is_any(self.mask):
                value: Value = number(1)
                if parts.cond is not None and not (parts.first and not trips):
                    value = self.condition(self.evaluate(parts.cond))
                if not isinstance(value, Int) or value.constant in (0, None):
                    break
                if not trips:
                    self.execute(parts.body)
                if parts.step is not None:
                    self.evaluate(parts.step)
                trips += 1
        finally:
            self.loops.pop()
            self.mask = entry
        for around, cost in zip(self.loops, before, strict=True):
            around.cost = cost + (around.cost - cost) * max(trips, 1)
        effects = self._effects[id(parts.node)]
        for name in effects.writes if effects is not None else ():
            binding = self.lookup(name)
            if isinstance(binding, Variable) and binding.object.default is None:
                binding.object.default = FloatValue(FLOAT)
