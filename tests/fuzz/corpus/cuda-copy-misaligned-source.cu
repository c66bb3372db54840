__global__ void misaligned_source(float *out, const float *in) {
  __shared__ float tile[32][33];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);
  out[threadIdx.x] = 0;
}
