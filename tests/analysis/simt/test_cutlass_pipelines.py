"""Pipelines of warp groups, and the structures that such kernels keep in shared memory."""

from __future__ import annotations

from conftest import accesses_of, facts_of, ways_of

from smemlint.reasons import ReasonCode

HEAD = """#include <cute/tensor.hpp>
#include "cutlass/pipeline/pipeline.hpp"
using namespace cute;
"""

CONSUMER = (
    HEAD
    + """
template <int N> struct Main {
  using Ring = typename cutlass::PipelineTmaAsync<N>;
  using State = typename Ring::PipelineState;
  struct Storage {
    typename Ring::SharedStorage bars;
    alignas(1024) float s[N][32][32];
  };
  __device__ void run(Ring ring, State& state, int n, Storage& storage, float *o) {
    Tensor s = make_tensor(make_smem_ptr(&storage.s[0][0][0]), Layout<Shape<_32, _32, Int<N>>, Stride<_32, _1, _1024>>{});
    auto read = [&](auto const& at) {
      ring.consumer_wait(at, ring.consumer_try_wait(at));
      o[threadIdx.x] = s(threadIdx.x % 32, 0, at.index());
      ring.consumer_release(at);
    };
    while (n > threadIdx.x / 32) { read(state); ++state; --n; }
    State next(state.index(), state.phase(), state.count());
    o[threadIdx.x] = s(threadIdx.x % 32, 1, next.index());
  }
};
__global__ void k(int n, float *o) {
  extern __shared__ char bytes[];
  using M = Main<3>;
  auto& storage = *reinterpret_cast<typename M::Storage *>(bytes);
  typename M::Ring::Params params;
  params.role = threadIdx.x < 128 ? M::Ring::ThreadCategory::Producer : M::Ring::ThreadCategory::Consumer;
  typename M::Ring ring(storage.bars, params, Shape<_1, _1, _1>{});
  auto write = cutlass::make_producer_start_state<typename M::Ring>();
  typename M::State state;
  M main;
  if (threadIdx.x < 128) { ring.producer_acquire(write); ++write; } else { main.run(ring, state, n, storage, o); }
}
void go(float *o, int n) { k<<<1, 256, 65536>>>(n, o); }
"""
)


def test_all_lanes_of_a_warp_are_at_one_stage_whatever_loop_they_left():
    assert ways_of(CONSUMER) == [(16, "load", 32.0), (21, "load", 32.0)]
    assert facts_of(CONSUMER).not_analysed == ()


def test_a_pipeline_has_two_barriers_a_stage():
    """Storage of 2 * 3 barriers is 48 bytes: rows of 12 words share banks every 8 rows."""
    text = (
        HEAD
        + """
struct Row { cutlass::PipelineAsync<3>::SharedStorage bars; };
__global__ void k(float *o) {
  __shared__ Row rows[32];
  o[threadIdx.x] = reinterpret_cast<float *>(&rows[threadIdx.x])[0];
}
void go(float *o) { k<<<1, 32>>>(o); }
"""
    )
    assert ways_of(text) == [(8, "load", 4.0)]


def _strided(declarations: str, kind: str) -> float:
    """Returns the ways of a load by 32 threads, each of an element of its own."""
    text = f"""{HEAD}
{declarations}
__global__ void k(float *o) {{
  __shared__ {kind} all[32];
  o[threadIdx.x] = reinterpret_cast<float *>(&all[threadIdx.x])[0];
}}
void go(float *o) {{ k<<<1, 32>>>(o); }}
"""
    (access,) = accesses_of(text)
    return access.ways


def test_aligned_arrays_are_as_large_as_their_alignment_asks():
    assert _strided("", "cute::array<float, 3>") == 1.0
    assert _strided("", "cute::array_aligned<float, 3>") == 4.0
    assert _strided("", "cute::array_aligned<float, 3, 64>") == 16.0
    assert _strided("", "cute::array_aligned<float, 0, 128>") == 32.0
    assert _strided("", "cutlass::AlignedArray<float, 2>") == 2.0
    assert _strided("struct S : cute::aligned_struct<64> { float x[3]; };", "S") == 16.0


def test_empty_bases_take_no_room():
    assert _strided("struct E {}; struct S : E { float x; };", "S") == 1.0
    assert _strided("struct E {}; struct F : E {}; struct S : F { float x[4]; };", "S") == 4.0


MEMBERS = (
    HEAD
    + """
template <int Lanes> using Copy = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<Int<Lanes>, Int<32 / Lanes>>, Stride<Int<32 / Lanes>, _1>>{}));
struct Reader {
  using Rows = decltype(Copy<32>{}.get_slice(int(0)));
  using Columns = decltype(Copy<1>{}.get_slice(int(0)));
  Rows rows;
  Columns columns;
  __device__ Reader(int t) : rows(Copy<32>{}.get_slice(t)), columns(Copy<1>{}.get_slice(t)) {}
  template <class T> __device__ void by_rows(T const& s) { auto p = rows.partition_S(s); auto r = make_fragment_like(p); copy(p, r); }
  template <class T> __device__ void by_columns(T const& s) { auto p = columns.partition_S(s); auto r = make_fragment_like(p); copy(p, r); }
};
__global__ void k() {
  __shared__ float x[32][32];
  Tensor s = make_tensor(make_smem_ptr(&x[0][0]), Layout<Shape<_32, _32>, Stride<_33, _1>>{});
  Tensor one = make_tensor(make_smem_ptr(&x[0][0]), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  Reader reader(threadIdx.x);
  reader.by_rows(one);
  reader.by_columns(one);
}
void go() { k<<<1, 32>>>(); }
"""
)


def test_members_that_their_types_tell_lie_apart():
    assert [a.ways for a in accesses_of(MEMBERS)] == [8.0, 1.0]


def test_coordinates_are_those_of_the_threads_that_ask():
    """A consumer's thread number is below zero in the producer's warps."""
    text = (
        HEAD
        + """
__global__ void k(float *o) {
  __shared__ float s[128];
  if (threadIdx.x < 128) return;
  Tensor c = make_identity_tensor(Shape<_128, _4>{});
  auto t = make_tiled_copy(Copy_Atom<DefaultCopy, float>{}, Layout<Shape<_64, _2>>{});
  Tensor p = t.get_slice(threadIdx.x - 128).partition_S(c);
  o[threadIdx.x] = s[get<0>(p(0, 1, 0)) * 2 % 128];
}
void go(float *o) { k<<<1, 256>>>(o); }
"""
    )
    assert ways_of(text) == [(11, "load", 2.0)]


WIDTHS = (
    HEAD
    + """
template <int Bytes> __global__ void k(unsigned long long const *at) {
  __shared__ float s[4096];
  using Word = cute::uint_byte_t<Bytes>;
  Tensor x = make_tensor(make_smem_ptr(s), Layout<Shape<_32, _4>, Stride<_4, _1>>{});
  auto t = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<Word>, float>{},
      Layout<Shape<_32, _1>>{}, Layout<Shape<_1, Int<sizeof(Word) / 4>>>{});
  float const *p = reinterpret_cast<float const *>(at[0]);
  Tensor g = make_tensor(make_gmem_ptr(p), Layout<Shape<_32, _4>, Stride<_4, _1>>{});
  auto own = t.get_slice(threadIdx.x);
  copy(t, own.partition_S(g), own.partition_D(x));
}
void go(unsigned long long *at) { k<BYTES><<<1, 32>>>(at); }
"""
)


def test_words_of_so_many_bytes_are_copied_from_addresses_in_memory():
    widths = [
        [(a.width_bytes, a.instructions) for a in accesses_of(WIDTHS.replace("BYTES", n))]
        for n in "48"
    ]
    assert widths == [[(4, 4)], [(8, 2)]]


def test_a_width_that_no_instruction_has_is_no_error():
    facts = facts_of(WIDTHS.replace("BYTES", "2"))
    assert [n.reason.code for k in facts.kernels for n in k.not_analysed] != []
    assert all(
        n.reason.code is not ReasonCode.INTERNAL_ERROR
        for k in facts.kernels
        for n in k.not_analysed
    )


def test_a_barrier_given_by_reference_is_not_read():
    text = (
        HEAD
        + """
template <class A> struct P { A load; };
struct S { cutlass::arch::ClusterTransactionBarrier bar; float x[32]; };
template <class A> __global__ void k(P<A> p, float *o) {
  __shared__ S s;
  auto& [load] = p;
  copy(load.with(reinterpret_cast<unsigned long long &>(s.bar)), o, o);
  o[threadIdx.x] = s.x[threadIdx.x];
}
void go(float *o, P<int> p) { k<<<1, 32>>>(p, o); }
"""
    )
    assert ways_of(text) == [(11, "load", 1.0)]


def test_a_stride_that_nothing_was_written_to_keeps_its_static_modes():
    text = (
        HEAD
        + """
template <class T> __global__ void k(T m) {
  using Element = typename T::value_type;
  __shared__ Element s[1024];
  s[threadIdx.x * 32] = m(0, 0);
}
struct Runner {
  Stride<int, _1> stride;
  void go(double *p, int n) { k<<<1, 32>>>(make_tensor(make_gmem_ptr(p), make_shape(n, n), stride)); }
};
int main(int n, char **) { Runner r; r.go(nullptr, n); }
"""
    )
    assert [(a.width_bytes, a.ways) for a in accesses_of(text)] == [(8, 16.0)]


def test_the_methods_of_barriers_are_known_where_their_header_is_not_named():
    text = """#include <cute/tensor.hpp>
using Bar = cutlass::arch::ClusterTransactionBarrier;
__global__ void k(float *o) {
  __shared__ uint64_t words[2];
  __shared__ cutlass::arch::ClusterBarrier own;
  Bar::init(&words[0], 1);
  Bar::arrive_and_expect_tx(&words[0], 64);
  own.init(1);
  own.wait(0);
  __shared__ float x[64];
  x[threadIdx.x * (sizeof(Bar) / 4)] = o[0];
}
void go(float *o) { k<<<1, 32>>>(o); }
"""
    (kernel,) = facts_of(text).kernels
    assert [(str(a.kind), a.ways) for a in kernel.accesses] == [("store", 2.0)]
    assert not kernel.not_analysed


def test_where_tensor_memory_is_allocated_is_kept_without_a_conflict():
    """The instruction writes one word of shared memory, which every thread reads."""
    text = """#include <cute/tensor.hpp>
__global__ void k(float *o) {
  __shared__ uint32_t at;
  cute::TMEM::Allocator1Sm tensor_memory{};
  if (threadIdx.x < 32) {
    tensor_memory.allocate(cute::TMEM::Allocator1Sm::Sm100TmemCapacityColumns, &at);
  }
  __syncthreads();
  o[threadIdx.x] = at;
  __shared__ float x[512 * 2];
  x[threadIdx.x * (cute::TMEM::Allocator2Sm::Sm100TmemCapacityColumns / 256)] = o[0];
  tensor_memory.release_allocation_lock();
  tensor_memory.free(at, 512);
}
void go(float *o) { k<<<1, 64>>>(o); }
"""
    (kernel,) = facts_of(text).kernels
    expected = [("load", 1.0), ("store", 2.0), ("load", 1.0)]
    assert [(str(a.kind), a.ways) for a in kernel.accesses] == expected
    assert not kernel.not_analysed


BARRIERS = (
    HEAD
    + """
template <int N> struct Kept {
  struct { cutlass::arch::ClusterBarrier full[N], empty[N]; } ring;
  uint64_t other;
  float x[256];
};
template <int N> __global__ void k(float *o) {
  extern __shared__ char smem[];
  Kept<N>& s = *reinterpret_cast<Kept<N>*>(smem);
  using Bars = decltype(s.ring.full);
  cutlass::arch::detail::initialize_barrier_array_pair_aligned<Bars, Bars, N>(s.ring.full, s.ring.empty, 1, 2);
  cutlass::arch::detail::initialize_barrier_array<Bars, N>(s.ring.full, 1);
  cutlass::arch::cpasync_barrier_arrive_noinc(&s.other);
  s.x[threadIdx.x * 2] = 1;
}
void go(float *o) { k<4><<<1, 128, 4096>>>(o); }
"""
)


def test_functions_on_barriers_access_nothing():
    facts = facts_of(BARRIERS)
    assert [a.ways for kernel in facts.kernels for a in kernel.accesses] == [2.0]
    assert all(not kernel.not_analysed for kernel in facts.kernels)
