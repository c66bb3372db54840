import cutlass
import cutlass.cute as cute


@cute.kernel
def units(source: cute.Tensor):
    smem = cutlass.utils.SmemAllocator()
    rows = cute.make_layout((8, 64), stride=(64, 1))
    # A composed layout counts in elements.
    composed = cute.make_composed_layout(
        cute.make_swizzle(3, 4, 3),  # ~ SML204 8 rows of 16 bytes take 2 wavefronts, and 1
        0,
        rows,
    )
    smem.allocate_tensor(cutlass.Float16, composed, 1024)
    # A pointer counts in bytes.
    pointer = cute.make_swizzle(3, 3, 3)  # ~ SML204 only 8 bytes stay together
    smem.allocate_tensor(cutlass.Float16, rows, 1024, swizzle=pointer)
