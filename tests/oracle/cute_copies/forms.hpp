// The kernels that are recorded, as templates; each prints "# name threads" and then one line an
// instruction and thread.
#pragma once
#include "hooks.hpp"

#include <cute/algorithm/gemm.hpp>
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

template <class T, class S>
auto shared_tensor(S layout, size_t bytes = 0) {
  return make_tensor(make_smem_ptr(reinterpret_cast<T*>(shared_memory + bytes)), layout);
}

template <class T>
T* global() {
  return reinterpret_cast<T*>(uintptr_t(1) << 40);
}

// Both operands of an MMA by make_tiled_copy_A and _B.
template <class T, class SA, class SB, class AtomA, class AtomB, class MMA>
void operands(char const* name, T, SA layout_a, SB layout_b, AtomA atom_a, AtomB atom_b, MMA mma) {
  run(name, size(mma), [&](int thr) {
    auto sA = shared_tensor<T>(layout_a);
    auto sB = shared_tensor<T>(layout_b, kBAt);
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
    auto sA = shared_tensor<T>(layout_a);
    auto sB = shared_tensor<T>(layout_b, kBAt);
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
    auto s = shared_tensor<T>(layout);
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
    auto s = shared_tensor<T>(layout);
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
    auto s = shared_tensor<T>(layout);
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
    auto s = shared_tensor<T>(layout);
    auto g = make_tensor(make_gmem_ptr(global<T>()), outside);
    cooperative_copy<Threads, Bits>(uint32_t(thr), g, s);
  });
}

// make_tiled_copy_S and _D of another copy, by which registers are stored and loaded.
template <class T, class S, class C, class A, class B>
void derived(char const* name, T, S layout, C tiled, A to, B from) {
  run(name, size(tiled), [&](int thr) {
    auto s = shared_tensor<T>(layout);
    auto store = make_tiled_copy_S(to, tiled);
    auto stores = store.get_slice(thr);
    auto values = make_tensor<T>(shape(stores.partition_S(s)));
    copy(store, values, stores.partition_D(s));
    auto load = make_tiled_copy_D(from, tiled);
    auto loads = load.get_slice(thr);
    auto loaded = make_tensor<T>(shape(loads.partition_D(s)));
    copy(load, loads.partition_S(s), loaded);
  });
}

// make_tiled_copy_C_atom, and the copies that an epilogue makes of it.
template <class T, class S, class MMA, class A, class B>
void epilogues(char const* name, T, S layout, MMA mma, A to, B from) {
  run(name, size(mma), [&](int thr) {
    auto s = as_position_independent_swizzle_tensor(shared_tensor<T>(layout));
    auto atoms = make_tiled_copy_C_atom(Copy_Atom<SM90_U32x4_STSM_N, half>{}, mma);
    auto store = make_tiled_copy_S(to, atoms);
    auto stores = store.get_slice(thr);
    auto values = make_tensor<T>(take<0, 3>(shape(stores.partition_S(s))));
    copy(store, values, stores.partition_D(s)(_, _, _, at_run_time(1)));
    auto load = make_tiled_copy_S(from, atoms);
    auto loads = load.get_slice(thr);
    auto loaded = make_tensor<T>(values.layout());
    copy(load, loads.partition_S(s)(_, _, _, at_run_time(1)), loads.retile_D(loaded));
  });
}

// make_cotiled_copy: threads and values by the offsets that they touch.
template <class T, class S, class A, class Order, class Data>
void cotiled(char const* name, T, S layout, A atom, Order order, Data data) {
  auto tiled = make_cotiled_copy(atom, order, data);
  run(name, size(tiled), [&](int thr) {
    auto s = shared_tensor<T>(layout);
    auto slice = tiled.get_slice(thr);
    auto target = slice.partition_D(s);
    copy(tiled, make_fragment_like(target), target);
  });
}

// From global memory, asynchronously or not, with a predicate and without, whose strides are known
// at compile time or not.
template <class T, class S, class C, class G>
void incoming(char const* name, T, S layout, C tiled, G stride) {
  run(name, size(tiled), [&](int thr) {
    auto s = shared_tensor<T>(layout);
    auto g = make_tensor(make_gmem_ptr(global<T>()), make_layout(make_shape(size<0>(s), size<1>(s)), stride));
    auto slice = tiled.get_slice(thr);
    auto source = slice.partition_S(g);
    auto target = slice.partition_D(s);
    copy(tiled, source, target);
    auto wanted = make_tensor<bool>(make_shape(size<1>(target), size<2>(target)));
    for (int i = 0; i < size(wanted); ++i) { wanted(i) = true; }
    copy_if(tiled, wanted, source, target);
    copy(source, target);
    for (int k = 0; k < size<2>(target); ++k) {
      copy(tiled, source(_, _, k), target(_, _, k));
    }
  });
}

// A stage that is chosen at run time before or behind partitioning, grouped and flattened modes.
template <class T, class S, class C>
void stages(char const* name, T, S layout, C tiled) {
  run(name, size(tiled), [&](int thr) {
    auto s = shared_tensor<T>(layout);
    auto slice = tiled.get_slice(thr);
    auto late = slice.partition_D(s)(_, _, _, at_run_time(1));
    auto values = make_fragment_like(late);
    copy(tiled, values, late);
    copy(values, late);
    auto early = slice.partition_S(s(_, _, at_run_time(1)));
    auto loaded = make_fragment_like(early);
    copy(tiled, early, loaded);
    copy(early, loaded);
    copy_aligned(early, loaded);
    for (int m = 0; m < size<1>(early); ++m) {
      copy(tiled, group_modes<1, 2>(early(_, m, _)), group_modes<1, 2>(loaded(_, m, _)));
    }
    auto grouped = group_modes<0, 3>(slice.partition_S(s));
    auto flat = flatten(grouped(_, at_run_time(1)));
    auto more = make_tensor<T>(shape(flat));
    copy(flat, more);
  });
}

// Tiles and offsets of a tensor, and its elements as a wider or narrower type.
template <class Wide, class T, class S, class C, class Tile>
void tiles(char const* name, T, S layout, C tiled, Tile tile) {
  run(name, size(tiled), [&](int thr) {
    auto s = shared_tensor<T>(layout);
    auto slice = tiled.get_slice(thr);
    auto inner = local_tile(s, tile, make_coord(at_run_time(1), at_run_time(0)));
    auto source = slice.partition_S(inner);
    auto loaded = make_fragment_like(source);
    copy(tiled, source, loaded);
    auto wide = recast<Wide>(s);
    auto some = wide(_, thr % size<1>(wide));
    auto values = make_fragment_like(some);
    copy(some, values);
    copy_aligned(values, some);
  });
}

// local_partition by a projection of the threads, as the first tutorial does.
template <class T, class SA, class SB, class L>
void projected(char const* name, T, SA layout_a, SB layout_b, L threads) {
  run(name, size(threads), [&](int thr) {
    auto sA = shared_tensor<T>(layout_a);
    auto sB = shared_tensor<T>(layout_b, kBAt);
    auto a = local_partition(sA, threads, thr, Step<_1, X>{});
    auto b = local_partition(sB, threads, thr, Step<X, _1>{});
    auto c = make_tensor<float>(make_shape(size<0>(a), size<0>(b)));
    gemm(a, b, c);
  });
}

// gemm of operands in shared memory.
template <class T, class SA, class SB, class MMA>
void multiplied(char const* name, T, SA layout_a, SB layout_b, MMA mma) {
  run(name, size(mma), [&](int thr) {
    auto sA = shared_tensor<T>(layout_a);
    auto sB = shared_tensor<T>(layout_b, kBAt);
    auto slice = mma.get_slice(thr);
    auto a = slice.partition_A(sA);
    auto b = slice.partition_B(sB);
    auto c = partition_fragment_C(mma, make_shape(size<0>(sA), size<0>(sB)));
    gemm(mma, a, b, c);
  });
}

// The second operand as a transposed view, with fragments of the layout without its swizzle.
template <class T, class S, class View, class A, class MMA>
void transposed(char const* name, T, S layout, View view, A atom, MMA mma) {
  run(name, size(mma), [&](int thr) {
    auto s = shared_tensor<T>(layout);
    auto t = make_tensor(s.data(), composition(layout, view));
    auto plain = make_tensor(s.data().get(), get_nonswizzle_portion(composition(layout, view)));
    auto values = mma.get_slice(thr).partition_fragment_B(plain);
    auto load = make_tiled_copy_B(atom, mma);
    auto slice = load.get_slice(thr);
    auto from = slice.partition_S(t);
    auto to = slice.retile_D(values);
    for (int k = 0; k < size<2>(values); ++k) {
      copy(load, from(_, _, k), to(_, _, k));
    }
  });
}

// C of an MMA, stored by partition_C with the copies that need no tiled copy.
template <class T, class S, class MMA>
void accumulated(char const* name, T, S layout, MMA mma) {
  run(name, size(mma), [&](int thr) {
    auto s = shared_tensor<T>(layout);
    auto to = mma.get_slice(thr).partition_C(s);
    auto values = make_fragment_like(to);
    copy(values, to);
    copy(Copy_Atom<AutoVectorizingCopy, T>{}, values, to);
    copy_aligned(to, values);
  });
}

}  // namespace recorded
