"""The cost of asynchronous copies against recorded counters and against a brute force."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import async_oracle as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemlint.hardware.async_copies import async_wavefronts

ROOT = Path(__file__).parents[2]
FORMS = [("cg", 16), ("ca", 16), ("ca", 8), ("ca", 4)]
PATTERNS = ROOT.parent / "shared" / "truth" / "cp_async" / "patterns.csv"
ROW = np.arange(32) * 16
FORM_NAMES = ("cg", "ca")


def test_every_recorded_counter() -> None:
    recorded = json.loads((ROOT / "fixtures/gpu/async_copies.json").read_text())
    assert recorded["about"]["ncu"] == "2025.3.1.0"
    counts: Counter[str] = Counter()
    forms: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in recorded["rows"]:
        forms[row["form"]].append(row)
    for name, rows in forms.items():
        form, width, *sized = name.split(".")
        sizes = np.array([row.get("sizes", [int(width)] * 32) for row in rows])
        cost = async_wavefronts(
            [row["shared"] for row in rows],
            [row["global"] for row in rows],
            form=form,
            width=int(width),
            active=sizes >= 0,
            zero_filled=sizes == 0 if sized else None,
        )
        assert cost.wavefronts.tolist() == [row["wavefronts"] for row in rows], name
        assert cost.ideal.tolist() == [row["ideal"] for row in rows], name
        counts[name] = len(rows)
    assert sum(counts.values()) == 1252
    assert min(counts.values()) >= 36
    assert len(counts) == 8


@pytest.mark.skipif(not PATTERNS.exists(), reason="the recorded counters are not here")
def test_every_shared_pattern() -> None:
    rows = list(csv.DictReader(PATTERNS.open()))
    assert len(rows) == 569
    for row in rows:
        _, _, form, width = row["form"].split(".")
        to, source = ([int(row[f"{side}{lane}"]) for lane in range(32)] for side in "sg")
        cost = async_wavefronts([to], [source], form=form, width=int(width))
        assert (cost.wavefronts[0], cost.ideal[0]) == (int(row["wavefronts"]), int(row["ideal"]))


@st.composite
def _sides(draw: st.DrawFn) -> tuple[list[int], list[int], list[bool], list[bool]]:
    """Units over few rows and lines, so that equal and conflicting ones are common."""
    sides = []
    for _ in "sg":
        most = draw(st.sampled_from([7, 15, 40, 200]))
        sides.append(draw(st.lists(st.integers(0, most), min_size=32, max_size=32)))
    flags = st.lists(st.booleans(), min_size=32, max_size=32)
    active = draw(st.one_of(st.just([True] * 32), flags))
    return sides[0], sides[1], active, draw(flags)


@settings(max_examples=300)
@given(_sides(), st.sampled_from(FORMS), st.sampled_from([0, -128, 1 << 40]))
def test_it_agrees_with_brute_force(
    sides: tuple[list[int], list[int], list[bool], list[bool]], kind: tuple[str, int], base: int
) -> None:
    (form, width), (to, source, active, empty) = kind, sides
    to, source = [u * width + base for u in to], [u * width + base for u in source]
    if form == "cg":
        expected = oracle.past_l1(to, source, active)
        cost = async_wavefronts(to, source, form=form, width=width, active=active)
    else:
        expected = oracle.through_l1(to, source, width, active, empty)
        cost = async_wavefronts(
            to, source, form=form, width=width, active=active, zero_filled=empty
        )
    assert (int(cost.wavefronts), int(cost.ideal)) == expected


def test_batches_large_and_small_agree() -> None:
    rng = np.random.default_rng(1)
    to, source = rng.integers(0, 60, (2, 1100, 32)) * 16
    for form, width in FORMS[:2]:
        whole = async_wavefronts(to, source, form=form, width=width)
        for start in (0, 500, 1099):
            part = slice(start, start + 20)
            few = async_wavefronts(to[part], source[part], form=form, width=width)
            assert few.wavefronts.tolist() == whole.wavefronts[part].tolist()


@pytest.mark.parametrize(
    ("shared", "global_", "cg", "ca"),
    [
        (ROW, ROW, 4, 4),
        (ROW ^ (ROW >> 3 & 0x70), ROW, 4, 4),  # a swizzle of chunks inside a row is free
        (ROW // 64 * 80 + ROW % 64, ROW, 15, 8),  # 64-byte rows padded by 16
        (ROW, ROW // 64 * 4096 + ROW % 64, 8, 8),  # 64-byte rows of a matrix
        (ROW, ROW // 32 * 4096 + ROW % 32, 16, 16),
        (ROW, ROW + 64, 8, 4),
        (ROW * 8, ROW, 32, 32),  # a column
        (ROW * 0, ROW, 1, 32),
        (ROW, ROW * 0, 32, 32),
    ],
)
def test_the_cost_hangs_on_both_sides(
    shared: np.ndarray[Any, np.dtype[np.int64]],
    global_: np.ndarray[Any, np.dtype[np.int64]],
    cg: int,
    ca: int,
) -> None:
    spent = [
        int(async_wavefronts(shared, global_, form=f, width=16).wavefronts) for f in FORM_NAMES
    ]
    assert spent == [cg, ca]


def test_a_source_size_counts_a_copy_past_l1_twice() -> None:
    to = ROW // 64 * 80 + ROW % 64
    cost = async_wavefronts(to, ROW, form="cg", width=16, zero_filled=ROW < 0)
    assert (int(cost.wavefronts), int(cost.ideal)) == (15 + 8, 4 + 4)


def test_lanes_past_l1_that_are_filled() -> None:
    recorded = json.loads((ROOT / "fixtures/gpu/zero_filled_copies.json").read_text())
    assert (recorded["about"]["device"], recorded["about"]["ncu"]) == (
        "NVIDIA H100 80GB HBM3", "2025.3.1.0",
    )  # fmt: skip
    to, source, sizes, spent, ideal = (
        np.array([row[name] for row in recorded["rows"]])
        for name in ("shared", "global", "sizes", "wavefronts", "ideal")
    )
    cost = async_wavefronts(to, source, form="cg", width=16, zero_filled=sizes == 0)
    assert len(spent) == 180
    assert (sizes == 0).any(axis=1).sum() >= 150
    assert cost.wavefronts.tolist() == spent.tolist()
    assert cost.ideal.tolist() == ideal.tolist()


def test_lanes_that_are_off_are_never_read() -> None:
    on = ROW != 112
    odd = np.where(on, ROW, (1 << 60) + 5)
    for form in FORM_NAMES:
        cost = async_wavefronts(odd, odd, form=form, width=16, active=on)
        assert (int(cost.wavefronts), int(cost.ideal)) == ((5, 4) if form == "cg" else (4, 4))
    none = async_wavefronts(ROW, ROW, form="cg", width=16, active=ROW < 0)
    assert (int(none.wavefronts), int(none.ideal)) == (0, 0)


@pytest.mark.parametrize(
    ("form", "width", "offset", "message"),
    [
        ("cg", 8, 0, r"no cp\.async\.cg copies 8 bytes"),
        ("ca", 2, 0, r"no cp\.async\.ca copies 2 bytes"),
        ("cs", 16, 0, r"no cp\.async\.cs"),
        ("cg", 16, 8, "not a multiple of 16 bytes"),
    ],
)
def test_what_does_not_exist_is_refused(form: str, width: int, offset: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        async_wavefronts(ROW + offset, ROW, form=form, width=width)
    with pytest.raises(ValueError, match="addresses are"):
        async_wavefronts(ROW[:31], ROW[:31], form="cg", width=16)


def test_the_leading_axes_are_kept() -> None:
    assert async_wavefronts([[ROW] * 3] * 2, ROW, form="ca", width=16).ideal.shape == (2, 3)
    assert async_wavefronts(np.zeros((0, 32), int), ROW, form="cg", width=16).ideal.shape == (0,)


@pytest.mark.parametrize(("form", "width"), [("cg", 16), ("ca", 4), ("ca", 8), ("ca", 16)])
def test_no_source_makes_a_copy_cheaper_than_lines_like_its_rows(form, width):
    """What stands for a source that is not known."""
    draw = np.random.default_rng(20261122)
    to = draw.integers(0, draw.integers(2, 256, (4000, 1)), (4000, 32)) * width
    source = draw.integers(0, draw.integers(2, 256, (4000, 1)), (4000, 32)) * width
    source[::4] = np.arange(32) * width  # contiguous lines
    source[1::4] = to[1::4] ^ 16 * draw.integers(0, 8, (1000, 1))  # swizzled rows
    least = async_wavefronts(to, to, form=form, width=width).wavefronts
    assert (async_wavefronts(to, source, form=form, width=width).wavefronts >= least).all()
