"""`--verify-gpu=kernel`: lines beside the counters of fixtures/gpu/kernels.json."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from recorded import recording

from smemlint.config import Settings
from smemlint.engine import check
from smemlint.errors import SmemlintError
from smemlint.finding import Verdict
from smemlint.source import Source
from smemlint.verify.kernels import verify_kernels

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sorted((ROOT / "fixtures/kernels").glob("*.cu"))


def recorded_counters(request):
    rows = json.loads((ROOT / "fixtures/gpu/kernels.json").read_text())
    stem = Path(request["source"]).stem
    return {
        "about": {"device": recording()["about"]["device"], "arch": request["arch"]},
        "rows": [{**r, "op": r["op"].split(".")[0]} for r in rows if r["app"] == stem],
    }


def verified(path: Path, engine=recorded_counters):
    settings = Settings(verify_gpu="kernel")
    sources = [Source(str(path))]
    return verify_kernels(check(sources, settings), settings, sources, engine)


def test_flagged_lines_of_the_fixture_kernels_are_what_the_profiler_counted():
    counts: Counter[str] = Counter()
    refuted = []
    for path in KERNELS:
        if "int main" not in path.read_text():
            continue
        result, _ = verified(path)
        for finding in result.findings:
            if finding.measurement is not None:
                counts[str(finding.measurement.verdict)] += 1
            if finding.is_refuted:
                refuted.append((path.stem, finding.span.line))
    # The compiler chose other widths there than evaluation expects: gaps that are known.
    assert refuted == [
        ("inline_ptx", 42), ("loops", 103), ("merged_loads", 138), ("merged_loads", 144),
    ]  # fmt: skip
    assert counts[Verdict.CONFIRMED] >= 190


def test_a_line_has_both_figures():
    result, summary = verified(ROOT / "fixtures/kernels/transpose.cu")
    measurement = result.findings[0].measurement
    assert measurement is not None
    assert (measurement.verdict, measurement.predicted) == (Verdict.CONFIRMED, 32.0)
    assert measurement.measured == 32.0
    assert summary.startswith("counted in 1 program: ")


def test_other_counters_refute():
    def doubled(request):
        answer = recorded_counters(request)
        rows = [{**r, "wavefronts": 2 * r["wavefronts"]} for r in answer["rows"]]
        return {**answer, "rows": rows}

    result, _ = verified(ROOT / "fixtures/kernels/transpose.cu", doubled)
    measurement = result.findings[0].measurement
    assert measurement is not None
    assert (measurement.verdict, measurement.measured) == (Verdict.REFUTED, 64.0)


def test_a_file_that_is_no_program_is_never_compiled(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text((ROOT / "rules/bank_conflict/bad.cu").read_text())

    def never(request):
        raise AssertionError(request)

    with pytest.raises(SmemlintError, match="no file with findings is a program"):
        verified(path, never)


@pytest.mark.skipif(shutil.which("ncu") is not None, reason="Nsight Compute is there")
def test_without_a_profiler_the_exit_code_is_2(smemlint, tmp_path):
    path = tmp_path / "transpose.cu"
    path.write_text((ROOT / "fixtures/kernels/transpose.cu").read_text())
    code, out, err = smemlint("check", "transpose.cu", "--verify-gpu=kernel", "--no-cache")
    assert (code, out) == (2, "")
    assert "is not installed" in err and "hint" in err


@pytest.mark.skipif(shutil.which("ncu") is None, reason="Nsight Compute is not there")
def test_with_a_profiler_a_program_is_counted(smemlint, tmp_path):
    path = tmp_path / "transpose.cu"
    path.write_text((ROOT / "fixtures/kernels/transpose.cu").read_text())
    _, out, err = smemlint(
        "check", "transpose.cu", "--verify-gpu=kernel", "--output-format", "json", "--no-cache"
    )
    found = Counter(f["measurement"]["verdict"] for f in json.loads(out)["findings"])
    assert set(found) == {"confirmed"}, err
