"""Triton's shared-memory layouts as offset functions, and the CuTe swizzles that equal them.

Source: triton 3.9.0's `to_linear_layout`, which the offsets equal on 1,954 recorded layouts
(tests/oracle/record_triton.py).
"""

from __future__ import annotations

from typing import Any

from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SwizzledShared:
    """`SwizzledSharedLayout(vec, per_phase, max_phase, order)` of a matrix.

    Groups of `vec` elements of a row are exchanged by the row's phase, `row / per_phase` modulo
    `max_phase`. `order` lists the dimensions, fastest first.
    """

    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, int] = (1, 0)

    def offset(self, coordinate: tuple[Any, Any], shape: tuple[int, int]) -> Any:
        """Returns the element offset of a coordinate, integers or arrays, in a block's shape."""
        columns = shape[self.order[0]]
        row, column = coordinate[self.order[1]], coordinate[self.order[0]]
        phase = row // self.per_phase % self.max_phase
        group = (column // self.vec ^ phase) % max(columns // self.vec, 1)
        return row * columns + group * self.vec + column % self.vec

    def as_swizzle(self, columns: int) -> Swizzle:
        """Returns the same on element offsets of rows of so many elements.

        Triton wraps in silence where `vec * max_phase` exceeds the row.

        Raises:
            ValueError: a parameter is not a power of two, or CuTe has no such swizzle.
        """
        vec, phases = _log2(self.vec, "vec"), _log2(self.max_phase, "max_phase")
        row = _log2(columns, "columns") + _log2(self.per_phase, "per_phase")
        bits = min(phases, max(_log2(columns, "columns") - vec, 0))
        return Swizzle(bits, vec, row - vec)

    @staticmethod
    def from_swizzle(swizzle: Swizzle, columns: int) -> SwizzledShared:
        """Returns Triton's parameters for a swizzle of element offsets.

        Raises:
            ValueError: Triton cannot say it: it exchanges within a row by the row's number only.
        """
        row = _log2(columns, "columns")
        per_phase = swizzle.base + swizzle.shift - row
        if swizzle.is_identity:
            return SwizzledShared(1, 1, 1)
        if per_phase < 0 or swizzle.base + swizzle.bits > row:
            raise ValueError(f"{swizzle} does not exchange groups of a row of {columns} by its row")
        return SwizzledShared(1 << swizzle.base, 1 << per_phase, 1 << swizzle.bits)


@dataclass(frozen=True, slots=True)
class NVMMAShared:
    """`NVMMASharedLayout(swizzle_byte_width, element_bitwidth, transposed)` of a matrix.

    Columns of tiles, each `swizzle_bytes` wide and as tall as the matrix, one after another; inside
    a tile the byte offset is swizzled.
    """

    swizzle_bytes: int
    element_bits: int
    is_transposed: bool = False

    def as_swizzle(self) -> Swizzle:
        """Returns the swizzle of byte offsets.

        Raises:
            ValueError: the width is none of 0, 32, 64 and 128.
        """
        names = {0: "none", 32: "32B", 64: "64B", 128: "128B"}
        if self.swizzle_bytes not in names:
            raise ValueError(f"a swizzle of {self.swizzle_bytes} bytes: 0, 32, 64 or 128 wanted")
        return Swizzle.named(names[self.swizzle_bytes])

    def offset(self, coordinate: tuple[Any, Any], shape: tuple[int, int]) -> Any:
        """Returns the element offset of a coordinate, integers or arrays, in a block's shape."""
        size = self.element_bits // 8
        row, column = coordinate
        rows, columns = shape
        if self.is_transposed:
            row, column, rows, columns = column, row, columns, rows
        if not self.swizzle_bytes:
            return row * columns + column
        width = self.swizzle_bytes // size
        tile = column // width * (rows * self.swizzle_bytes)
        inside = row * self.swizzle_bytes + column % width * size
        return self.as_swizzle()(tile + inside) // size


def _log2(value: int, name: str) -> int:
    if value < 1 or value & (value - 1):
        raise ValueError(f"{name} = {value} is not a power of two")
    return value.bit_length() - 1
