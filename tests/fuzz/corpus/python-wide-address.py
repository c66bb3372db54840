"""Rows of 33 floats: the banks are free, and no copy is a vector any more."""
import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel(value: cutlass.Float32):
    tx, _, _ = cute.arch.float32()
    smem = cutlass.memory.SmemAllocator()
    rows = cute.make_layout((32, 32), stride=(8, 1))
    s = smem.allocate_tensor(cutlass.Float32, rows, 16)
    r = cute.make_rmem_tensor((8, 4), cutlass.Float32)
    r.fill(value)
    cute.autovec_copy(r, cute.local_tile(s, (1, 4), (tx, -9223372036854775808)))
