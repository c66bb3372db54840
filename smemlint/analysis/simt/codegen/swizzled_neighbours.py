"""Elements of a thread's part of a swizzled tensor, accessed one by one: which may become vectors.

A slice at a run-time coordinate has strides that the compiler does not know, but within a chunk of
the swizzle its elements lie together. LLVM makes vectors of all, of some or of none of them
(CUTLASS 4.7, nvcc 13.0.88, sm_90: 32 loads of bytes in a row became four LDS.64; of 16 cleared
bytes 8 became one STS.64 and 8 stayed; `t(i) = t(i) * x` on 32 halves stayed 32 LDS.U16 and
32 STS.U16).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.hardware.arch import WIDEST_ACCESS, WORD


def mark_neighbours(block: Sequence[Event]) -> None:
    """Marks the accesses of one basic block that nvcc may fuse with the next or the last one."""
    run: list[Event] = []
    for event in block:
        if run and not _continues(run[-1], event):
            _mark(run)
            run = []
        if run or _is_candidate(event):
            run.append(event)
    _mark(run)


def _is_candidate(event: Event) -> bool:
    if event.kind not in (AccessKind.LOAD, AccessKind.STORE) or event.layout is None:
        return False
    if not isinstance(event.offset, AffineInt):
        return False
    return scev_of(event.offset).is_open or is_narrow_load(event)


def is_narrow_load(event: Event) -> bool:
    """Returns whether part of a word is loaded from a swizzled tensor.

    Through a pointer to an element, four halves were one LDS.64, two LDS or four LDS.U16, where
    stores and words become as wide as the alignment lets them (40 kernels, nvcc 13.0, sm_90).
    """
    if event.layout is None or event.layout.swizzle is None:
        return False
    return event.kind is AccessKind.LOAD and event.width < WORD


def _continues(last: Event, event: Event) -> bool:
    """Returns whether an access is of the bytes behind the last one, in every lane."""
    if not _is_candidate(event) or (event.kind, event.width) != (last.kind, last.width):
        return False
    before, here = last.offset, event.offset
    assert isinstance(before, AffineInt)
    assert isinstance(here, AffineInt)
    if event.object is not last.object or not before.is_beside(here):
        return False
    is_behind = np.all(np.asarray(here.base) - before.base == event.width)
    return bool(is_behind) and bool(np.array_equal(last.mask, event.mask))


def _mark(run: Sequence[Event]) -> None:
    if len(run) > 1:
        wide = min(WIDEST_ACCESS, run[0].width << (len(run).bit_length() - 1))
        for event in run:
            event.may_fuse = max(event.may_fuse, wide)
