"""Events, fences and objects built from values, for the tests of passes over a trace."""

from __future__ import annotations

import numpy as np

from smemlint.analysis.simt.domain.ctypes import FLOAT, ArrayType, CType
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import I64, AffineInt, Object, Space
from smemlint.facts import AccessKind, SharedArray, Span
from smemlint.frontend import ir

LANES = np.arange(32, dtype=np.int64)
ALL = np.ones(32, dtype=np.bool_)


def shared(
    name: str = "s", count: int = 1024, element: CType = FLOAT, alignment: int = 4
) -> Object:
    """A static shared array."""
    span = Span("k.cu", 1, 1, 1, 2)
    size = element.size
    array = SharedArray(name, span, element.name, size, (count,), 0, count * size, alignment)
    return Object(name, ArrayType(element, count), Space.SHARED, name, shared=array)


def lanes(step: int, start: int = 0, alignment: int = 4) -> AffineInt:
    """Byte offsets that differ by a step from lane to lane, all of one form."""
    form = atom(f"lane * {step}", alignment, is_divergent=True)
    return AffineInt(LANES * step + start, I64, form=form)


def access(
    kind: AccessKind,
    obj: Object,
    offset: AffineInt,
    *,
    node: ir.Node | None = None,
    width: int = 4,
    mask: np.ndarray = ALL,
    sequence: int = 0,
    **extra: object,
) -> Event:
    """One access of a warp."""
    where = node if node is not None else ir.ID("x")
    return Event(where, obj, kind, width, offset, mask, sequence=sequence, **extra)
