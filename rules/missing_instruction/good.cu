#include <cuda_pipeline.h>

__global__ void __launch_bounds__(32) copy(const float4 *in, float4 *out) {
  __shared__ float4 tile[32];
#if __CUDA_ARCH__ >= 800
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
#else
  tile[threadIdx.x] = in[threadIdx.x];
#endif
  __syncthreads();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}
