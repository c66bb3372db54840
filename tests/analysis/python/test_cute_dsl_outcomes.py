"""Kernels of the DSL that hang on what no call in sight fixes: asserted numbers, modes, flags."""

import pytest
from test_cute_dsl_kernels import LAUNCHED, facts_of, ways

from smemlint.facts import Certainty

ASSERTED = """
class Columns:
    def __init__(self, rows: int = 1):
        assert ASSERTION
        self.rows = rows

LAUNCHED
        s = smem.allocate_tensor(
            cutlass.Float32, cute.make_layout((32, self.rows), stride=(self.rows, 1)), 16
        )
        s[tx, 0] = 0.0
""".replace("LAUNCHED\n", LAUNCHED)


@pytest.mark.parametrize("assertion", ["rows == 8 or rows == 16", "rows in (8, 16)"])
def test_a_default_that_an_assertion_refuses_is_none(assertion, tmp_path):
    """Rows of 8 words: 8 of 32 lanes share a bank; of 16 words 16 do. Of 1 word none would."""
    facts = facts_of(ASSERTED.replace("ASSERTION", assertion), tmp_path)
    access = facts.kernels[0].accesses[0]
    assert access.certainty is Certainty.SAMPLED  # the two differ
    assert access.ways == 8


def test_a_default_that_is_one_of_the_asserted_stays(tmp_path):
    facts = facts_of(ASSERTED.replace("ASSERTION", "rows in (1, 8)"), tmp_path)
    access = facts.kernels[0].accesses[0]
    assert (access.ways, access.certainty) == (1, Certainty.ASSUMED)


MAJOR = """
class Major:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.layout = cutlass.utils.LayoutEnum.from_tensor(a)
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        order = (1, 0) if cutlass.const_expr(self.layout.is_k_major_a()) else (0, 1)
        s = smem.allocate_tensor(cutlass.Float32, cute.make_ordered_layout((32, N), order=order), 16)
        s[tx, 0] = 0.0
"""


@pytest.mark.parametrize(
    ("columns", "expected"), [(8, [(8, Certainty.SAMPLED)]), (1, [(1, Certainty.ASSUMED)])]
)
def test_both_modes_of_a_tensor_of_which_nothing_is_known_are_tried(columns, expected, tmp_path):
    """Rows of 8 words conflict, columns of 32 do not; with one column there is no difference."""
    facts = facts_of(MAJOR.replace("N)", f"{columns})"), tmp_path)
    found = [(a.ways, a.certainty) for k in facts.kernels for a in k.accesses]
    assert found == expected


OPEN = """
class Open:
    def __init__(self, flag):
        self.flag = flag

LAUNCHED
        if cutlass.const_expr(self.flag > 3):
            pitch = 8
        else:
            pitch = OTHER
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, pitch), stride=(pitch, 1)), 16)
        s[tx, 0] = 0.0
""".replace("LAUNCHED\n", LAUNCHED)


@pytest.mark.parametrize(("other", "certainty"), [(2, Certainty.SAMPLED), (24, Certainty.ASSUMED)])
def test_both_outcomes_of_a_condition_of_the_compilation_are_tried(other, certainty, tmp_path):
    """Pitches of 8 and 24 words share a bank between 8 lanes, one of 2 between 2."""
    facts = facts_of(OPEN.replace("OTHER", str(other)), tmp_path)
    access = facts.kernels[0].accesses[0]
    assert (access.certainty, access.ways) == (certainty, {2: 2, 24: 8}[other])


REFUSED = """
class Tile:
    @cute.jit
    def __call__(self, q: cute.Tensor, v: cute.Tensor):
        self.q_mode = cutlass.utils.LayoutEnum.from_tensor(q).mma_major_mode()
        self.v_mode = cutlass.utils.LayoutEnum.from_tensor(v).mma_major_mode()
        if cutlass.const_expr(self.q_mode != cute.nvgpu.OperandMajorMode.K):
            raise RuntimeError("no")
        if cutlass.const_expr(self.v_mode != cute.nvgpu.OperandMajorMode.MN):
            raise RuntimeError("no")
        pitch = 1 if self.v_mode == cute.nvgpu.OperandMajorMode.MN else 32
        self.kernel(pitch).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, pitch: cutlass.Constexpr):
        tx, _, _ = cute.arch.thread_idx()
        s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
        x = s[2 * pitch * tx]
"""


def test_modes_that_the_program_refuses_are_not_guessed(tmp_path):
    """It takes q by rows and v by columns: the pitch is two words, whichever is tried first."""
    (kernel,) = facts_of(REFUSED, tmp_path).kernels
    assert [a.ways for a in kernel.accesses] == [2]


ALTERNATIVES = """
@cute.kernel
def kernel(a: cute.Tensor, wide: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if cutlass.const_expr(a.shape[0] > 4):
        s = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float32, 64), cute.make_layout(64))
    else:
        s = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float32, 2048), cute.make_layout(2048))
    x = s[2 * tx]
    y = s[32 * tx]

@cute.jit
def run(a: cute.Tensor):
    kernel(a, True).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


def test_one_of_two_arrays_of_one_mode_has_the_same_figure(tmp_path):
    """An extent does not matter to where an element lies: pitches of two and 32 words."""
    assert {w for _, _, w in ways(facts_of(ALTERNATIVES, tmp_path))} == {2, 32}
