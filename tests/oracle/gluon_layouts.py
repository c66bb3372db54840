"""Layouts as they are recorded, e.g. `["blocked", [1, 4], [4, 8], [4, 1], [1, 0]]`, made ours."""

from __future__ import annotations

from typing import Any

from smemlint.layout.memdesc import SharedView, view_of, view_of_bases
from smemlint.layout.register_layouts import Blocked, DotOperand, Linear, Mma, RegisterLayout
from smemlint.layout.triton import NVMMAShared, SwizzledShared


def tuples(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(tuples(v) for v in value) if isinstance(value, list) else value


def register_layout(record: list[Any], shape: tuple[int, ...]) -> RegisterLayout:
    """A recorded register layout."""
    name, *rest = record
    match name:
        case "blocked":
            return Blocked(*(tuples(r) for r in rest))
        case "linear":
            return Linear(*(tuples(r) for r in rest), shape)
        case "mma":
            return Mma(*(tuples(r) for r in rest))
        case "dot":
            return DotOperand(rest[0], register_layout(rest[1], shape), rest[2])
    raise ValueError(name)


def shared_view(record: list[Any], shape: tuple[int, int], bits: int) -> SharedView:
    """A recorded shared layout on a shape."""
    name, *rest = record
    match name:
        case "swizzled":
            swizzled = SwizzledShared(*(tuples(r) for r in rest))
            return view_of(lambda c: swizzled.offset((c[0], c[1]), shape), shape, bits)
        case "nvmma":
            nvmma = NVMMAShared(rest[0], bits, rest[1])
            return view_of(lambda c: nvmma.offset((c[0], c[1]), shape), shape, bits)
        case "padded":
            pairs, order = tuples(rest)
            steps = [1 << bit for bit in range(sum(n.bit_length() - 1 for n in shape))]
            first = shape[order[0]].bit_length() - 1
            parts = {order[0]: tuple(steps[:first]), order[1]: tuple(steps[first:])}
            return SharedView((parts[0], parts[1]), bits, padding=pairs)
        case "bases":
            return view_of_bases(tuples(rest[0]), shape, bits)
    raise ValueError(name)


def viewed(view: SharedView, steps: list[list[Any]]) -> SharedView:
    """The view after recorded steps, e.g. `["slice", 16, 16, 0]`."""
    for name, *arguments in steps:
        view = getattr(view, name)(*arguments)
    return view
