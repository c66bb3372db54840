"""Lanes of wmma fragments against what was read from machine code, and against counters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smemlint.hardware.banks import wavefronts
from smemlint.layout.wmma import Fragment, parts_of

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures/gpu/wmma.json").read_text())
BYTES = {"f16": 2, "bf16": 2, "i8": 1, "tf32": 4, "f64": 8, "f32": 4, "i32": 4}


def _read(op: str) -> tuple[int, int]:
    """Width and matrices of an opcode."""
    if op.startswith("LDSM"):
        return 16, int(op[-1]) if op[-2] == "." else 1
    bits = re.search(r"\.(64|128)$", op)
    return (int(bits[1]) // 8 if bits else 1 if op.endswith("U8") else 4), 0


def _fragments() -> list[Any]:
    names = ("use", "is_store", "element", "layout")
    return [
        pytest.param(f, id=" ".join(map(str, (*(f[n] for n in names), f["shape"]))))
        for f in RECORDED["fragments"]
    ]


@pytest.mark.parametrize("recorded", _fragments())
def test_the_lanes_are_those_of_the_machine_code(recorded: dict[str, Any]) -> None:
    m, n, k = recorded["shape"]
    parts = parts_of(Fragment(recorded["use"], (m, n, k), recorded["element"], recorded["layout"]))
    expected = []
    for one in recorded["instructions"]:
        width, matrices = _read(one["op"])
        lanes = 8 * matrices or 32
        places = sorted(zip(one["lines"][:lanes], one["places"][:lanes], strict=True))
        expected.append((width, matrices, places))
    found = [
        (p.width, p.matrices, sorted(zip(p.lines.tolist(), p.places.tolist(), strict=True)))
        for p in parts
    ]
    found = [(w, x, sorted(set(places)) if x else places) for w, x, places in found]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("recorded", _fragments())
def test_the_counters_are_those_of_the_bank_model(recorded: dict[str, Any]) -> None:
    m, n, k = recorded["shape"]
    fragment = Fragment(recorded["use"], (m, n, k), recorded["element"], recorded["layout"])
    for index, pitch in enumerate(RECORDED["pitches"]):
        costs = []
        for part in parts_of(fragment):
            kind = "ldmatrix" if part.matrices else "store" if recorded["is_store"] else "load"
            cost = wavefronts(
                (part.lines * pitch + part.places) * BYTES[fragment.element],
                kind=kind,
                width=part.width,
                matrices=part.matrices or 4,
            )
            costs.append((int(cost.wavefronts), int(cost.profiler_ideal)))
        counted = [(i["wavefronts"][index], i["ideal"][index]) for i in recorded["instructions"]]
        assert sorted(costs) == sorted(counted)


def test_what_was_not_read_has_no_parts() -> None:
    for use, shape, element, layout in (
        ("matrix_a", (16, 16, 16), "tf32", "row_major"),
        ("matrix_a", (8, 8, 32), "i4", "col_major"),
        ("accumulator", (16, 16, 16), "bf16", "row_major"),
        ("matrix_a", (16, 16, 16), "f16", ""),
    ):
        assert parts_of(Fragment(use, shape, element, layout)) == []


def test_a_fragment_covers_its_tile_once() -> None:
    for f in RECORDED["fragments"]:
        m, n, k = f["shape"]
        covered = np.zeros((32, 32), int)
        for part in parts_of(Fragment(f["use"], (m, n, k), f["element"], f["layout"])):
            lanes = 8 * part.matrices or 32
            for line, place in zip(part.lines[:lanes], part.places[:lanes], strict=True):
                covered[line, place : place + part.width // BYTES[f["element"]]] += 1
        sizes = {"matrix_a": m * k, "matrix_b": k * n, "accumulator": m * n}
        assert covered.max() == 1
        assert covered.sum() == sizes[f["use"]]
