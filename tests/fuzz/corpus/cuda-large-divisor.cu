__global__ void k(float *out) {
  __shared__ float s[64];
  int y = threadIdx.x / 0xd2da6c5c6efc5211;
  s[threadIdx.x % 32 + y] = out[threadIdx.x];
}
