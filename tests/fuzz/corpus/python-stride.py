import cutlass
import cutlass.cute as cute


@cute.kernel
def composed(source: cute.Tensor):
    smem = cutlass.utils.SmemAllocator()
    rows = cute.make_layout((16, 64), stride=(1180591620717411303424, 1))
    free = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows)
    smem.allocate_tensor(cutlass.Float16, free, 1024)
    tall = cute.make_layout((1 << 60, 64), stride=(64, 1))
    units = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, tall)
    smem.allocate_tensor(cutlass.Float16, units, 1024)
