__global__ void rows(float4 *out, const float *in) {
  __shared__ __align__(16) float tile[32][32];  // smemlint: swizzle(3, 0, 5) elements
  for (int i = threadIdx.x; i < 32 * 32; i += 256) tile[i / 32][i % 32] = in[i];
  __syncthreads();
  int row = threadIdx.x / 8, part = threadIdx.x % 8;
  out[threadIdx.x] = *reinterpret_cast<float4 *>(&tile[row][4 * part]);  //~ SML302 cover bytes that belong
}

void launch(float4 *out, const float *in) { rows<<<1, 256>>>(out, in); }
