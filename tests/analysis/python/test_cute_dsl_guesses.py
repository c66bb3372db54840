"""Kernels of the DSL whose element types, sizes and tensors only callers in other files give."""

import ast

import pytest
from test_cute_dsl_kernels import LAUNCHED, facts_of, ways

from smemlint.analysis.python.cute_dsl.execution.outside.declared_types import declared_types
from smemlint.facts import AccessKind, Certainty
from smemlint.frontend.heuristics import guessed_extents
from smemlint.frontend.python.python_source import PythonText
from smemlint.reasons import ReasonCode, Topic

ROWS = """
class Rows:
    def __init__(self, dtype, N: int):
        self.dtype = dtype
        self.N = N

    @cute.jit
    def __call__(self, a: cute.Tensor):
        size = cutlass.const_expr(128 // self.dtype.width)
        tiled = cute.make_tiled_copy_tv(
            cute.make_copy_atom(cpasync.CopyG2SOp(), self.dtype, num_bits_per_copy=128),
            cute.make_layout((4, 32), stride=(32, 1)),
            cute.make_layout((1, size)),
        )
        self.kernel(a, tiled).launch(grid=[1, 1, 1], block=[128, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, tiled: cute.TiledCopy):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(self.dtype, cute.make_layout((4, PITCH), stride=(PITCH, 1)), 16)
        part = tiled.get_slice(tx)
        cute.copy(tiled, part.partition_S(a), part.partition_D(s))
        x = s[0, (tx % 32) * cute.arch.WARP_SIZE]


def run(x: torch.Tensor):
    assert x.dtype in [torch.float16, torch.bfloat16, torch.float32]
    compiled(x.dtype, x.size(1))(x)


def compiled(dtype, N, is_causal):
    a = cute.runtime.make_fake_tensor(
        dtype, (cute.sym_int(), N), stride=(cute.sym_int64(divisibility=8), 1), assumed_align=16
    )
    return cute.compile(Rows(dtype, N), a)
"""


def by_template(facts, kind):
    return {
        k.instance.template: next(a for a in k.accesses if a.kind is kind) for k in facts.kernels
    }


def test_each_element_type_that_the_file_takes_is_an_instance(tmp_path):
    """A read of every 32nd element: 16 words apart in float16, 32 in float32."""
    facts = facts_of(ROWS.replace("PITCH", "1024"), tmp_path)
    reads = by_template(facts, AccessKind.LOAD)
    assert {t: a.ways for t, a in reads.items()} == {
        (("dtype", "Float16"),): 16,
        (("dtype", "Float32"),): 32,
    }
    assert all(a.certainty is Certainty.ASSUMED for a in reads.values())
    copies = by_template(facts, AccessKind.ASYNC_COPY)
    assert [a.ways for a in copies.values()] == [1, 1]


def test_what_guesses_at_a_number_disagree_on_is_a_sample(tmp_path):
    """Rows of `N` elements, read by column: 1,024 is a multiple of 32 words, 1,000 is not."""
    text = ROWS.replace("PITCH", "self.N").replace(
        "s[0, (tx % 32) * cute.arch.WARP_SIZE]", "s[tx % 4, 0]"
    )
    reads = by_template(facts_of(text, tmp_path), AccessKind.LOAD)
    assert {a.certainty for a in reads.values()} == {Certainty.SAMPLED}


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        ("assert x.dtype in (torch.float16, torch.bfloat16, torch.float32)", [16, 32]),
        ("types = {torch.float16, torch.float32}", [16, 32]),
        ("def f(t: Type[Float8E4M3FN | Float16 | Float32]): pass", [8, 16, 32]),
        ("assert x.dtype in (torch.float16, torch.bfloat16)", []),  # of one width
        ("a, b = (Float16, Float32)", []),  # two types of one kernel
        ("assert x.dtype in (torch.float32, torch.int64)", []),
        ("flags = A | B", []),
        ("def f(t: Float16 | Float32 | None = None): pass", [16, 32]),
        ("flags = " + " | ".join(["Float16", "Float32", *"A" * 1500]), [16, 32]),  # nested deeply
    ],
)
def test_element_types_that_a_file_takes(text, widths):
    assert [t.bits for t in declared_types(ast.parse(text))] == widths


def test_guesses_at_numbers_by_name():
    assert guessed_extents("head_dim") == (64, 128)
    assert guessed_extents("num_threads") == (128, 256)
    assert guessed_extents("N") == (1024, 1000)
    assert guessed_extents("seed") is None


QUACK = """
from quack import copy_utils, layout_utils


@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float16, cute.make_layout((64, 64), stride=(64, 1)), 1024)
    tiled = copy_utils.tiled_copy_2d(cutlass.Float16, 8, 128, 8)
    part = tiled.get_slice(tx)
    copy_utils.copy(part.partition_S(VIEW), cute.make_rmem_tensor_like(part.partition_D(s)))
"""


@pytest.mark.parametrize(
    ("view", "width", "ways"),
    [("s", 16, 1), ("layout_utils.select(s, [0, 1])", 16, 1)],
)
def test_helpers_of_quack(view, width, ways, tmp_path):
    (read,) = facts_of(QUACK.replace("VIEW", view), tmp_path).kernels[0].accesses
    assert (read.width_bytes, read.ways) == (width, ways)


MATRICES = """
from quack import layout_utils


class Tile:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)), (4, 1, 1)
        )
        self.kernel(a, mma).launch(grid=[1, 1, 1], block=[128, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, mma: cute.TiledMma):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float16, cute.make_layout((64, 64), stride=(64, 1)), 1024)
        t = layout_utils.transpose_view(s)
        load = cute.make_tiled_copy_B(
            cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), cutlass.Float16), mma
        ).get_slice(tx)
        r = mma.make_fragment_B(mma.get_slice(tx).partition_B(t))
        cute.copy(load, load.partition_S(t), load.retile(r))
"""


def test_a_transposed_view_reads_the_rows_of_the_tile(tmp_path):
    """Eight rows of 128 bytes without a swizzle: each matrix is 8-way, as for the tile itself."""
    text = MATRICES.replace("(4, 1, 1)", "(4, 1, 1), permutation_mnk=(64, 16, 16)")
    (read,) = facts_of(text, tmp_path).kernels[0].accesses
    assert (read.kind, read.ways) == (AccessKind.LDMATRIX, 8)


def test_an_imported_file_is_parsed_once_for_all_executions(tmp_path, monkeypatch):
    """One as a program, and more with guesses at the argument."""
    parsed, parse = [], PythonText.of
    monkeypatch.setattr(
        PythonText, "of", lambda source: parsed.append(source.path) or parse(source)
    )
    (tmp_path / ".git").mkdir()  # whose files may be read
    (tmp_path / "rows.py").write_text("def pitch(n):\n    return 32 * n\n")
    text = """
from rows import pitch


@cute.kernel
def kernel(n: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, 32), stride=(pitch(n), 1))
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    x = s[tx % 32, 0]
"""
    (read,) = facts_of(text, tmp_path).kernels[0].accesses
    assert read.ways == 32
    assert parsed.count(str(tmp_path / "rows.py")) == 1


def test_an_imported_file_imports_relative_to_its_own_folder(tmp_path):
    for folder in ("", "kernels", "types"):
        (tmp_path / "p" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "p" / folder / "__init__.py").write_text("")
    (tmp_path / "p" / "types" / "numbers.py").write_text("def pitch():\n    return 32\n")
    (tmp_path / ".git").mkdir()  # whose files may be read
    (tmp_path / "p" / "utils.py").write_text("from .types.numbers import pitch\n")
    text = """
from ..utils import pitch


@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, 32), stride=(pitch(), 1))
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    x = s[tx % 32, 0]
"""
    (read,) = facts_of(text, tmp_path / "p" / "kernels").kernels[0].accesses
    assert read.ways == 32


STAGES = """
@cute.kernel
def kernel(n: cutlass.Int32):
    tx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, 32, 2), stride=(32, 1, 1024))
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    mine = cute.local_partition(s, cute.make_layout((32, 1, 1)), tx % 32)
    part = mine[0, None, 0]
    for i in range(n):
        if i % 2 == 0:
            part = mine[0, None, 1]
        x = part[0]
"""


def test_a_tensor_that_changes_its_stage_moves_by_stages(tmp_path):
    """Whatever stage it is: 32 rows of 128 bytes."""
    (read,) = facts_of(STAGES, tmp_path).kernels[0].accesses
    assert (read.ways, read.certainty) == (32, Certainty.ASSUMED)


STATEMENTS = """
@cute.kernel
def kernel(a: cute.Tensor, n: cutlass.Int32):
    tx, _, _ = cute.arch.thread_idx()
    BODY
"""
ALLOCATED = (
    "s = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float32, 1024, 16), cute.make_layout(1024))"
)
TILE = "s = utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((64, 64)), 16)"
FMA = "cute.gemm(cute.make_mma_atom(cute.nvgpu.MmaUniversalOp(cutlass.Float16)), a, s, s, a)"


@pytest.mark.parametrize(
    ("body", "accesses"),
    [
        (f"{ALLOCATED}; x = s[tx % 32 * 32]", [(AccessKind.LOAD, 32.0)]),
        (f"{ALLOCATED}; cute.arch.store(s.iterator + tx % 32 * 2, 1.0)", [(AccessKind.STORE, 2.0)]),
        (f"{ALLOCATED}; x = cute.arch.load(s.iterator.llvm_ptr, cutlass.Int64)", [(AccessKind.LOAD, 1.0)]),
        (f"{TILE}; utils.make_contiguous_group_work_tile_info(4, s[None, 0])", [(AccessKind.LOAD, 1.0)]),
        (f"{TILE}; {FMA}", [(AccessKind.LOAD, 0.0)]),  # not decided: no way, no silence
    ],
)  # fmt: skip
def test_every_way_to_shared_memory_is_an_access(body, accesses, tmp_path):
    (kernel,) = facts_of(STATEMENTS.replace("BODY", body), tmp_path).kernels
    assert [(a.kind, a.ways) for a in kernel.accesses] == accesses


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (f"{TILE}; far.away(s)", "away"),
        (f"{ALLOCATED}; cute.arch.atomic_add(s.iterator, 1.0)", "atomic_add"),
        (f"{ALLOCATED}; cutlass._mlir.dialects.llvm.inline_asm(None, [s.iterator.toint()], '')", "inline_asm"),
    ],
)  # fmt: skip
def test_what_is_not_followed_and_touches_shared_memory_is_noted(body, name, tmp_path):
    (kernel,) = facts_of(STATEMENTS.replace("BODY", body), tmp_path).kernels
    assert not kernel.accesses
    assert any(f"`{name}`" in n.reason.text for n in kernel.not_analysed)


@pytest.mark.parametrize(
    ("layout", "index", "ways"),
    [("(n, 4)", "tx % 32, 0", 1.0), ("(4, n), stride=(n, 1)", "2, tx % 32", 1.0)],
)
def test_an_extent_that_nobody_gives_is_only_missed_where_it_counts(layout, index, ways, tmp_path):
    tile = f"s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout({layout}))"
    (kernel,) = facts_of(STATEMENTS.replace("BODY", f"{tile}; x = s[{index}]"), tmp_path).kernels
    assert [(a.certainty.is_decided, a.ways) for a in kernel.accesses] == [(True, ways)]


def test_a_constant_that_nobody_gives_is_any_number_for_all_threads(tmp_path):
    text = """
@cute.kernel
def kernel(a: cute.Tensor, rows: cutlass.Constexpr[int], step: cutlass.Constexpr[int]):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((rows, 32), stride=(40, 1))
    )
    s[rows - 1, tx % 32] = 1.0
    s[0, tx % 32 * step] = 1.0
"""
    (kernel,) = facts_of(text, tmp_path).kernels
    assert [(a.certainty.is_decided, a.ways) for a in kernel.accesses] == [
        (True, 1.0),
        (False, 0.0),
    ]


def test_a_pitch_that_nobody_gives_leaves_its_column_open(tmp_path):
    layout = "cute.make_layout((64, n), stride=(n, 1))"
    tile = f"s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, {layout})"
    (kernel,) = facts_of(STATEMENTS.replace("BODY", f"{tile}; x = s[tx, 0]"), tmp_path).kernels
    assert [a.certainty.is_decided for a in kernel.accesses] == [False]


ODD = """
    t = cute.zipped_divide(s, (0, 0)); x = t[tx]
    t = cute.make_tensor(s.iterator, cute.make_layout((10**30, 2))); x = t[tx, 0]
    t = cute.make_tensor(s.iterator, cute.make_layout((-4, 4))); x = t[tx, 0]
    t = cute.make_tensor(s.iterator, cute.make_layout((4, 4), stride=(1,))); x = t[tx, 0]
    t = cute.make_tensor(s.iterator, cute.make_composed_layout(cute.make_swizzle(n, 4, 3), 0, cute.make_layout(64))); x = t[tx]
    c = cute.make_copy_atom(warp.NoSuchOp(), cutlass.Float16); cute.copy(c, s, s)
    c = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=7); cute.copy(c, s, s)
    c = cute.make_tiled_copy_tv(None, None, None); cute.copy(c, s, s)
    cute.copy(s)
    s[10**40, tx] = 1.0
    s[1.5, tx] = 1.0
    s[tx % 0, 1] = 1.0
    cute.recast_tensor(s, n)[tx, 0]
    c = cute.make_copy_atom(cute.nvgpu.tcgen05.Ld32x32bOp([n, kernel]), cutlass.Float32); cute.copy(c, s, s)
    t = cute.local_partition(s, cute.make_layout((0,)), tx); t[0] = 1.0
    t = cute.select(s, [9]); t[tx] = 1.0
    t = s if n > 5 else None; t[0, 0] = 1.0
    cute.make_tensor(s.iterator - tx, cute.make_layout(64))[tx] = 1.0
"""


@pytest.mark.parametrize("body", [line.strip() for line in ODD.strip().splitlines()])
def test_odd_programs_are_neither_silent_nor_internal_errors(body, tmp_path):
    facts = facts_of(STATEMENTS.replace("BODY", f"{TILE}; {body}"), tmp_path)
    notes = [n for k in facts.kernels for n in k.not_analysed] + list(facts.not_analysed)
    assert notes or any(k.accesses for k in facts.kernels)
    assert all(n.reason.code is not ReasonCode.INTERNAL_ERROR for n in notes)


def test_a_kernel_without_its_decorator_is_said(tmp_path):
    facts = facts_of(STATEMENTS.replace("@cute.kernel", "").replace("BODY", TILE), tmp_path)
    assert [n.reason.code for n in facts.not_analysed] == [ReasonCode.NOT_REACHED]


def test_elements_of_two_widths_are_not_copied_by_themselves(tmp_path):
    """`autovec_copy` refuses them: a type that was guessed is wrong, not the address."""
    body = f"{TILE}; t = cute.recast_tensor(s, cutlass.Uint8); cute.autovec_copy(cute.make_rmem_tensor(8, cutlass.Float16), cute.local_tile(t, (1, 8), (tx, 0)))"
    (access,) = facts_of(STATEMENTS.replace("BODY", body), tmp_path).kernels[0].accesses
    assert access.certainty is Certainty.UNKNOWN


def test_ldmatrix_of_a_part_of_a_warp_is_not_decided(tmp_path):
    """All lanes of a warp execute it: a condition that leaves some out was not followed."""
    text = MATRICES.replace("(4, 1, 1)", "(4, 1, 1), permutation_mnk=(64, 16, 16)")
    part = text.replace("        cute.copy(load", "        if tx > 0:\n            cute.copy(load")
    (read,) = facts_of(part, tmp_path).kernels[0].accesses
    assert read.certainty is Certainty.UNKNOWN


RANKS = """
@cute.jit
def host(a: cute.Tensor):
    n = cute.rank(a) // 3 * 64
    for i in cutlass.range_constexpr(n):
        for j in cutlass.range_constexpr(n):
            for k in cutlass.range_constexpr(n):
                x = i + j + k
    kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
    s[2 * tx] = a[tx, 0]
"""


def test_the_alignment_of_a_tensor_whose_modes_are_guessed_is_assumed(tmp_path):
    part = "(1, 8), (tx % 8, tx // 8)"
    copy = f"cute.autovec_copy(cute.local_tile(a, {part}), cute.local_tile(s, {part}))"
    text = RANKS.replace("// 3 * 64", "* 0").replace("s[2 * tx] = a[tx, 0]", copy)
    text = text.replace(
        "Float32, cute.make_layout(64)", "Float16, cute.make_layout((8, 32), stride=(32, 1))"
    )
    (access,) = facts_of(text, tmp_path).kernels[0].accesses
    assert access.width_bytes == 16
    assert [a.topic for a in access.assumptions].count(Topic.ALIGNMENT) == 1


@pytest.mark.slow
def test_what_takes_too_long_with_a_rank_that_is_not_taken_is_no_gap(tmp_path):
    """Of rank 3 and 4, loops take 64 times 64 times 64 iterations."""
    facts = facts_of(RANKS, tmp_path)
    assert [a.ways for k in facts.kernels for a in k.accesses] == [2]
    assert not facts.not_analysed


OPTIONS = """
@cute.kernel
def kernel(a: cute.Tensor, pitch: cutlass.Constexpr, is_slow: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 32), stride=(pitch, 1))
    )
    if cutlass.const_expr(is_slow):
        cute.autovec_copy(s[tx, None], a[tx, None])
    else:
        s[0, tx] = 1.0


@cute.jit
def launch(a: cute.Tensor, pitch: cutlass.Constexpr, is_slow: cutlass.Constexpr):
    if pitch < 32:
        raise ValueError("rows overlap")
    kernel(a, pitch, is_slow).launch(grid=[1, 1, 1], block=[32, 1, 1])


if __name__ == "__main__":
    import os
    parser = argparse.ArgumentParser()
    parser.add_argument("--pitch", type=int, choices=[32, 16], default=32)
    parser.add_argument("--is_slow", action="store_true")
    args = parser.parse_args()
    x = torch.empty((32, 32), dtype=torch.float32, device="cuda")
    columns = os.getenv("NO_SUCH_VARIABLE", default=args.pitch)
    cute.compile(launch, from_dlpack(x), columns, args.is_slow)
"""


def test_a_flag_is_tried_where_copies_are_left_and_refused_options_are_not(tmp_path):
    facts = facts_of(OPTIONS, tmp_path)
    templates = [dict(k.instance.template) for k in facts.kernels]
    assert templates == [{}, {"is_slow": "True"}]
    assert ways(facts) == [(AccessKind.STORE, 4, 1.0), (AccessKind.LOAD, 16, 8.0)]
    assert not facts.not_analysed


STRUCTS = """
@cute.struct
class One:
    info: cute.struct.MemRange[cutlass.Int32, 8]
    rows: cute.struct.MemRange[cutlass.Float32, 1024]


@cute.struct
class Two:
    info: cute.struct.MemRange[cutlass.Int32, 8]
    more: cute.struct.MemRange[cutlass.Float32, 33]
    rows: cute.struct.MemRange[cutlass.Float32, 2048]


@cute.kernel
def kernel(a: cute.Tensor, is_large: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    storage = utils.SmemAllocator().allocate(Two if is_large + a else One)
    info = storage.info.get_tensor(cute.make_layout(8))
    info[5] = 1
    rows = storage.rows.get_tensor(cute.make_layout((32, 32), stride=(32, 1)))
    rows[tx % 32, 0] = 1.0
"""


def test_a_struct_that_is_one_of_two_has_the_fields_of_both(tmp_path):
    assert ways(facts_of(STRUCTS, tmp_path)) == [
        (AccessKind.STORE, 4, 1.0),
        (AccessKind.STORE, 4, 32.0),
    ]


TAIL = """
@cute.kernel
def kernel(N: cutlass.Constexpr[int]):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 2), stride=(2, 1)), 16
    )
    if cutlass.const_expr(N % 1024 == CASE):
        x = s[tx % 32, 0]
    y = s[0, tx % 2]
"""


@pytest.mark.parametrize(("case", "certainty"), [(0, "SAMPLED"), (1000, "SAMPLED"), (7, None)])
def test_an_access_that_one_of_the_guesses_leads_to_is_a_sample(case, certainty, tmp_path):
    """N is 1024 or 1000; a pitch of two words is 2-way."""
    found = facts_of(TAIL.replace("CASE", str(case)), tmp_path).kernels[0].accesses
    by_ways = {a.ways: a.certainty.name for a in found}
    assert by_ways == ({1: "ASSUMED"} if certainty is None else {1: "ASSUMED", 2: certainty})


TWICE = """
def put(array, tx):
    array[tx % 32, 0] = 0.0


@cute.kernel
def kernel(N: cutlass.Constexpr[int]):
    tx, _, _ = cute.arch.thread_idx()
    smem = utils.SmemAllocator()
    one = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 2), stride=(2, 1)), 16)
    other = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 4), stride=(4, 1)), 16)
    put(one, tx)
    put(other, tx)
"""


def test_arrays_that_one_line_stores_to_stay_apart(tmp_path):
    found = facts_of(TWICE, tmp_path).kernels[0].accesses
    assert [(a.array.name, a.ways) for a in found] == [("one", 2), ("other", 4)]


SWITCHED = """
class Base:
    def __init__(self, dtype, is_padded: bool = False, in_registers: bool = False):
        self.dtype = dtype
        self.pitch = 36 if is_padded else 32
        self.in_registers = in_registers


class Kept(Base):
    def __init__(self, *args, is_open: bool = False, **kwargs):
        super().__init__(*args, **kwargs)

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Pointer):
        self.kernel(a, b).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Pointer):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        layout = cute.make_layout((32, 32), stride=(self.pitch, 1))
        s = smem.allocate_tensor(self.dtype, layout, 16)
        r = cute.make_rmem_tensor((1,), self.dtype)
        self.load(s, r, tx)
        g = cute.make_ptr(b.unknown_type, 0, cute.AddressSpace.gmem)
        cute.autovec_copy(r, cute.make_tensor(g, cute.make_layout(1)))

    @cute.jit
    def load(self, s, r, tx):
        x = s[tx, 0]
        if cutlass.const_expr(self.in_registers):
            cute.autovec_copy(s[tx, None], r)
            y = s[tx, 0]
        elif cutlass.const_expr(self.never):
            pass
"""


def test_flags_that_lead_to_a_copy_are_tried_with_their_other_value(tmp_path):
    """Halves, 16 words apart: 16 threads meet in a bank. What is known without the flag stays."""
    facts = facts_of(SWITCHED, tmp_path)
    given = [{a.text for a in k.accesses[0].assumptions} for k in facts.kernels]
    assert [len(k.accesses) for k in facts.kernels] == [1, 2]
    assert [any("in_registers" in text for text in texts) for texts in given] == [False, True]
    assert {a.ways for k in facts.kernels for a in k.accesses if a.instructions == 1} == {16}
    assert not any("is_padded" in text for texts in given for text in texts)
    assert not facts.not_analysed
    assert not any(k.not_analysed for k in facts.kernels)


POINTERS = """
@cute.kernel
def kernel(a: cute.Tensor, dtype: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(dtype, cute.make_layout((32, 64), stride=(64, 1)), 16)
    part = cute.make_tensor(a.iterator + 64 * tx, cute.make_layout(8))
    cute.autovec_copy(cute.make_rmem_tensor((8,), a.element_type), part)
    x = s[tx, 0]

@cute.jit
def run(a: cute.Tensor, scales: cute.Pointer):
    kernel(a, scales.dtype).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


def test_pointers_have_guessed_types_and_moved_ones_stay_in_their_memory(tmp_path):
    """Rows of 64 halves meet in one bank; what is copied to global memory is no shared access."""
    (kernel,) = facts_of(POINTERS, tmp_path).kernels
    (access,) = kernel.accesses
    assert (access.width_bytes, access.ways, access.certainty) == (2, 32, Certainty.ASSUMED)
    assert not kernel.not_analysed


FAKES = """
from quack.compile_utils import make_fake_tensor as fake

@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    pitch = 32 + a.leading_dim
    s = smem.allocate_tensor(a.element_type, cute.make_layout((32, 32), stride=(pitch, 1)), 16)
    x = s[tx, 0]

@cute.jit
def run(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

if __name__ == "__main__":
    cute.compile(run, fake(cutlass.Float32, (cute.sym_int(), 64), GIVEN))
"""


@pytest.mark.parametrize(("given", "ways_of_columns"), [("4", 1), ("4, 0", 32), ("4, -1", 1)])
def test_fake_tensors_of_quack_have_a_contiguous_mode(given, ways_of_columns, tmp_path):
    """Rows of 33 words where it is the last one, else of 32."""
    (kernel,) = facts_of(FAKES.replace("GIVEN", given), tmp_path).kernels
    assert [a.ways for a in kernel.accesses] == [ways_of_columns]


@pytest.mark.parametrize("extent", ["cute.sym_int()", "unread()", "64"])
def test_a_fake_tensor_with_an_unknown_extent_keeps_its_type(extent, tmp_path):
    """Rows of 33 words: the last mode is contiguous, whatever its extent."""
    made = f"cute.runtime.make_fake_compact_tensor(cutlass.Float32, (8, {extent}), (1, 0))"
    text = FAKES.replace("fake(cutlass.Float32, (cute.sym_int(), 64), GIVEN)", made)
    (kernel,) = facts_of(text, tmp_path).kernels
    assert [(a.width_bytes, a.ways) for a in kernel.accesses] == [(4, 1)]


SUMS = """
@cute.kernel
def kernel(acc_dtype: Type[cutlass.Numeric], c_dtype: Type[cutlass.Numeric]):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(acc_dtype, cute.make_layout((32, 16), stride=(16, 1)), 16)
    c = smem.allocate_tensor(c_dtype, cute.make_layout((32, 16), stride=(16, 1)), 16)
    x = s[tx, 0]
    y = c[tx, 0]
"""


def test_accumulators_are_floats(tmp_path):
    """Rows of 64 bytes meet in two banks, those of 32 bytes in four."""
    (kernel,) = facts_of(SUMS, tmp_path).kernels
    assert [(a.width_bytes, a.ways) for a in kernel.accesses] == [(4, 16), (2, 8)]


TABLE = """
TILES = {(256, 64): (36, 8), (512, 64): (SECOND, 8), (512, 128): (33, 8)}

@cute.kernel
def kernel(pitch: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(pitch, 1)), 16)
    x = s[tx, 0]

@cute.jit
def host(pitch: cutlass.Constexpr):
    kernel(pitch).launch(grid=[1, 1, 1], block=[32, 1, 1])

def compiled(problem):
    pitch, _ = TILES[problem]
    return cute.compile(host, pitch)
"""


@pytest.mark.parametrize(("second", "ways"), [(36, {4}), (44, {4}), (40, set())])
def test_a_table_that_is_asked_for_an_open_key_gives_one_of_its_first_items(tmp_path, second, ways):
    """36 and 44 words apart are 4-way both; where they differ, 4- and 8-way, neither is said."""
    facts = facts_of(TABLE.replace("SECOND", str(second)), tmp_path)
    found = [a for k in facts.kernels for a in k.accesses]
    assert {a.ways for a in found if a.certainty is Certainty.ASSUMED} == ways


CONFIGURED = """
KIND
    pitch: int = 33
    width: WIDTH
    is_wide: bool = False
    POST

class Rows:
    def __init__(self, config: CONFIG):
        self.config = config

LAUNCHED
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
        pitch = cutlass.const_expr(64 if self.config.is_wide else self.config.pitch)
        x = s[tx * pitch + self.config.width]
""".replace("LAUNCHED\n", LAUNCHED)


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({}, {1, 32}),
        ({"KIND": "class Config(NamedTuple):"}, {1, 32}),
        ({"33": "34"}, {2, 32}),
        ({"WIDTH": "Type[cutlass.Numeric] = None", "config.width": "config.width.width"}, {1, 32}),
        ({"POST": "def __post_init__(self):\n        unread(self)"}, set()),
        ({"CONFIG": "Unread"}, set()),
        ({"KIND": "class Config:"}, set()),
    ],
)
def test_objects_of_classes_with_fields_have_their_defaults(changes, known, tmp_path):
    """A pitch of 33 words has no conflict, 34 has two ways; with the other flag it is 64, 32 ways."""
    text = CONFIGURED
    usual = {
        "KIND": "@dataclass\nclass Config:",
        "CONFIG": "Config",
        "POST": "",
        "WIDTH": "int = 0",
    }
    for old, new in (changes | {k: v for k, v in usual.items() if k not in changes}).items():
        text = text.replace(old, new)
    head = "from dataclasses import dataclass\nfrom typing import NamedTuple, Type\n"
    accesses = [a for k in facts_of(head + text, tmp_path).kernels for a in k.accesses]
    assert {a.ways for a in accesses if a.certainty.is_decided} == known


@pytest.mark.parametrize(("storage", "known"), [("barrier_storage", {1}), ("storage", set())])
def test_what_is_created_with_storage_for_barriers_is_a_pipeline(storage, known, tmp_path):
    """Its state's index is the same for all threads of a warp."""
    text = f"""
@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 4)), 16)
    made = unread(a).kind.create({storage}=smem.allocate_array(cutlass.Int64, 4), stages=2)
    handle = made.wait_and_advance()
    x = s[tx, handle.index]
"""
    found = facts_of(text, tmp_path).kernels
    assert {a.ways for k in found for a in k.accesses if a.certainty.is_decided} == known
    assert any(k.not_analysed for k in found) is (not known)
