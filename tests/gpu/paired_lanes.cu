// One wide shared load of one warp, at byte offsets from a table; shared memory is not initialized, so that a
// launch's counters are those of the load alone.
#include <cstdio>
#include <cuda_runtime.h>

template <int Width> __global__ void probe(const int *table, float4 *out) {
  __shared__ __align__(1024) float4 s[1024];
  unsigned a = (unsigned)__cvta_generic_to_shared(s) + table[threadIdx.x];
  float4 v = make_float4(0, 0, 0, 0);
  if (Width == 16)
    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(a));
  else
    asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(a));
  out[threadIdx.x] = v;
}

int main(int, char **given) {
  float4 *out;
  int *table, width, lanes[32];
  cudaMalloc(&out, 512);
  cudaMalloc(&table, 128);
  FILE *patterns = fopen(given[1], "r");
  while (fscanf(patterns, "%d", &width) == 1) {
    for (int &lane : lanes) fscanf(patterns, "%d", &lane);
    cudaMemcpy(table, lanes, 128, cudaMemcpyHostToDevice);
    if (width == 16) probe<16><<<1, 32>>>(table, out); else probe<8><<<1, 32>>>(table, out);
  }
  return cudaDeviceSynchronize();
}
