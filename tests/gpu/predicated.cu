// Wide shared accesses with lanes switched off by a predicate or by a branch.
// usage: predicated PATTERNS, lines of 32 byte offsets below 16384 and 32 flags (1: the lane is on)
#include <cstdio>

__device__ __noinline__ float4 fetch16(unsigned at) {
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(at));
    return v;
}

__device__ __noinline__ float2 fetch8(unsigned at) {
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(at));
    return v;
}

struct Load16Predicated {
    static __device__ float apply(unsigned at, int on) {
        float a = 0, b = 0, c = 0, d = 0;
        asm volatile("{ .reg .pred q; setp.ne.s32 q, %5, 0; @q ld.shared.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                     : "+f"(a), "+f"(b), "+f"(c), "+f"(d)
                     : "r"(at), "r"(on));
        return a + b + c + d;
    }
};

struct Load8Predicated {
    static __device__ float apply(unsigned at, int on) {
        float a = 0, b = 0;
        asm volatile("{ .reg .pred q; setp.ne.s32 q, %3, 0; @q ld.shared.v2.f32 {%0, %1}, [%2]; }"
                     : "+f"(a), "+f"(b)
                     : "r"(at), "r"(on));
        return a + b;
    }
};

struct Load16Branch {
    static __device__ float apply(unsigned at, int on) {
        float4 v = {0, 0, 0, 0};
        if (on) v = fetch16(at);
        return v.x + v.y + v.z + v.w;
    }
};

struct Load8Branch {
    static __device__ float apply(unsigned at, int on) {
        float2 v = {0, 0};
        if (on) v = fetch8(at);
        return v.x + v.y;
    }
};

struct Store16Predicated {
    static __device__ float apply(unsigned at, int on) {
        asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; @q st.shared.v4.f32 [%0], {%2, %2, %2, %2}; }" ::"r"(at),
                     "r"(on), "f"(1.0f));
        return 0;
    }
};

struct Store8Predicated {
    static __device__ float apply(unsigned at, int on) {
        asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; @q st.shared.v2.f32 [%0], {%2, %2}; }" ::"r"(at), "r"(on),
                     "f"(1.0f));
        return 0;
    }
};

template <typename Form>
__global__ void probe(const int *pattern, float *out) {
    __shared__ __align__(1024) float data[4096];
    for (int i = threadIdx.x; i < 4096; i += 32) data[i] = out[i];
    unsigned at = (unsigned)__cvta_generic_to_shared(data) + pattern[threadIdx.x];
    int on = pattern[32 + threadIdx.x];
    __syncthreads();
    float sum = Form::apply(at, on);
    __syncthreads();
    out[threadIdx.x] = sum + data[threadIdx.x];
}

template <typename... Forms>
void probe_forms(const int *patterns, int count, float *out) {
    auto all = [&](auto kernel) {
        for (int i = 0; i < count; ++i) kernel<<<1, 32>>>(patterns + 64 * i, out);
    };
    (all(probe<Forms>), ...);
}

int main(int argc, char **argv) {
    static int host[64 * 256];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : nullptr;
    if (!file) return 2;
    int numbers = 0;
    while (numbers < 64 * 256 && fscanf(file, "%d", &host[numbers]) == 1) ++numbers;
    int *patterns;
    float *out;
    cudaMalloc(&patterns, sizeof host);
    cudaMalloc(&out, 4096 * sizeof(float));
    cudaMemset(out, 0, 4096 * sizeof(float));
    cudaMemcpy(patterns, host, sizeof host, cudaMemcpyHostToDevice);
    probe_forms<Load16Predicated, Load16Branch, Load8Predicated, Load8Branch, Store16Predicated, Store8Predicated>(
        patterns, numbers / 64, out);
    return cudaDeviceSynchronize() != cudaSuccess;
}
