"""The compiled oracle: what it takes for the same instructions on other lines."""

from __future__ import annotations

from tests.oracle.compiled.analysis import LineFigures
from tests.oracle.compiled.compare import Verdict, differences
from tests.oracle.compiled.instances import Instance

KERNEL = Instance("a.cu", "k", (), (128, 1, 1))


def _verdicts(ours, theirs):
    rows = [
        {
            KERNEL: {
                ("a.cu", line, "load"): LineFigures(waves, ideal, count, {4}, {"proved"})
                for line, (waves, ideal, count) in side.items()
            }
        }
        for side in (ours, theirs)
    ]
    return {d.line: d.verdict for d in differences(*rows)}


def test_a_load_that_moved_out_of_a_loop_is_on_another_line():
    found = _verdicts({5: (4, 4, 4), 7: (9, 3, 3)}, {4: (4, 4, 4), 7: (3, 3, 3)})
    moved = Verdict.OTHER_LINES
    assert found == {4: moved, 5: moved, 7: Verdict.FALSE_ALARM}


def test_as_many_wavefronts_of_another_ideal_are_a_conflict_that_is_missed():
    assert _verdicts({5: (8, 8, 4)}, {5: (8, 4, 4)}) == {5: Verdict.MISSED}


def test_what_only_one_side_has_and_no_line_of_the_other_is_told():
    found = _verdicts({5: (4, 4, 4), 6: (2, 2, 2)}, {4: (8, 4, 4), 6: (2, 2, 2)})
    assert found == {4: Verdict.NOT_SEEN, 5: Verdict.ELIMINATED, 6: Verdict.AGREES}
