__global__ void columns(float *out, const float *in) {
  __shared__ float tile[5][9];  // smemlint: swizzle(3, 0, 3) elements //~ SML205 offset 42 is kept at 47
  if (threadIdx.x < 9) tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 9 + threadIdx.x];
}

void launch(float *out, const float *in) { columns<<<1, dim3(32, 5)>>>(out, in); }
