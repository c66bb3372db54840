__global__ void k(float *out) {
  __shared__ float s[1152921504606846977][32];
  s[threadIdx.x][0] = out[threadIdx.x];
}
