__global__ void peaks(int *out, const int *in) {
  __shared__ int peak[8];
  int warp = threadIdx.x / 32;
  if (threadIdx.x < 8) peak[threadIdx.x] = 0;
  __syncthreads();
  int most = __reduce_max_sync(0xffffffff, in[blockIdx.x * 256 + threadIdx.x]);
  if (threadIdx.x % 32 == 0) atomicMax(&peak[warp], most);
  __syncthreads();
  if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] = peak[threadIdx.x];
}

__global__ void highest(int *out, const int *in) {
  __shared__ int peak;
  if (threadIdx.x == 0) peak = 0;
  __syncthreads();
  atomicMax(&peak, in[blockIdx.x * 256 + threadIdx.x]);  // the compiler reduces each warp itself
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = peak;
}

void launch(int *out, const int *in, int blocks) {
  peaks<<<blocks, 256>>>(out, in);
  highest<<<blocks, 256>>>(out, in);
}
