import cutlass
import cutlass.cute as cute


@cute.kernel
def aligned(source: cute.Tensor):
    @cute.struct
    class Storage:
        a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, 1024], 0]
        b: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, 1024], -16]

    smem = cutlass.utils.SmemAllocator()
    storage = smem.allocate(Storage)
