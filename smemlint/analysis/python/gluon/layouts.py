"""Gluon's layout classes: what their arguments make of registers and of shared memory."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from smemlint.analysis.python.gluon.arguments import bases, is_clustered, is_one_cta, reason_of
from smemlint.analysis.python.gluon.values import AMD, AUTOMATIC, NO_SHARED_LAYOUT, LayoutLiteral
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, Unknown, Value
from smemlint.layout.gluon import (
    Nvmma,
    Padded,
    SharedLayout,
    SharedLinear,
    Swizzled,
    default_nvmma,
    identity_bases,
)
from smemlint.layout.memdesc import SharedView
from smemlint.layout.register_layouts import Blocked, DotOperand, Linear, Mma, RegisterLayout, Slice
from smemlint.reasons import Reason, ReasonCode


def _blocked(given: BoundArguments) -> Value:
    parts = given.shapes("size_per_thread", "threads_per_warp", "warps_per_cta", "order")
    if parts is None:
        threads = given.shape(1, "threads_per_warp")
        return AMD if threads is not None and prod(threads) == 64 else UNKNOWN
    if is_clustered(given, 4):
        return Unknown.because(ReasonCode.UNKNOWN_LAYOUT, "the layout spans several CTAs")
    if prod(parts[1]) == 64:
        return AMD
    if len({len(p) for p in parts}) != 1:
        return UNKNOWN
    return Blocked(*parts)


def _slice(given: BoundArguments) -> Value:
    dim, parent = given.get(0, "dim"), given.get(1, "parent")
    if isinstance(dim, int) and isinstance(parent, RegisterLayout) and 0 <= dim < parent.rank:
        return Slice(dim, parent)
    return parent if isinstance(parent, Unknown) else UNKNOWN


def _linear(given: BoundArguments) -> Value:
    registers, lanes, warps = (
        bases(given.get(i, f"{n}_bases")) for i, n in enumerate(("reg", "lane", "warp"))
    )
    shape = given.shape(4, "shape")
    is_one = is_one_cta(given.get(3, "block_bases", []))
    if shape is None or registers is None or lanes is None or warps is None or not is_one:
        return UNKNOWN
    return Linear(registers, lanes, warps, shape) if len(lanes) != 6 else AMD


def _mma(given: BoundArguments) -> Value:
    parts = given.shapes("version", "warps_per_cta", "instr_shape")
    if parts is None or not parts[0] or is_clustered(given, 3):
        return UNKNOWN
    return Mma(parts[0][0], parts[1], parts[2])


def _dot_operand(given: BoundArguments) -> Value:
    operand, parent = given.get(0, "operand_index"), given.get(1, "parent")
    width = given.get(2, "k_width")
    if isinstance(parent, RegisterLayout) and isinstance(operand, int) and isinstance(width, int):
        return DotOperand(operand, parent, width)
    return parent if isinstance(parent, Unknown) else UNKNOWN


REGISTER_LAYOUTS: dict[str, Callable[[BoundArguments], Value]] = {
    "BlockedLayout": _blocked, "SliceLayout": _slice, "DistributedLinearLayout": _linear,
    "NVMMADistributedLayout": _mma, "DotOperandLayout": _dot_operand,
    "AutoLayout": lambda _: AUTOMATIC, "CoalescedLayout": lambda _: AUTOMATIC,
    "AMDMFMALayout": lambda _: AMD, "AMDWMMALayout": lambda _: AMD,
}  # fmt: skip


def _swizzled(given: BoundArguments) -> Swizzled | Unknown:
    numbers = [given.get(i, n) for i, n in enumerate(("vec", "per_phase", "max_phase"))]
    order = given.shape(3, "order")
    known = [n for n in numbers if isinstance(n, int)]
    if order is None or len(known) < len(numbers):
        return UNKNOWN
    if is_clustered(given, 4):
        return Unknown.because(ReasonCode.UNKNOWN_LAYOUT, "the layout spans several CTAs")
    vec, per_phase, max_phase = known
    return Swizzled(vec, per_phase, max_phase, order)


def _nvmma(given: BoundArguments) -> Nvmma | Unknown:
    width, bits = given.get(0, "swizzle_byte_width"), given.get(1, "element_bitwidth")
    rank, flipped = given.get(2, "rank", 2), given.get(3, "transposed", False)
    if given.get(4, "fp4_padded", False) is not False or is_clustered(given, 5):
        return Unknown.because(
            ReasonCode.UNKNOWN_LAYOUT, "a padded fp4 layout, or one of several CTAs"
        )
    if not isinstance(flipped, int):
        return UNKNOWN
    if isinstance(width, int) and isinstance(bits, int) and isinstance(rank, int):
        return Nvmma(width, bits, rank, bool(flipped))
    return UNKNOWN


def _default_nvmma(given: BoundArguments) -> Nvmma | Unknown:
    shape, dtype = given.shape(0, "block_shape"), given.get(1, "dtype")
    flipped = given.get(2, "transposed", False)
    if shape is None or not isinstance(dtype, DType) or not isinstance(flipped, bool):
        return UNKNOWN
    if given.get(3, "fp4_padded", False) is not False or is_clustered(given, 4):
        return UNKNOWN
    return default_nvmma(shape, dtype.bits, transposed=flipped)


def _pairs(value: Value) -> tuple[tuple[int, int], ...] | None:
    found = bases(value)
    if not found or any(len(p) != 2 or min(p) < 1 for p in found):
        return None
    return tuple((p[0], p[1]) for p in found)


def _padded(given: BoundArguments) -> Padded | Unknown:
    pairs, found = (
        _pairs(given.get(0, "interval_padding_pairs")),
        bases(given.get(1, "offset_bases")),
    )
    shape = given.shape(3, "shape")
    if (
        pairs is None
        or found is None
        or shape is None
        or not is_one_cta(given.get(2, "cga_layout", []))
    ):
        return UNKNOWN
    return Padded(pairs, found, shape)


def _identity_padded(given: BoundArguments) -> Padded | Unknown:
    pairs, shape = _pairs(given.get(0, "interval_padding_pairs")), given.shape(1, "shape")
    order = given.shape(2, "order")
    if pairs is None or shape is None or order is None or is_clustered(given, 3):
        return UNKNOWN
    if sorted(order) != list(range(len(shape))):
        return UNKNOWN
    return Padded(pairs, identity_bases(shape, order), shape)


def _shared_linear(given: BoundArguments) -> SharedLinear | Unknown:
    found = bases(given.get(0, "offset_bases"))
    if found is None or not is_one_cta(given.get(1, "block_bases", [])):
        return UNKNOWN
    return SharedLinear(found)


SHARED_LAYOUTS: dict[str, tuple[str, Callable[[BoundArguments], SharedLayout | Unknown]]] = {
    "SwizzledSharedLayout": ("triton-swizzled", _swizzled),
    "NVMMASharedLayout": ("nvmma", _nvmma),
    "NVMMASharedLayout.get_default_for": ("nvmma", _default_nvmma),
    "PaddedSharedLayout": ("triton-padded", _padded),
    "PaddedSharedLayout.with_identity_for": ("triton-padded", _identity_padded),
    "SharedLinearLayout": ("triton-linear", _shared_linear),
}


def view_of(
    written: Value, dtype: DType | None, shape: tuple[int, ...] | None
) -> tuple[SharedView | None, Reason | None]:
    """Returns where the elements of an allocation lie, or None with the reason."""
    if not isinstance(written, LayoutLiteral):
        return None, reason_of(written) or NO_SHARED_LAYOUT
    if written.layout is None:
        return None, written.problem
    if dtype is None:
        return None, Reason(ReasonCode.UNKNOWN_TYPE, "its element type is not known")
    if shape is None:
        return None, Reason(ReasonCode.UNKNOWN_TYPE, "its shape is not known")
    try:
        return written.layout.view(shape, dtype.bits), None
    except ValueError as error:
        return None, Reason(ReasonCode.UNKNOWN_LAYOUT, str(error))
