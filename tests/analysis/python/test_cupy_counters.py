"""CuPy programs against the counters of an H200 that ran them: every launch and direction."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
RECORDED = json.loads((FIXTURES / "gpu/cupy.json").read_text())["rows"]


@pytest.fixture(scope="module")
def predicted():
    """(kernel, block, direction) -> instructions, wavefronts and ideal of the whole launch."""
    facts, crashed = analyze([Source(str(FIXTURES / "python/cupy_kernels.py"))], Settings())
    assert not crashed
    assert not facts.not_analysed
    sums: dict[tuple[str, object, str], Counter[str]] = {}
    for kernel in facts.kernels:
        types = [value for name, value in kernel.instance.template if name == "T"]
        name = "<".join((kernel.instance.kernel, *types))
        for access in kernel.accesses:
            row = sums.setdefault((name, kernel.instance.block, str(access.kind)), Counter())
            row["inst"] += access.instructions
            row["wavefronts"] += access.instructions * access.wavefronts.mean
            row["ideal"] += access.instructions * access.ideal.mean
    return sums


@pytest.mark.parametrize(
    "row", RECORDED, ids=lambda row: f"{row['kernel']}-{row['block'][0]}-{row['direction']}"
)
def test_figures_are_those_of_the_counters(predicted, row):
    found = predicted[row["kernel"], tuple(row["block"]), row["direction"]]
    assert found == {key: row[key] for key in ("inst", "wavefronts", "ideal")}


def test_nothing_else_is_predicted(predicted):
    assert len(predicted) == len(RECORDED) == 32
