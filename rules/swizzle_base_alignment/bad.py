from numba import cuda, float16, float32


@cuda.jit
def behind_factors(values):
    factors = cuda.shared.array(32, float32)
    # smemlint: swizzle(3, 4, 3) bytes
    tile = cuda.shared.array((8, 64), float16)  # ~ SML206 byte 128
    x = cuda.threadIdx.x
    factors[x] = values[x]
    tile[0, x] = values[x]
    cuda.syncthreads()
    values[x] = factors[x] + tile[0, x]


behind_factors[1, 32](0)
