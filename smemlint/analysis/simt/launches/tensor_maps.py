"""TMA descriptors that host code encodes: element size, box and swizzle mode, where known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import Int, Pointer, Value, offset_of
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.kernel.evaluate import parameter_binding
from smemlint.analysis.simt.state import BudgetExceeded, Frame, Geometry
from smemlint.facts import LayoutUse
from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.frontend.program import Function, Unit

MENTION = re.compile(r"\bCU_TENSOR_MAP_SWIZZLE_\w+")
_ARGUMENTS = 12
_DATA_TYPE, _RANK, _BOX, _INTERLEAVE, _SWIZZLE = 1, 2, 6, 8, 9
_MAX_STEPS = 5_000
_MAX_RANK = 5
_SIZES = {
    "UINT8": 1, "UINT16": 2, "FLOAT16": 2, "BFLOAT16": 2, "UINT32": 4, "INT32": 4, "FLOAT32": 4,
    "FLOAT32_FTZ": 4, "TFLOAT32": 4, "TFLOAT32_FTZ": 4, "UINT64": 8, "INT64": 8, "FLOAT64": 8,
}  # fmt: skip
_MODES = {"NONE": "none", "32B": "32B", "64B": "64B", "128B": "128B"}


def tensor_maps(unit: Unit) -> Iterator[LayoutUse]:
    """The descriptors of a unit's host functions; what depends on an argument is left out."""
    for function in unit.functions:
        if any(MENTION.match(word) for word in function.words) and not function.is_kernel:
            yield from _Encoding(unit, function).found


class _Encoding(Interpreter):
    """Runs one host function and notes what it encodes."""

    def __init__(self, unit: Unit, function: Function) -> None:
        super().__init__(unit, Geometry.of((1, 1, 1)), Trace(1), max_steps=_MAX_STEPS)
        self.found: list[LayoutUse] = []
        self._function = function
        tree = function.parse().tree
        if tree is None:
            return
        self.frames.append(Frame(function.name, [{}, {}]))
        params = tree.decl.type.args
        for param in params.params if params is not None else ():
            if isinstance(param, c_ast.Decl) and param.name:
                self.bind(param.name, parameter_binding(self, param, {}))
        try:
            self.execute(tree.body)
        except (BudgetExceeded, RecursionError):
            return

    def call(self, node: c_ast.FuncCall) -> Value:
        """The value of a call; one that encodes a descriptor is noted."""
        exprs = list(node.args.exprs) if node.args is not None else []
        if len(exprs) == _ARGUMENTS and not self.trace.is_muted and not self.assumptions:
            use = self._encoded(exprs, node)
            if use is not None:
                self.found.append(use)
        return super().call(node)

    def _encoded(self, exprs: list[c_ast.Node], node: c_ast.FuncCall) -> LayoutUse | None:
        names = [getattr(exprs[k], "name", "") for k in (_DATA_TYPE, _INTERLEAVE, _SWIZZLE)]
        names = [n if isinstance(n, str) else "" for n in names]
        size = _SIZES.get(names[0].removeprefix("CU_TENSOR_MAP_DATA_TYPE_"))
        mode = _MODES.get(names[2].removeprefix("CU_TENSOR_MAP_SWIZZLE_"))
        if size is None or mode is None or names[1] != "CU_TENSOR_MAP_INTERLEAVE_NONE":
            return None
        rank, box = self.evaluate(exprs[_RANK]), self.evaluate(exprs[_BOX])
        if not isinstance(rank, Int) or rank.constant not in range(1, _MAX_RANK + 1):
            return None
        extents = self._numbers(box, rank.constant or 0)
        if extents is None:
            return None
        s = Swizzle.named(mode)
        return LayoutUse(
            self.unit.span(node),
            "tma",
            names[2],
            self._function.name,
            (s.bits, s.base, s.shift),
            parameters=tuple((f"box{k}", extent) for k, extent in enumerate(extents)),
            units="bytes",
            element_bytes=size,
        )

    def _numbers(self, value: Value, count: int) -> list[int] | None:
        """The first numbers of a local array; None where one is not known."""
        if not isinstance(value, Pointer) or value.object.space is not Space.LOCAL:
            return None
        found = []
        for k in range(count):
            at = self.algebra.add(value.offset, offset_of(k * value.target.size))
            item = self.store.read(value.object, at, value.target)
            number = item.constant if isinstance(item, Int) else None
            if number is None:
                return None
            found.append(number)
        return found
