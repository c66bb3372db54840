"""Kernels whose helpers are those of `cutlass.utils.mixed_input_helpers`."""

from test_cute_dsl_kernels import facts_of, ways

from smemlint.facts import AccessKind

TRANSFORM = """
import cutlass.utils.blackwell_helpers as sm100
import cutlass.utils.mixed_input_helpers as mixed
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.utils.mixed_input_helpers import TransformMode

@cute.kernel
def kernel(narrow: cute.ComposedLayout, wide: cute.ComposedLayout, source: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    a = smem.allocate_tensor(cutlass.Int8, narrow.outer, 128, narrow.inner)
    t = smem.allocate_tensor(cutlass.BFloat16, wide.outer, 128, wide.inner)
    atom = mixed.get_copy_atom_a_transform(cutlass.BFloat16, False, source, t.shape, cutlass.Int8)
    read = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Int8, num_bits_per_copy=32)
    _, stored, part, target = mixed.transform_partition(
        source, TransformMode.ConvertOnly, read, atom, a, t, tx
    )
    r = cute.make_rmem_tensor(part[None, None, None, None, 0].shape, cutlass.Int8)
    cute.autovec_copy(part[None, None, None, None, 0], r)
    mixed.store_transformed_a(r.to(cutlass.BFloat16), target[None, None, None, None, 0], stored)

@cute.jit
def run():
    major = OperandMajorMode.MN
    source = mixed.get_transform_a_source(major)
    mma = sm100.make_trivial_tiled_mma(
        cutlass.BFloat16, major, OperandMajorMode.K, cutlass.Float32, tcgen05.CtaGroup.ONE,
        (128, 128), source
    )
    narrow, wide, _ = mixed.compute_smem_layout(
        mma, (128, 128, 64), cutlass.Int8, cutlass.BFloat16, 2, 2
    )
    kernel(narrow, wide, source).launch(grid=[1, 1, 1], block=[128, 1, 1])

cute.compile(run)
"""


def test_operands_that_threads_transform_are_partitioned_as_the_library_does(tmp_path):
    """PTX of nvidia-cutlass-dsl 4.8.1 (sm_100a): LD.64 with 4 wavefronts, ideal 2, and ST.128."""
    found = facts_of(TRANSFORM, tmp_path)
    assert ways(found) == [(AccessKind.LOAD, 8, 2), (AccessKind.STORE, 16, 1)]
    load, store = found.kernels[0].accesses
    assert {p.wavefronts for p in load.patterns} == {p.wavefronts for p in store.patterns} == {4}
