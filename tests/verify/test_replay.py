"""Forms, patterns and verdicts, compared with what an H200 did (fixtures/gpu/replay.json)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from recorded import engine_of, readings, recorded_engine, recording

from smemlint.finding import Verdict
from smemlint.verify.device import GpuError, Reading, engine_process, measure, reading_of
from smemlint.verify.plan import ALL, Pattern, normal, yardsticks
from smemlint.verify.replay_kernels import COMPANION, UNROLLED, Form, forms, source
from smemlint.verify.verdict import judged, predicted
from tests.gpu.record_replay import (
    FIXTURE,
    accesses_of,
    counted_patterns,
    predicated_patterns,
    random_patterns,
)

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT.parent / "shared/truth/bank_patterns.csv"
COLUMN = tuple(128 * lane for lane in range(32))
ROW = tuple(4 * lane for lane in range(32))


def verdicts(figures: dict[Pattern, int]) -> Counter[str]:
    measured = measure(figures, 0, recorded_engine)
    return Counter(str(judged(w, p, measured).verdict) for p, w in figures.items())


def test_the_recording_names_what_it_was_made_with():
    about = recording()["about"]
    assert (about["device"], about["arch"]) == ("NVIDIA H200", "sm_90")
    assert all(about[key] for key in ("driver", "cuda_driver", "nvrtc", "cupy", "smemlint"))


def test_ten_thousand_random_patterns_take_what_the_model_says():
    patterns = list(random_patterns(10_000, recording()["random"]["seed"]))
    assert len(set(patterns)) == 10_000
    drawn = Counter(replace(p.form, is_accompanied=False).name for p in patterns)
    assert (len(drawn), min(drawn.values()), max(drawn.values())) == (28, 357, 358)
    found = verdicts({p: predicted(p) for p in patterns})
    assert found == {"confirmed": 10_000}
    accompanied = Counter(p.form.name for p in patterns if p.form.is_accompanied)
    assert accompanied == {
        "load_8_accompanied": 38, "load_16_accompanied": 58,
        "store_8_accompanied": 26, "store_16_accompanied": 44,
    }  # fmt: skip


@pytest.mark.skipif(not TABLE.exists(), reason="../shared/truth is not at hand")
def test_the_profilers_integers_are_what_time_gives():
    rows = list(counted_patterns(TABLE))
    assert len(rows) == 1941
    measured = measure(dict(rows), 0, recorded_engine)
    found = Counter(str(judged(w, p, measured).verdict) for p, w in rows)
    assert found == {"confirmed": 1941}


def test_with_some_lanes_off_time_agrees_with_the_counter_or_says_why_not():
    figures = dict(predicated_patterns(FIXTURE.with_name("predicates.json")))
    assert verdicts(figures) == {"confirmed": 46, "not-replayable": 2}
    doubtful = {p: w for p, w in figures.items() if p.pairs_in_doubt}
    assert sorted((w, round(readings()[p.digest][0])) for p, w in doubtful.items()) == [
        (2, 2), (2, 2), (4, 3), (4, 4), (6, 6), (7, 6),
    ]  # fmt: skip


@pytest.mark.slow
def test_every_access_of_the_fixture_kernels_takes_what_the_model_says():
    figures = dict(accesses_of([ROOT / "fixtures/kernels"]))
    recorded = {p: w for p, w in figures.items() if p.digest in readings()}
    assert len(recorded) >= 1200
    found = verdicts(recorded)
    assert found[Verdict.REFUTED] == 0
    assert found[Verdict.NOT_REPLAYABLE] <= 1


def test_cycles_are_wavefronts_to_within_three_per_cent_of_a_wavefront_or_one_of_the_figure():
    for pattern in random_patterns(10_000, recording()["random"]["seed"]):
        figure, cycles = predicted(pattern), readings()[pattern.digest][0]
        assert abs(cycles - figure) <= max(0.03, 0.01 * figure), pattern


def test_yardsticks_follow_from_the_banks_alone():
    known = {f.name: [k.wavefronts for k in yardsticks(f)] for f in forms().values()}
    assert len(known) == 59
    assert known["load_1"] == known["load_4"] == known["store_2"] == [1, 32]
    assert known["load_8"] == [2, 32] and known["store_16"] == [4, 32]
    assert known["load_8_accompanied"] == [1, 16] and known["store_16_accompanied"] == [1, 8]
    assert known["ldmatrix_x1"] == [1, 8] and known["stmatrix_x4_trans"] == [4, 32]
    assert known["atomic_cas_b32"] == [2, 64] and known["atomic_add_u32"] == [1, 32]
    for form in forms().values():
        assert [predicted(k.pattern) for k in yardsticks(form)] == known[form.name]


def test_patterns_move_to_the_start_by_whole_rows():
    found = normal(Form("load", 4), [1284 + a for a in ROW], 0xFFFF, "sm_90")
    assert isinstance(found, Pattern)
    assert found.offsets[:16] == tuple(4 + a for a in ROW[:16])
    assert set(found.offsets[16:]) == {4}
    wide = [0, 240_000, *[0] * 30]
    assert normal(Form("load", 4), wide, ALL, "sm_90") == (
        "it spans 240004 bytes: a block has 232448"
    )
    assert normal(Form("load", 8), ROW, ALL, "sm_90") == (
        "misaligned: an address is not a multiple of 8 bytes"
    )
    assert normal(Form("load", 4), ROW, 0, "sm_90") == "no lane is active"


def test_a_reading_is_the_median_of_all_rounds_but_the_first():
    accesses = 48 * 16 * 16
    timed = [[0, 10**9], *([100, 100 + accesses * c] for c in (4, 2, 3))]
    assert reading_of(timed) == Reading(3.0, 2.0, 4.0)
    assert Reading(3.0, 2.9, 3.1).cycles_agreed == 3
    assert Reading(3.0, 2.4, 3.1).cycles_agreed is None


def test_equal_integers_confirm_and_others_refute():
    pattern = Pattern(Form("load", 4), COLUMN)
    measured = measure([pattern], 0, recorded_engine)
    good, bad = judged(32, pattern, measured), judged(16, pattern, measured)
    assert (good.verdict, round(good.measured or 0, 1)) == (Verdict.CONFIRMED, 32.0)
    assert (bad.verdict, bad.device) == (Verdict.REFUTED, "NVIDIA H200, sm_90")


def test_what_repetitions_do_not_agree_on_is_not_told():
    pattern = Pattern(Form("load", 4), ROW)
    engine = engine_of(lambda p: (32.0,) * 3 if p.offsets[1] == 128 else (1.0, 1.0, 1.6))
    found = judged(1, pattern, measure([pattern], 0, engine))
    assert found.verdict is Verdict.NOT_REPLAYABLE
    assert found.reason == "its repetitions lie between 1.00 and 1.60 cycles"


def test_a_form_whose_yardsticks_are_off_is_not_told():
    pattern = Pattern(Form("load", 4), ROW)
    found = judged(1, pattern, measure([pattern], 0, engine_of(lambda p: (2.0,) * 3)))
    assert found.verdict is Verdict.NOT_REPLAYABLE
    assert found.reason == "calibration failed: a pattern of 1 wavefronts took 2.00 cycles"


def test_a_pattern_with_an_idle_part_is_accompanied():
    def form_of(form: Form, mask: int) -> Form:
        found = normal(form, [16 * lane for lane in range(32)], mask, "sm_90")
        assert isinstance(found, Pattern)
        return found.form

    wide, pair = Form("store", 16), Form("load", 8)
    assert not form_of(wide, ALL).is_accompanied
    assert not form_of(wide, 0x01010101).is_accompanied
    assert form_of(wide, 0x00FFFFFF).is_accompanied
    assert not form_of(pair, 0x0001FFFF).is_accompanied
    assert form_of(pair, 0x0000FFFF).is_accompanied
    assert not form_of(Form("load", 4), 1).is_accompanied


def test_the_companions_wavefronts_are_not_the_patterns():
    half = normal(Form("store", 16), [16 * lane for lane in range(32)], 0xFFFF, "sm_90")
    assert isinstance(half, Pattern)
    timed = [[0, 10**9], [100, 100 + 48 * 16 * 16 * (2 + COMPANION)]]
    assert reading_of(timed, COMPANION) == Reading(2.0, 2.0, 2.0)
    known = {k.pattern: float(k.wavefronts) for k in yardsticks(half.form)}
    measured = measure([half], 0, engine_of(lambda p: (known.get(p, 2.0),) * 3))
    assert judged(2, half, measured).verdict is Verdict.CONFIRMED
    assert judged(4, half, measured).verdict is Verdict.REFUTED


TOOLS = [shutil.which(name) for name in ("nvcc", "cuobjdump", "nvdisasm")]


def opcode_of(form):
    """The SASS opcode that a form compiles to on sm_90, `UNROLLED` times."""
    if form.kind == "atomic":
        name, kind, *rest = form.operation.split(".")
        sign = ".S32" if kind == "s32" and name in ("min", "max") else ""
        return "ATOMS.POPC.INC.32" if "one" in rest else f"ATOMS.{name.upper()}{sign}"
    if form.matrices:
        stem = "LDSM.16.M" if form.kind == "ldmatrix" else "STSM.16.M"
        shape = "T88" if form.is_transposed else "88"
        return stem + shape + (f".{form.matrices}" if form.matrices > 1 else "")
    widths = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
    return ("LDS" if form.kind == "load" else "STS") + widths[form.width]


@pytest.mark.skipif(not all(TOOLS), reason="nvcc and cuobjdump are not at hand")
def test_the_loop_holds_each_instruction_as_often_as_is_counted(tmp_path):
    (tmp_path / "replay.cu").write_text(source(forms().values()))
    for command in (
        ["nvcc", "-arch=sm_90", "-cubin", "-o", "replay.cubin", "replay.cu"],
        ["sh", "-c", "cuobjdump -sass replay.cubin > sass.txt"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, timeout=100)
    counts: dict[str, Counter[str]] = {}
    for line in (tmp_path / "sass.txt").read_text().splitlines():
        if kernel := re.match(r"\s+Function : (\S+)", line):
            counts[kernel[1]] = Counter()
        elif op := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+ )?([\w.]+)", line):
            counts[list(counts)[-1]][op[1]] += 1
    found = {name: counts[name][opcode_of(form)] for name, form in forms().items()}
    assert found == dict.fromkeys(forms(), UNROLLED)


def test_on_a_gpu_the_yardsticks_take_what_they_must():
    patterns = {k.pattern: k.wavefronts for f in forms().values() for k in yardsticks(f)}
    try:
        measured = measure(patterns, 0, engine_process(60))
    except GpuError as error:
        pytest.skip(f"no GPU: {error.message}")
    if measured.about["arch"] == "sm_90":
        assert measured.doubts == {}
        wholes = {p: measured.readings[p].cycles_agreed for p in patterns}
        assert wholes == patterns
