"""Real programs against hardware counters; skipped where neither lies beside the checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.report.analysis_json import access_record
from smemlint.sources.discovery import find_sources

ROOT = Path(__file__).resolve().parents[3]
TRUTH = ROOT.parent / "shared" / "truth"
CORPUS = ROOT.parent / "corpus"
SAMPLES = "cuda-samples/Samples"
PROGRAMS = (
    f"{SAMPLES}/6_Performance/transpose",
    f"{SAMPLES}/2_Concepts_and_Techniques/reduction",
    f"{SAMPLES}/2_Concepts_and_Techniques/scan",
    f"{SAMPLES}/2_Concepts_and_Techniques/convolutionSeparable",
    f"{SAMPLES}/0_Introduction/matrixMul",
    "SGEMM_CUDA",
    "LeetCUDA/kernels/swizzle",
    "gpu-rodinia/cuda/nw",
)
FLOORS = {"covered": 97.0, "exact": 92.0, "precision": 99.0, "recall": 97.0}
"""Percent of all measured lines, without any configuration."""


@pytest.mark.skipif(not TRUTH.is_dir(), reason=f"no recorded counters in {TRUTH}")
@pytest.mark.skipif(
    not all((CORPUS / p).is_dir() for p in PROGRAMS), reason=f"the programs are not in {CORPUS}"
)
def test_real_programs_get_the_measured_figures(tmp_path):
    records = []
    for program in PROGRAMS:
        facts, crashed = analyze(find_sources([str(CORPUS / program)]), Settings())
        assert not crashed, facts.not_analysed
        records += [access_record(a) for k in facts.kernels for a in k.accesses]
    analysis = tmp_path / "analysis.json"
    analysis.write_text(json.dumps({"accesses": records}))
    scored = subprocess.run(
        [sys.executable, TRUTH / "score.py", TRUTH / "lines.json", analysis],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    header, *rows = (line.split() for line in scored.stdout.replace("at block", "at").splitlines())
    total = dict(zip(header[1:], next(r for r in rows if r[0] == "ALL")[1:], strict=True))
    assert int(total["lines"]) == 140
    figures = {name: float(total[name].rstrip("%")) for name in FLOORS}
    assert all(figures[name] >= floor for name, floor in FLOORS.items()), scored.stdout
