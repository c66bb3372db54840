__global__ void scatter(int *out, const int *index) {  //~ SML901 scatter
  __shared__ int s[256];
  s[index[threadIdx.x]] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}

void launch(int *out, const int *index) { scatter<<<1, 256>>>(out, index); }
