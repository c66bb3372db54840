"""CuTe kernels against what nvcc made of them: lanes, widths and wavefronts, line by line."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from conftest import ROOT

from tests.oracle.compiled.analysis import LineFigures, analyse, rows_of
from tests.oracle.compiled.compare import WRONG, Verdict, differences
from tests.oracle.compiled.instances import Instance, matching

FOLDER = ROOT / "fixtures" / "cute"
ASYNC = "async_copy"


@pytest.mark.slow
def test_every_line_is_as_the_compiler_made_it():
    """The record: `tests/oracle/record_cute_machine_code.py`, nvcc 13.0.88, sm_90.

    A line that ptxas merged with another, as it takes one copy's instructions for the line of the
    next, is compared by the sum over both. Copies by cp.async are not read from machine code.
    """
    oracle: dict[Instance, dict[tuple[str, int, str], LineFigures]] = {}
    for row in json.loads((FOLDER / "machine_code.json").read_text())["rows"]:
        instance = Instance(
            "kernels.cu", row["kernel"], tuple(row["template"].items()), tuple(row["block"])
        )
        figures = LineFigures(
            row["wavefronts"], row["ideal"], row["instructions"], set(row["widths"]), {"proved"}
        )
        key = ("kernels.cu", row["line"], row["direction"])
        oracle.setdefault(instance, {})[key] = figures
    analysis = rows_of(analyse(FOLDER), FOLDER)
    assert set(oracle) == set(analysis)
    found = [d for d in differences(analysis, oracle) if d.direction != ASYNC]
    wrong = [(d.instance.spelling, d.line, d.verdict) for d in found if d.verdict in WRONG]
    assert wrong == []
    assert Counter(d.verdict for d in found) == {Verdict.AGREES: 33, Verdict.OTHER_LINES: 6}
    agreeing = [d for d in found if d.analysis and d.oracle and d.verdict is Verdict.AGREES]
    assert [d.line for d in agreeing if d.analysis.widths != d.oracle.widths] == []


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ((("L", "Layout<Shape<_128, _8>, Stride<_8, _1>>"),), "plain"),
        ((("L", "(128,8):(8,1)"),), "plain"),
        ((("L", "Swizzle<3,3,3> o 0 o (8,64):(64,1)"),), "swizzled"),
        ((("L", "(128,8):(1,129)"),), None),
    ],
)
def test_a_layout_is_paired_with_its_type(template, name):
    names = {
        "plain": "void k<cute::Layout<cute::tuple<cute::C<128>, cute::C<8> >, "
        "cute::tuple<cute::C<8>, cute::C<1> > > >(float*)",
        "swizzled": "void k<cute::ComposedLayout<cute::Swizzle<3, 3, 3>, cute::C<0>, "
        "cute::Layout<cute::tuple<cute::C<8>, cute::C<64> >, cute::tuple<cute::C<64>, cute::C<1> > > > >(float*)",
    }
    instance = Instance("k.cu", "k", template, (128, 1, 1))
    assert matching(instance, names) == ([] if name is None else [name])
