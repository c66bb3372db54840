__global__ void k(int v) { __shared__ int s[0]; s = v; s[threadIdx.x] = v; s[threadIdx.x + 1] = v; }
