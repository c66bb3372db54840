"""The layout algebra against what CUTLASS's compiled headers answered (tests/oracle)."""

from __future__ import annotations

import json
import re
import sys
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from smemlint.layout import cute
from smemlint.layout.cute import ComposedLayout, Layout
from smemlint.layout.swizzle import Swizzle

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "fixtures" / "cute" / "cute.json").read_text())
PYCUTE = ROOT.parent / "corpus" / "cutlass" / "python"


def layout(text: str) -> Layout:
    """`(2,(3)):(1,(2))`; a tuple of one needs a comma in Python."""
    shape, stride = (
        literal_eval(re.sub(r"(\d|\))(?=\))", r"\1,", part)) for part in text.split(":")
    )
    return Layout(shape, stride)


def fingerprint(result: Layout | ComposedLayout) -> str:
    total = 0
    for offset in result.offsets().tolist():
        total = (total * 1000003 + offset) % 2**64
    return f"{result.size} {result.cosize} {total}"


def swizzle_answer(one: Swizzle) -> str:
    return f"{one.bits} {one.base} {one.shift}"


def answer(operation: str, arguments: list[Any]) -> str:
    match operation.split("."), arguments:
        case ["swizzle", cast], [one, factor]:
            return swizzle_answer(getattr(Swizzle(*one), cast)(factor))
        case ["composed"], [one, offset, text]:
            return fingerprint(ComposedLayout(Swizzle(*one), layout(text), offset))
        case ["tile_to_shape"], [text, shape, order]:
            return fingerprint(cute.tile_to_shape(layout(text), tuple(shape), tuple(order)))
    parsed = [layout(a) if isinstance(a, str) else a for a in arguments]
    return fingerprint(getattr(cute, operation)(*parsed))


def test_every_recorded_case() -> None:
    differences = []
    decided: dict[str, int] = {}
    for operation, arguments, recorded in RECORD["cases"]:
        expected = None if recorded is None else " ".join(recorded.split()[:3])
        try:
            mine = answer(operation, arguments)
        except ValueError:
            mine = None
        if mine != expected:
            differences.append((operation, arguments, recorded, mine))
        decided[operation] = decided.get(operation, 0) + 1
    assert differences == []
    assert sum(decided.values()) == 2167
    assert min(decided["composition"], decided["composed"], decided["swizzle.upcast"]) >= 240


def test_every_triple_is_accepted_as_cute_accepts_it() -> None:
    wrong, accepted = [], 0
    for b in range(-1, 9):
        for m in range(-1, 32):
            for s in range(-8, 9):
                expected = RECORD["triples"][f"{b},{m}"][s + 8] == "1"
                accepted += expected
                if (Swizzle.why_invalid(b, m, s) is None) != expected:
                    wrong.append((b, m, s))
    assert wrong == []
    assert (sum(map(len, RECORD["triples"].values())), accepted) == (5610, 2200)


@pytest.mark.skipif(not PYCUTE.exists(), reason="CUTLASS is not fetched")
def test_pycute_agrees() -> None:
    sys.path.insert(0, str(PYCUTE))
    try:
        import pycute
    finally:
        sys.path.remove(str(PYCUTE))
    compared = 0
    for operation, arguments, recorded in RECORD["cases"]:
        if operation not in ("composition", "coalesce", "logical_divide", "logical_product"):
            continue
        mine = [layout(a) for a in arguments]
        if recorded is None or any(d == 0 for one in mine for _, d in one.flat_modes()):
            continue
        if mine[0].flat_modes()[-1][0] == 1:  # pycute drops this mode, the headers extend it
            continue
        try:
            theirs = getattr(pycute, operation)(*(pycute.Layout(o.shape, o.stride) for o in mine))
        except AssertionError:  # stricter than the headers
            continue
        if theirs.size() != int(recorded.split()[0]):  # rounds otherwise than the headers
            continue
        ours = getattr(cute, operation)(*mine)
        assert [theirs(i) for i in range(theirs.size())] == ours.offsets().tolist()
        compared += 1
    assert compared >= 500
    for b, m, s in ((3, 4, 3), (2, 0, 5), (1, 2, -4)):
        one = pycute.Swizzle(b, m, s)
        assert all(one(x) == Swizzle(b, m, s)(x) for x in range(4096))
