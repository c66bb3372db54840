// The kernels that are recorded, as templates; each prints "# name threads" and then one line an
// instruction and thread.
#pragma once
#include "hooks.hpp"

#include <cute/tensor.hpp>
#include <cutlass/numeric_types.h>
#include <cutlass/version.h>

#define SAME_NAME(OP, TEXT)                         \
  template <>                                       \
  struct recorded::Name<cute::OP> {                 \
    static constexpr char const* load = TEXT;       \
    static constexpr char const* store = TEXT;      \
  };
SAME_NAME(SM75_U32x1_LDSM_N, "ldmatrix1")
SAME_NAME(SM75_U32x2_LDSM_N, "ldmatrix2")
SAME_NAME(SM75_U32x4_LDSM_N, "ldmatrix4")
SAME_NAME(SM75_U16x2_LDSM_T, "ldmatrix1")
SAME_NAME(SM75_U16x4_LDSM_T, "ldmatrix2")
SAME_NAME(SM75_U16x8_LDSM_T, "ldmatrix4")
SAME_NAME(SM90_U32x1_STSM_N, "stmatrix1")
SAME_NAME(SM90_U32x2_STSM_N, "stmatrix2")
SAME_NAME(SM90_U32x4_STSM_N, "stmatrix4")
SAME_NAME(SM90_U16x2_STSM_T, "stmatrix1")
SAME_NAME(SM90_U16x4_STSM_T, "stmatrix2")
SAME_NAME(SM90_U16x8_STSM_T, "stmatrix4")
SAME_NAME(SM100_U8x8_LDSM_T, "ldmatrix2")
SAME_NAME(SM100_U8x16_LDSM_T, "ldmatrix4")
SAME_NAME(SM100_U8x4_STSM_T, "stmatrix1")
SAME_NAME(SM100_U8x8_STSM_T, "stmatrix2")
SAME_NAME(SM100_U8x16_STSM_T, "stmatrix4")

namespace recorded {
#define ASYNC_NAME(OP)                                  \
  template <class S, class D>                           \
  struct Name<cute::OP<S, D>> {                         \
    static constexpr char const* load = "cp.async";     \
    static constexpr char const* store = "cp.async";    \
  };
ASYNC_NAME(SM80_CP_ASYNC_CACHEALWAYS)
ASYNC_NAME(SM80_CP_ASYNC_CACHEGLOBAL)
ASYNC_NAME(SM80_CP_ASYNC_CACHEALWAYS_ZFILL)
ASYNC_NAME(SM80_CP_ASYNC_CACHEGLOBAL_ZFILL)

using namespace cute;
using half = cute::half_t;

constexpr size_t kBAt = 65536;

template <class F>
void run(char const* name, int threads, F body) {
  printf("# %s %d\n", name, threads);
  for (thread = 0; thread < threads; ++thread) {
    is_on = true;
    body(thread);
    is_on = false;
  }
}

inline int at_run_time(int value) {
  volatile int hidden = value;
  return hidden;
}

template <class T>
T* shared_at(size_t bytes) {
  return reinterpret_cast<T*>(shared_memory + bytes);
}

template <class T>
T* global() {
  return reinterpret_cast<T*>(uintptr_t(1) << 40);
}

// Both operands of an MMA by make_tiled_copy_A and _B.
template <class T, class SA, class SB, class AtomA, class AtomB, class MMA>
void operands(char const* name, T, SA layout_a, SB layout_b, AtomA atom_a, AtomB atom_b, MMA mma) {
  run(name, size(mma), [&](int thr) {
    auto sA = make_tensor(make_smem_ptr(shared_at<T>(0)), layout_a);
    auto sB = make_tensor(make_smem_ptr(shared_at<T>(kBAt)), layout_b);
    auto slice = mma.get_slice(thr);
    auto rA = slice.partition_fragment_A(sA);
    auto rB = slice.partition_fragment_B(sB);
    auto copy_a = make_tiled_copy_A(atom_a, mma);
    auto copy_b = make_tiled_copy_B(atom_b, mma);
    copy(copy_a, copy_a.get_slice(thr).partition_S(sA), copy_a.get_slice(thr).retile_D(rA));
    copy(copy_b, copy_b.get_slice(thr).partition_S(sB), copy_b.get_slice(thr).retile_D(rB));
  });
}

// Both operands by partition_A and _B with the copies that need no atom.
template <class T, class SA, class SB, class MMA>
void partitions(char const* name, T, SA layout_a, SB layout_b, MMA mma) {
  run(name, size(mma), [&](int thr) {
    auto sA = make_tensor(make_smem_ptr(shared_at<T>(0)), layout_a);
    auto sB = make_tensor(make_smem_ptr(shared_at<T>(kBAt)), layout_b);
    auto slice = mma.get_slice(thr);
    auto tA = slice.partition_A(sA);
    auto tB = slice.partition_B(sB);
    auto rA = make_fragment_like(tA);
    auto rB = make_fragment_like(tB);
    for (int k = 0; k < size<2>(tA); ++k) {
      copy(tA(_, _, k), rA(_, _, k));
      copy(tB(_, _, k), rB(_, _, k));
    }
    copy(Copy_Atom<AutoVectorizingCopy, T>{}, tA, rA);
    copy(Copy_Atom<DefaultCopy, T>{}, tB, rB);
    copy_aligned(tA, rA);
  });
}

// Stores and loads of a tiled copy, with its atom and without.
template <class T, class S, class C>
void stores(char const* name, T, S layout, C tiled) {
  run(name, size(tiled), [&](int thr) {
    auto s = make_tensor(make_smem_ptr(shared_at<T>(0)), layout);
    auto slice = tiled.get_slice(thr);
    auto target = slice.partition_D(s);
    auto values = make_fragment_like(target);
    copy(tiled, values, target);
    copy(values, target);
    copy_aligned(values, target);
    auto source = slice.partition_S(s);
    auto loaded = make_fragment_like(source);
    copy(tiled, source, loaded);
    copy(source, loaded);
  });
}

// local_partition with a stage that is known at run time, and local_tile.
template <class T, class S, class L, class Tile>
void locals(char const* name, T, S layout, L threads, Tile tile) {
  run(name, size(threads), [&](int thr) {
    auto s = make_tensor(make_smem_ptr(shared_at<T>(0)), layout);
    auto part = local_partition(s(_, _, at_run_time(1)), threads, thr);
    auto values = make_fragment_like(part);
    copy(values, part);
    copy_aligned(part, values);
    auto inner = local_tile(s(_, _, 1), tile, make_coord(at_run_time(1), 0));
    auto own = local_partition(inner, threads, thr);
    auto more = make_fragment_like(own);
    copy(own, more);
  });
}

// The result of an MMA stored by make_tiled_copy_C.
template <class T, class S, class Atom, class MMA>
void results(char const* name, T, S layout, Atom atom, MMA mma) {
  run(name, size(mma), [&](int thr) {
    auto s = make_tensor(make_smem_ptr(shared_at<T>(0)), layout);
    auto tiled = make_tiled_copy_C(atom, mma);
    auto slice = tiled.get_slice(thr);
    auto values = make_tensor<T>(partition_shape_C(mma, shape(layout)));
    copy(tiled, slice.retile_S(values), slice.partition_D(s));
    auto free = as_position_independent_swizzle_tensor(s);
    copy(tiled, slice.retile_S(values), slice.partition_D(free));
  });
}

// cooperative_copy from global memory.
template <uint32_t Threads, uint32_t Bits, class T, class S, class G>
void cooperative(char const* name, T, S layout, G outside) {
  run(name, Threads, [&](int thr) {
    auto s = make_tensor(make_smem_ptr(shared_at<T>(0)), layout);
    auto g = make_tensor(make_gmem_ptr(global<T>()), outside);
    cooperative_copy<Threads, Bits>(uint32_t(thr), g, s);
  });
}

}  // namespace recorded
