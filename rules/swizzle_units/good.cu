#include <cuda_fp16.h>

// Eight lanes read the first 16 bytes of eight rows, as an ldmatrix does.
__global__ void rows(uint4 *out, const half *in) {
  __shared__ __align__(128) half tile[32][64];  // smemlint: swizzle(3, 3, 3) elements
  for (int i = threadIdx.x; i < 32 * 64; i += 32) tile[i / 64][i % 64] = in[i];
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<uint4 *>(&tile[threadIdx.x][0]);
}

void launch(uint4 *out, const half *in) { rows<<<1, 32>>>(out, in); }
