"""All threads, once each."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def kernel():
    smem = cutlass.memory.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((16, 32)), 16)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    threads = cute.make_layout((16, 8), stride=(1, 16))
    cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 1)))
    s.fill(0.0)
