__global__ void k(float *g) {
  __shared__ float s[64];
  __lambda();
  s[threadIdx.x] = g[0];
}
