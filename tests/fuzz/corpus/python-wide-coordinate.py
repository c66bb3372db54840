import cutlass
import cutlass.cute as cute


@cute.kernel
def coordinate():
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(32, 1)), 16)
    r = cute.make_rmem_tensor((1, 4), cutlass.Float32)
    cute.autovec_copy(r, cute.local_tile(s, (32, 4), (tx, -9223372036854775808)))


@cute.kernel
def swizzled_offset():
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    rows = cute.make_layout((16, 64), stride=(64, 1))
    tile = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 118059162071741130342, rows)
    s = smem.allocate_tensor(cutlass.Float16, tile, 16)
    r = cute.make_rmem_tensor((1, 8), cutlass.Float16)
    cute.autovec_copy(r, cute.local_tile(s, (1, 8), (tx // 8, tx % 8)))
