// Accesses of shared memory through a cluster's window, counted by the profiler or timed, for record_cluster.py.
// usage: cluster count|time patterns.bin, 32 int32 a pattern, 64 patterns; rank 0 is the block itself.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
constexpr int PATTERNS = 64;
template <int FORM> __device__ __forceinline__ unsigned touch(unsigned a) {
    unsigned x = 0, y = 0, z = 0, w = 0;
    if constexpr (FORM == 0) asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(x) : "r"(a) : "memory");
    if constexpr (FORM == 1) asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(a) : "memory");
    if constexpr (FORM == 2) asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a) : "memory");
    if constexpr (FORM == 3) asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(a), "r"(x) : "memory");
    if constexpr (FORM == 4) asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(a), "r"(x) : "memory");
    if constexpr (FORM == 5) asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(a), "r"(3u) : "memory");
    return x ^ y ^ z ^ w;
}
__device__ __forceinline__ unsigned window(void *tile, int rank) {
    unsigned base = (unsigned)__cvta_generic_to_shared(tile), there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(base), "r"(rank));
    return there;
}
__device__ __forceinline__ void meet() {
    asm volatile("barrier.cluster.arrive.aligned;barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ int my_rank() { int r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
template <int FORM> __global__ void __cluster_dims__(2, 1, 1) probe(const int *table, unsigned *out, int rank) {
    extern __shared__ __align__(1024) char tile[];
    unsigned base = window(tile, rank), sum = 0;
    meet();
    if (my_rank() == 0) {
        const int *row = table + threadIdx.x;
#pragma unroll
        for (int k = 0; k < PATTERNS; ++k, row += 32) sum ^= touch<FORM>(base + row[0]);
    }
    meet();
    if (sum == 12345) out[threadIdx.x] = sum;
}
template <int FORM> __global__ void __cluster_dims__(2, 1, 1) timed(const int *table, unsigned *out, long long *cycles, int rank) {
    extern __shared__ __align__(1024) char tile[];
    unsigned base = window(tile, rank), sum = 0;
    for (int k = 0; k < PATTERNS; ++k) {
        unsigned a = base + table[k * 32 + threadIdx.x % 32];
        meet();
        long long start = clock64();
        if (my_rank() == 0)
#pragma unroll 1
            for (int r = 0; r < 64; ++r) {
#pragma unroll
                for (int i = 0; i < 8; ++i) sum ^= touch<FORM>(a);
            }
        if (FORM > 2) asm volatile("fence.acq_rel.cluster;" ::: "memory");
        __syncthreads();
        if (my_rank() == 0 && threadIdx.x == 0) cycles[k] = clock64() - start;
        meet();
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}
int *table; unsigned *out; long long *cycles;
template <int FORM> void run(bool is_timed) {
    cudaFuncSetAttribute(probe<FORM>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);
    cudaFuncSetAttribute(timed<FORM>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);
    for (int rank = 0; rank < 2; ++rank) {
        if (!is_timed) probe<FORM><<<2, 32, 1 << 16>>>(table, out, rank);
        else {
            timed<FORM><<<2, 512, 1 << 16>>>(table, out, cycles, rank);
            long long host[PATTERNS];
            if (cudaMemcpy(host, cycles, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) { printf("error %s\n", cudaGetErrorString(cudaGetLastError())); exit(1); }
            printf("%d %d", FORM, rank);
            for (long long c : host) printf(" %.2f", c / (64.0 * 8 * 16));
            printf("\n");
        }
    }
}
int main(int, char **a) {
    std::vector<int> host(PATTERNS * 32);
    FILE *f = fopen(a[2], "rb");
    if (fread(host.data(), 4, host.size(), f) != host.size()) return 2;
    cudaMalloc(&table, host.size() * 4); cudaMalloc(&out, 4096); cudaMalloc(&cycles, PATTERNS * 8);
    cudaMemcpy(table, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
    bool is_timed = !strcmp(a[1], "time");
    run<0>(is_timed); run<1>(is_timed); run<2>(is_timed); run<3>(is_timed); run<4>(is_timed); run<5>(is_timed);
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) { printf("error %s\n", cudaGetErrorString(e)); return 1; }
}
