"""The same field, aligned."""
import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel(value: cutlass.Float32):

    @cute.struct
    class Storage:
        count: cutlass.Int32
        data: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 1024], 16]
    tx, _, _ = cute.arch.thread_idx()
    storage = cutlass.memory.SmemAllocator().allocate(Storage)
    s = storage.data.get_tensor(cute.make_layout((32, 32), stride=(32, 1)))
    r = cute.make_rmem_tensor((1, 4), cutlass.Float32)
    r.fill(value)
    cute.autovec_copy(r, cute.local_tile(s, (1, 4), (tx // 8, tx % 1180591620717411303424)))
