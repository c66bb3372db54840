#include <cuda_pipeline.h>

__global__ void __launch_bounds__(32) copy(const float4 *in, float4 *out) {  //~ SML901 sm_75 has no cp.async
  __shared__ float4 tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);  //~ SML504 sm_75 has no cp.async: it came with sm_80
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}
