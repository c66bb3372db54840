"""The bank model against a brute force, a committed table and recorded hardware counters."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import bank_formulas as formulas
import bank_oracle as oracle
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smemlint.hardware.atomics import LOOPS
from smemlint.hardware.banks import bank_words, wavefronts

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "fixtures" / "banks" / "patterns.csv"
RECORDED = ROOT.parent / "shared" / "truth" / "bank_patterns.csv"
COMBINATIONS = [
    *((kind, width) for kind in ("load", "store") for width in (1, 2, 4, 8, 16)),
    ("ldmatrix", 16),
    ("stmatrix", 16),
    ("atomic", 4),
]


def test_the_committed_table_of_patterns() -> None:
    rows = list(csv.DictReader(TABLE.open()))
    known = {
        (r["kind"], int(r["width"]), r["shape"], int(r["parameter"]), int(r["mask"], 16)): (
            int(r["wavefronts"]),
            int(r["ideal"]),
        )
        for r in rows
    }
    assert len(known) == len(rows) >= 150
    for p in formulas.patterns():
        expected = known[p.kind, p.width, p.shape, p.parameter, p.mask]
        assert oracle.cost(p.addresses, p.kind, p.width, p.active) == expected, p
        cost = wavefronts(p.addresses, kind=p.kind, width=p.width, active=p.active)
        assert (int(cost.wavefronts), int(cost.ideal)) == expected, p


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded counters are not here")
def test_every_recorded_hardware_counter() -> None:
    groups = defaultdict(list)
    for row in csv.DictReader(RECORDED.open()):
        groups[row["kind"], int(row["width_bytes"])].append(row)
    assert sum(map(len, groups.values())) == 1941
    for (name, width), rows in groups.items():
        kind, *rest = name.split(".")
        cost = wavefronts(
            [[int(r[f"lane{lane}"]) for lane in range(32)] for r in rows],
            kind="atomic" if kind == "red" else kind,
            width=width,
            active=[[int(r["active_mask_hex"], 16) >> i & 1 for i in range(32)] for r in rows],
            matrices=int(rest[0][1]) if kind.endswith("matrix") else 4,
        )
        assert cost.wavefronts.tolist() == [int(r["wavefronts"]) for r in rows], name


@st.composite
def _warps(draw: st.DrawFn) -> tuple[list[int], list[bool]]:
    """Lanes over few words, so that conflicts, shared words and pairs are common."""
    unit = draw(st.sampled_from([1, 4, 8, 16, 128]))
    lanes = draw(st.lists(st.integers(0, 40), min_size=32, max_size=32))
    pair = draw(st.sampled_from([0, 0, 1, 2, 3]))
    active = draw(
        st.one_of(st.just([True] * 32), st.lists(st.booleans(), min_size=32, max_size=32))
    )
    base = draw(st.sampled_from([0, 1, -40, 1 << 33]))
    return [(lanes[lane & ~pair] * unit + base) for lane in range(32)], active


@settings(max_examples=300)
@example(([8] + [0] * 31, [lane in (0, 3, 15) for lane in range(32)]), ("load", 16), 1)
@given(_warps(), st.sampled_from(COMBINATIONS), st.sampled_from([1, 2, 4]))
def test_it_agrees_with_brute_force(
    warp: tuple[list[int], list[bool]], combination: tuple[str, int], matrices: int
) -> None:
    (units, active), (kind, width) = warp, combination
    matrices = 4 if kind == "stmatrix" else matrices
    addresses = [unit * width for unit in units]
    cost = wavefronts(addresses, kind=kind, width=width, active=active, matrices=matrices)
    expected = oracle.cost(addresses, kind, width, active, matrices)
    assert (int(cost.wavefronts), int(cost.ideal)) == expected


@pytest.mark.parametrize(("kind", "width"), COMBINATIONS)
def test_batches_large_and_small_agree(kind: str, width: int) -> None:
    rng = np.random.default_rng(width)
    units = rng.integers(0, 200, (5000, 32))
    units[::3, 1::2] = units[::3, ::2]
    active = rng.random((5000, 32)) < 0.7
    whole = wavefronts(units * width, kind=kind, width=width, active=active)
    for start in (0, 4090, 4999):
        few = slice(start, start + 20)
        part = wavefronts(units[few] * width, kind=kind, width=width, active=active[few])
        assert part.wavefronts.tolist() == whole.wavefronts[few].tolist()
        assert part.ideal.tolist() == whole.ideal[few].tolist()
        for row in range(start, min(start + 20, 5000)):
            expected = oracle.cost((units[row] * width).tolist(), kind, width, active[row].tolist())
            assert (whole.wavefronts[row], whole.ideal[row]) == expected


def test_the_leading_axes_are_kept() -> None:
    addresses = np.broadcast_to(np.arange(32) * 128, (2, 3, 32))
    cost = wavefronts(addresses, kind="load", width=4)
    assert cost.wavefronts.shape == cost.ideal.shape == (2, 3)
    assert (cost.wavefronts == 32).all()
    assert wavefronts(np.zeros((0, 32), dtype=int), kind="load", width=16).ideal.shape == (0,)


def test_what_inactive_lanes_hold_is_never_read() -> None:
    addresses = np.arange(32) * 4
    addresses[7], addresses[9] = 1 << 60, -(1 << 60) + 3
    active = np.ones(32, dtype=bool)
    active[[7, 9]] = False
    cost = wavefronts(addresses, kind="load", width=4, active=active)
    assert (int(cost.wavefronts), int(cost.ideal)) == (1, 1)


def test_far_addresses_do_not_fold_together() -> None:
    addresses = np.arange(32) * (1 << 40)
    assert int(wavefronts(addresses, kind="load", width=4).wavefronts) == 32
    assert int(wavefronts(addresses, kind="load", width=16).wavefronts) == 32


def test_increments_of_one_share_a_word_for_free() -> None:
    same = np.zeros(32, dtype=int)
    assert int(wavefronts(same, kind="atomic", width=4).wavefronts) == 32
    one = wavefronts(same, kind="atomic", width=4, operation="add.u32.one.red")
    assert int(one.wavefronts) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "load", "width": 8, "offset": 4}, "not a multiple of 8 bytes"),
        ({"kind": "load", "width": 3}, "load of 3 bytes"),
        ({"kind": "load", "width": 32}, "load of 32 bytes"),
        ({"kind": "async_copy", "width": 16}, "unknown kind 'async_copy'"),
        ({"kind": "ldmatrix", "width": 8}, "ldmatrix of 8 bytes"),
        ({"kind": "ldmatrix", "width": 16, "matrices": 3}, r"ldmatrix\.x3 was not measured"),
        ({"kind": "atomic", "width": 8}, "atomic of 8 bytes"),
        ({"kind": "atomic", "width": 4, "operation": "frobnicate.u32"}, "`frobnicate.u32`"),
        ({"kind": "stmatrix", "width": 16, "arch": "sm_80"}, "sm_80 has no stmatrix"),
        ({"kind": "load", "width": 4, "arch": "sm_99"}, "unknown architecture 'sm_99'"),
    ],
)
def test_what_nobody_measured_is_refused(arguments: dict[str, object], message: str) -> None:
    lanes = np.arange(32) * 128 + int(str(arguments.pop("offset", 0)))
    with pytest.raises(ValueError, match=message):
        wavefronts(lanes, **arguments)  # type: ignore[arg-type]


def test_shapes_and_types_are_checked() -> None:
    for bad in ([0] * 31, [0.0] * 32, 5):
        with pytest.raises(ValueError, match="addresses are"):
            wavefronts(bad, kind="load", width=4)


def test_the_measured_rules_hold_on_every_architecture() -> None:
    for arch in ("sm_70", "sm_80", "sm_90a", "sm_120"):
        cost = wavefronts(np.arange(32) * 8, kind="load", width=4, arch=arch)
        assert (int(cost.wavefronts), cost.assumed) == (2, "")
        cost = wavefronts(np.arange(32) * 32, kind="store", width=16, arch=arch)
        assert (int(cost.wavefronts), bool(cost.assumed)) == (8, arch != "sm_90a")
    lanes = np.zeros(32, int)
    with pytest.raises(ValueError, match="not measured on sm_80"):
        wavefronts(lanes, kind="atomic", width=4, operation="add.f32", arch="sm_80")


def test_the_bank_strip_counts_distinct_words() -> None:
    words = bank_words(np.arange(32) * 8, 4)
    assert words.tolist() == [2, 0] * 16
    active = np.arange(32) < 2
    assert bank_words(np.array([0, 16] + [4] * 30), 16, active).tolist() == [1] * 8 + [0] * 24
    assert bank_words(np.zeros(32, dtype=int), 4).tolist() == [1] + [0] * 31


def test_every_recorded_turn_of_a_loop_around_compare_and_swap() -> None:
    recorded = json.loads((ROOT / "fixtures/gpu/atomics.json").read_text())
    refused: dict[str, set[str]] = {}
    for row in recorded["rows"]:
        name = row["form"].partition("_")[2].replace("_", ".")
        if name not in LOOPS:
            continue
        lanes = np.array(recorded["patterns"][row["pattern"]])
        width = LOOPS[name]
        asked = {"kind": "atomic", "width": width, "operation": name, "active": lanes >= 0}
        (turns,) = (v for op, v in row["ops"].items() if op.startswith("ATOMS"))
        try:
            cost = wavefronts(np.where(lanes < 0, 0, lanes) * width, **asked)
        except ValueError:
            refused.setdefault(name, set()).add(row["pattern"])
            continue
        spent, ideal = int(cost.wavefronts), int(cost.profiler_ideal)
        assert spent * turns["ideal"] == ideal * turns["wavefronts"], (name, row["pattern"])
        if turns["inst"] == 1:
            assert (spent, ideal) == (turns["wavefronts"], turns["ideal"])
    taken = set(recorded["patterns"]) - refused["add.f32"]
    assert {"distinct", "one word", "pairs", "quads", "first lane"} <= taken
    assert refused["add.f64"] == refused["add.u64"]
    taken = set(recorded["patterns"]) - refused["add.f64"]
    assert {"distinct", "one word", "first lane", "eight lanes, one word"} <= taken
    assert {"pairs", "stride2", "two words, one bank"} <= refused["add.f64"]


def test_lanes_that_pair_up_as_the_launch_and_as_the_lines_count_them() -> None:
    """The hardware merges pairs always, the counter of lines only without a conflict."""
    rows = json.loads((ROOT / "fixtures/gpu/paired_lanes.json").read_text())["rows"]
    for width in (8, 16):
        chosen = [row for row in rows if row[0] == width]
        offsets, launch, line, ideal = (np.array([row[k] for row in chosen]) for k in (1, 2, 3, 4))
        cost = wavefronts(offsets, kind="load", width=width)
        assert len(chosen) == 120
        assert (cost.wavefronts == launch).all()
        assert (cost.profiler_ideal == -(-launch * ideal // line)).all()
