__global__ void total(int *out, const int *in) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * 256 + threadIdx.x]);  //~ SML102 32
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

void launch(int *out, const int *in, int blocks) { total<<<blocks, 256>>>(out, in); }
