"""Shared-memory layout atoms of wgmma and tcgen05.

All are `smem_ptr_flag` layouts: their swizzle acts on byte addresses once a tensor is made.

Source: CUTLASS 4.7, `cute/atom/mma_traits_sm90_gmma.hpp`, `mma_traits_sm100.hpp` and
`cutlass/gemm/collective/builders/sm90_common.inl`.
"""

from __future__ import annotations

import re
from enum import Enum

from smemlint.layout.cute.inverses import upcast
from smemlint.layout.cute.layouts import Layout
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass

_NAME = re.compile(r"Layout_(?P<major>K|MN)_(?P<mode>INTER|SW32|SW64|SW128)(?P<wide>_32B)?_Atom")
_SPANS = {"INTER": (16, 0), "SW32": (32, 1), "SW64": (64, 2), "SW128": (128, 3)}
_MODES = ("SW128", "SW64", "SW32", "INTER")
"""The widest first."""


class PointerFlag(Enum):
    """What stands for a pointer in a layout that swizzles one: `smem_ptr_flag_bits<N>`."""

    SHARED = "smem_ptr"


@dataclass(frozen=True, slots=True)
class SmemAtom:
    """A layout in elements whose pointer is swizzled.

    Attributes:
        swizzle: of byte addresses.
        layout: in elements.
    """

    swizzle: Swizzle
    layout: Layout

    def __str__(self) -> str:
        return f"{self.swizzle} o smem_ptr o {self.layout}"


def smem_atom(name: str, element_bits: int) -> SmemAtom | None:
    """Returns the atom of that name; None for no such name or a width that does not fit."""
    found = _NAME.fullmatch(name)
    if found is None or element_bits < 1:
        return None
    span, bits = _SPANS[found["mode"]]
    swizzle, rows = Swizzle(bits, 4, 3), 8
    if found["wide"]:
        if found["major"] == "K" or found["mode"] != "SW128":
            return None
        swizzle, rows = Swizzle(2, 5, 2), 4
    if 8 * span % element_bits:
        return None
    in_bits = Layout((8 * span, rows), (1, 8 * span))
    if found["major"] == "K":
        in_bits = Layout((rows, 8 * span), (8 * span, 1))
    return SmemAtom(swizzle, upcast(in_bits, element_bits))


def select_smem_atom(
    major: str, element_bits: int, mn_extent: int, k_extent: int, is_narrow: bool = False
) -> str | None:
    """Returns the name of the widest atom whose contiguous extent divides the tile.

    This is `ss_smem_selector` and `GMMA`'s rule in the collective builders.

    Args:
        major: `K` or `MN`.
        element_bits: width of an element.
        mn_extent: of the tile.
        k_extent: of the tile.
        is_narrow: whether an MN-major atom spans 32 bytes at most: `rs_smem_selector`'s rule for
            words, whose transposition is then free of conflicts.
    """
    extent = k_extent if major == "K" else mn_extent
    for mode in _MODES[2:] if is_narrow and major == "MN" else _MODES:
        if extent % (8 * _SPANS[mode][0] // element_bits) == 0:
            return f"Layout_{major}_{mode}_Atom"
    return None
