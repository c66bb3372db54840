"""Gluon's tensor memory: what `TensorMemoryLayout` says of the registers that it is loaded to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from smemlint.analysis.python.gluon.arguments import is_clustered, reason_of
from smemlint.analysis.python.gluon.values import Tensor
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, ModelValue, Value
from smemlint.layout.register_layouts import RegisterLayout
from smemlint.layout.tensor_memory import registers_of_block
from smemlint.lazy_dataclasses import dataclass

_VARIANTS = {"32x32b": False, "32x32b_splitn": True}


@dataclass(frozen=True, slots=True)
class TensorMemory(ModelValue):
    """A descriptor of tensor memory; what is not known of it is None."""

    shape: tuple[int, ...] | None
    dtype: DType | None
    block: tuple[int, ...] | None

    def call(self, name: str, given: BoundArguments, warps: int | None) -> Value:
        """Returns the result of a method."""
        match name, self.shape:
            case "load", _:
                layout = given.get(0, "layout", None)
                layout = self._registers("32x32b", warps) if layout is None else layout
                found = layout if isinstance(layout, RegisterLayout) else None
                return Tensor(self.shape, found, self.dtype, reason_of(layout))
            case "get_reg_layout", _:
                return self._registers(
                    given.get(1, "instr_variant", "32x32b"), given.get(0, "num_warps", warps)
                )
            case "slice", (rows, _):
                length = given.get(1, "length")
                return replace(self, shape=(rows, length) if isinstance(length, int) else None)
            case "index", (_, *inner):
                return replace(self, shape=tuple(inner))
        return None if name == "store" else UNKNOWN

    def _registers(self, variant: Value, warps: Value) -> Value:
        match self.block, self.shape, warps:
            case (int(m), int(n)), (int(rows), int(columns)), int(count) if variant in _VARIANTS:
                halves = _VARIANTS[variant]
                return registers_of_block((m, n), (rows, columns), count, halves=halves) or UNKNOWN
        return UNKNOWN


def _allocate(given: BoundArguments) -> Value:
    """Returns the descriptor of an allocation."""
    dtype, block = given.get(0, "element_ty"), given.shape(2, "layout")
    return TensorMemory(given.shape(1, "shape"), dtype if isinstance(dtype, DType) else None, block)


def _block(given: BoundArguments) -> Value:
    """Returns the rows and columns of a block of `TensorMemoryLayout(block, ..)` in one CTA."""
    options = (given.get(3, "two_ctas", False), given.get(4, "fp4_padded", False))
    block = given.shape(0, "block")
    is_plain = block is not None and not is_clustered(given, 2) and options == (False, False)
    return block if is_plain else UNKNOWN


TENSOR_MEMORY: dict[str, Callable[[BoundArguments], Value]] = {
    "allocate_tensor_memory": _allocate,
    "TensorMemoryLayout": _block,
}
