// Asynchronous copies with given addresses, 64 a launch, for record_async_copies.py.
// usage: async_copies FORM patterns.bin, 96 int32 a pattern: shared offsets, global offsets, sizes.
// A size of -1 is a lane that is off. The forms are numbered as in FORMS of the recorder.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int PATTERNS = 64, NUMBERS = 96;

#define PLAIN(form, cache, width)                                                                  \
    template <> __device__ __forceinline__ void copy<form>(unsigned to, const char *from, int) {   \
        asm volatile("cp.async." cache ".shared.global [%0], [%1], " width ";" ::"r"(to),         \
                     "l"(from) : "memory");                                                        \
    }
#define PREDICATED(form, cache, width)                                                             \
    template <> __device__ __forceinline__ void copy<form>(unsigned to, const char *from, int n) { \
        asm volatile("{.reg .pred p; setp.ge.s32 p, %2, 0;"                                        \
                     "@p cp.async." cache ".shared.global [%0], [%1], " width ";}" ::"r"(to),     \
                     "l"(from), "r"(n) : "memory");                                                \
    }
#define SIZED(form, cache, width)                                                                  \
    template <> __device__ __forceinline__ void copy<form>(unsigned to, const char *from, int n) { \
        asm volatile("cp.async." cache ".shared.global [%0], [%1], " width ", %2;" ::"r"(to),     \
                     "l"(from), "r"(n) : "memory");                                                \
    }

template <int FORM> __device__ __forceinline__ void copy(unsigned to, const char *from, int n);
PLAIN(0, "cg", "16") PLAIN(1, "ca", "16") PLAIN(2, "ca", "8") PLAIN(3, "ca", "4")
PREDICATED(4, "cg", "16") PREDICATED(5, "ca", "16") PREDICATED(6, "ca", "8") PREDICATED(7, "ca", "4")
SIZED(8, "cg", "16") SIZED(9, "ca", "16") SIZED(10, "ca", "8") SIZED(11, "ca", "4")

template <int FORM> __global__ void probe(const int *table, const char *source) {
    extern __shared__ __align__(1024) char tile[];
    unsigned base = (unsigned)__cvta_generic_to_shared(tile);
    const int *row = table + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PATTERNS; ++k, row += NUMBERS)
        copy<FORM>(base + row[0], source + row[32], row[64]);
    asm volatile("cp.async.wait_all;" ::: "memory");
}

template <int FORM> void run(int form, const std::vector<int> &table) {
    if constexpr (FORM < 12) {
        if (form != FORM) return run<FORM + 1>(form, table);
        int *patterns;
        char *source;
        cudaMalloc(&patterns, table.size() * 4);
        cudaMemcpy(patterns, table.data(), table.size() * 4, cudaMemcpyHostToDevice);
        cudaMalloc(&source, 1 << 22);
        cudaMemset(source, 1, 1 << 22);
        cudaFuncSetAttribute(probe<FORM>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 17);
        for (size_t at = 0; at < table.size(); at += PATTERNS * NUMBERS)
            probe<FORM><<<1, 32, 1 << 17>>>(patterns + at, source);
        if (cudaDeviceSynchronize() != cudaSuccess) {
            fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
            exit(1);
        }
    }
}

int main(int, char **arguments) {
    FILE *file = fopen(arguments[2], "rb");
    fseek(file, 0, SEEK_END);
    std::vector<int> table(ftell(file) / 4);
    rewind(file);
    if (fread(table.data(), 4, table.size(), file) != table.size()) return 2;
    run<0>(atoi(arguments[1]), table);
    return 0;
}
