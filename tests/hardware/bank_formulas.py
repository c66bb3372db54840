"""Address patterns by formula: the inputs of the committed table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SHAPES: dict[str, str] = {
    "stride": "lane * parameter",
    "transposed": "(lane % parameter) * 32 + lane // parameter",
    "xor": "lane * 32 + (lane ^ parameter) % 32",
    "pairs": "(lane // 2) * parameter",
    "quads": "(lane // 4 * 2 + lane % 2) * parameter",
    "broadcast": "parameter",
    "halves": "(lane % 16) * parameter + lane // 16",
    "square": "lane * lane * parameter",
}
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0x55555555, 0x80000001, 0x00000000)
KINDS = (
    ("load", 4), ("load", 1), ("load", 8), ("load", 16), ("store", 2), ("store", 4), ("store", 8),
    ("store", 16), ("atomic", 4), ("ldmatrix", 16), ("stmatrix", 16), ("load", 2), ("store", 1),
)  # fmt: skip


@dataclass(frozen=True)
class Pattern:
    kind: str
    width: int
    shape: str
    parameter: int
    mask: int

    @property
    def addresses(self) -> list[int]:
        """Byte addresses: the formula counts in elements of the width."""
        return [_unit(self.shape, lane, self.parameter) * self.width for lane in range(32)]

    @property
    def active(self) -> list[bool]:
        return [bool(self.mask >> lane & 1) for lane in range(32)]


def patterns() -> Iterator[Pattern]:
    """208 patterns: every kind with every shape, at two parameters; masks take turns."""
    for i, (kind, width) in enumerate(KINDS):
        for j, shape in enumerate(SHAPES):
            for parameter in (1 + (i + j) % 5, 8 << (i + 2 * j) % 3):
                mask = MASKS[(i * len(SHAPES) + j) % (2 * len(MASKS)) // 2]
                yield Pattern(kind, width, shape, parameter, mask)


def _unit(shape: str, lane: int, parameter: int) -> int:
    match shape:
        case "stride":
            return lane * parameter
        case "transposed":
            return lane % parameter * 32 + lane // parameter
        case "xor":
            return lane * 32 + (lane ^ parameter) % 32
        case "pairs":
            return lane // 2 * parameter
        case "quads":
            return (lane // 4 * 2 + lane % 2) * parameter
        case "broadcast":
            return parameter
        case "halves":
            return lane % 16 * parameter + lane // 16
    return lane * lane * parameter
