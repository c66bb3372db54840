__global__ void transpose(float *out, const float *in, int n) {
  __shared__ float tile[32][32];  // smemlint: swizzle(5, 0, 5) elements
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void launch(float *out, const float *in, int n) { transpose<<<1, dim3(32, 32)>>>(out, in, n); }
