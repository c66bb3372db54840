// One shared atomic of each form, by one warp, on the words that a pattern file gives.
// usage: atomic_forms PATTERNS, lines of 32 element indices below 2048, -1 for an inactive lane
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using u32 = unsigned;
using u64 = unsigned long long;
using s64 = long long;

#define RED(name, T, expression)                  \
    struct name {                                 \
        using type = T;                           \
        static __device__ T apply(T *p, T v) {    \
            expression;                           \
            return v;                             \
        }                                         \
    };
#define ATOM(name, T, expression)                 \
    struct name {                                 \
        using type = T;                           \
        static __device__ T apply(T *p, T v) {    \
            return expression;                    \
        }                                         \
    };

RED(red_add_u32, u32, atomicAdd(p, v))
RED(red_add_u32_one, u32, atomicAdd(p, 1u))
RED(red_add_u32_two, u32, atomicAdd(p, 2u))
RED(red_add_s32, int, atomicAdd(p, v))
RED(red_sub_u32_one, u32, atomicSub(p, 1u))
RED(red_add_s32_minus_one, int, atomicAdd(p, -1))
RED(red_inc_u32, u32, atomicInc(p, ~0u))
RED(red_inc_u32_wrap, u32, atomicInc(p, v + 100u))
RED(red_dec_u32, u32, atomicDec(p, v + 100u))
RED(red_min_u32, u32, atomicMin(p, v))
RED(red_max_u32, u32, atomicMax(p, v))
RED(red_min_s32, int, atomicMin(p, v))
RED(red_max_s32, int, atomicMax(p, v))
RED(red_and_b32, u32, atomicAnd(p, v))
RED(red_or_b32, u32, atomicOr(p, v))
RED(red_xor_b32, u32, atomicXor(p, v))
ATOM(atom_add_u32, u32, atomicAdd(p, v))
ATOM(atom_add_u32_one, u32, atomicAdd(p, 1u))
ATOM(atom_sub_u32_one, u32, atomicSub(p, 1u))
ATOM(atom_inc_u32, u32, atomicInc(p, ~0u))
ATOM(atom_inc_u32_wrap, u32, atomicInc(p, v + 100u))
ATOM(atom_dec_u32, u32, atomicDec(p, v + 100u))
ATOM(atom_min_s32, int, atomicMin(p, v))
ATOM(atom_max_u32, u32, atomicMax(p, v))
ATOM(atom_and_b32, u32, atomicAnd(p, v))
ATOM(atom_or_b32, u32, atomicOr(p, v))
ATOM(atom_xor_b32, u32, atomicXor(p, v))
ATOM(atom_exch_b32, u32, atomicExch(p, v))
RED(red_exch_b32, u32, atomicExch(p, v))
ATOM(atom_cas_b32, u32, atomicCAS(p, 0u, v))
RED(red_cas_b32, u32, atomicCAS(p, 0u, v))
RED(red_add_u64, u64, atomicAdd(p, v))
RED(red_add_u64_one, u64, atomicAdd(p, (u64)1))
ATOM(atom_add_u64, u64, atomicAdd(p, v))
RED(red_min_u64, u64, atomicMin(p, v))
RED(red_max_s64, s64, atomicMax(p, v))
RED(red_or_b64, u64, atomicOr(p, v))
ATOM(atom_and_b64, u64, atomicAnd(p, v))
ATOM(atom_exch_b64, u64, atomicExch(p, v))
ATOM(atom_cas_b64, u64, atomicCAS(p, (u64)0, v))
RED(red_add_f32, float, atomicAdd(p, v))
ATOM(atom_add_f32, float, atomicAdd(p, v))
RED(red_add_f64, double, atomicAdd(p, v))
ATOM(atom_add_f64, double, atomicAdd(p, v))
RED(red_add_f16x2, __half2, atomicAdd(p, v))
RED(red_add_bf16x2, __nv_bfloat162, atomicAdd(p, v))
RED(red_add_f16, __half, atomicAdd(p, v))
ATOM(atom_cas_b16, unsigned short, atomicCAS(p, (unsigned short)0, v))

constexpr int ELEMENTS = 2048;

template <typename Form>
__global__ void probe(const int *pattern, typename Form::type *values) {
    using T = typename Form::type;
    __shared__ __align__(1024) unsigned char raw[ELEMENTS * sizeof(T)];
    T *data = reinterpret_cast<T *>(raw);
    for (int i = threadIdx.x; i < ELEMENTS; i += 32) data[i] = values[ELEMENTS + i];
    int index = pattern[threadIdx.x];
    T value = values[threadIdx.x];
    __syncthreads();
    if (index >= 0) value = Form::apply(&data[index], value);
    __syncthreads();
    values[ELEMENTS + threadIdx.x] = data[threadIdx.x];
    values[threadIdx.x] = value;
}

static int *patterns;
static void *values;
static int count;

template <typename Form>
void probe_all() {
    using T = typename Form::type;
    for (int i = 0; i < count; ++i) {
        cudaMemset(values, 0, 2 * ELEMENTS * sizeof(double));
        T host[32];
        for (int lane = 0; lane < 32; ++lane) host[lane] = (T)(float)(lane + 1);
        cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
        probe<Form><<<1, 32>>>(patterns + 32 * i, (T *)values);
    }
}

template <typename... Forms>
void probe_forms() {
    (probe_all<Forms>(), ...);
}

template <>
void probe_all<red_add_f16x2>() {
    for (int i = 0; i < count; ++i)
        probe<red_add_f16x2><<<1, 32>>>(patterns + 32 * i, (__half2 *)values);
}

template <>
void probe_all<red_add_bf16x2>() {
    for (int i = 0; i < count; ++i)
        probe<red_add_bf16x2><<<1, 32>>>(patterns + 32 * i, (__nv_bfloat162 *)values);
}

int main(int argc, char **argv) {
    static int host[32 * 256];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : nullptr;
    if (!file) return 2;
    int numbers = 0;
    while (numbers < 32 * 256 && fscanf(file, "%d", &host[numbers]) == 1) ++numbers;
    count = numbers / 32;
    cudaMalloc(&patterns, sizeof host);
    cudaMalloc(&values, 4 * ELEMENTS * sizeof(double));
    cudaMemset(values, 0, 4 * ELEMENTS * sizeof(double));
    cudaMemcpy(patterns, host, sizeof host, cudaMemcpyHostToDevice);
    probe_forms<red_add_u32, red_add_u32_one, red_add_u32_two, red_add_s32, red_sub_u32_one,
                red_add_s32_minus_one, red_inc_u32, red_inc_u32_wrap, red_dec_u32, red_min_u32,
                red_max_u32, red_min_s32, red_max_s32, red_and_b32, red_or_b32, red_xor_b32,
                atom_add_u32, atom_add_u32_one, atom_sub_u32_one, atom_inc_u32, atom_inc_u32_wrap,
                atom_dec_u32, atom_min_s32, atom_max_u32, atom_and_b32, atom_or_b32, atom_xor_b32,
                atom_exch_b32, red_exch_b32, atom_cas_b32, red_cas_b32, red_add_u64,
                red_add_u64_one, atom_add_u64, red_min_u64, red_max_s64, red_or_b64, atom_and_b64,
                atom_exch_b64, atom_cas_b64, red_add_f32, atom_add_f32, red_add_f64, atom_add_f64,
                red_add_f16x2, red_add_bf16x2, red_add_f16, atom_cas_b16>();
    return cudaDeviceSynchronize() != cudaSuccess;
}
