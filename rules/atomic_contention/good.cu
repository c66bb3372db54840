__global__ void total(int *out, const int *in) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int value = in[blockIdx.x * 256 + threadIdx.x];
  for (int k = 16; k > 0; k /= 2) value += __shfl_down_sync(0xffffffff, value, k);
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, value);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

void launch(int *out, const int *in, int blocks) { total<<<blocks, 256>>>(out, in); }
