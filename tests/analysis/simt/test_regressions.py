"""Constructs of real kernels that were once judged wrongly; figures as an H200's counters show."""

from __future__ import annotations

from conftest import accesses_of, facts_of, ways_of
from figures import facts_in

HALVES = """
#include <cuda_fp16.h>
#define HALF2(value) (reinterpret_cast<half2 *>(&(value))[0])
__global__ void k(half2 *a, half2 *out) {
  __shared__ half tile[128][8];
  int tid = threadIdx.y * blockDim.x + threadIdx.x;
  int row = tid / 2;
  int column = (tid % 2 == 0) ? 0 : %d;
  half2 x = a[tid], y = a[tid + 256];
  HALF2(tile[row][column]) = x;
  HALF2(tile[row][column + 2]) = y;
}
void f(half2 *a) { k<<<1, dim3(16, 16)>>>(a, a); }
"""


def test_a_choice_of_aligned_columns_lets_stores_fuse() -> None:
    stores = [a for a in accesses_of(HALVES.replace("%d", "4")) if a.instructions]
    assert [(a.width_bytes, a.span.line) for a in stores] == [(8, 11)]
    assert ways_of(HALVES.replace("%d", "4"))[-1] == (11, "store", 1.0)


def test_a_choice_of_columns_that_are_not_aligned_keeps_them_apart() -> None:
    stores = accesses_of(HALVES.replace("%d", "6"))
    assert [a.width_bytes for a in stores if a.instructions] == [4, 4]


def test_a_choice_of_equal_columns_is_that_column() -> None:
    stores = accesses_of(HALVES.replace("%d", "0"))
    assert [a.width_bytes for a in stores if a.instructions] == [8]


def test_a_macro_that_was_not_read_is_no_read_of_the_element() -> None:
    facts = facts_of("""
__global__ void k(float *out) {
  __shared__ short s[4096];
  LDST128BITS(out[threadIdx.x * 4]) = LDST128BITS(s[threadIdx.x * 40]);
}
void f(float *out) { k<<<1, 128>>>(out); }
""")
    assert [a.wavefronts for k in facts.kernels for a in k.accesses] == []
    notes = [str(n) for k in facts.kernels for n in k.not_analysed]
    assert any("LDST128BITS" in text for text in notes), facts.kernels


def test_what_is_not_defined_is_taken_for_undefined_where_it_only_picks_a_type() -> None:
    text = """
#ifndef SINGLE
#define REAL double
#else
#define REAL float
#endif
__global__ void k(REAL *a) {
  __shared__ REAL s[64];
  s[threadIdx.x] = a[threadIdx.x];
}
void f(REAL *a) { k<<<1, 64>>>(a); }
"""
    assert [a.width_bytes for a in accesses_of(text)] == [8]
    assert [a.width_bytes for a in accesses_of(text.replace("ifndef", "ifdef"))] == [4]


def test_a_constant_that_a_loop_names_first_keeps_its_value_after_a_trial_run() -> None:
    text = """
const unsigned POOL = 2048;
const unsigned THREADS = POOL / 8;
__global__ void k(unsigned seed, float *a) {
  __shared__ float s[POOL + 1];
#pragma unroll
  for (int i = 0; i < 8; i++)
    s[threadIdx.x + THREADS * i] = a[threadIdx.x + THREADS * i];
  for (int loop = 0; loop < 1; loop++) {
    unsigned at = ((seed + threadIdx.x) & 255) * 241 + 59 & 255;
    a[threadIdx.x] = s[at << 3];
  }
}
void f(float *a) { k<<<1, THREADS>>>(7, a); }
"""
    assert ways_of(text) == [(8, "store", 1.0), (11, "load", 8.0)]


def test_a_float_add_to_shared_memory_loads_before_it_swaps() -> None:
    text = """
__global__ void k(const float *a, float *out) {
  __shared__ float sum[256];
  atomicAdd(&sum[threadIdx.x], a[threadIdx.x]);
  out[0] = 0;
}
void f(float *a) { k<<<1, 256>>>(a, a); }
"""
    found = sorted((a.kind, a.wavefronts, a.ideal) for a in accesses_of(text))
    assert [(kind, w.mean, i.mean) for kind, w, i in found] == [("atomic", 2, 2), ("load", 1, 1)]


def test_an_accumulation_in_a_loop_loads_its_element_once() -> None:
    """nvcc 13.0.88 for sm_90 loads `s[t][j]` in every one of the 120 rounds."""
    text = """
__global__ void k(float *a) {
  __shared__ float s[16][17];
  int t = threadIdx.x;
  for (int i = 0; i < 16; i++) s[i][t] = a[i * 16 + t];
  __syncthreads();
  for (int i = 1; i < 16; i++) {
    for (int j = 0; j < i; j++)
      s[t][i] -= s[t][j] * s[j][i];
    s[t][i] /= s[i][i];
  }
  __syncthreads();
  a[t] = s[t][t];
}
void f(float *a) { k<<<1, 16>>>(a); }
"""
    counts = [(a.kind, a.span.column, a.instructions) for a in accesses_of(text) if a.line == 9]
    assert counts == [("load", 7, 15), ("store", 7, 120), ("load", 18, 120), ("load", 28, 120)]


def test_a_scalar_call_in_an_overload_for_vectors_is_the_built_in_one() -> None:
    text = """
inline __device__ float4 sqrtf(float4 v) {
  return make_float4(sqrtf(v.x), sqrtf(v.y), sqrtf(v.z), sqrtf(v.w));
}
__global__ void k(float4 *a) {
  __shared__ float4 s[64];
  s[threadIdx.x] = sqrtf(a[threadIdx.x]);
}
void f(float4 *a) { k<<<1, 64>>>(a); }
"""
    facts = facts_of(text)
    assert [str(n) for k in facts.kernels for n in k.not_analysed] == []
    assert ways_of(text) == [(7, "store", 1.0)]


def test_a_pointer_that_went_on_by_an_unknown_stays_in_its_array() -> None:
    text = """
__global__ void k(unsigned *out, const unsigned *at) {
  __shared__ unsigned s[128];
  unsigned *base = s + at[threadIdx.x];
  out[threadIdx.x] = base[threadIdx.x];
}
void f(unsigned *o) { k<<<1, 64>>>(o, o); }
"""
    (access,) = facts_of(text).kernels[0].accesses
    assert access.array.name == "s"
    assert (access.certainty, access.wavefronts) == ("data-dependent", None)
    assert access.reason.code == "data"


def test_arguments_are_asked_for_where_a_pointer_hangs_on_them() -> None:
    text = """
__global__ void k(unsigned *out, unsigned length) {
  __shared__ unsigned s[1024];
  unsigned t = threadIdx.x;
  for (unsigned stride = 1; stride < length; stride <<= 1) {
    unsigned low = t & (stride - 1);
    unsigned *base = s + 2 * (t - low);
    out[t] = base[low];
  }
}
void f(unsigned *o) { k<<<1, 512>>>(o, 1024); }
"""
    (access,) = facts_of(text).kernels[0].accesses
    assert (access.instructions, access.wavefronts.mean) == (160, 1.5)


def test_a_matrix_behind_a_lost_pointer_is_not_decided() -> None:
    text = """
#include <mma.h>
__global__ void k(const int *at, half *out) {
  __shared__ half s[64 * 64];
  half *tile = s + at[threadIdx.x];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::load_matrix_sync(a, tile, 64);
}
void f(int *a, half *o) { k<<<1, 32>>>(a, o); }
"""
    found = [a for a in facts_of(text).kernels[0].accesses if a.certainty.is_decided]
    assert [a.expression for a in found] == []


SWAPS = """
__device__ void swap(float *a, float *b) {
  float x = *a;
  float y = *b;
  *a = y;
  *b = x;
}
__global__ void k(float *g) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  swap(&s[2 * t], &s[2 * t + 512]);
  for (int i = 0; i < 4; i++) {
    __syncthreads();
    swap(&s[t], &s[t + 32]);
  }
  for (int i = 1; i < 8; i *= 2) {
    __syncthreads();
    swap(&s[t * i], &s[t * i + 512]);
  }
}
void f(float *g) { k<<<1, 64>>>(g); }
"""


def test_the_profiler_shows_the_first_access_of_an_inlined_function_at_its_call() -> None:
    first = next(a for a in accesses_of(SWAPS) if a.span.line == 3)
    assert (first.instructions, first.wavefronts.mean) == (16, 1.625)
    calls = [(c.span.line, c.instructions, c.wavefronts.mean) for c in first.calls]
    # of copies only the first and, at line 18, that of the one stride whose address is a new one
    assert calls == [(11, 2, 2.0), (14, 2, 1.0), (18, 4, 2.5)]


def test_arguments_on_lines_of_their_own_are_no_address_of_the_call() -> None:
    text = SWAPS.replace("swap(&s[t * i], ", "swap(\n&s[t * i], ")
    first = next(a for a in accesses_of(text) if a.span.line == 3)
    assert (first.calls[-1].span.line, first.calls[-1].instructions) == (18, 2)


def test_a_rolled_loop_makes_no_copies_of_a_call() -> None:
    loop = "  for (int i = 1; i < 8; i *= 2) {"
    text = SWAPS.replace(loop, f"#pragma unroll 1\n{loop}").replace(
        "swap(&s[t * i]", "swap(\n&s[t * i]"
    )
    first = next(a for a in accesses_of(text) if a.span.line == 3)
    calls = [(c.span.line, c.instructions, round(c.wavefronts.mean, 3)) for c in first.calls]
    assert calls[-1] == (19, 6, 2.333)


def test_all_accesses_on_the_first_line_of_a_function_are_shown_at_its_call() -> None:
    # nvcc 13.0, sm_90: LDS, LDS and STS lie between the call's row and the next one
    text = """__device__ void add(float *s, int t) {
  s[t] += s[t + 32];
  __syncwarp();
  s[t] += s[t + 16];
}
__global__ void k(float *g) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = g[t];
  __syncthreads();
  if (t < 32)
    add(s, t);
}
void f(float *g) { k<<<1, 64>>>(g); }
"""
    shown = [(a.span.line, [c.span.line for c in a.calls]) for a in accesses_of(text)]
    assert shown == [(2, [12])] * 3 + [(4, [])] * 3 + [(9, [])]


def test_what_a_function_does_behind_a_barrier_is_not_shown_at_its_call() -> None:
    text = SWAPS.replace("float x = *a;", "__syncthreads(); float x = *a;")
    assert [a.calls for a in accesses_of(text) if a.span.line == 3] == [()]


def test_a_loop_of_a_bound_that_the_launch_gives_is_no_basic_block() -> None:
    text = """
__global__ void k(float *g, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  for (int i = %s; i > 0; i >>= 1) g[t] += s[t * 64 + i - 1] + s[t * 64 + i];
}
void f(float *g) { k<<<1, 32>>>(g, 16); }
"""
    assert [a.width_bytes for a in accesses_of(text % "n")] == [4, 4]
    assert [a.width_bytes for a in accesses_of(text % "16")] == [16, 16]


def test_debugging_is_not_defined() -> None:
    text = """
__global__ void k(int *g) {
  __shared__ int s[4096];
#ifdef DEBUG
  const int pitch = 2;
#else
  const int pitch = 4;
#endif
  s[threadIdx.x * pitch] = 1;
}
void f(int *g) { k<<<1, 32>>>(g); }
"""
    (access,) = accesses_of(text)
    assert (access.wavefronts.mean, access.conditions) == (4, ())


SPECIALIZED = """
template <typename T, int N> struct V { void put(T *p) const; };
template <> struct V<short, 1> { short d; __device__ void put(short *p) const; };
__device__ inline void V<short, 1>::put(short *p) const { *p = d; }
template <int N> struct V<short, N> {
  int4 d;
  __device__ void put(short *p) const { *((int4 *)p) = d; }
};
template <typename T> __global__ void k(T *g) {
  __shared__ __align__(16) T s[1024];
  V<%s, 8> v;
  v.put(s + threadIdx.x * 8);
}
void f(short *g) { k<short><<<1, 32>>>(g); }
"""


def test_a_member_of_a_full_specialization_is_no_other_ones() -> None:
    (access,) = accesses_of(SPECIALIZED % "T")
    assert (access.span.line, access.width_bytes, access.wavefronts.mean) == (7, 16, 4)
    assert accesses_of(SPECIALIZED % "Unread") == []


def test_what_a_fused_load_reads_beyond_a_float3_is_not_outside(smemlint, tmp_path) -> None:
    (tmp_path / "k.cu").write_text("""
__global__ void k(float *o) {
  __shared__ float3 sum;
  float3 all = sum;
  o[threadIdx.x] = all.x + all.y + all.z;
}
void f(float *o) { k<<<1, 32>>>(o); }
""")
    assert smemlint("check", "k.cu", "--output-format", "concise")[1] == ""
    (access,) = accesses_of((tmp_path / "k.cu").read_text())
    assert (access.width_bytes, access.patterns[0].spare) == (16, 4)


def test_atomics_of_64_bits_on_neighbouring_words_are_no_conflict(smemlint, tmp_path) -> None:
    text = """
__global__ void k(double *o) {
  __shared__ double s[2048];
  atomicAdd(s + threadIdx.x * %d, 1.0);
}
void f(double *o) { k<<<1, 32>>>(o); }
"""
    (tmp_path / "k.cu").write_text(text % 1)
    assert smemlint("check", "k.cu", "--output-format", "concise")[1] == ""
    (tmp_path / "k.cu").write_text(text % 4)  # lanes that meet try again, nobody knows how often
    output = smemlint("check", "k.cu", "--output-format", "concise")[1]
    assert "4-way bank conflict reading `s`" in output
    assert "updating" not in output


def test_an_object_of_an_unread_class_is_not_loaded_where_it_is_given_away() -> None:
    text = """
#include <tub/tub.cuh>
template <typename T>
__global__ void k(T *g) {
  typedef tub::BlockReduce<T, 64> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ T total[64];
  T sum = Reduce(storage).Sum(g[threadIdx.x]);
  total[threadIdx.x] = sum;
}
void f(float *g) { k<float><<<1, 64>>>(g); }
"""
    facts = facts_of(text)
    (kernel,) = facts.kernels
    assert [(a.array.name, a.wavefronts.mean) for a in kernel.accesses] == [("total", 1)]
    (note,) = kernel.not_analysed
    assert (note.span.line, note.reason.code) == (8, "not-declared")


def test_what_lies_behind_a_class_that_was_not_read_is_as_aligned_as_its_vectors() -> None:
    """Its size is an unknown that all threads share: four wavefronts of float4 wherever it ends."""
    text = """
#include <tub/tub.cuh>
template <typename T> struct Traits {
  using Load = tub::BlockLoad<T, 128, 4, tub::BLOCK_LOAD_WARP_TRANSPOSE>;
  static constexpr int kBytes = sizeof(typename Load::TempStorage);
};
template <typename T> __global__ void k(const float4 *g) {
  extern __shared__ char raw[];
  float4 *s = reinterpret_cast<float4 *>(raw + Traits<T>::kBytes);
  s[threadIdx.x] = g[threadIdx.x];
  reinterpret_cast<float *>(s)[threadIdx.x * 2] = 1;
}
void f(float4 *g) { k<float><<<1, 128, Traits<float>::kBytes + 2048>>>(g); }
"""
    assert [(a.width_bytes, a.wavefronts.mean) for a in accesses_of(text)] == [(16, 4), (4, 2)]


def test_a_launch_is_of_the_kernel_that_its_own_program_defines() -> None:
    small = """
__global__ void rows(float *o) {
  __shared__ float s[4][16];
  s[threadIdx.y][threadIdx.x] = o[0];
}
void f(float *o) { rows<<<1, dim3(16, 4)>>>(o); }
"""
    other = """
__global__ void rows(float *o, int n) { o[n] = 1; }
void g(float *o) { rows<<<1, dim3(16, 12)>>>(o, 3); }
"""
    facts = facts_in(one_cu=small, other_cu=other)
    assert [k.instance.block for k in facts.kernels if k.accesses] == [(16, 4, 1)]


MACRO_LINES = r"""
#define LDM(R0, R1, addr) \
  asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];\n" \
               : "=r"(R0), "=r"(R1) : "r"(addr))
#define SUM(a, b) a + b
__global__ void k(unsigned *out, float *g) {
  __shared__ __align__(16) float s[1024];
  unsigned a, b, p = __cvta_generic_to_shared(&s[threadIdx.x * 4]);
  LDM(a,
      b,
      p);
  g[0] = SUM(g[1],
             s[threadIdx.x +
               5]);
  asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];"
               : "=r"(a), "=r"(b)
               : "r"(p));
  out[0] = a + b;
}
void f(unsigned *out, float *g) { k<<<1, 32>>>(out, g); }
"""


def test_what_a_macro_makes_stands_on_the_line_where_its_call_begins() -> None:
    # nvdisasm -gi: LDSM at 9, LDS at 12; without a macro at the last operand's line, 17
    assert [a.line for a in accesses_of(MACRO_LINES)] == [9, 12, 17]


def test_both_spellings_of_128_bit_integers_are_sixteen_bytes_wide() -> None:
    source = """
__global__ void k(const TYPE *in) {
  __shared__ TYPE tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
}
void f(void *p) { k<<<1, 128>>>((TYPE *)p); }
"""
    for spelling in ("__int128", "__int128_t", "__uint128_t"):
        (store,) = accesses_of(source.replace("TYPE", spelling))
        assert (store.width_bytes, store.ways) == (16, 1.0)


COPIED_AND_MADE = """struct alignas(16) Four { float a, b, c, d; };
__device__ Four make(float a, float b) {
  return Four{a, b, a, b};
}
__global__ void k(Four *in, float r) {
  __shared__ Four tile[128];
  int t = threadIdx.x;
  tile[t] =
    {r, r,
     r, r};
  tile[t ^ 1] =
    in[
      t];
  tile[t ^ 2] =
    Four{r, r,
         r, 1};
  tile[t ^ 3] =
    make(r,
         r);
  tile[t ^ 4] =
    static_cast<Four>(
      in[t + 1]);
}
void f(Four *in) { k<<<1, 128>>>(in, 2); }
"""


def test_a_copied_object_is_stored_on_the_line_of_its_source_a_made_one_on_that_of_its_place() -> (
    None
):
    # nvcc 13.5.37, sm_90, nvdisasm -gi
    assert [a.line for a in accesses_of(COPIED_AND_MADE)] == [8, 13, 14, 17, 22]
