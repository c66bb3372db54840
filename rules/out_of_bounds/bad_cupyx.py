import cupy
from cupyx import jit


@jit.rawkernel()
def shifted(source, target):
    line = jit.shared_memory(cupy.float32, 64)
    line[jit.threadIdx.x] = source[jit.threadIdx.x]
    jit.syncthreads()
    target[jit.threadIdx.x] = line[jit.threadIdx.x + 1]  # ~ SML401 lane 31; 1 lane


def run(source, target):
    shifted((1,), (64,), (source, target))
