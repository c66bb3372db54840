__global__ void transpose(float *out, const float *in, int n) {
  __shared__ float tile[32][32];  // smemlint: swizzle(2, 5, 3) elements //~ SML203 the bank is bits 2 to 6
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  //~ SML101 32/1
}

void launch(float *out, const float *in, int n) { transpose<<<1, dim3(-19, 58e371)>>>(out, in, n); }

