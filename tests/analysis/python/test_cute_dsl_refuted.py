"""Guesses that a program of the DSL refuses, and the arguments that lead to its copies."""

from __future__ import annotations

import ast

import pytest
from test_cute_dsl_kernels import facts_of, ways

from smemlint.analysis.python.cute_dsl.execution.outside.switches import switch_for, switches_to
from smemlint.facts import AccessKind, Certainty
from smemlint.reasons import ReasonCode, Topic

TYPES = """
class Sums:
    def __init__(self, head_dim: int = 64):
        self.threads = 32

    @cute.jit
    def __call__(self, x: cute.Tensor, sums: cute.Tensor):
        CHECK
        self.kernel(x, sums).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, x: cute.Tensor, sums: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(sums.element_type, cute.make_layout((32, 32), stride=(32, 1)), 16)
        h = smem.allocate_tensor(x.element_type, cute.make_layout((32, 64), stride=(64, 1)), 16)
        COPY
        a = s[tx, 0]
        b = h[tx, 0]
"""
COPY = "cute.autovec_copy(s[tx, None], cute.make_rmem_tensor((32,), cutlass.Float32))"


@pytest.mark.parametrize(
    ("check", "copy"),
    [
        ("assert sums.element_type == cutlass.Float32", "pass"),
        ("assert sums.element_type.width == 32 and True", "pass"),
        ("assert sums.dtype in (cutlass.Float32,)", "pass"),
        ("if cutlass.const_expr(sums.element_type != cutlass.Float32): raise TypeError()", "pass"),
        ("if not (sums.element_type is cutlass.Float32): raise TypeError()", "pass"),
        ("pass", COPY),
        ("t = cute.make_copy_atom(cpasync.CopyG2SOp(), sums.element_type)", "pass"),
    ],
)
def test_an_element_type_that_the_program_refuses_is_not_guessed(check, copy, tmp_path):
    """Columns of 32 rows: 128 bytes apart in float and in half, of which one has 32 columns."""
    text = TYPES.replace("CHECK", check).replace("COPY", copy)
    found = facts_of(text, tmp_path)
    reads = [a for k in found.kernels for a in k.accesses if a.width_bytes < 16]
    assert [(a.width_bytes, a.ways) for a in reads] == [(4, 32), (2, 32)]
    assumed = {a.subject for a in reads[0].assumptions if a.topic is Topic.NUMBER}
    assert "sums" in assumed
    assert not any(k.not_analysed for k in found.kernels)


def test_a_type_that_fits_is_kept(tmp_path):
    """32 rows of 32 halves, 64 bytes apart: 16 of them meet in a bank."""
    found = facts_of(TYPES.replace("CHECK", "pass").replace("COPY", "pass"), tmp_path)
    assert ways(found) == [(AccessKind.LOAD, 2, 16), (AccessKind.LOAD, 2, 32)]


MODES = """
class Tiles:
    def __init__(self, num_stages: int):
        self.pitch = 32 * num_stages

    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.layout = utils.LayoutEnum.from_tensor(a)
        major = self.layout.mma_major_mode()
        if cutlass.const_expr(major != tcgen05.OperandMajorMode.K):
            raise RuntimeError()
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
        x = s[tx * self.pitch]
        y = s[tx * (self.pitch // 16)]
"""


def test_the_other_guess_keeps_the_mode_that_the_program_asks_for(tmp_path):
    """Of 2 or 3 stages rows begin 64 or 96 words apart; a 16th of that is 4 words, or 6."""
    (kernel,) = facts_of(MODES, tmp_path).kernels
    assert next((a.certainty, a.ways) for a in kernel.accesses) == (Certainty.ASSUMED, 32)
    assert kernel.accesses[1].certainty is Certainty.SAMPLED


SOLVED = """
class Kernel:
    def __init__(self, arch: int, pairs=False, size=1, table: Optional[Tensor] = None, n=64):
        self.pairs = bool(pairs and size == 2)
        self.is_tall = arch // 10 in [10, 11] and pairs
        self.stages = None if n <= 64 else "deep"
        self.table = table
        self.twice = 1
        self.twice = 2

    def __call__(self, x):
        self.kernel(x)

    def kernel(self, x):
        never = False
        is_open = False
        if self.table is not None:
            is_open = unread(x)
        if const_expr(CONDITION):
            self.move(x, self.pairs)

    def move(self, x, in_pairs, kind=3):
        if INNER:
            cute.copy(x, x)
"""


@pytest.mark.parametrize(
    ("condition", "inner", "expected"),
    [
        ("self.pairs", "True", {"pairs": True, "size": 2}),
        ("not self.pairs", "True", None),
        ("True", "in_pairs", {"pairs": True, "size": 2}),
        ("True", "kind == 4", None),
        ("kind", "not in_pairs", None),
        ("self.is_tall", "True", {"arch": 100, "pairs": True}),
        ("self.stages == 'deep'", "True", {"n": 128}),
        ("self.stages is None", "True", None),
        ("self.table is not None", "True", {"table": "given"}),
        ("is_open", "True", {"table": "given"}),
        ("never and self.pairs", "True", None),
        ("never or self.pairs", "True", {"pairs": True, "size": 2}),
        ("self.twice == 3", "True", None),
        ("self.unread.flag", "True", None),
        ("self.pairs", "not in_pairs", None),
    ],
)
def test_arguments_that_lead_to_a_copy(condition, inner, expected):
    tree = ast.parse(SOLVED.replace("CONDITION", condition).replace("INNER", inner))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    copies = [c for c in calls if ast.unparse(c.func) == "cute.copy"]
    named = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    found = list(switches_to(tree, copies, [named["__call__"], named["__init__"]]))
    kept = [s for s in found if s]
    assert kept == ([] if expected is None else [expected])


def test_arguments_of_a_class_are_those_of_the_call_that_constructs_it():
    text = SOLVED.replace("CONDITION", "self.pairs").replace("INNER", "True")
    tree = ast.parse(text + "\ndef run(dtype, in_pairs):\n    Kernel(80, in_pairs, 2)(dtype)\n")
    copies = [n for n in ast.walk(tree) if ast.unparse(n) == "cute.copy(x, x)"]
    (copy,) = (n for n in copies if isinstance(n, ast.Call))
    run = next(n for n in tree.body if getattr(n, "name", "") == "run")
    assert next(iter(switches_to(tree, [copy], [run]))) == {"in_pairs": True}


@pytest.mark.parametrize(
    ("test", "call", "expected"),
    [
        ("size in (16, 32)", "Rows(1, size)", {"size": 16}),
        ("size == 8", "Rows(1, size=size)", {"size": 8}),
        ("size == 8", "Rows(1, 2 * size)", {}),
        ("size == 8", "Rows(size, 8)", {}),
        ("size == 8", "Rows(size, 4)", {}),
    ],
)
def test_assertions_of_what_a_function_calls_choose_its_arguments(test, call, expected):
    made = f"class Rows:\n    def __init__(self, n, size):\n        assert {test}\n"
    tree = ast.parse(f"{made}\ndef run(size):\n    return {call}\n")
    assertions = [n for n in ast.walk(tree) if isinstance(n, ast.Assert)]
    run = next(n for n in tree.body if getattr(n, "name", "") == "run")
    assert switch_for(tree, assertions, [run]) == expected


PROGRAM = """
@cute.kernel
def kernel(is_copied: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32)), 16)
    if cutlass.const_expr(is_copied):
        cute.autovec_copy(s[(None, lane)], cute.make_rmem_tensor((32,), cutlass.Float32))
    else:
        s[lane, 0] = 1.0

@cute.jit
def host(is_copied: bool = False):
    kernel(is_copied).launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
"""


def test_what_a_program_leaves_is_entered_with_other_arguments(tmp_path):
    """Rows of 32 words, read 16 bytes at once: all lanes of a quarter meet in four banks."""
    found = facts_of(PROGRAM, tmp_path)
    assert ways(found) == [(AccessKind.STORE, 4, 1), (AccessKind.LOAD, 16, 8)]
    (read,) = (a for k in found.kernels for a in k.accesses if a.kind is AccessKind.LOAD)
    assert "is_copied" in {a.subject for a in read.assumptions}


BARRIERS = """
@cute.kernel
def kernel(atom, a: cute.Tensor, flag: cutlass.Constexpr):
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(1024), 128)
    barrier = smem.allocate_array(cutlass.Int64, 1)
    COPY

@cute.jit
def host(atom, a: cute.Tensor):
    kernel(atom, a, 0).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


@pytest.mark.parametrize(
    ("copy", "code"),
    [
        ("cute.copy(atom, a, s, tma_bar_ptr=barrier)", ReasonCode.NO_LANES),
        ("cute.copy(atom, a, s, mbar_ptr=barrier)", ReasonCode.NO_LANES),
        ("cutlass.utils.block_copy(atom, a, s)", ReasonCode.NO_LANES),
        ("unread(lambda: cute.copy(atom, a, s, tma_bar_ptr=barrier))", ReasonCode.NO_LANES),
        ("unread(lambda: cute.copy(atom, a, s, tma_bar_ptr=None))", ReasonCode.NOT_REACHED),
    ],
)
def test_a_copy_that_ends_at_a_barrier_has_no_lane_addresses(copy, code, tmp_path):
    found = facts_of(BARRIERS.replace("COPY", copy), tmp_path)
    notes = [n for k in found.kernels for n in k.not_analysed] + list(found.not_analysed)
    assert code in {n.reason.code for n in notes}
    assert not any(k.accesses for k in found.kernels)
    if code is ReasonCode.NO_LANES:
        assert {n.reason.code for n in notes} == {code}


ASSERTED = """
class Rows:
    def __init__(self, pitch: int = 8, threads: int = 64):
        self.pitch = pitch
        self.threads = threads
        CHECK

    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.kernel(a).launch(grid=[1, 1, 1], block=[self.threads, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(9999))
        x = s[tx * self.pitch]
"""


@pytest.mark.parametrize(
    ("check", "block", "ways_of_rows"),
    [
        ("pass", 64, 8),
        ("assert self.threads == 128", 128, 8),
        ("assert threads == 96 and pitch == 4", 96, 4),
        ("assert self.pitch in (16, 32)", 64, 16),
        ("assert self.pitch == 8", 64, 8),
    ],
)
def test_defaults_that_an_assertion_refuses_are_replaced(check, block, ways_of_rows, tmp_path):
    """Lanes are as many words apart as the pitch says, which divides 32."""
    (kernel,) = facts_of(ASSERTED.replace("CHECK", check), tmp_path).kernels
    assert kernel.instance.block == (block, 1, 1)
    assert [a.ways for a in kernel.accesses] == [ways_of_rows]


MATRICES = """
class Tiles:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        is_row = utils.LayoutEnum.from_tensor(a).is_k_major_a()
        layout = cute.make_layout((32, 32), stride=(32, 1) if is_row else (1, 32))
        self.kernel(a, layout).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, layout: cute.Layout):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float16, layout, 16)
        part = s[None, 0] if HOW else s[0, None]
        atom = cute.make_copy_atom(
            cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128
        )
        cute.copy(atom, part, cute.make_rmem_tensor(cute.make_layout(32), cutlass.Float16))
        x = s[tx, 0]
"""


@pytest.mark.parametrize(("how", "ways_of_reads"), [("False", 16), ("True", 1)])
def test_a_mode_that_makes_a_copy_fail_is_not_guessed(how, ways_of_reads, tmp_path):
    """CuTe refuses vectors of halves that do not lie together: of rows, or of columns."""
    (kernel,) = facts_of(MATRICES.replace("HOW", how), tmp_path).kernels
    vector, element = kernel.accesses
    assert (vector.width_bytes, vector.certainty) == (16, Certainty.ASSUMED)
    assert (element.ways, element.certainty) == (ways_of_reads, Certainty.ASSUMED)


SCALED = """
class Scaled:
    @cute.jit
    def __call__(self, a: cute.Tensor, sfa: cute.Tensor):
        MMA
        self.kernel(a, sfa).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, sfa: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(a.element_type, cute.make_layout((32, 64), stride=(64, 1)), 16)
        f = smem.allocate_tensor(sfa.element_type, cute.make_layout((32, 64), stride=(64, 1)), 16)
        x = s[tx, 0]
        y = f[tx, 0]
"""


@pytest.mark.parametrize(
    "mma",
    [
        "utils.sm100.make_blockscaled_trivial_tiled_mma(a.element_type, 0, 0, sfa.element_type, 32)",
        "cute.make_mma_atom(warp.MmaMXF8Op(a.element_type, cutlass.Float32, sfa.element_type))",
    ],
)
def test_operands_of_block_scaled_mmas_have_bytes(mma, tmp_path):
    """64 bytes a row: 16 rows meet in a bank; as halves all 32 would."""
    found = facts_of(SCALED.replace("MMA", mma), tmp_path)
    assert ways(found) == [(AccessKind.LOAD, 1, 16)] * 2


@pytest.mark.parametrize(
    "mma",
    [
        "utils.sm100.make_blockscaled_trivial_tiled_mma(a.element_type, 0, 0, sfa.element_type, 16)",
        "cute.make_mma_atom(warp.MmaMXF4NVF4Op(a.element_type, cutlass.Float32, sfa.element_type))",
    ],
)
def test_operands_of_some_block_scaled_mmas_have_half_a_byte(mma, tmp_path):
    """32 bytes a row: 8 rows meet in a bank; the scale factors have bytes."""
    (kernel,) = facts_of(SCALED.replace("MMA", mma), tmp_path).kernels
    assert [(a.array.name, a.ways) for a in kernel.accesses] == [("s", 8), ("f", 16)]


EPILOGUE = """
class Epilogue:
    @cute.jit
    def __call__(self, c: cute.Tensor):
        layout = cute.make_layout((128, 32), stride=(32, 1))
        atom, moved = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), c, layout, (128, 32))
        self.kernel(atom, moved, layout).launch(grid=[1, 1, 1], block=[128, 1, 1])

    @cute.kernel
    def kernel(self, atom: cute.CopyAtom, moved: cute.Tensor, layout: cute.Layout):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float32, layout, 16)
        store = cute.make_copy_atom(
            cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128
        )
        rows = cute.make_tiled_copy_tv(
            store, cute.make_layout((128, 1)), cute.make_layout((1, 32))
        ).get_slice(tx)
        tile = cute.local_tile(moved, (128, 32), (None, None, 0))
        held = cute.make_rmem_tensor(rows.partition_S(tile[None, None, 0, 0]).shape, cutlass.Float32)
        cute.copy(store, held, rows.partition_D(s))
"""


def test_tiles_of_what_tma_moves_have_the_extents_of_their_tiler(tmp_path):
    """Each of eight vectors: lanes are 128 bytes apart, so that eight lanes meet in four banks."""
    (kernel,) = facts_of(EPILOGUE, tmp_path).kernels
    (access,) = kernel.accesses
    assert (access.width_bytes, access.instructions, access.certainty) == (
        16,
        32,
        Certainty.ASSUMED,
    )
    assert {p.wavefronts for p in access.patterns} == {32}
