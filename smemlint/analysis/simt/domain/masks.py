"""Questions to masks: which threads of a block take part, one bool a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smemlint.analysis.simt.state import Mask


def is_any(mask: NDArray[np.bool_]) -> bool:
    """Whether one entry is set; counting takes a fifth of the time that `any` takes."""
    return bool(np.count_nonzero(mask))


def kept(mask: Mask, now: Mask) -> Mask:
    """`mask` itself where `now` says the same, so that identity tells that nothing changed."""
    return mask if now is mask or now.tobytes() == mask.tobytes() else now
