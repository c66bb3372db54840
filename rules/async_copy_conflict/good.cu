#include <cuda_fp16.h>
#include <cuda_pipeline.h>

// 128-byte rows, chunks exchanged by the row: free for the copy and for reads of columns.
__global__ void swizzled(const half *in, half *out, int pitch) {
  __shared__ __align__(128) half tile[64][64];
  for (int i = 0; i < 64; i += 32) {
    int row = i + threadIdx.x / 8, chunk = threadIdx.x % 8;
    __pipeline_memcpy_async(&tile[row][(chunk ^ row % 8) * 8], &in[row * 1024 + chunk * 8], 16);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x / 64][threadIdx.x % 64];
}

// Whole lines, one behind the other.
__global__ void flat(const float *in, float *out) {
  __shared__ __align__(128) float tile[1024];
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x * 4]);
  const float *from = in + blockIdx.x * 1024 + threadIdx.x * 4;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

void run(half *in, half *out, int pitch) {
  swizzled<<<1, 256>>>(in, out, pitch);
  flat<<<8, 256>>>((float *)in, (float *)out);
}
