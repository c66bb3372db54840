"""A coordinate that no Int32 holds, added to a thread's number."""
import cutlass
import cutlass.cute as cute

@cute.kernel
def pointer_swizzle_keeps_8_bytes():
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    rows = cute.make_layout((16, 64), stride=(64, 1))
    s = smem.allocate_tensor(cutlass.Float16, rows, 1024, swizzle=cute.make_swizzle(2, 3, 4))
    r = cute.make_rmem_tensor((1, 8), cutlass.Float16)
    r.fill(1.0)
    cute.autovec_copy(r, cute.local_tile(s, (1, 8), (tx // 8, tx + 1180591620717411303424)))
