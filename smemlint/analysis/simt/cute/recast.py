"""`recast<T>(tensor)`: wider elements lose what the swizzle does below them, as in CuTe."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.analysis.simt.cute.values import Origin
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.analysis.simt.cute.call import Call


def recast(call: Call, tensor: cute.Tensor, bits: int) -> cute.Tensor:
    """Returns the tensor in elements of another width, and notes a swizzle that is torn.

    Raises:
        CuteError: layouts and widths do not divide.
    """
    changed = tensor.recast(bits)
    ctype = type_argument(call.ev, call.types[0])
    origin = tensor.origin
    if not isinstance(origin, Origin) or ctype is None:
        return changed
    layout, use = tensor.layout, origin.use
    if isinstance(layout, cute.ComposedLayout) and use is not None and bits > tensor.bits:
        factor = bits // tensor.bits
        if layout.swizzle.loses_bits_when_upcast(factor):
            torn = replace(
                use,
                span=call.ev.state.unit.span(call.node),
                parameters=(("vector_bytes", bits // 8),),
                is_bound=False,
            )
            call.ev.state.layouts.setdefault(f"recast {torn.span} {bits // 8}", torn)
    pointer = replace(origin.pointer, target=ctype)
    return replace(changed, origin=Origin(pointer, use))
