"""TMA descriptors that host code encodes: element size, box and swizzle mode, where known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from smemlint.analysis.simt.budget import Budget, BudgetExceeded
from smemlint.analysis.simt.domain.environment import Geometry
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Space, Value, offset_of
from smemlint.analysis.simt.evaluator import Evaluator, Policy
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.kernel.parameters import parameter_binding
from smemlint.analysis.simt.types.overloads import parameters_of
from smemlint.facts import LayoutUse
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Unit
from smemlint.layout.swizzle import Swizzle
from smemlint.limits.budgets import MAX_TENSOR_MAP_STEPS

MENTION = re.compile(r"\bCU_TENSOR_MAP_SWIZZLE_\w+")
_ARGUMENTS = 12
_DATA_TYPE, _RANK, _BOX, _INTERLEAVE, _SWIZZLE = 1, 2, 6, 8, 9
_MAX_RANK = 5
_SIZES = {
    "UINT8": 1, "UINT16": 2, "FLOAT16": 2, "BFLOAT16": 2, "UINT32": 4, "INT32": 4, "FLOAT32": 4,
    "FLOAT32_FTZ": 4, "TFLOAT32": 4, "TFLOAT32_FTZ": 4, "UINT64": 8, "INT64": 8, "FLOAT64": 8,
}  # fmt: skip
_MODES = {"NONE": "none", "32B": "32B", "64B": "64B", "128B": "128B"}


def tensor_maps(unit: Unit) -> Iterator[LayoutUse]:
    """Yields the descriptors of a unit's host functions, but those of an argument."""
    for function in unit.functions:
        if any(MENTION.match(word) for word in function.words) and not function.is_kernel:
            yield from _encoded_by(unit, function)


def _encoded_by(unit: Unit, function: Function) -> list[LayoutUse]:
    """Executes one host function, and returns the descriptors that it encodes."""
    policy = TensorMapPolicy(function)
    budget = Budget(max_steps=MAX_TENSOR_MAP_STEPS)
    ev = Interpreter(unit, Geometry.of((1, 1, 1)), Trace(1), policy, budget=budget)
    tree = function.parse().tree
    if tree is None:
        return []
    ev.state.frames.append(Frame(function.name, [{}, {}], place=function.scope))
    for param in parameters_of(tree):
        if param.name:
            ev.state.bind(param.name, parameter_binding(ev, param, {}))
    with suppress(BudgetExceeded, RecursionError):
        ev.execute(tree.body)
    return policy.found


class TensorMapPolicy(Policy):
    """Notes the descriptors that a host function encodes."""

    def __init__(self, function: Function) -> None:
        self.found: list[LayoutUse] = []
        self._function = function

    def intercept_call(self, ev: Evaluator, node: ir.FuncCall) -> Value | None:
        """Notes a call that encodes a descriptor; it is evaluated like all others."""
        exprs = node.args
        if len(exprs) == _ARGUMENTS and not ev.state.trace.is_muted and not ev.state.assumptions:
            use = self._encoded(ev, exprs, node)
            if use is not None:
                self.found.append(use)
        return None

    def _encoded(
        self, ev: Evaluator, exprs: Sequence[ir.Node], node: ir.FuncCall
    ) -> LayoutUse | None:
        names = [getattr(exprs[k], "name", "") for k in (_DATA_TYPE, _INTERLEAVE, _SWIZZLE)]
        names = [n if isinstance(n, str) else "" for n in names]
        size = _SIZES.get(names[0].removeprefix("CU_TENSOR_MAP_DATA_TYPE_"))
        mode = _MODES.get(names[2].removeprefix("CU_TENSOR_MAP_SWIZZLE_"))
        if size is None or mode is None or names[1] != "CU_TENSOR_MAP_INTERLEAVE_NONE":
            return None
        rank, box = ev.evaluate(exprs[_RANK]), ev.evaluate(exprs[_BOX])
        if not isinstance(rank, AffineInt) or rank.constant not in range(1, _MAX_RANK + 1):
            return None
        extents = _numbers(ev, box, rank.constant or 0)
        if extents is None:
            return None
        s = Swizzle.named(mode)
        return LayoutUse(
            ev.state.unit.span(node),
            "tma",
            names[2],
            self._function.name,
            (s.bits, s.base, s.shift),
            parameters=tuple((f"box{k}", extent) for k, extent in enumerate(extents)),
            units="bytes",
            element_bytes=size,
        )


def _numbers(ev: Evaluator, value: Value, count: int) -> list[int] | None:
    """Returns the first numbers of a local array; None where one is not known."""
    if not isinstance(value, Pointer) or value.object.space is not Space.LOCAL:
        return None
    found = []
    for k in range(count):
        at = ev.state.domain.add(value.offset, offset_of(k * value.target.size))
        item = ev.state.memory.read(value.object, at, value.target)
        number = item.constant if isinstance(item, AffineInt) else None
        if number is None:
            return None
        found.append(number)
    return found
