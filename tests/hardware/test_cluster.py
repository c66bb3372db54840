"""Shared memory through a cluster's window, against counters and times of an H100."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from smemlint.hardware.banks import wavefronts

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures/gpu/cluster.json").read_text())
OFFSETS = np.array(RECORDED["offsets"])


def rows(block: str) -> list[dict[str, Any]]:
    return [row for row in RECORDED["rows"] if row["block"] == block]


def test_a_blocks_own_memory_has_the_banks_that_it_always_has() -> None:
    assert (RECORDED["about"]["ncu"], len(rows("own"))) == ("2025.3.1.0", 6)
    for row in rows("own"):
        kind, width = row["form"].split(".")
        cost = wavefronts(OFFSETS, kind=kind, width=int(width))
        # The compiler swaps loads: they come in no certain order.
        assert sorted(cost.wavefronts) == sorted(row["wavefronts"]), row["form"]
        assert sorted(cost.profiler_ideal) == sorted(row["ideal"]), row["form"]
        if kind != "load":
            assert cost.wavefronts.tolist() == row["wavefronts"], row["form"]


def test_another_blocks_memory_has_none() -> None:
    for row in rows("other"):
        assert set(row["wavefronts"] + row["ideal"]) == {0}, row["form"]
    strides = slice(1, 10)  # 32 words in 4 to 32 wavefronts
    (own, other) = (r["cycles"][strides] for r in RECORDED["rows"] if r["form"] == "store.4")
    assert max(own) > 6 * min(own)
    assert max(other) < 1.02 * min(other)
