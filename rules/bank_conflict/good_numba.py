from numba import cuda, float32


@cuda.jit
def transpose(source, target):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(0, 32, 8):
        tile[y + j, x] = source[y + j, x]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        target[y + j, x] = tile[x, y + j]


def run(source, target):
    transpose[1, (32, 8)](source, target)
