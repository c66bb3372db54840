__global__ void rows(float4 *out, const float *in) {
  __shared__ float tile[32][33];
  for (int i = threadIdx.x; i < 32 * 32; i += 32) tile[i / 32][i % 32] = in[i];
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<float4 *>(&tile[threadIdx.x][0]);  //~ SML301 16-byte
}

void launch(float4 *out, const float *in) { rows<<<1, 32>>>(out, in); }
