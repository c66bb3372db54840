__global__ void gather(float *out, const float *in) {
  __shared__ float tile[16][32];  // smemlint: swizzle(3, 2, 3) elements
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.y][31 - threadIdx.x];
}

void launch(float *out, const float *in) { gather<<<1, dim3(32, 16)>>>(out, in); }
