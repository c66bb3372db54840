"""Kernels of the CuTe DSL, executed: figures that follow from their layouts by arithmetic."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.facts import AccessKind, Certainty
from smemlint.lint.check import run_rules
from smemlint.reasons import Topic
from smemlint.sources.source import Source

CORPUS = Path("/work/corpus/cutlass/examples/python/CuTeDSL/cute")
HEAD = """
import argparse
import torch
import cutlass
import cutlass.cute as cute
import cutlass.utils as utils
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import from_dlpack

"""
LAUNCHED = """\
    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
"""
"""How kernels of one warp begin that are methods."""


def facts_of(text, tmp_path, arch="sm_90"):
    path = tmp_path / "k.py"
    path.write_text(HEAD + text)
    return check([Source(str(path))], Settings(arch=arch)).facts


def ways(facts, kernel=None):
    """Kind and ways of every access, in source order."""
    return [
        (a.kind, a.width_bytes, a.ways)
        for k in facts.kernels
        if kernel is None or k.instance.kernel == kernel
        for a in k.accesses
    ]


MMA = """mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(a.element_type, cutlass.Float32, (16, 8, 16)),
            (4, 1, 1),
            permutation_mnk=(64, 16, 16),
        )"""
LOAD = """load = cute.make_tiled_copy_A(
            cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), a.element_type), mma
        ).get_slice(tx)
        r = mma.make_fragment_A(mma.get_slice(tx).partition_A(s))
        cute.copy(load, load.partition_S(s), load.retile(r))"""
"""ldmatrix of all of `s` for operand A of that MMA."""
MATRICES = """
class Tile:
    def __init__(self, bits, base, shift):
        self.swizzle = (bits, base, shift)

    @cute.jit
    def __call__(self, a: cute.Tensor):
        atom = cute.make_composed_layout(
            cute.make_swizzle(*self.swizzle), 0, cute.make_layout((8, 64), stride=(64, 1))
        )
        layout = cute.tile_to_shape(atom, (64, 64), (0, 1))
        MMA
        self.kernel(a, layout, mma).launch(grid=[1, 1, 1], block=[mma.size, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, layout: cute.ComposedLayout, mma: cute.TiledMma):
        tx, _, _ = cute.arch.thread_idx()
        s = cutlass.utils.SmemAllocator().allocate_tensor(a.element_type, layout, 1024)
        LOAD


if __name__ == "__main__":
    x = torch.empty((64, 64), dtype=torch.float16, device="cuda")
    cute.compile(Tile(SWIZZLE), from_dlpack(x, assumed_align=16))
""".replace("MMA", MMA).replace("LOAD", LOAD)


@pytest.mark.parametrize(
    ("swizzle", "expected"),
    [("3, 3, 3", 1), ("3, 4, 3", 2), ("2, 3, 3", 2), ("0, 4, 3", 8), ("3, 3, 2", 8)],
)
def test_ldmatrix_through_a_composed_swizzle(swizzle, expected, tmp_path):
    """Rows of 128 bytes: eight chunks of 16 bytes meet in as many banks as the swizzle parts."""
    facts = facts_of(MATRICES.replace("SWIZZLE", swizzle), tmp_path)
    assert ways(facts) == [(AccessKind.LDMATRIX, 16, expected)]
    (access,) = facts.kernels[0].accesses
    assert access.instructions == 4 * 4  # four warps, four steps of K
    assert access.certainty is Certainty.ASSUMED
    assert facts.kernels[0].instance.block == (128, 1, 1)


MAJOR = """
@cute.jit
def host(a: cute.Tensor):
    if cutlass.const_expr(utils.LayoutEnum.from_tensor(a) == utils.LayoutEnum.ROW_MAJOR):
        threads = cute.make_layout((4, 32), stride=(32, 1))
    else:
        threads = cute.make_layout((32, 4), stride=(1, 32))
    copy = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32),
        threads,
        cute.make_layout((1, 1)),
    )
    kernel(a, copy).launch(grid=[1, 1, 1], block=[128, 1, 1])


@cute.kernel
def kernel(a: cute.Tensor, copy: cute.TiledCopy):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(32, 1)), 16)
    part = copy.get_slice(tx)
    cute.copy(copy, part.partition_S(a), part.partition_D(s))


def run(major):
    x = torch.empty((32, 32), dtype=torch.float32)
    if major == "column":
        x = x.permute(1, 0)
    host(from_dlpack(x).mark_layout_dynamic())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--major", choices=["row", "column"], default="row")
    args = parser.parse_args()
    run(args.major)
"""


def test_each_choice_of_the_command_line_is_executed(tmp_path):
    facts = facts_of(MAJOR, tmp_path)
    assert [k.instance.template for k in facts.kernels] == [(), (("major", "column"),)]
    assert ways(facts) == [(AccessKind.STORE, 4, 1), (AccessKind.STORE, 4, 32)]


STAGES = """
@cute.jit
def host(n: cutlass.Int32):
    kernel(n).launch(grid=[1, 1, 1], block=[64, 1, 1])


@cute.kernel
def kernel(n: cutlass.Int32):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((64, 4)), 128)
    stage = 0
    for i in range(n):
        if cute.arch.warp_idx() == 1:
            s[tx, stage] = 1.0
        cute.arch.sync_threads()
        stage = (stage + 1) % 4
    STRIDE


if __name__ == "__main__":
    host(5)
"""


def test_a_stage_is_the_same_for_all_threads(tmp_path):
    """A stage of 256 bytes moves no bank, and one warp of two stores."""
    facts = facts_of(STAGES.replace("STRIDE", "s[(tx * 2) % 64, stage] = 2.0"), tmp_path)
    assert ways(facts) == [(AccessKind.STORE, 4, 1), (AccessKind.STORE, 4, 2)]
    first, _ = facts.kernels[0].accesses
    assert {p.warp for p in first.patterns} == {1}
    assert sum(p.count for p in first.patterns) == 5


def test_an_index_from_memory_is_not_decided(tmp_path):
    facts = facts_of(STAGES.replace("STRIDE", "s[s[tx, 0], 0] = 2.0"), tmp_path)
    decided = [a.certainty.is_decided for a in facts.kernels[0].accesses]
    assert decided == [True, False, True]


def test_a_copy_that_no_execution_reaches_is_counted(tmp_path):
    text = """
def helper(s, r):
    cute.autovec_copy(s, r)
    cute.autovec_copy(r, s)

class Storage:
    smem = 1
"""
    facts = facts_of("@cute.jit\ndef nothing():\n    pass\n" + text, tmp_path)
    assert [(n.kernel, n.span.line) for n in facts.not_analysed] == [("helper", 15), ("helper", 16)]
    settings = Settings()
    assert len(run_rules(facts, lambda _: settings)) == 1  # of alike ones


def test_endless_host_code_ends(tmp_path):
    text = """
@cute.kernel
def kernel(smem: cute.Tensor):
    pass

def run(n):
    while True:
        for i in range(1 << 30):
            run(n + i)

run(0)
"""
    facts = facts_of(text, tmp_path)
    assert facts.kernels == () or all(not k.accesses for k in facts.kernels)


@pytest.mark.skipif(not CORPUS.exists(), reason="CUTLASS is not fetched")
@pytest.mark.parametrize(
    ("file", "worst"),
    [
        ("ampere/kernel/dense_gemm/tensorop_gemm.py", 1),
        ("ampere/kernel/attention/flash_attention_v2.py", 1),
        ("ampere/kernel/attention/hstu_attention.py", 2),
        ("hopper/kernel/dense_gemm/dense_gemm_persistent.py", 1),
    ],
)
def test_examples_of_cutlass(file, worst):
    """As nvidia-cutlass-dsl 4.8.1 compiles them: lane patterns of all accesses in its PTX."""
    facts = check([Source(str(CORPUS / file))], Settings()).facts
    accesses = [a for k in facts.kernels for a in k.accesses if a.kind is not AccessKind.ASYNC_COPY]
    assert accesses
    assert all(a.certainty.is_decided for a in accesses)
    assert max(a.ways for a in accesses) == worst


@pytest.mark.parametrize(
    ("swizzle", "advised"), [("3, 4, 3", "3, 3, 3"), ("0, 4, 3", "3, 3, 3"), ("3, 3, 3", "")]
)
def test_the_swizzle_that_frees_all_copies_is_named(swizzle, advised, tmp_path):
    (access,) = facts_of(MATRICES.replace("SWIZZLE", swizzle), tmp_path).kernels[0].accesses
    assert re.findall(r"make_swizzle\((.*?)\)", access.advice) == ([advised] if advised else [])


EPILOGUE = """
class Store:
    @cute.jit
    def __call__(self, c: cute.Tensor):
        layout = sm90_utils.make_smem_layout_epi(
            c.element_type, utils.LayoutEnum.from_tensor(c), (64, 32), 1
        )
        mma = sm90_utils.make_trivial_tiled_mma(
            cutlass.Float16, cutlass.Float16, cute.nvgpu.OperandMajorMode.K,
            cute.nvgpu.OperandMajorMode.K, cutlass.Float32, (1, 1, 1), (64, 32),
        )
        op = sm90_utils.sm90_get_smem_store_op(
            utils.LayoutEnum.from_tensor(c), c.element_type, cutlass.Float32
        )
        self.kernel(c, layout, mma, op).launch(grid=[1, 1, 1], block=[128, 1, 1])

    @cute.kernel
    def kernel(self, c: cute.Tensor, layout: cute.ComposedLayout, mma: cute.TiledMma, op):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(c.element_type, layout.outer, 1024, swizzle=layout.inner)
        matrices = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), c.element_type)
        tiled = cute.make_tiled_copy_S(op, cute.make_tiled_copy_C_atom(matrices, mma))
        copy = tiled.get_slice(tx)
        shape = cute.shape(copy.partition_S(s))[:3]
        r = cute.make_rmem_tensor(cute.make_layout(shape), c.element_type)
        cute.copy(tiled, r, copy.partition_D(s)[None, None, None, 0])


if __name__ == "__main__":
    x = torch.empty((64, 32), dtype=torch.DTYPE)PERMUTED
    cute.compile(Store(), from_dlpack(x, assumed_align=16))
"""


@pytest.mark.parametrize(
    ("dtype", "permuted", "expected"),
    [
        ("float32", "", (AccessKind.STORE, 8, 2)),  # 4 wavefronts instead of 2
        ("float32", ".permute(1, 0)", (AccessKind.STORE, 4, 1)),
        ("float16", "", (AccessKind.STMATRIX, 16, 1)),
    ],
)
def test_the_epilogue_of_hopper(dtype, permuted, expected, tmp_path):
    """As in the PTX of nvidia-cutlass-dsl 4.8.1: only a 32-bit row-major result conflicts."""
    head = "import cutlass.utils.hopper_helpers as sm90_utils\n"
    text = EPILOGUE.replace("DTYPE", dtype).replace("PERMUTED", permuted)
    if permuted:
        text = text.replace("torch.empty((64, 32)", "torch.empty((32, 64)")
    assert ways(facts_of(head + text, tmp_path)) == [expected]


ROWS = """
@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])


@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    n = 1024 // cutlass.DTYPE.width
    atom = cute.make_composed_layout(
        cute.make_swizzle(SWIZZLE), 0, cute.make_layout((8, n), stride=(n, 1))
    )
    s = cutlass.utils.SmemAllocator().allocate_tensor(
        cutlass.DTYPE, cute.tile_to_shape(atom, (32, n), (0, 1)), 1024
    )
    copy = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.DTYPE, num_bits_per_copy=128),
        cute.make_layout((32, 1)),
        cute.make_layout((1, 128 // cutlass.DTYPE.width)),
    )
    part = copy.get_slice(tx).partition_S(s)
    cute.copy(copy, part, cute.make_fragment_like(part))


if __name__ == "__main__":
    host()
"""


@pytest.mark.parametrize(
    ("dtype", "swizzle", "expected"),
    [
        ("Float16", "3, 3, 3", 1),
        ("Int8", "3, 4, 3", 1),
        ("Float32", "3, 2, 3", 1),
        ("Int8", "4, 4, 4", 2),
        ("Float32", "2, 2, 2", 4),
    ],
)
def test_a_swizzle_of_elements_for_elements_of_another_size(dtype, swizzle, expected, tmp_path):
    """Eight rows of 128 bytes at a time: base and shift of 16-bit elements are wrong for others."""
    facts = facts_of(ROWS.replace("DTYPE", dtype).replace("SWIZZLE", swizzle), tmp_path)
    assert ways(facts) == [(AccessKind.LOAD, 16, expected)]
    (access,) = facts.kernels[0].accesses
    assert access.instructions == 8


DEVICE = """
@cute.jit
def host(a: cute.Tensor, pitch: cutlass.Constexpr[int]):
    kernel(a, pitch).launch(grid=[1, 1, 1], block=[32, 1, 1])

@cute.kernel
def kernel(a: cute.Tensor, pitch: cutlass.Constexpr[int]):
    tx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, pitch), stride=(pitch, 1))
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    s[tx, 0] = 0.0

if __name__ == "__main__":
    largest = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    major, minor = torch.cuda.get_device_capability()
    x = torch.empty((32, 32), dtype=torch.float32, device="cuda")
    cute.compile(host, from_dlpack(x), largest // 1024 + 10 * major + minor)
"""


@pytest.mark.parametrize(
    ("arch", "pitch"), [("sm_80", 163 + 80), ("sm_90", 227 + 90), ("sm_121", 99 + 121)]
)
def test_properties_of_the_device_are_those_of_the_target(arch, pitch, tmp_path):
    """A pitch of the KiB of shared memory that a block can opt in to, and the capability."""
    (access,) = facts_of(DEVICE, tmp_path, arch).kernels[0].accesses
    (pattern,) = access.patterns
    assert pattern.addresses[1] - pattern.addresses[0] == 4 * pitch


QUACK = (
    """
import cutlass.cute.nvgpu.warpgroup as warpgroup
from quack import copy_utils, layout_utils, sm90_utils


class Tile:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        MMA
        self.kernel(a, mma).launch(grid=[1, 1, 1], block=[mma.size, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, mma: cute.TiledMma):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        stages = cute.make_layout((64, 64, 2), stride=(64, 1, 4096))
        s = smem.allocate_tensor(a.element_type, stages, 1024 SWIZZLE)
        v = smem.allocate_tensor(cutlass.Float32, cute.make_layout((64, 2)), 16)
        part = mma.get_slice(tx)
        acc, _, _ = sm90_utils.partition_fragment_ABC(part, (64, 64, 16), s[None, None, 0], s[None, None, 0])
        store, _, _ = copy_utils.get_smem_store_C(mma, s, tx)
        store(acc, dst_idx=1)
        rows = layout_utils.mma_partition_C_vec(v, part, expand_shape=64, is_colvec=True)
        cute.autovec_copy(rows[None, 0], cute.make_rmem_tensor_like(rows[None, 0]))


if __name__ == "__main__":
    x = torch.empty((64, 64), dtype=torch.float16, device="cuda")
    cute.compile(Tile(), from_dlpack(x, assumed_align=16))
"""
).replace("MMA\n", MMA + "\n", 1)  # fmt: skip


@pytest.mark.parametrize(
    ("swizzle", "expected"), [("", 8.0), (", cute.make_swizzle(3, 4, 3)", 1.0)]
)
def test_quack_stores_and_vectors_of_an_accumulator_are_followed(swizzle, expected, tmp_path):
    # Without a swizzle the 8 rows of a matrix lie 128 bytes apart; a quad reads one of 8 rows.
    facts = facts_of(QUACK.replace(" SWIZZLE", swizzle), tmp_path)
    assert ways(facts) == [(AccessKind.STMATRIX, 16, expected), (AccessKind.LOAD, 4, 1.0)]
    assert not facts.kernels[0].not_analysed


@pytest.mark.parametrize(("dtype", "figures"), [("float32", (4, 32)), ("float16", (2, 16))])
def test_tensors_of_pytorch_are_taken_as_they_are(tmp_path, dtype, figures):
    """A column of rows of 32 elements: 32 words apart, or 16 words and two threads a word."""
    text = f"""
@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    smem = utils.SmemAllocator()
    s = smem.allocate_tensor(a.element_type, cute.make_layout((32, 32), stride=(32, 1)), 16)
    s[tx, 0] = a[tx, 0]

@cute.jit
def host(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

host(torch.randn((32, 32), dtype=torch.{dtype}))
"""
    assert [(w, n) for _, w, n in ways(facts_of(text, tmp_path))] == [figures]


ONE_SIDE = """
@cute.kernel
def kernel(a: cute.Tensor, pages):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((32, 128), stride=(128, 1)), 16
    )
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(MODE), cutlass.Float16, num_bits_per_copy=BITS)
    load = cute.make_tiled_copy_tv(
        atom, cute.make_layout(THREADS), cute.make_layout((1, BITS // 16))
    ).get_slice(tx)
    cute.copy(load, load.partition_S(lookup(a, pages)), load.partition_D(s))


@cute.jit
def run(a: cute.Tensor, pages):
    kernel(a, pages).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""


@pytest.mark.parametrize(
    ("mode", "bits", "threads", "expected"),
    [
        ("", 128, "(8, 16), stride=(16, 1)", {(4, 4)}),
        ("", 64, "(8, 16), stride=(16, 1)", {(2, 2)}),
        ("", 128, "(32, 4), stride=(1, 32)", {(32, 4)}),
        ("cpasync.LoadCacheMode.GLOBAL", 128, "(8, 16), stride=(16, 1)", {(4, 4)}),
        ("cpasync.LoadCacheMode.GLOBAL", 64, "(8, 16), stride=(16, 1)", {None}),  # PTX has none
    ],
)
def test_an_asynchronous_copy_of_an_unknown_tensor_writes_what_is_known(
    tmp_path, mode, bits, threads, expected
):
    """A warp writes 512 or 256 contiguous bytes, or 16 bytes in each of 32 rows."""
    text = ONE_SIDE.replace("MODE", mode).replace("BITS", str(bits)).replace("THREADS", threads)
    accesses = [a for k in facts_of(text, tmp_path, "sm_80").kernels for a in k.accesses]
    assert {a.kind for a in accesses} == {AccessKind.ASYNC_COPY}
    figures = {a.wavefronts and (a.wavefronts.mean, a.ideal.mean) for a in accesses}
    assert figures == expected


COLUMN = """
def pitch(n):
    while n > 1:
        if n <= 33:
            return n
        n = n // 2
    return 64

@cute.kernel
def kernel(a: cute.Tensor, n: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, n), stride=(n, 1)), 16
    )
    s[tx, 0] = a[tx, 0]

@cute.jit
def host(a: cute.Tensor, m: cutlass.Int32):
    n = 33
    while n < 64:
        if m > 7:
            break
        n = 64
    kernel(a, NUMBER).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


@pytest.mark.parametrize(
    ("number", "expected", "certainty"),
    [
        ("n", 32, Certainty.SAMPLED),
        ("pitch(132)", 1, Certainty.ASSUMED),
        ("pitch(128)", 32, Certainty.ASSUMED),
    ],
)
def test_a_host_loop_ends_by_its_condition_or_where_a_jump_leaves_it(
    tmp_path, number, expected, certainty
):
    """Rows of 33 or 64 words, whichever condition holds; of 33 and 32 by what a loop returns."""
    facts = facts_of(COLUMN.replace("NUMBER", number), tmp_path)
    assert [n for _, _, n in ways(facts)] == [expected]
    assert {a.certainty for k in facts.kernels for a in k.accesses} == {certainty}


def test_a_copy_of_two_bytes_is_no_cp_async(tmp_path):
    """cp.async copies 4, 8 or 16 bytes."""
    program = """
@cute.jit
def run(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout(32), 16)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout(32), cute.make_layout(1)).get_slice(tx)
    cute.copy(copy, copy.partition_S(a), copy.partition_D(s))

run(from_dlpack(torch.empty(32, dtype=torch.float16)))
"""
    (kernel,) = facts_of(program, tmp_path).kernels
    left = [*kernel.not_analysed, *(a for a in kernel.accesses if not a.certainty.is_decided)]
    assert len(left) == 1


ALIGNED = """
@cute.kernel
def kernel(g: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((32, 64), stride=(64, 1)), 128,
        swizzle=cute.make_swizzle(3, 4, 3),
    )
    at = (tx % 32, tx // 32)
    cute.autovec_copy(cute.local_tile(g, (1, 8), at), cute.local_tile(s, (1, 8), at))


@cute.jit
def host(g: cute.Tensor):
    kernel(g).launch(grid=[1, 1, 1], block=[256, 1, 1])


if __name__ == "__main__":
    x = torch.empty(32, 64, dtype=torch.float16)
    cute.compile(host, TENSOR)
"""


@pytest.mark.parametrize(
    ("tensor", "width"),
    [
        ("from_dlpack(x)", 2),
        ("from_dlpack(x, assumed_align=4)", 4),
        ("from_dlpack(x, 16)", 16),
        ("from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=1)", 2),
        (
            "from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=1)"
            ".mark_compact_shape_dynamic(mode=1, stride_order=x.dim_order(), divisibility=8)",
            16,
        ),
        ("from_dlpack(x, assumed_align=16).mark_compact_shape_dynamic(0, (0, 1))", 16),
        ("from_dlpack(x, assumed_align=unknown())", 16),
        ("from_dlpack(x, assumed_align=16).mark_compact_shape_dynamic(mode=1, divisibility=2)", 4),
        ("x", 2),
        (
            "cute.runtime.make_fake_compact_tensor(cutlass.Float16,"
            " (cute.sym_int32(), cute.sym_int32(divisibility=8)), stride_order=(1, 0),"
            " assumed_align=16)",
            16,
        ),
        (
            "cute.runtime.make_fake_compact_tensor(cutlass.Float16,"
            " (cute.sym_int32(), cute.sym_int32(divisibility=8)), stride_order=(1, 0))",
            2,
        ),
    ],
)
def test_vectors_are_as_wide_as_the_tensor_is_declared_to_be_aligned(tensor, width, tmp_path):
    """nvidia-cutlass-dsl 4.8.1, sm_90a: eight STS.U16, four STS, one STS.128.

    Narrow ones of 32 rows take four wavefronts each: rows t, t + 8, .. lie in one bank.
    """
    stores = ways(facts_of(ALIGNED.replace("TENSOR", tensor), tmp_path))
    assert {(w, n) for _, w, n in stores} == {(width, 1 if width == 16 else 4)}


PITCH = """
import enum


class Kind(enum.Enum):
    A = enum.auto()
    B = enum.auto()
    WIDE = 32


@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    rows = cute.make_layout((32, 32), stride=(pitch(), 1))
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, rows, 16)
    x = s[tx, 0]


@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])


def pitch():
    unknown = torch.unknown()
    return EXPRESSION


if __name__ == "__main__":
    cute.compile(host)
"""


@pytest.mark.parametrize(
    ("expression", "pitch"),
    [
        ("32 if Kind.A == Kind.A else 33", 32),
        ("32 if Kind.A is Kind.B else 33", 33),
        ("Kind.WIDE.value", 32),
        ("32 if Kind(32) == Kind.WIDE else 33", 32),
        ("len([unknown] * 33)", 33),
        ("32 if any([unknown, True]) else 33", 32),
        ("32 if all((True, False, unknown)) else 33", 33),
        ("31 + cute.make_swizzle(1, 4, 3).num_bits", 32),
        ("29 + cute.make_swizzle(1, 4, 3).num_base", 33),
        ("29 + cute.make_swizzle(1, 4, 3).num_shift", 32),
        ("32 if hasattr(cute.nvgpu, 'OperandMajorMode') else 33", 32),
        ("getattr(cute.arch, 'WARP_SIZE', 0) + 1", 33),
    ],
)
def test_host_code_that_calculates_a_pitch(expression, pitch, tmp_path):
    found = ways(facts_of(PITCH.replace("EXPRESSION", expression), tmp_path))
    assert found == [(AccessKind.LOAD, 4, 32 if pitch == 32 else 1)]


def test_an_alignment_that_is_not_known_is_assumed(tmp_path):
    text = ALIGNED.replace("TENSOR", "from_dlpack(x, assumed_align=unknown())")
    (access,) = facts_of(text, tmp_path).kernels[0].accesses
    assert [a.topic for a in access.assumptions].count(Topic.ALIGNMENT) == 1


def test_the_order_of_strides_is_that_of_what_is_passed(tmp_path):
    """Of rank 3, too: a row of eight halves is one vector where its extent is marked."""
    marked = ".mark_layout_dynamic(leading_dim=2).mark_compact_shape_dynamic(2, divisibility=8)"
    text = ALIGNED.replace("TENSOR", f"from_dlpack(x, assumed_align=16){marked}")
    text = text.replace("torch.empty(32, 64,", "torch.empty(2, 32, 64,")
    text = text.replace("cute.local_tile(g,", "cute.local_tile(g[0, None, None],")
    assert {w for _, w, _ in ways(facts_of(text, tmp_path))} == {16}


def test_a_class_that_is_only_called_an_enumeration_is_constructed(tmp_path):
    text = ALIGNED.replace("TENSOR", "from_dlpack(x, assumed_align=Width(4).bytes)")
    classes = """
class NoEnum:
    def __init__(self, n):
        self.bytes = n * 2

class Width(NoEnum):
    pass
"""
    assert {w for _, w, _ in ways(facts_of(classes + text, tmp_path))} == {8}


# ---- coordinates

COORDINATES = """
@cute.kernel
def k(x: cute.Tensor, n: cutlass.Int32, mma: cute.TiledMma):
    tx, _, _ = cute.arch.thread_idx()
    smem = utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
    wide = smem.allocate_tensor(cutlass.Float32, cute.make_layout((64, 64), stride=(64, 1)), 16)
    part = mma.get_slice(tx).partition_C(cute.make_identity_tensor((64, 64)))
    r = cute.make_rmem_tensor(mma.partition_shape_C((64, 64)), cutlass.Float32)
    for i in cutlass.range_constexpr(cute.size(r)):
        {body}


@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    k(x, n, mma).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""


def coordinates(body, tmp_path):
    facts = facts_of(COORDINATES.format(body=body), tmp_path)
    assert not facts.not_analysed
    return [
        (a.width_bytes, a.instructions, a.wavefronts.mean, a.certainty.is_decided)
        for k in facts.kernels
        for a in k.accesses
    ]


def test_elements_of_identity_tensors_index_shared_memory(tmp_path):
    """nvidia-cutlass-dsl 4.8.1, sm_90a, one warp's PTX: 4 LDS, 4 LDS.64, 32 LDS of 4 wavefronts."""
    body = """row, col = part[i]
        r[i] = s[row] + s[col] + wide[col, row]"""
    assert coordinates(body, tmp_path) == [
        (4, 16, 1, True),
        (8, 16, 2, True),
        (4, 128, 4, True),
    ]


def test_bounds_of_coordinates_do_not_hang_on_data(tmp_path):
    """A row that is compared with a size that nobody knows is taken to lie inside."""
    body = """if cute.elem_less(part[i], (n, n)):
            r[i] = wide[cute.get(part[i], mode=[1]), part[i][0]]"""
    assert coordinates(body, tmp_path) == [(4, 128, 4, True)]


def test_coordinates_that_threads_compare_leave_some_of_them_out(tmp_path):
    """Of the rows 0 to 63 the threads of two warps hold those below 16 in a quarter of the steps."""
    body = """row, col = part[i]
        if row < 16:
            r[i] = wide[col, row]"""
    assert coordinates(body, tmp_path) == [(4, 32, 4, True)]


def test_a_copy_to_unknown_registers_has_the_atoms_of_its_tile(tmp_path):
    """A tile of two atoms a thread is moved as two, whatever they are moved to."""
    text = """
@cute.kernel
def k(x: cute.Tensor, load: cute.TiledCopy):
    tx, _, _ = cute.arch.thread_idx()
    smem = utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float16, cute.make_layout((64, 64), stride=(64, 1)), 16)
    cute.copy(load, load.get_slice(tx).partition_S(s), somewhere(tx))


@cute.jit
def host(x: cute.Tensor):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 32))
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    k(x, cute.make_tiled_copy_A(atom, mma)).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""
    accesses = [a for k in facts_of(text, tmp_path).kernels for a in k.accesses]
    assert [(a.kind, a.instructions, a.wavefronts.mean) for a in accesses] == [
        (AccessKind.LDMATRIX, 32, 32)
    ]


THUNK = """
@cute.kernel
def k(pitch: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, 32), stride=(pitch, 1))
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    s[tx, 0] = 1.0


@cute.jit
def host(pitch: cutlass.Constexpr):
    k(pitch).launch(grid=(1, 1, 1), block=(32, 1, 1))


def build(pitch: int = 32):
    def compile_it():
        return cute.compile(host, pitch)

    return {call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "cached('k', lambda: cute.compile(host, pitch))",
        "cached('k', make=compile_it)",
        "unknown.cached(compile_it)",
    ],
)
def test_what_an_unknown_function_is_handed_to_call_is_called(call, tmp_path):
    """Without the launch nothing says what the pitch is."""
    facts = facts_of(THUNK.format(call=call), tmp_path)
    assert ways(facts) == [(AccessKind.STORE, 4, 32)]


def test_what_a_version_of_cutlass_has_is_an_assumption(tmp_path):
    text = PITCH.replace("EXPRESSION", "32 if hasattr(cute.nvgpu, 'OperandMajorMode') else 33")
    (access,) = facts_of(text, tmp_path).kernels[0].accesses
    assert Topic.BUILD in {a.topic for a in access.assumptions}


EXCLUSIVE_OR = """
@cute.kernel
def k():
    tx, _, _ = cute.arch.thread_idx()
    smem = utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 64), stride=(64, 1)), 16)
    r, c, total = tx // 16, (tx % 16) * 4, 0.0
    for i in cutlass.range_constexpr(4):
        total += s[r, INDEX]


@cute.jit
def host():
    k().launch(grid=(1, 1, 1), block=(128, 1, 1))
"""


@pytest.mark.parametrize(
    ("index", "width", "ways_of_each"),
    [
        ("c + i", 16, 1),
        ("(c ^ (r * 4)) + i", 16, 1),
        ("(c + i) ^ (r * 4)", 4, 4),
        ("(c + i) ^ ((tx // 64) * 64)", 4, 4),
        ("(c + i) ^ 1", 4, 4),
        ("(tx * 4 + i) % 64", 16, 1),
    ],
)
def test_an_exclusive_or_hides_neighbours(index, width, ways_of_each, tmp_path):
    """PTX of nvidia-cutlass-dsl 4.8.1, sm_90a: one LDS.128 a warp, or four LDS of 4 wavefronts."""
    found = ways(facts_of(EXCLUSIVE_OR.replace("INDEX", index), tmp_path))
    assert found == [(AccessKind.LOAD, width, ways_of_each)]


def test_helpers_of_quack_convert_and_copy(tmp_path):
    """Sixteen bytes a thread of a row of 128 bytes; what only a branch makes is used in another."""
    text = """
from quack import copy_utils


class Adder:
    def __init__(self, by):
        self.by = by


@cute.kernel
def k(tiled: cute.TiledCopy, n: cutlass.Int32):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((16, 64), stride=(64, 1)), 16
    )
    adder = None
    if n > 3:
        adder = Adder(8)
    thr = tiled.get_slice(tx)
    part = thr.partition_D(s)
    r = cute.make_rmem_tensor(part.shape, cutlass.Float32)
    copy_utils.cvt_copy(tiled, r, part)
    if n > 3:
        s[thr.thr_idx % adder.by, 0] = 0.0


@cute.jit
def host(n: cutlass.Int32):
    atom = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128
    )
    threads = cute.make_layout((16, 8), stride=(8, 1))
    tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    k(tiled, n).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""
    found = ways(facts_of(text, tmp_path))
    assert found[0] == (AccessKind.STORE, 16, 1)
    assert found[-1] == (AccessKind.STORE, 2, 8)


def test_a_pointer_from_a_number_of_each_thread_may_be_another_one_in_each(tmp_path):
    """Rows of a page table: that their lines cost no more than the rows written is assumed."""
    text = """
@cute.kernel
def k(tiled: cute.TiledCopy, pages: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((16, 64), stride=(64, 1)), 16
    )
    thr = tiled.get_slice(tx)
    part = thr.partition_D(s)
    at = thr.partition_S(cute.make_identity_tensor((16, 64)))[0, 0, 0][1] // 8
    row = cute.make_ptr(cutlass.Float16, pages[tx], cute.AddressSpace.gmem, assumed_align=16)
    vectors = cute.tiled_divide(cute.make_tensor(row, (64,)), (8,))
    source = cute.make_tensor(vectors[None, at].iterator, part[None, 0, 0].layout)
    cute.copy(tiled, source, part[None, 0, 0])


@cute.jit
def host(pages: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    threads = cute.make_layout((16, 8), stride=(8, 1))
    tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    k(tiled, pages).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""
    (access,) = (a for k in facts_of(text, tmp_path).kernels for a in k.accesses)
    assert (access.kind, access.width_bytes, access.wavefronts.mean) == (
        AccessKind.ASYNC_COPY,
        16,
        4,
    )
    assert Topic.ALIGNMENT not in {a.topic for a in access.assumptions}


def test_a_file_that_imports_cute_by_name_is_read(tmp_path):
    """It never spells `cutlass.cute`."""
    path = tmp_path / "k.py"
    path.write_text("""
from cutlass import cute, utils
import cutlass


@cute.kernel
def k():
    tx, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, 32)), 16)
    s[0, tx] = 0.0


@cute.jit
def host():
    k().launch(grid=(1, 1, 1), block=(32, 1, 1))
""")
    facts = check([Source(str(path))], Settings(arch="sm_90")).facts
    assert ways(facts) == [(AccessKind.STORE, 4, 32)]


VECTORS = """
@cute.kernel
def kernel(o: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float16, cute.make_layout(4096), 16)
    atom = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128
    )
    rows = cute.flat_divide(s, cute.make_layout(SIZE))
    cute.copy(atom, rows[(None, t)], cute.make_rmem_tensor(cute.make_layout(SIZE), cutlass.Float16))

@cute.jit
def run(o: cute.Tensor):
    kernel(o).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""


@pytest.mark.parametrize(
    ("size", "instructions", "wavefronts"),
    [(8, 1, 4), (32, 4, 16), (64, 8, 32)],  # ld.shared.v4.b32, nvidia-cutlass-dsl 4.8.1, sm_90a
)
def test_several_vectors_in_one_mode_are_copied_one_by_one(
    size, instructions, wavefronts, tmp_path
):
    """Rows of 64 bytes: the vectors of eight lanes lie on two groups of four banks."""
    (kernel,) = facts_of(VECTORS.replace("SIZE", str(size)), tmp_path).kernels
    (access,) = kernel.accesses
    assert (access.width_bytes, access.instructions) == (16, instructions)
    assert {p.wavefronts for p in access.patterns} == {wavefronts}


ELECTED = """
@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Int32, cute.make_layout(4096))
    if cute.arch.warp_idx() == 1:
        with CONTEXT:
            s[tx * 32] = 1
    s[tx] = 1

@cute.jit
def run(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[64, 1, 1])
"""


@pytest.mark.parametrize(
    ("context", "wavefronts"), [("cute.arch.elect_one()", 1), ("cute.arch.unread()", 32)]
)
def test_one_thread_of_a_warp_executes_what_it_is_elected_for(context, wavefronts, tmp_path):
    (kernel,) = facts_of(ELECTED.replace("CONTEXT", context), tmp_path).kernels
    column, row = kernel.accesses
    assert [(p.wavefronts, p.active.sum()) for p in column.patterns] == [(wavefronts, wavefronts)]
    assert {p.wavefronts for p in row.patterns} == {1}
