"""How CUTLASS launches kernels, counts stages and divides, for who is analysed without its headers.

A kernel of CUTLASS 3 is a class with `operator()(Params const&, char*)`, which one function
template runs: without that definition no launch of FlashAttention 3, say, leads to a kernel.

Source: CUTLASS 4.7, `cutlass/device_kernel.h`, `kernel_launch.h`, `cluster_launch.hpp`,
`pipeline/sm90_pipeline.hpp`, `pipeline/sm100_pipeline.hpp`, `fast_math.h`, `arch/arch.h`,
`arch/barrier.h`, `matrix_shape.h`, `gemm_coord.h` and `cute/arch/tmem_allocator_sm100.hpp`.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from smemlint.frontend.cuda.preprocessor.macros import Macro, macros_of

_KERNEL = """\
#pragma once
namespace cutlass {
template <typename Operator>
__global__ __launch_bounds__(Operator::MaxThreadsPerBlock, Operator::MinBlocksPerMultiprocessor)
void device_kernel(typename Operator::Params const params) {
  extern __shared__ char smem[];
  Operator op;
  op(params, smem);
}
}
"""
_LAUNCH = """\
#pragma once
#include "cutlass/device_kernel.h"
namespace cutlass {
template <typename GemmKernel, typename Params>
int kernel_launch(dim3 grid, dim3 block, size_t bytes, cudaStream_t stream, Params const &params,
                  bool launch_with_pdl) {
  device_kernel<GemmKernel><<<grid, block, bytes, stream>>>(params);
  return 0;
}
}
"""
_CLUSTER = """\
#pragma once
namespace cutlass {
struct ClusterLaunchParams {
  dim3 grid_dims;
  dim3 block_dims;
  dim3 cluster_dims;
  int smem_size_in_bytes;
  cudaStream_t cuda_stream;
};
struct ClusterLauncher {
  static int launch(dim3 grid, dim3 cluster, dim3 block, size_t bytes, cudaStream_t stream,
                    void const *kernel, void **params, bool launch_with_pdl = false) {
    cudaLaunchKernel(kernel, grid, block, params, bytes, stream);
    return 0;
  }
};
}
"""
_ENABLED = "".join(
    f"#if __CUDA_ARCH__ == {n}0\n"
    + "".join(f"#define CUTLASS_ARCH_MMA_SM{n}{kind}_ENABLED 1\n" for kind in kinds)
    + "#endif\n"
    for n in (90, 100, 101, 103, 110, 120, 121)
    for kinds in (("", "A") if n == 90 else ("", "A", "F"),)
)
"""What a build enables that asks for the features of one architecture: `-arch=sm_90a`."""
_SUPPORTED = "".join(
    f"#define CUTLASS_ARCH_MMA_{feature}_SUPPORTED 1\n"
    for feature in (
        *("SPARSE_SM90", "MODIFIABLE_TMA_SM90", "SM90_F64_MMA"),
        *("SM90", "SM100", "SM103", "SM110", "SM120", "SM121"),
    )
)
"""What CUTLASS's `arch/config.h` defines under CUDA 13, whatever the architecture."""
_CONSTANTS = (
    f"#pragma once\n{_SUPPORTED}{_ENABLED}"
    + """\
#include "cutlass/arch/arch.h"
#include "cutlass/arch/barrier.h"
namespace cutlass {
static const int NumThreadsPerWarp = 32;
static const int NumThreadsPerWarpGroup = 128;
static const int NumWarpsPerWarpGroup = 4;
static const int NumThreadsPerHalfWarp = 16;
static const int NumThreadsPerQuad = 4;
static const int NumThreadsPerQuadPair = 8;
template <int Row, int Column> struct MatrixShape {
  static int const kRow = Row, kColumn = Column, kCount = Row * Column;
};
namespace gemm {
template <int M = 1, int N = 1, int K = 1> struct GemmShape {
  static int const kM = M, kN = N, kK = K;
  static int const kMN = M * N, kMK = M * K, kKN = N * K, kMNK = M * N * K, kCount = kMNK;
};
}
}
namespace cute { namespace TMEM {
struct Allocator1Sm {
  static constexpr int ColumnsPerAllocationSlice = 32, Sm100TmemCapacityColumns = 512;
  void allocate(int columns, uint32_t* where_its_address_is_kept) {}
  void free(uint32_t address, int columns) {}
  void release_allocation_lock() {}
};
using Allocator2Sm = Allocator1Sm;
} }
"""
)
_ARCHITECTURES = "#pragma once\nnamespace cutlass {{ namespace arch {{\n{}\n}} }}\n".format(
    "\n".join(
        f"struct Sm{n} {{ static int const kMinComputeCapability = {n}; }};"
        for n in (50, 60, 61, 70, 72, 75, 80, 86, 89, 90, 100, 101, 103, 120, 121)
    )
)
_BARRIER = """\
#pragma once
#include "cutlass/cutlass.h"
namespace cutlass { namespace arch {
struct ClusterBarrier {
  using ValueType = uint64_t;
  ValueType barrier_;
  void init(unsigned arrivals) const {}
  bool test_wait(unsigned phase, unsigned pred = 1) const {}
  bool try_wait(unsigned phase) const {}
  void wait(unsigned phase) const {}
  void arrive(unsigned cta = 0, unsigned pred = 1) const {}
  void arrive_and_expect_tx(unsigned bytes, unsigned cta = 0, unsigned pred = 1) const {}
  void expect_transaction(unsigned bytes) const {}
  void complete_transaction(unsigned cta, unsigned bytes = 0, unsigned pred = 1) const {}
  static void init(ValueType const* at, unsigned arrivals) {}
  static void wait(ValueType const* at, unsigned phase) {}
  static bool test_wait(ValueType const* at, unsigned phase, unsigned pred) {}
  static bool try_wait(ValueType const* at, unsigned phase) {}
  static void arrive(ValueType const* at, unsigned cta = 0, unsigned pred = 1) {}
  static void arrive_and_expect_tx(ValueType const* at, unsigned n, int c = 0, int p = 1) {}
  static void expect_transaction(ValueType const* at, unsigned bytes) {}
  static void invalidate(ValueType const* at) {}
};
using ClusterTransactionBarrier = ClusterBarrier;
} }
"""
"""The shared memory of barriers is passed over, as that of the instructions on them is."""
_RINGS = (
    *("TmaAsync", "TmaStore", "TransactionAsync", "Async", "UmmaAsync", "TmaTransformAsync"),
    *("TmaUmmaAsync", "UmmaConsumerAsync", "CLCFetchAsync", "TmaSparseUmmaAsync"),
)
"""CUTLASS's pipelines; the first template argument is the number of their stages."""
_PIPELINE = """\
#pragma once
#include "cutlass/arch/barrier.h"
namespace cutlass {
template <unsigned Stages_>
struct PipelineState {
  static constexpr unsigned Stages = Stages_;
  unsigned count_ = 0;
  unsigned start_ = 0;
  PipelineState() {}
  PipelineState(int index, unsigned phase, unsigned count) : count_(count), start_(index - count) {}
  int index() const { return __pipeline_stage(count_ + start_, Stages); }
  unsigned phase() const {}
  unsigned count() const { return count_; }
  void operator++() { ++count_; }
  PipelineState& operator+=(unsigned n) { return advance(n); }
  PipelineState& advance(unsigned n) { count_ += n; return *this; }
};
struct PipelineToken {};
template <int Stages_, int Sort>
struct PipelineRing {
  static constexpr unsigned Stages = Stages_;
  using PipelineState = cutlass::PipelineState<Stages_>;
  using FullBarrier = cutlass::arch::ClusterBarrier;
  using EmptyBarrier = cutlass::arch::ClusterBarrier;
  using ProducerBarrierType = uint64_t;
  using ConsumerBarrierType = unsigned long long;
  enum class ThreadCategory { NonParticipant, Producer, Consumer, ProducerConsumer };
  struct SharedStorage {
    FullBarrier full_barrier_[Stages_];
    EmptyBarrier empty_barrier_[Stages_];
  };
  struct Params {
    unsigned transaction_bytes = 0;
    ThreadCategory role;
    unsigned is_leader = 0;
    unsigned num_consumers = 0;
    unsigned num_producers = 1;
    unsigned producer_arv_count = 1;
    unsigned consumer_arv_count = 1;
    unsigned dst_blockid = 0;
    unsigned producer_blockid = 0;
    int initializing_warp = 0;
    bool always_wait = false;
  };
  PipelineRing() {}
  PipelineRing(Params const& params) {}
  PipelineRing(SharedStorage& storage, Params const& params) {}
  template <class C> PipelineRing(SharedStorage& s, Params const& p, C c) {}
  template <class C, class I> PipelineRing(SharedStorage& s, Params const& p, C c, I i) {}
  template <class C, class I, class M>
  PipelineRing(SharedStorage& s, Params const& p, C c, I i, M m) {}
  PipelineToken producer_try_acquire(PipelineState state, unsigned skip = 0) { return {}; }
  void producer_acquire(PipelineState state) {}
  template <class T> void producer_acquire(PipelineState state, T token) {}
  void producer_expect_transaction(PipelineState state, unsigned bytes) {}
  void producer_commit(PipelineState state) {}
  template <class T> void producer_commit(PipelineState state, T bytes_or_op) {}
  void producer_tail(PipelineState state) {}
  ProducerBarrierType* producer_get_barrier(PipelineState state) {}
  PipelineToken consumer_try_wait(PipelineState state, unsigned skip = 0) { return {}; }
  PipelineToken consumer_test_wait(PipelineState state, unsigned skip = 0) { return {}; }
  void consumer_wait(PipelineState state) {}
  template <class T> void consumer_wait(PipelineState state, T token) {}
  void consumer_release(PipelineState state, unsigned skip = 0) {}
};
RINGS
template <class Pipeline>
PipelineState<Pipeline::Stages> make_producer_start_state() {
  return PipelineState<Pipeline::Stages>();
}
}
""".replace(
    "RINGS",
    "\n".join(
        f"template <int S, class A = int, class B = int> using Pipeline{name} = "
        f"PipelineRing<S, {n}>;"
        for n, name in enumerate(_RINGS)
    ),
)
"""Counts instead of wrapping the index around: after any number of stages it is a sum of knowns."""
_DIVISION = """\
#pragma once
namespace cutlass {
static constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
static constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
template <typename A, typename B>
constexpr A round_nearest(A a, B b) { return (a + b - 1) / b * b; }
struct FastDivmod {
  int divisor = 1;
  FastDivmod() {}
  FastDivmod(int d) : divisor(d) {}
  int div(int n) const { return n / divisor; }
  int divide(int n) const { return n / divisor; }
  int rem(int n) const { return n % divisor; }
  int divmod(int& remainder, int n) const { remainder = n % divisor; return n / divisor; }
  void operator()(int& quotient, int& remainder, int n) const {
    quotient = n / divisor;
    remainder = n % divisor;
  }
};
}
"""
_TEXTS = {
    "cutlass/arch/arch.h": _ARCHITECTURES,
    "cutlass/arch/barrier.h": _BARRIER,
    "cutlass/cutlass.h": _CONSTANTS,
    "cutlass/device_kernel.h": _KERNEL,
    "cutlass/kernel_launch.h": _LAUNCH,
    "cutlass/cluster_launch.hpp": _CLUSTER,
    "cutlass/fast_math.h": _DIVISION,
    "cutlass/pipeline/pipeline.hpp": _PIPELINE,
    "cutlass/pipeline/sm90_pipeline.hpp": _PIPELINE,
    "cutlass/pipeline/sm100_pipeline.hpp": _PIPELINE,
}
_FOLDERS = frozenset(("cute", "cutlass"))
_RELEASED = {
    "cute": """
algorithm arch atom config container int_tuple layout layout_composed numeric pointer pointer_base
pointer_flagged pointer_sparse pointer_swizzle stride swizzle swizzle_layout tensor tensor_impl
tensor_predicate tensor_zip underscore util
""",
    "cutlass": """
aligned_buffer arch array array_planar_complex array_subbyte barrier bfloat16 blas3 blas3_types
block_striped cluster_launch complex constants conv coord core_io cuda_host_adapter cutlass detail
device_kernel epilogue exmy_base experimental fast_math float8 float_subbyte floating_point_nvrtc
functional gemm gemm_coord half integer_subbyte kernel_hardware_info kernel_launch layout matrix
matrix_coord matrix_shape numeric_conversion numeric_size numeric_types pipeline
pitch_linear_coord platform predicate_vector quaternion real reduction relatively_equal semaphore
subbyte_reference tensor_coord tensor_ref tensor_ref_planar_complex tensor_view
tensor_view_planar_complex tfloat32 thread trace transform uint128 uint256 util version wmma_array
workspace
""",
}
"""Folders and headers of CUTLASS 4, without their endings."""
_MACROS = ("CUTE_STATIC_V(x) (x)", "CUTE_ALIGNAS(n) alignas(n)")
"""Of CuTe, whose headers are never read: `decltype(x)::value` is the number that `x` is."""


@cache
def cutlass_macros() -> dict[str, Macro]:
    """Returns the macros of CuTe by name."""
    return macros_of(_MACROS)


def is_of_cutlass(name: str) -> bool:
    """Returns whether an include is written as one of CuTe or CUTLASS: `cute/tensor.hpp`."""
    return name.partition("/")[0] in _FOLDERS


def is_released(name: str) -> bool:
    """Returns whether an include of CuTe or CUTLASS is of a release of it, as far as names tell."""
    folder, *parts = name.split("/")
    return bool(parts) and parts[0].partition(".")[0] in _RELEASED[folder].split()


def is_within_cutlass(path: str) -> bool:
    """Returns whether a path is that of a header of CuTe or CUTLASS, as their folders are laid out.

    A folder `cutlass` that is in none named `include` is a user's own, but for a copy of CUTLASS's
    include folder that has its name: `cutlass/cute/tensor.hpp`.
    """
    parts = path.split("/")
    for at, (around, folder) in enumerate(pairwise(parts), 1):
        if folder in _FOLDERS and around in ("include", "cutlass"):
            return around == "include" or is_released("/".join(parts[at:]))
    return False


def is_cutlass_header(path: str) -> bool:
    """Returns whether a path is that of a text that stands for a header, no file."""
    return path.startswith("<cutlass>/")


def is_without_kernels(path: str) -> bool:
    """Returns whether a path is that of a text that stands for a header, and defines no kernel."""
    name = path.replace("<cutlass>", "cutlass", 1)
    return is_cutlass_header(path) and "__global__" not in _texts()[name]


@cache
def _texts() -> dict[str, str]:
    """Returns what stands for headers, by their names."""
    from smemlint.frontend.cuda.preprocessor.cutlass_gemm import GEMM_TEXTS

    return {**_TEXTS, **GEMM_TEXTS}


def cutlass_header(name: str) -> tuple[str, str] | None:
    """Returns path and text of what stands for a header of CUTLASS that was not found."""
    text = _texts().get(name) if is_of_cutlass(name) else None
    return (name.replace("cutlass", "<cutlass>", 1), text) if text is not None else None


CUTLASS_CONSTANTS = ("<cutlass>/cutlass.h", _CONSTANTS)
"""Path and text of the header that all of CUTLASS's and CuTe's headers include."""
