import cutlass
import cutlass.cute as cute


@cute.kernel
def units(source: cute.Tensor):
    smem = cutlass.utils.SmemAllocator()
    rows = cute.make_layout((8, 64), stride=(64, 1))
    composed = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows)
    smem.allocate_tensor(cutlass.Float16, composed, 1024)
    pointer = cute.make_swizzle(3, 4, 3)
    smem.allocate_tensor(cutlass.Float16, rows, 1024, swizzle=pointer)
