"""Triton's shared layouts against what triton itself answered (tests/oracle/record_triton.py)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smemlint.layout.triton import NVMMAShared, SwizzledShared

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORD = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "triton" / "layouts.json").read_text()
)


def coordinates(bases: list[list[int]]) -> NDArray[np.int64]:
    """The coordinate of every element offset, of shape (offsets, 2)."""
    found = np.zeros((1, 2), dtype=np.int64)
    for base in bases:
        found = np.concatenate([found, found ^ np.array(base)])
    return found


def test_every_recorded_layout() -> None:
    compared: Counter[str] = Counter()
    wrong = []
    for name, arguments, shape, bases in RECORD["layouts"]:
        if name == "swizzled":
            vec, per_phase, phases, order = arguments
            one: SwizzledShared | NVMMAShared = SwizzledShared(
                vec, per_phase, phases, (order[0], order[1])
            )
        else:
            one = NVMMAShared(*arguments)
        places = coordinates(bases)
        offsets = one.offset((places[:, 0], places[:, 1]), tuple(shape))
        if not np.array_equal(offsets, np.arange(len(places))):
            wrong.append((name, arguments, shape))
        compared[name] += 1
    assert wrong == []
    assert compared == {"swizzled": 1848, "nvmma": 106}
