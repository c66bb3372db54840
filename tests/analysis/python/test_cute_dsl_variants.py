"""How many options of a command line are executed besides the defaults."""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.reasons import ReasonCode
from smemlint.sources.source import Source

PROGRAM = """import argparse
import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel():
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32)), 16)
    s[lane] = 1.0
    if given.use_copy:
        r = cute.make_rmem_tensor((4,), cutlass.Float32)
        cute.autovec_copy(s[(None, lane)], r)

@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

parser = argparse.ArgumentParser()
parser.add_argument("--size", choices=[CHOICES], default=0)
parser.add_argument("--use_copy", action="store_true")
parser.add_argument("--use_b", action="store_true")
parser.add_argument("--use_c", action="store_true")
given = parser.parse_args()
host()
"""


@pytest.mark.parametrize(("choices", "is_reached"), [(2, True), (9, False)])
def test_flags_are_executed_while_choices_leave_room(choices, is_reached):
    program = PROGRAM.replace("CHOICES", ", ".join(map(str, range(choices))))
    facts, crashed = analyze([Source("k.py", program)], Settings())
    codes = {note.reason.code for note in facts.not_analysed}
    assert not crashed
    assert (ReasonCode.NOT_REACHED not in codes) is is_reached
