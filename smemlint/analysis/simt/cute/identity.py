"""Identity tensors: their elements are coordinates, which kernels compare and index with.

The strides of CuTe's identity layouts are the basis of the coordinates. Here each mode has a power
of two so large that every operation on layouts keeps the coordinates apart in the digits of one
number.
"""

from __future__ import annotations

import numpy as np

from smemlint.analysis.simt.cute.run_time import from_engine
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.environment import Mask
from smemlint.analysis.simt.domain.lanes import Lanes
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Unknown, Value
from smemlint.layout import cute
from smemlint.reasons import ReasonCode

_DIGITS = {1: 28, 2: 28, 3: 19}
"""Modes -> bits of a coordinate; the highest is for those that fell below zero."""
_OPEN = Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "a coordinate of a tensor")


def identity_tensor(layout: cute.Layout) -> cute.Tensor:
    """Returns `make_identity_tensor` of a shape; of nested modes only the shape is followed."""
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    digit = _DIGITS.get(len(shape), 0)
    if any(isinstance(n, tuple) or (isinstance(n, int) and n >> max(digit - 1, 0)) for n in shape):
        digit = 0
    if digit:
        layout = cute.Layout(shape, tuple(1 << (digit * k) for k in range(len(shape))))
    modes = len(shape) if digit else 0
    return cute.Tensor(cute.Space.COORDINATE, 8, layout, origin=modes)


def coordinate_at(
    tensor: cute.Tensor, coordinate: tuple[cute.Coordinate, ...], active: Mask
) -> Value:
    """Returns the coordinates that an element of an identity tensor is to the active threads."""
    modes = tensor.origin if isinstance(tensor.origin, int) else 0
    found = coordinates_in(tensor.address_of(*coordinate), modes, active) if modes else None
    return Cute(found) if found is not None else _OPEN


def coordinates_in(number: cute.Integer, modes: int, active: Mask) -> tuple[AffineInt, ...] | None:
    """Returns the coordinates that a number holds to the active threads; None if not known."""
    found = from_engine(number)
    if isinstance(found, Unknown):
        return None
    digits = _digits_of(_of_active(found.base, active), modes)
    terms = [(s, _digits_of(_of_active(factor, active), modes)) for s, factor in found.terms]
    if digits is None or any(factors is None for _, factors in terms):
        return None
    return tuple(
        AffineInt(digits[mode], I32, tuple((s, f[mode]) for s, f in terms if f and np.any(f[mode])))
        for mode in range(modes)
    )


def _of_active(number: Lanes, active: Mask) -> Lanes:
    """Returns the number with zeros for threads that are elsewhere: others of a warp group."""
    return number if isinstance(number, int) else np.where(active, number, 0)


def _digits_of(number: Lanes, modes: int) -> list[Lanes] | None:
    """Returns the coordinates in a number, lowest mode first; None if one is below zero."""
    digit = _DIGITS[modes]
    digits = [number >> (digit * k) & ((1 << digit) - 1) for k in range(modes)]
    if any(np.any(np.asarray(one) >> (digit - 1)) for one in digits):
        return None
    return digits
