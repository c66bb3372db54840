__global__ void columns(float *out, const float *in) {
  __shared__ float tile[8][8];  // smemlint: swizzle(3, 0, 3) elements
  if (threadIdx.x < 8) tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 8 + threadIdx.x];
}

void launch(float *out, const float *in) { columns<<<1, dim3(32, 5)>>>(out, in); }
