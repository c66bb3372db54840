__global__ void scale(float4 *out, const float *in, int n) {
  __shared__ float factors[3];
  __shared__ __align__(16) float tile[128];
  if (threadIdx.x < 3) factors[threadIdx.x] = in[threadIdx.x + n];
  for (int i = threadIdx.x; i < 128; i += 32) tile[i] = in[i];
  __syncthreads();
  float4 v = *reinterpret_cast<float4 *>(&tile[threadIdx.x * 4]);
  v.x *= factors[n % 3];
  out[threadIdx.x] = v;
}

void launch(float4 *out, const float *in, int n) { scale<<<1, 32>>>(out, in, n); }
