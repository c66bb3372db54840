"""CuTe tensors outside of shared memory: where they lie costs nothing there, what they are does."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"

MOVED = (
    HEAD
    + """
__global__ void k(float const *in, float const *other, int const *table, float *out, int n, int pitch, bool first) {
  __shared__ float smem[32 * 64];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_2, _64>>{});
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(Int<32>{}, Int<32>{}), make_stride(pitch, _1{}));
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32, _1>>{}, Layout<Shape<_1, _1>>{});
  auto mine = tiled.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(g);
  Tensor to = mine.partition_D(s);
  MOVE
  out[threadIdx.x] = s(0, threadIdx.x);
}
void go(float *p, int *t) { k<<<1, 32>>>(p, p, t, p, 8, 32, true); }
"""
)
STORES = [("store", 32, 2, 1)]
"""32 columns, each stored by 32 lanes two words apart."""


@pytest.mark.parametrize(
    "move",
    [
        "for (int i = 0; i < n; ++i) { copy(tiled, from, to); from.data() = from.data() + pitch; }",
        "for (int i = 0; i < n; ++i) { copy(tiled, from, to); from.data() = from.data() + table[i]; }",
        "from.data() = from.data() + table[0] * pitch; copy(tiled, from, to);",
        "if (table[0]) from.data() = from.data() + pitch; copy(tiled, from, to);",
        "if (first) { from.data() = other + 4; } copy(tiled, from, to);",
        "Tensor it = make_tensor(from.data() + (table[0] ? pitch : -pitch), from.layout()); copy(tiled, it, to);",
    ],
)
def test_a_global_tensor_is_one_wherever_it_is_moved_to(move):
    (kernel,) = facts_of(MOVED.replace("MOVE", move)).kernels
    assert kernel.not_analysed == ()
    stores = [a for a in kernel.accesses if str(a.kind) == "store"]
    assert all(a.certainty.is_decided for a in kernel.accesses)
    found = [(str(a.kind), a.instructions, a.worst.wavefronts, a.worst.ideal) for a in stores]
    assert found == STORES


def test_copies_of_registers_to_a_moved_global_tensor_are_no_shared_access():
    copies = "Tensor r = make_fragment_like(from); for (int i = 0; i < n; ++i) { from.data() = from.data() + table[i]; copy(r, from); }"
    (kernel,) = facts_of(MOVED.replace("MOVE", copies)).kernels
    assert kernel.not_analysed == ()
    assert [str(a.kind) for a in kernel.accesses] == ["load"]


ENGINE = (
    HEAD
    + """
template <class To, class Engine, class Layout>
__device__ auto converted(Tensor<Engine, Layout> const &t) {
  using From = typename Engine::value_type;
  using Own = typename Layout::Shape;
  __shared__ To values[32 * sizeof(From)];
  return make_tensor(make_smem_ptr(values), make_shape(Int<32>{}));
}
template <class Engine, class Layout> __device__ float through(Tensor<Engine, Layout> const &t) {
  using T = typename Engine::value_type;
  auto s = converted<T>(t);
  return s(threadIdx.x);
}
__global__ void k(ELEMENT const *in, float *out) {
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(Int<32>{}));
  out[threadIdx.x] = through(g);
}
void go(ELEMENT *p, float *q) { k<<<1, 32>>>(p, q); }
"""
)


@pytest.mark.parametrize(("element", "width"), [("half_t", 2), ("float", 4), ("double", 8)])
def test_a_function_template_learns_the_element_type_of_a_tensor(element, width):
    (kernel,) = facts_of(ENGINE.replace("ELEMENT", element)).kernels
    (access,) = kernel.accesses
    assert access.width_bytes == width
    assert access.array.bytes == 32 * width * width


def test_one_lane_of_a_warp_is_elected():
    text = (
        HEAD
        + """
__global__ void k(float *out) {
  __shared__ float s[64 * 33];
  if (cute::elect_one_sync()) s[threadIdx.x * 32] = 1.0f;
  if (threadIdx.x % 32 > 3 && cute::elect_one_sync()) s[threadIdx.x] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
void go(float *p) { k<<<1, 64>>>(p); }
"""
    )
    (kernel,) = facts_of(text).kernels
    stores = [a for a in kernel.accesses if str(a.kind) == "store"]
    assert [(a.certainty.is_decided, a.instructions, a.ways) for a in stores] == [
        (True, 2, 1.0)
    ] * 2
    lanes = [[int(p.active.sum()) for p in a.patterns] for a in stores]
    assert all(one == 1 for of in lanes for one in of)


TMA = (
    HEAD
    + """
template <class Tma> __global__ void k(GRID_CONSTANT Tma const tma, float const *in) {
  __shared__ uint64_t barrier[4];
  extern __shared__ __align__(1024) half_t bytes[];
  Tensor s = make_tensor(make_smem_ptr(bytes), tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
  Tensor g = local_tile(tma.get_tma_tensor(make_shape(64, 64)), Shape<_64, _64>{}, make_coord(0, 0));
  auto [to, from] = tma_partition(tma, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(s), group_modes<0, 2>(g));
  copy(tma.with(barrier[2]), to, from);
}
void go(half_t *p, float *q) {
  auto s = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{});
  auto tma = make_tma_atom(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(p), make_shape(64, 64), make_stride(64, _1{})), s, make_shape(_64{}, _64{}));
  k<decltype(tma)><<<1, 128, 16384>>>(tma, q);
}
"""
)


@pytest.mark.parametrize("name", ["__", "CUTE_", "CUTLASS_"])
def test_descriptors_are_constant_parameters_by_any_name(name):
    text = TMA.replace(
        "GRID_CONSTANT", "__grid_constant__" if name == "__" else f"{name}GRID_CONSTANT"
    )
    (kernel,) = facts_of(text).kernels
    assert kernel.accesses == ()  # nor is the barrier read
    assert [(n.span.line, n.reason.code) for n in kernel.not_analysed] == [
        (10, ReasonCode.NO_LANES)
    ]


def test_an_unread_class_takes_an_object_in_shared_memory_by_reference():
    text = """
#include "pipeline.hpp"
struct Storage { unsigned long long full[2], empty[2]; };
struct All { Storage pipe; float data[64]; };
__global__ void k(float *out) {
  __shared__ All all;
  MainPipeline pipeline(all.pipe);
  begin(all.pipe, 3);
  begin(all.data[threadIdx.x]);
  out[threadIdx.x] = all.data[threadIdx.x];
}
void go(float *p) { k<<<1, 64>>>(p); }
"""
    (kernel,) = facts_of(text).kernels
    assert [(a.span.line, a.width_bytes) for a in kernel.accesses] == [(9, 4), (10, 4)]
    assert {n.span.line for n in kernel.not_analysed} == {7, 8}


def test_a_member_of_an_unread_class_is_no_member_of_another_one():
    """`Base` is a class that was not read, the scheduler's storage is an `int4`."""
    text = """
#include "rings/ring.hpp"
struct Scheduler { using SharedStorage = int4; };
template <int N, class Base = rings::RingAsync<N>> struct Pipeline : Base {
  using SharedStorage = typename Base::SharedStorage;
  using Params = typename Base::Params;
  __device__ Pipeline(SharedStorage &storage, Params params) : Base(storage, params) {}
};
struct Storage { typename Pipeline<2>::SharedStorage pipe; Scheduler::SharedStorage work; };
__global__ void k() {
  extern __shared__ char bytes[];
  Storage &storage = *reinterpret_cast<Storage *>(bytes);
  typename Pipeline<2>::Params params;
  Pipeline<2> pipeline(storage.pipe, params);
}
void go() { k<<<1, 64, 1024>>>(); }
"""
    (kernel,) = facts_of(text).kernels
    assert kernel.accesses == ()
    assert [n.span.line for n in kernel.not_analysed] == [7]


ELEMENTS = (
    HEAD
    + """
__global__ void k(half *g, void *v, long pitch) {
  __shared__ __align__(128) half s[64 * 64];
  Tensor t = make_tensor(make_gmem_ptrOF, make_layout(Shape<_64, _64>{}, make_stride(PITCH, _1{})));
  int row = threadIdx.x / 8, col = threadIdx.x % 8 * 8;
  DO
}
void go(half *p, long n) { k<<<1, 128>>>(p, p, n); }
"""
)


@pytest.mark.parametrize(("of", "begin"), [("(g)", "g"), ("<half>(v)", "(half *)v")])
@pytest.mark.parametrize(("stride", "ways"), [(64, 32), (4, 2), (2, 1)])
def test_an_element_of_a_global_tensor_lies_where_its_layout_says(of, begin, stride, ways):
    do = f"s[&t(threadIdx.x % 32, 0) - {begin}] = 1;"
    text = ELEMENTS.replace("OF", of).replace("PITCH", f"Int<{stride}>{{}}").replace("DO", do)
    (access,) = accesses_of(text)
    assert access.certainty.is_decided
    assert access.ways == ways


@pytest.mark.parametrize("pitch", ["_64{}", "pitch"])
@pytest.mark.parametrize("operation", ["(*from, *to)", "_ZFILL(*from, *to, row < pitch)"])
def test_a_copy_of_an_element_of_a_global_tensor_reads_its_row(pitch, operation):
    name, _, given = operation.partition("(")
    do = f"""auto from = reinterpret_cast<int4 *>(&t(row, col));
    auto to = reinterpret_cast<int4 *>(&s[row * 64 + col]);
    SM80_CP_ASYNC_CACHEGLOBAL{name}<int4>::copy({given};"""
    text = ELEMENTS.replace("OF", "(g)").replace("PITCH", pitch).replace("DO", do)
    (access,) = accesses_of(text)
    assert access.certainty.is_decided
    assert (access.worst.wavefronts, access.worst.ideal) == (4, 4)
