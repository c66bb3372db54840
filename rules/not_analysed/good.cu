__global__ void copy(int *out, const int *in) {
  __shared__ int s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}

void launch(int *out, const int *in) { copy<<<1, 256>>>(out, in); }
