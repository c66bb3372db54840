"""What CUB's collectives do in shared memory, for who is analysed without its headers.

Reductions and scans of a block, and those of its loads, stores and exchanges that go through
shared memory. What they compute is not known here: results are values of unknown data. Sorts,
ranks, histograms and time-sliced exchanges stay unread.

Source: CCCL 3.0 (CUDA 13.0), `cub/block/block_reduce.cuh`, `block_scan.cuh`, `block_exchange.cuh`,
`block_load.cuh`, `block_store.cuh`, `block_raking_layout.cuh` and `block/specializations`.
"""

from __future__ import annotations

from functools import cache

_FOLDER = "<cub>/"
_NAMES = """\
#pragma once
namespace cub {
struct Sum {};
struct Max {};
struct Min {};
struct ArgMax {};
struct ArgMin {};
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
"""
_VALUES = """\
__device__ char results[1];
template <typename T> __device__ T thread_result() {
  return reinterpret_cast<volatile T *>(results)[
      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)];
}
template <typename T> __device__ T block_result() {
  return reinterpret_cast<volatile T *>(results)[0];
}
template <typename T> __device__ void use(T value) {
  reinterpret_cast<volatile T *>(results)[0] = value;
}
template <typename T, int K> __device__ void use_all(T (&values)[K]) {
#pragma unroll
  for (int i = 0; i < K; ++i) use(values[i]);
}
template <typename A, typename B> struct is_same { static constexpr bool value = false; };
template <typename A> struct is_same<A, A> { static constexpr bool value = true; };
template <typename A> struct is_number { static constexpr bool value = false; };
"""
"""Results are what global memory holds: another value each time, for each thread or for all."""
_NUMBERS = "".join(
    f"template <> struct is_number<{name}> {{ static constexpr bool value = true; }};\n"
    for name in ("int", "unsigned", "long", "long long", "float", "double", "bool", "char")
)
_RAKING = """\
template <typename T, int N> struct RakingLayout {
  static constexpr int THREADS = N < 32 ? N : 32;
  static constexpr int SEGMENT = (N + THREADS - 1) / THREADS;
  static constexpr int RAKING_THREADS = (N + SEGMENT - 1) / SEGMENT;
  static constexpr int PADDING = SEGMENT % 2 == 0 && SEGMENT > 2 ? 1 : 0;
  struct alignas(16) TempStorage { T grid[RAKING_THREADS * (SEGMENT + PADDING)]; };
  static __device__ T *placement(TempStorage &t, unsigned tid) {
    unsigned offset = tid;
    if constexpr (PADDING > 0) offset += offset / SEGMENT;
    return t.grid + offset;
  }
  static __device__ T *raking(TempStorage &t, unsigned tid) {
    return t.grid + tid * (SEGMENT + PADDING);
  }
};
"""
_REDUCE = """\
template <typename T, int N, int A> struct ReduceStorage {
  char warp_storage;
  typename RakingLayout<T, N>::TempStorage raking;
};
template <typename T, int N> struct ReduceStorage<T, N, BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY> {
  static constexpr int SHARING = N % 32 == 0 && N > 32 ? N - 32 : N;
  char warp_storage;
  typename RakingLayout<T, SHARING>::TempStorage raking;
};
template <typename T, int N> struct ReduceStorage<T, N, BLOCK_REDUCE_WARP_REDUCTIONS> {
  char warp_storage[(N + 31) / 32];
  T aggregates[(N + 31) / 32];
  T prefix;
};
template <typename T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1,
          int Z = 1, int PTX = 0>
class BlockReduce {
  static constexpr int N = X * Y * Z;
  static constexpr bool COMMUTES =
      A == BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY && N % 32 == 0 && N > 32;
 public:
  using TempStorage = ReduceStorage<T, N, A>;
  TempStorage &t;
  int tid;
  __device__ BlockReduce(TempStorage &storage)
      : t(storage), tid(threadIdx.x + X * (threadIdx.y + Y * threadIdx.z)) {}
  __device__ T Sum(T x) { return reduce(x, N); }
  __device__ T Sum(T x, int valid) { return reduce(x, valid); }
  template <int I> __device__ T Sum(T (&x)[I]) { use_all(x); return reduce(x[0], N); }
  template <typename Op> __device__ T Reduce(T x, Op op) { return reduce(x, N); }
  template <typename Op> __device__ T Reduce(T x, Op op, int valid) { return reduce(x, valid); }
  template <int I, typename Op> __device__ T Reduce(T (&x)[I], Op op) {
    use_all(x);
    return reduce(x[0], N);
  }
  __device__ T reduce(T x, int valid) {
    use(x);
    if constexpr (A == BLOCK_REDUCE_WARP_REDUCTIONS) {
      if (tid % 32 == 0) t.aggregates[tid / 32] = thread_result<T>();
      __syncthreads();
      if (tid == 0) {
#pragma unroll
        for (int i = 1; i < (N + 31) / 32; ++i) {
          if (i * 32 < valid) use(t.aggregates[i]);
        }
      }
    } else if constexpr (COMMUTES) {
      using Layout = RakingLayout<T, N - 32>;
      if (tid >= 32) *Layout::placement(t.raking, tid - 32) = x;
      __syncthreads();
      if (tid < 32) {
        T *segment = Layout::raking(t.raking, tid);
#pragma unroll
        for (int i = 0; i < Layout::SEGMENT; ++i) {
          if (valid == N || (tid * Layout::SEGMENT + i) < valid - 32) use(segment[i]);
        }
      }
    } else if constexpr (N > 32) {
      using Layout = RakingLayout<T, N>;
      *Layout::placement(t.raking, tid) = x;
      __syncthreads();
      if (tid < Layout::RAKING_THREADS) {
        T *segment = Layout::raking(t.raking, tid);
#pragma unroll
        for (int i = 0; i < Layout::SEGMENT; ++i) {
          if (i == 0 || (valid == N && N % Layout::RAKING_THREADS == 0)
              || tid * Layout::SEGMENT + i < valid) use(segment[i]);
        }
      }
    }
    return thread_result<T>();
  }
};
"""
_SCAN = """\
template <typename T, int N, int A> struct ScanStorage {
  char warp_storage;
  typename RakingLayout<T, N>::TempStorage raking;
  T aggregate;
};
template <typename T, int N> struct alignas(32) ScanStorage<T, N, BLOCK_SCAN_WARP_SCANS> {
  T aggregates[(N + 31) / 32];
  char warp_storage[(N + 31) / 32];
  T prefix;
};
template <typename T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1,
          int PTX = 0>
class BlockScan {
  static constexpr int N = X * Y * Z;
  static constexpr BlockScanAlgorithm USED =
      A == BLOCK_SCAN_WARP_SCANS && N % 32 != 0 ? BLOCK_SCAN_RAKING : A;
 public:
  using TempStorage = ScanStorage<T, N, USED>;
  TempStorage &t;
  int tid;
  __device__ BlockScan(TempStorage &storage)
      : t(storage), tid(threadIdx.x + X * (threadIdx.y + Y * threadIdx.z)) {}
  __device__ void scan(T x, bool has_aggregate, bool has_prefix = false) {
    use(x);
    if constexpr (USED == BLOCK_SCAN_WARP_SCANS) {
      if (tid % 32 == 31) t.aggregates[tid / 32] = thread_result<T>();
      __syncthreads();
#pragma unroll
      for (int i = 0; i < N / 32 - (has_aggregate || has_prefix ? 0 : 1); ++i) {
        use(t.aggregates[i]);  // the last one is part of the aggregate of all only
      }
    } else if constexpr (N > 32) {
      using Layout = RakingLayout<T, N>;
      T *place = Layout::placement(t.raking, tid);
      *place = x;
      __syncthreads();
      if (tid < Layout::RAKING_THREADS) {
        T *segment = Layout::raking(t.raking, tid);
#pragma unroll
        for (int i = 0; i < Layout::SEGMENT; ++i) use(segment[i]);
#pragma unroll
        for (int i = 0; i < Layout::SEGMENT; ++i) segment[i] = thread_result<T>();
        if (has_aggregate && tid == Layout::RAKING_THREADS - 1) t.aggregate = thread_result<T>();
      }
      __syncthreads();
      use(*place);
      if (has_aggregate) use(t.aggregate);
    }
  }
  __device__ void prefix() {
    if constexpr (USED == BLOCK_SCAN_WARP_SCANS) {
      if (tid == 0) t.prefix = thread_result<T>();
      __syncthreads();
      use(t.prefix);
    }
  }
  template <typename C> __device__ void scan_with(T x, C &third) {
    scan(x, is_same<C, T>::value, !is_same<C, T>::value);
    if constexpr (is_same<C, T>::value) {
      third = block_result<T>();
    } else {
      prefix();
    }
  }
"""
_SCAN_METHODS = """\
  {0} __device__ void {name}Sum({1}) {{ scan({2}, false); {3} }}
  {0_}typename C> __device__ void {name}Sum({1}, C &third) {{ scan_with({2}, third); {3} }}
  {0_}typename Op> __device__ void {name}Scan({1}, Op op) {{ scan({2}, false); {3} }}
  {0_}typename A, typename C> __device__ void {name}Scan({1}, A a, C &third) {{
    if constexpr (is_number<A>::value || is_same<A, T>::value) {{
      scan({2}, false);
    }} else {{
      scan_with({2}, third);
    }}
    {3}
  }}
  {0_}typename A, typename Op>
  __device__ void {name}Scan({1}, A initial, Op op, T &aggregate) {{
    scan({2}, true);
    aggregate = block_result<T>();
    {3}
  }}
"""
"""Methods of one item or of an array, with an aggregate or a callback behind the operator."""
_EXCHANGE = """\
template <typename T, int N, int ITEMS, bool SLICED> struct ExchangeStorage;
template <typename T, int N, int ITEMS> struct ExchangeStorage<T, N, ITEMS, false> {
  static constexpr bool IS_PADDED = ITEMS > 4 && (ITEMS & (ITEMS - 1)) == 0;
  struct alignas(16) TempStorage { T items[N * ITEMS + (IS_PADDED ? N * ITEMS / 32 : 0)]; };
};
template <typename T, int X, int ITEMS, bool SLICED = false, int Y = 1, int Z = 1, int PTX = 0>
class BlockExchange {
  static constexpr int N = X * Y * Z;
  static constexpr int WIDTH = N < 32 ? N : 32;
 public:
  using TempStorage = typename ExchangeStorage<T, N, ITEMS, SLICED>::TempStorage;
  TempStorage &t;
  int tid;
  __device__ BlockExchange(TempStorage &storage)
      : t(storage), tid(threadIdx.x + X * (threadIdx.y + Y * threadIdx.z)) {}
  static __device__ int padded(int offset) {
    if constexpr (ExchangeStorage<T, N, ITEMS, SLICED>::IS_PADDED) offset += offset >> 5;
    return offset;
  }
  __device__ int blocked(int i) { return padded(tid * ITEMS + i); }
  __device__ int striped(int i) { return padded(i * N + tid); }
  __device__ int warp_blocked(int i) {
    return padded(tid / 32 * (WIDTH * ITEMS) + i + tid % 32 * ITEMS);
  }
  __device__ int warp_striped(int i) {
    return padded(tid / 32 * (WIDTH * ITEMS) + i * WIDTH + tid % 32);
  }
"""
_EXCHANGE_METHOD = """\
  template <typename O> __device__ void {0}To{1}(T (&in)[ITEMS], O (&out)[ITEMS]) {{
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) t.items[{2}(i)] = in[i];
    {4};
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) out[i] = t.items[{3}(i)];
  }}
  __device__ void {0}To{1}(T (&items)[ITEMS]) {{ {0}To{1}(items, items); }}
"""
_LOAD_AND_STORE = """\
template <typename T, int X, int ITEMS, int A, int Y, int Z> struct MoveStorage {
  struct TempStorage { char none; };
};
template <typename T, int X, int ITEMS, int Y, int Z> struct MoveStorage<T, X, ITEMS, 3, Y, Z> {
  struct TempStorage { typename BlockExchange<T, X, ITEMS, false, Y, Z>::TempStorage exchange;
                       int valid; };
};
template <typename T, int X, int ITEMS, int Y, int Z> struct MoveStorage<T, X, ITEMS, 4, Y, Z> {
  struct TempStorage { typename BlockExchange<T, X, ITEMS, false, Y, Z>::TempStorage exchange;
                       int valid; };
};
template <typename T, int X, int ITEMS, int Y, int Z> struct MoveStorage<T, X, ITEMS, 5, Y, Z>;
template <typename T, int X, int ITEMS, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1,
          int Z = 1, int PTX = 0>
class BlockLoad {
 public:
  using TempStorage = typename MoveStorage<T, X, ITEMS, A, Y, Z>::TempStorage;
  TempStorage &t;
  __device__ BlockLoad(TempStorage &storage) : t(storage) {}
  template <typename P> __device__ void Load(P from, T (&items)[ITEMS]) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) items[i] = thread_result<T>();
    if constexpr (A == BLOCK_LOAD_TRANSPOSE) {
      BlockExchange<T, X, ITEMS, false, Y, Z>(t.exchange).StripedToBlocked(items, items);
    } else if constexpr (A == BLOCK_LOAD_WARP_TRANSPOSE) {
      BlockExchange<T, X, ITEMS, false, Y, Z>(t.exchange).WarpStripedToBlocked(items, items);
    }
  }
  template <typename P> __device__ void Load(P from, T (&items)[ITEMS], int valid) {
    Load(from, items);
  }
  template <typename P, typename D>
  __device__ void Load(P from, T (&items)[ITEMS], int valid, D fill) { Load(from, items); }
};
template <typename T, int X, int ITEMS, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1, int PTX = 0>
class BlockStore {
 public:
  using TempStorage = typename MoveStorage<T, X, ITEMS, A, Y, Z>::TempStorage;
  TempStorage &t;
  int tid;
  __device__ BlockStore(TempStorage &storage)
      : t(storage), tid(threadIdx.x + X * (threadIdx.y + Y * threadIdx.z)) {}
  __device__ void exchange(T (&items)[ITEMS]) {
    if constexpr (A == BLOCK_STORE_TRANSPOSE) {
      BlockExchange<T, X, ITEMS, false, Y, Z>(t.exchange).BlockedToStriped(items);
    } else if constexpr (A == BLOCK_STORE_WARP_TRANSPOSE) {
      BlockExchange<T, X, ITEMS, false, Y, Z>(t.exchange).BlockedToWarpStriped(items);
    }
  }
  template <typename P> __device__ void Store(P to, T (&items)[ITEMS]) {
    exchange(items);
    use_all(items);
  }
  template <typename P> __device__ void Store(P to, T (&items)[ITEMS], int valid) {
    exchange(items);
    if constexpr (A == BLOCK_STORE_TRANSPOSE || A == BLOCK_STORE_WARP_TRANSPOSE) {
      if (tid == 0) t.valid = valid;
      __syncthreads();
      use(t.valid);
    }
    use_all(items);
  }
};
template <typename T, int N, bool IS_POWER_OF_TWO> struct WarpStorage;
template <typename T, int N> struct WarpStorage<T, N, true> { char none; };
"""
_WARP = """\
template <typename T, int N = 32, int PTX = 0> class Warp{0} {{
 public:
  using TempStorage = WarpStorage<T, N, (N & (N - 1)) == 0>;
  __device__ Warp{0}(TempStorage &storage) {{}}
{1}}};
"""
_WARP_REDUCE = """\
  __device__ T reduce(T x) { use(x); return thread_result<T>(); }
  __device__ T Sum(T x) { return reduce(x); }
  __device__ T Sum(T x, int valid) { return reduce(x); }
  template <typename Op> __device__ T Reduce(T x, Op op) { return reduce(x); }
  template <typename Op> __device__ T Reduce(T x, Op op, int n) { return reduce(x); }
"""
_WARP_SCAN = """\
  __device__ void {0}Sum(T x, T &out) {{ use(x); out = thread_result<T>(); }}
  __device__ void {0}Sum(T x, T &out, T &aggregate) {{
    use(x);
    out = thread_result<T>();
    aggregate = thread_result<T>();
  }}
"""


@cache
def _text() -> str:
    """Returns the header that stands for all of CUB's."""
    one = ("", "template <", "T x, T &out", "x", "out = thread_result<T>();")
    loop = "use_all(x); for (int i = 0; i < K; ++i) out[i] = thread_result<T>();"
    many = ("template <int K>", "template <int K, ", "T (&x)[K], T (&out)[K]", "x[0]", loop)
    scans = (
        _SCAN_METHODS.replace("{0_}", prefix).format(head, items, first, result, name=name)
        for head, prefix, items, first, result in (one, many)
        for name in ("Inclusive", "Exclusive")
    )
    orders = {"Blocked": "", "Striped": "__syncthreads()", "WarpStriped": "__syncwarp()"}
    places = {"Striped": ("blocked", "striped"), "WarpStriped": ("warp_blocked", "warp_striped")}
    exchanges = []
    for name, (blocked, striped) in places.items():
        barrier = orders[name]
        exchanges.append(_EXCHANGE_METHOD.format("Blocked", name, blocked, striped, barrier))
        exchanges.append(_EXCHANGE_METHOD.format(name, "Blocked", striped, blocked, barrier))
    warp_scans = "".join(_WARP_SCAN.format(name) for name in ("Inclusive", "Exclusive"))
    parts = (
        *(_NAMES, _VALUES, _NUMBERS, _RAKING, _REDUCE, _SCAN, *scans, "};\n"),
        *(_EXCHANGE, *exchanges, "};\n", _LOAD_AND_STORE),
        *(_WARP.format("Reduce", _WARP_REDUCE), _WARP.format("Scan", warp_scans), "}\n"),
    )
    return "".join(parts)


def cub_header(name: str) -> tuple[str, str] | None:
    """Returns path and text of what stands for a header of CUB: one for all that are modelled."""
    is_modelled = name.startswith(("cub/block/", "cub/warp/")) or name == "cub/cub.cuh"
    return (f"{_FOLDER}cub.cuh", _text()) if is_modelled else None


def is_cub_header(path: str) -> bool:
    """Returns whether a path is that of the text that stands for CUB's headers."""
    return path.startswith(_FOLDER)
