"""Arguments that only callers give: shapes of tiles, what is left out, rows, bases of libraries."""

import pytest
from test_cute_dsl_callers import analysed
from test_cute_dsl_kernels import LAUNCHED, facts_of, ways

from smemlint.facts import AccessKind, Certainty
from smemlint.frontend.heuristics import guessed_rows, guessed_shapes

TILES = """
from typing import Optional, Tuple


class Options:
    pass


class Tiles:
    def __init__(self, TILE, cluster_shape_mn: Tuple[int, int]):
        self.tile = TILE_NAME
        self.cluster = cluster_shape_mn

    @cute.jit
    def __call__(self, options: Optional[Options]):
        flag = options is None
        self.kernel(flag).launch(grid=[1, 1, 1], block=[128, 1, 1])

    @cute.kernel
    def kernel(self, flag: cutlass.Constexpr[bool]):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        n = self.tile[MODE] * self.cluster[1]
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, n), stride=(n, 1)), 16)
        if cutlass.const_expr(flag):
            x = s[tx % 32, 0]
        else:
            x = s[0, tx % 32]
"""


@pytest.mark.parametrize(
    ("parameter", "mode", "certainty"),
    [
        ("mma_tiler_mn", 0, Certainty.ASSUMED),
        ("cta_tiler: Tuple[int, int, int]", 0, Certainty.ASSUMED),
        ("tile_shape_mnk: Tuple[int, int, int]", 2, Certainty.ASSUMED),
    ],
)
def test_shapes_of_tiles_are_guessed(parameter, mode, certainty, tmp_path):
    """A column of 32 rows whose pitch is a multiple of 32 words: 32 ways for either shape.

    The row that the other value of the flag leads to has none.
    """
    name = parameter.split(":")[0]
    text = TILES.replace("TILE_NAME", name).replace("TILE", parameter).replace("MODE", str(mode))
    reads = [a for k in facts_of(text, tmp_path).kernels for a in k.accesses]
    assert [(a.ways, a.certainty) for a in reads] == [(32, certainty), (1, certainty)]


def test_shapes_by_name():
    assert guessed_shapes("mma_tiler_mn", 2) == ((128, 128), (64, 256))
    assert guessed_shapes("tile_shape_mnk") == ((128, 128, 64), (64, 256, 64))
    assert guessed_shapes("cluster_shape_mnk") == ((1, 1, 1), (2, 1, 1))
    assert guessed_shapes("cta_tiler") == ()


STATE = """
from cutlass.pipeline import PipelineState


class State(PipelineState):
    def advance_iters(self, n):
        self._index = (self._index + n) % self.stages


@cute.kernel
def kernel(a: cute.Tensor, stages: cutlass.Constexpr[int]):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 33, 2), stride=(33, 1, 1056)), 16)
    state = State(stages, cutlass.Int32(0), cutlass.Int32(0), cutlass.Int32(0))
    x = s[tx % 32, 0, state.index]


@cute.jit
def run(a: cute.Tensor):
    kernel(a, 2).launch(grid=[1, 1, 1], block=[128, 1, 1])
"""


def test_what_derives_from_a_state_of_a_pipeline_has_its_attributes(tmp_path):
    """The stage is one number for all lanes, and a pitch of 33 words has no conflict."""
    (kernel,) = facts_of(STATE, tmp_path).kernels
    (read,) = kernel.accesses
    assert (read.ways, read.certainty.is_decided) == (1, True)


BASE = """
class Base:
    def __init__(self, N: int):
        self.N = N

    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.kernel(a, 64).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
DERIVED = """
from base import Base


class Derived(Base):
    @cute.kernel
    def kernel(self, a: cute.Tensor, pitch: cutlass.Constexpr[int]):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 1), stride=(pitch, 1)), 16)
        x = s[tx, 0]
"""


def test_a_kernel_is_launched_by_what_its_class_inherits(tmp_path):
    """The launch is in the other file: 32 threads, a pitch of 64 words."""
    facts, _ = analysed(tmp_path, {"base.py": BASE, "kernels.py": DERIVED})
    assert [(k.instance.block, k.accesses[0].ways) for k in facts.kernels] == [((32, 1, 1), 32)]


LENGTHS = """
class Rows:
    def __init__(self, N: int):
        self.N = N
        self.reload = None if N <= 8192 else "smem"
        arch = cutlass.base_dsl.BaseDSL._get_dsl().get_arch_enum()
        self.lanes = 1 if arch < Arch.sm_80 else 32

LAUNCHED
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 4), stride=(4, 1)), 16)
        r = cute.make_rmem_tensor((4,), cutlass.Float32)
        row = s[tx % self.lanes, None]
        cute.autovec_copy(r, row)
        if cutlass.const_expr(self.reload == "smem"):
            cute.autovec_copy(row, r)
""".replace("LAUNCHED\n", LAUNCHED)


def test_code_for_long_rows_is_executed_with_long_rows(tmp_path):
    """Both copies move 16 bytes a lane, without conflicts; one only where a row is long."""
    text = "from cutlass.base_dsl import Arch\n" + LENGTHS
    (one, other) = facts_of(text, tmp_path).kernels
    assert ways(facts_of(text, tmp_path)) == [
        (AccessKind.STORE, 16, 1),
        (AccessKind.LOAD, 16, 1),
    ]
    certainties = [a.certainty for k in (one, other) for a in k.accesses]
    assert certainties == [Certainty.ASSUMED, Certainty.SAMPLED]
    assert guessed_rows("N") == (128, 32768)
    assert guessed_rows("head_dim") == ()


@pytest.mark.parametrize(("arch", "known"), [("sm_90", {32}), ("sm_75", set())])
def test_architectures_are_compared(arch, known, tmp_path):
    """One that is at least the named one reads a column, 64 words apart; of others none is known."""
    text = "from cutlass.base_dsl import Arch\n" + LENGTHS.replace(
        "stride=(4, 1)", "stride=(64, 1)"
    ).replace("arch < Arch.sm_80", "not (Arch.sm_80 <= arch)").replace(
        "cute.autovec_copy(r, row)", "x = s[tx % self.lanes, 0]"
    )
    reads = [
        a for k in facts_of(text, tmp_path, arch).kernels for a in k.accesses if a.width_bytes == 4
    ]
    assert {a.ways for a in reads if a.certainty.is_decided} == known


EXTENTS = """
@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    rows, parts = a.shape
    s = cute.make_tensor(cute.arch.get_dyn_smem(cutlass.Float32), cute.make_layout(4096))
    ACCESS
"""
COPY = """atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    if tx < LANES:
        cute.copy(atom, cute.local_tile(a, (1, 1), (0, tx)), cute.make_tensor(
            s.iterator + parts * 2 + tx, cute.make_layout(1)))"""


@pytest.mark.parametrize(
    ("access", "known"),
    [
        ("x = s[tx + parts]", {1}),
        ("x = s[tx * 2 + parts]", {2}),
        ("x = s[tx * parts]", set()),
        (COPY.replace("LANES", "1"), {1}),
    ],
)
def test_unpacked_extents_of_a_tensor_that_is_not_known_are_numbers(access, known, tmp_path):
    """An extent that moves all threads alike changes no bank that they meet in."""
    facts = facts_of(EXTENTS.replace("ACCESS", access), tmp_path)
    found = [a for k in facts.kernels for a in k.accesses]
    assert {a.ways for a in found if a.certainty.is_decided} == known


@pytest.mark.parametrize(("parameter", "known"), [("sm_version: int", {1}), ("unread", set())])
def test_the_version_of_the_device_is_that_of_the_target(parameter, known, tmp_path):
    """A pitch of 33 words has no conflict; what the other parameter is nothing tells."""
    name = parameter.partition(":")[0]
    text = LENGTHS.replace("N: int", parameter).replace("self.N = N", f"self.N = {name}")
    text = text.replace("self.reload = None if N <= 8192 else", "self.reload = None if True else")
    text = text.replace("stride=(4, 1)", "stride=(33 if self.N == 90 else 32, 1)")
    text = text.replace("cute.autovec_copy(r, row)", "x = s[tx, 0]")
    reads = [
        a
        for k in facts_of("from cutlass.base_dsl import Arch\n" + text, tmp_path).kernels
        for a in k.accesses
    ]
    assert {a.ways for a in reads if a.certainty.is_decided} == known


CALLER = """
from kernels import Tiles


def make():
    return cute.compile(Tiles((64, 33), (1, 1)), None)
"""


def test_shapes_of_callers_come_before_guesses(tmp_path):
    """A caller's pitch of 33 words has no conflict, where a guess of 128 or 256 has 32 ways."""
    text = TILES.replace("TILE_NAME", "mma_tiler_mn").replace("TILE", "mma_tiler_mn")
    files = {"kernels.py": text.replace("MODE", "1"), "callers.py": CALLER}
    facts, _ = analysed(tmp_path, files)
    assert [a.ways for k in facts.kernels for a in k.accesses if a.certainty.is_decided] == [1, 1]
