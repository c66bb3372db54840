"""How many options of a command line are executed besides the defaults."""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.facts import AccessKind
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


ELEMENTS = """
import cutlass
import cutlass.cute as cute


class Kernel:
    def __init__(self, flag: bool = False, n: int = 0):
        self.flag = flag
        self.n = n

    @cute.jit
    def __call__(self):
        self.kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self):
        lane, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32)), 16)
        r = cute.make_rmem_tensor((4,), cutlass.Float32)
        column = s[None, lane]
        s[lane, 0] = 1.0
        if cutlass.const_expr(CONDITION):
            BODY
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [  # lanes 32 words apart share a bank: 32 wavefronts, and 4 at least where each has 16 bytes
        ("x = s[0, lane]", (4, 32, 1)),
        ("s[0, lane] = 2.0", (4, 32, 1)),
        ("column[5] = 2.0", (4, 32, 1)),
        ("column.fill(0.0)", (16, 32, 4)),
        ("s[None, lane].store(r.load())", (16, 32, 4)),
    ],
)
def test_elements_that_the_other_value_of_a_flag_leads_to(body, expected):
    program = ELEMENTS.replace("CONDITION", "self.flag").replace("BODY", body)
    facts, _ = analyze([Source("k.py", program)], Settings())
    line = 1 + ELEMENTS[: ELEMENTS.index("BODY")].count("\n")
    (access,) = (a for k in facts.kernels for a in k.accesses if a.span.line == line)
    pattern = access.patterns[0]
    assert (access.width_bytes, pattern.wavefronts, pattern.ideal) == expected
    assert ReasonCode.NOT_REACHED not in {n.reason.code for n in facts.not_analysed}


@pytest.mark.parametrize(
    ("body", "noted"),
    [
        ("x = s[0, lane]", 1),
        ("s[0, lane] += 2.0", 1),
        ("s[None, 3][lane] = 2.0", 1),
        ("column.fill(0.0)", 1),
        ("x = s[None, lane].load()", 1),
        ("part = s[None, 3]", 0),
        ("r[0] = r[1]; r.fill(0.0)", 0),
        ("n = s.shape[0]", 0),
    ],
)
def test_elements_that_no_argument_is_found_for_are_said(body, noted):
    program = ELEMENTS.replace("CONDITION", "self.n * 3 == 21").replace("BODY", body)
    facts, _ = analyze([Source("k.py", program)], Settings())
    codes = [n.reason.code for n in facts.not_analysed]
    assert codes == [ReasonCode.NOT_REACHED] * noted


def test_an_argument_of_an_operation_that_is_not_known_is_the_reason():
    """The same reason for both arguments; another one than for an operation without a model."""

    def reason_for(operation: str) -> str:
        body = f"cute.copy(cute.make_copy_atom({operation}, cutlass.Float32), r, column)"
        program = ELEMENTS.replace("self.kernel()", "self.kernel(smem)").replace("BODY", body)
        program = program.replace("def kernel(self)", "def kernel(self, n)")
        program = program.replace("CONDITION", "True")
        facts, _ = analyze([Source("k.py", program)], Settings())
        (copy,) = (a for k in facts.kernels for a in k.accesses if not a.certainty.is_decided)
        return str(copy.reason)

    both = (
        "cute.nvgpu.warp.StMatrix8x8x16bOp(n == 1, 4)",
        "cute.nvgpu.warp.StMatrix8x8x16bOp(False, n)",
    )
    unknown, other = map(reason_for, both)
    unmodelled = reason_for("cute.nvgpu.warp.StMatrix8x8x16bOp(False, 3)")
    assert unknown == other != unmodelled


PASSED = """

@cute.jit
def accessed(values, at):
    STATEMENT


@cute.jit
def passed_on(tensor, at):
    accessed(at=at, values=tensor)
"""


@pytest.mark.parametrize("call", ["accessed(s, lane)", "passed_on(s[None, None], lane)"])
def test_elements_of_what_a_function_is_given_that_is_not_called(call):
    """A column of 32 words is read, or said where no argument is found; of registers nothing."""

    def found(condition: str, statement: str) -> tuple[list[int], list[ReasonCode]]:
        program = ELEMENTS.replace("CONDITION", condition).replace("BODY", call)
        program = program.replace("self.n = n", "self.n, self.other = n, None")
        program += PASSED.replace("STATEMENT", statement)
        facts, _ = analyze([Source("k.py", program)], Settings())
        reads = [a for k in facts.kernels for a in k.accesses if a.kind is AccessKind.LOAD]
        codes = [n.reason.code for n in facts.not_analysed]
        return [a.patterns[0].wavefronts for a in reads], codes

    assert found("self.flag", "x = values[0, at]") == ([32], [])
    assert found("self.n == 3", "x = values[0, at]") == ([32], [])
    assert found("self.n * 3 == 21", "x = values[0, at]") == ([], [ReasonCode.NOT_REACHED])
    assert found("self.n * 3 == 21", "x = values[None, at]") == ([], [])


@pytest.mark.parametrize(
    ("call", "noted"), [("self.method(s, lane)", 1), ("Given().method(s, lane)", 0)]
)
def test_a_method_of_an_object_that_is_not_known_is_not_that_of_the_file(call, noted):
    program = ELEMENTS.replace("CONDITION", "self.n * 3 == 21").replace("BODY", call)
    program += "\n    def method(self, values, at):\n        x = values[0, at]\n"
    facts, _ = analyze([Source("k.py", program)], Settings())
    assert [n.reason.code for n in facts.not_analysed] == [ReasonCode.NOT_REACHED] * noted


LAUNCHED = """
import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel(flag: cutlass.Constexpr[bool]):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32)), 16)
    s[lane, 0] = 1.0
    if cutlass.const_expr(flag):
        s[0, lane] = 2.0

@cute.jit
def host():
    kernel(False).launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
"""


def test_what_no_launch_gives_a_kernel_is_a_sample():
    """Its block is a guess, while the launch has one of 32 threads."""
    facts, _ = analyze([Source("k.py", LAUNCHED)], Settings())
    found = [(a.span.line, str(a.certainty)) for k in facts.kernels for a in k.accesses]
    assert found == [(10, "assumed"), (12, "sampled")]


UNPACKED = """
import argparse
import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel(pitch: cutlass.Constexpr, parts: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((8, 32), stride=(1, pitch)), 16)
    s[parts % 8, lane] = 1.0

@cute.jit
def host(pitch: cutlass.Constexpr, parts: cutlass.Int32):
    kernel(pitch, parts).launch(grid=[1, 1, 1], block=[32, 1, 1])

def run(pitch, parts, left=8, **others):
    if parts == 0:
        parts = min(cutlass.utils.HardwareInfo().get_device_multiprocessor_count() // 4, 16)
    cute.compile(host, min(pitch, left), parts)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pitch", type=int, default=16)
    parser.add_argument("--parts", type=int, default=0)
    parser.add_argument("--left", type=int, default=argparse.SUPPRESS)
    parser.add_argument("--more", type=int, default=1)
    run(**vars(parser.parse_args()))
"""


def test_options_are_unpacked_without_what_is_suppressed():
    """`left` has the function's default, so rows are 8 apart; the device's number moves all."""
    facts, crashed = analyze([Source("k.py", UNPACKED)], Settings())
    assert not crashed
    accesses = [a for k in facts.kernels for a in k.accesses]
    assert [(a.ways, a.certainty.is_decided) for a in accesses] == [(8, True)]


TWO_KERNELS = """
import cutlass
import cutlass.cute as cute

@cute.kernel
def first():
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(32), 16)
    s[lane] = 1.0

@cute.kernel
def second(tile_mn: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(tile_mn), 16)
    s[lane, 0] = 1.0

class Two:
    def __init__(self, tile_mn: tuple[int, int]):
        self.tile_mn = tile_mn

    @cute.jit
    def __call__(self):
        first().launch(grid=[1, 1, 1], block=[32, 1, 1])
        second(self.tile_mn).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


def test_shapes_are_guessed_though_one_of_two_kernels_needs_none():
    facts, crashed = analyze([Source("k.py", TWO_KERNELS)], Settings())
    assert not crashed
    found = {k.instance.kernel: [a.certainty.is_decided for a in k.accesses] for k in facts.kernels}
    assert found == {"first": [True], "second": [True]}
