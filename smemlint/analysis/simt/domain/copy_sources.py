"""What an asynchronous copy reads, as it stands in an event."""

from __future__ import annotations

from smemlint.analysis.simt.domain.unknown_offset import is_lost, why_lost
from smemlint.analysis.simt.domain.values import AffineInt, Object, Unknown, assumed_by
from smemlint.reasons import Assumption, ReasonCode, Topic

BASE_ALIGNMENT = 256
"""Bytes that cudaMalloc aligns to (CUDA C++ Programming Guide, "device memory accesses")."""
UNKNOWN_SOURCE = Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "its tensor points to nothing known")
"""Offset in a tensor of CuTe whose memory is not known."""


def source_of_event(
    obj: Object | None, offset: AffineInt | Unknown, *, form: str, is_partial: bool
) -> dict[str, object]:
    """Returns the fields of an event for the side that a copy reads.

    Args:
        obj: what is read; None where that is not known.
        offset: bytes from its start.
        form: `cg` or `ca`.
        is_partial: the copy has a source size, which may be less than what it writes.
    """
    taken: list[Assumption] = []
    if obj is not None and isinstance(offset, AffineInt):
        if is_lost(offset):
            offset = why_lost(obj)
        else:
            text = f"`{obj.name}` is aligned to {BASE_ALIGNMENT} bytes"
            taken += [*assumed_by(offset), Assumption(Topic.ALIGNMENT, text, obj.name)]
    if is_partial:
        taken.append(Assumption(Topic.NUMBER, "every thread copies in full"))
    return {"operation": f"cp.async.{form}", "source": offset, "source_assumptions": tuple(taken)}
