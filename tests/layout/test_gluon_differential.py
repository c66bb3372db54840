"""Loads and stores of Gluon's shared memory against the addresses of the PTX that triton emitted.

fixtures/triton/accesses.json is what tests/oracle/record_gluon.py saw: random register layouts,
shared layouts, views and element sizes on sm_90.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smemlint.hardware.banks import wavefronts
from smemlint.layout.tensor_access import Instructions, Lowering, lowered

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "oracle"))

from gluon_layouts import register_layout, shared_view, viewed  # noqa: E402

RECORD = json.loads((ROOT / "fixtures" / "triton" / "accesses.json").read_text())


def ours(entry: list[Any]) -> Lowering:
    kind, steps, shared, registers, shape, whole, bits, _, _ = entry
    view = shared_view(shared, tuple(whole), bits)
    if steps and steps[0][0] == "index":
        view = view.stacked([4])
    spread = register_layout(registers, tuple(shape)).on(shape)
    return lowered(spread, viewed(view, steps), is_store=kind == "store", arch="sm_90")


def digests(found: tuple[Instructions, ...]) -> dict[str, list[Any]]:
    counts = {}
    for one in found:
        lanes = 8 * one.matrices or 32
        rows = [np.ascontiguousarray(a[:, :lanes]).tobytes() for a in one.addresses]
        digest = hashlib.sha256(b"".join(sorted(rows))).hexdigest()[:16]
        counts[f"{one.kind} {one.width} {one.matrices}"] = [len(rows), digest]
    return counts


@pytest.fixture(scope="module")
def lowerings() -> list[tuple[list[Any], Lowering]]:
    return [(entry, ours(entry)) for entry in RECORD["accesses"]]


def test_every_decided_access_has_exactly_the_addresses_of_the_ptx(lowerings):
    counts: Counter[str] = Counter()
    wrong = []
    for entry, lowering in lowerings:
        if lowering.doubt:
            counts["in doubt"] += 1
            continue
        counts["decided"] += 1
        counts[lowering.instructions[0].kind] += 1
        if digests(lowering.instructions) != entry[-1]:
            wrong.append(entry)
    assert wrong == []
    assert RECORD["triton"] == "3.9.0"
    assert counts == {
        "decided": 1645, "in doubt": 93, "store": 789, "load": 779, "ldmatrix": 39, "stmatrix": 38,
    }  # fmt: skip


def excess(lowering: Lowering) -> int:
    """Wavefronts beyond one of the worst pass, as Triton's counter gives them."""
    worst = 0
    for one in lowering.instructions:
        cost = wavefronts(one.addresses, kind=one.kind, width=one.width, matrices=one.matrices or 4)
        passes = one.matrices or max(32 * one.width // 128, 1)
        worst = max(worst, -(-int(cost.wavefronts.max()) // passes) - 1)
    return worst


def test_tritons_own_counter_beside_ours(lowerings):
    """It counts too little where the swizzle lands inside a word, too much where vectors merge."""
    verdicts: Counter[str] = Counter()
    for entry, lowering in lowerings:
        count = entry[-2]
        if lowering.doubt or lowering.instructions[0].kind not in ("load", "store"):
            continue
        if count is None:
            verdicts["refuses"] += 1
            continue
        mine = excess(lowering)
        verdicts["too few" if count < mine else "too many" if count > mine else "equal"] += 1
    assert verdicts == {"equal": 872, "too few": 20, "too many": 7, "refuses": 669}
