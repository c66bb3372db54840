"""The analysis of fixtures/kernels against the counters of an H200, source line by source line.

Rows meet as in the scoring of real programs: on file, line, kernel, direction and block. The
figure of a line is its excess, wavefronts / ideal, both summed over the line's instructions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.report.analysis_json import access_record
from smemlint.sources.source import Source

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
DIRECTION = {
    **dict.fromkeys(("LDS", "LDSM", "load", "ldmatrix"), "load"),
    **dict.fromkeys(("STS", "STSM", "ATOMS", "store", "stmatrix", "atomic"), "store"),
}
TOLERANCE, CONFLICT = 0.05, 1.05

NOT_FULL = "a run-time loop stays rolled: LLVM moves its pointer, which costs alignment"
KNOWN_GAPS = {
    ("eliminated.cu", 54): "the load is hoisted in front of the loop, to the line of the `for`",
    ("inline_ptx.cu", 42): "only the low half of the 64-bit result is used: a 32-bit load is left",
    ("loops.cu", 103): "four iterations of a run-time loop fuse in pairs; no loop is unrolled here",
    ("merged_loads.cu", 124): "which of two words a pointer of a loop points to is open",
    ("tiled_gemm.cu", 73): NOT_FULL,
    ("uniform_atomics.cu", 13): "under `tid % 3 == 0` ptxas leaves every lane its own atomic",
}
"""Lines whose figure differs from the counters', and why. Remove an entry when it is learnt."""


def excess(rows):
    """Key -> wavefronts / ideal of (key, wavefronts, ideal) rows that are summed."""
    sums = defaultdict(lambda: [0.0, 0.0])
    for key, spent, ideal in rows:
        sums[key][0] += spent
        sums[key][1] += ideal
    return {key: spent / ideal for key, (spent, ideal) in sums.items()}


def recorded_rows():
    for row in json.loads((FIXTURES / "gpu/kernels.json").read_text()):
        direction = DIRECTION.get(row["op"].split(".")[0])
        if direction is None or not row["inst"] or not row["ideal"]:
            continue
        kernel = row["kernel"].split("(")[0].split("<")[0].split()[-1]
        key = row["file"], row["line"], kernel, direction, tuple(row["block"])
        yield key, row["wavefronts"], row["ideal"]


def predicted_rows():
    paths = sorted((FIXTURES / "kernels").glob("*.cu"))
    facts, crashed = analyze([Source(p.as_posix()) for p in paths], Settings())
    assert not crashed, facts.not_analysed
    for kernel in facts.kernels:
        for access in kernel.accesses:
            direction = DIRECTION.get(str(access.kind))
            has_figure = access.certainty.is_decided and access.wavefronts and access.ideal
            if direction is None or not has_figure:
                continue
            place, issued = access_record(access), access.instructions or 1
            name, block = access.instance.kernel, access.instance.block
            key = Path(place["file"]).name, place["line"], name, direction, block
            yield key, issued * access.wavefronts.mean, issued * access.ideal.mean


@pytest.fixture(scope="module")
def recorded():
    return excess(recorded_rows())


@pytest.fixture(scope="module")
def predicted():
    return excess(predicted_rows())


def is_exact(got, real):
    return got is not None and abs(got - real) <= TOLERANCE * real


def test_there_are_at_least_40_kernels_and_450_lines(recorded):
    assert len({(key[0], key[2]) for key in recorded}) >= 40
    assert len(recorded) >= 450


def test_every_line_but_the_known_gaps_has_the_measured_figure(recorded, predicted):
    off = {
        key: (real, predicted.get(key))
        for key, real in recorded.items()
        if not is_exact(predicted.get(key), real) and key[:2] not in KNOWN_GAPS
    }
    assert not off, f"(measured, predicted): {off}"


def test_nothing_free_of_conflicts_is_predicted_to_conflict(recorded, predicted):
    alarms = [
        key
        for key, real in recorded.items()
        if real <= CONFLICT < predicted.get(key, 0.0) and key[:2] not in KNOWN_GAPS
    ]
    assert alarms == []


@pytest.mark.parametrize("gap", KNOWN_GAPS, ids=lambda gap: f"{gap[0]}-{gap[1]}")
def test_every_known_gap_is_one(recorded, predicted, gap):
    rows = {key: real for key, real in recorded.items() if key[:2] == gap}
    assert rows, "the counters have no such line"
    learnt = all(is_exact(predicted.get(key), real) for key, real in rows.items())
    assert not learnt, f"now exact; remove {gap} from KNOWN_GAPS: {KNOWN_GAPS[gap]}"
