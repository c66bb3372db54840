"""A mode that a layout does not have, as where its shape hangs on a value that is not known."""
import cutlass
import cutlass.cute as cute


@cute.kernel
def mode_beyond_rank():
    smem = cutlass.memory.SmemAllocator()
    rows = cute.make_layout((32, 32), stride=(33, 1))
    s = smem.allocate_tensor(cutlass.Float32, rows, 16)
    n = cute.size(rows[3])
    s.fill(0.0)
