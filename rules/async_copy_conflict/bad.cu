#include <cuda_fp16.h>
#include <cuda_pipeline.h>

// 64-byte rows with padding: the sectors of the rows do not fit those of the lines.
__global__ void padded(const half *in, half *out) {
  __shared__ __align__(128) half tile[64][32 + 8];
  int row = threadIdx.x / 4, chunk = threadIdx.x % 4;
  __pipeline_memcpy_async(&tile[row][chunk * 8], &in[row * 1024 + chunk * 8], 16);  //~ SML103 15/4
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
}

// Columns of a matrix, whatever its pitch: every line is read in parts.
__global__ void short_rows(const half *in, half *out, int pitch) {
  __shared__ __align__(128) half tile[64 * 32];
  int row = threadIdx.x / 4, chunk = threadIdx.x % 4;
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x * 8]);
  const half *from = in + row * pitch + blockIdx.x * 32 + chunk * 8;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));  //~ SML103 8/4
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

// A transposed write: each lane in a row of its own.
__global__ void transposed(const float *in, float *out) {
  __shared__ __align__(128) float tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  __pipeline_memcpy_async(&tile[x][y], &in[y * 32 + x], 4);  //~ SML103 32/1
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[y * 32 + x] = tile[y][x];
}

void run(half *in, half *out, int pitch) {
  padded<<<1, 256>>>(in, out);
  short_rows<<<1, 256>>>(in, out, pitch);
  transposed<<<1, dim3(32, 32)>>>((float *)in, (float *)out);
}
