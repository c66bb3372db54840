"""Kernels that CUTLASS's `device_kernel` runs, with CUTLASS's headers nowhere to be found."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.facts import Certainty
from smemlint.sources.source import Source

OPERATOR = """
#include "cutlass/device_kernel.h"
#include "cutlass/kernel_launch.h"
#include <cutlass/cluster_launch.hpp>
namespace mine {
template <int N, class Element>
struct Transposer {
  static constexpr int MaxThreadsPerBlock = 256;
  static constexpr int MinBlocksPerMultiprocessor = 1;
  struct SharedStorage { Element tile[32][N]; };
  struct Params { Element const *in; Element *out; };
  __device__ void operator()(Params const &params, char *smem_buf) {
    SharedStorage &s = *reinterpret_cast<SharedStorage *>(smem_buf);
    s.tile[threadIdx.x / 32][threadIdx.x % 32] = params.in[threadIdx.x];
    __syncthreads();
    params.out[threadIdx.x] = s.tile[threadIdx.x % 32][threadIdx.x / 32];
  }
};
}
void launch(float *a, float *b, int *out, cudaStream_t stream) {
  using K = mine::Transposer<PITCH, float>;
  typename K::Params params{a, b};
  int bytes = sizeof(typename K::SharedStorage);
"""
LAUNCHES = {
    "kernel_launch": "cutlass::kernel_launch<K>(dim3(1), dim3(256), bytes, stream, params, false);",
    "chevrons": "auto kernel = cutlass::device_kernel<K>; kernel<<<1, 256, bytes, stream>>>(params);",
    "cluster": """
  void const *kernel = (void const *)cutlass::device_kernel<K>;
  cutlass::ClusterLaunchParams shape{dim3(2), dim3(256), dim3(2, 1, 1), bytes, stream};
  cutlass::launch_kernel_on_cluster(shape, kernel, params);
""",
    "cluster, the kernel's address": """
  dim3 block(128), grid(4), cluster(2);
  cutlass::ClusterLaunchParams shape = {grid, block, cluster, bytes};
  cutlass::launch_kernel_on_cluster(shape, (void const *)&cutlass::device_kernel<K>, params);
""",
}


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize(("pitch", "ways"), [(32, 32), (33, 1)])
def test_the_operator_is_run(tmp_path, launch, pitch, ways):
    path = tmp_path / "k.cu"
    path.write_text(OPERATOR.replace("PITCH", str(pitch)) + LAUNCHES[launch] + "\n}\n")
    facts = check([Source(str(path))], Settings()).facts
    (kernel,) = facts.kernels
    assert kernel.instance.kernel == "device_kernel"
    assert kernel.instance.block == (128 if "address" in launch else 256, 1, 1)
    assert [(a.span.line, a.ways, a.certainty) for a in kernel.accesses] == [
        (14, 1, Certainty.ASSUMED),
        (16, ways, Certainty.ASSUMED),
    ]
    assert facts.not_analysed == ()


RETURNED = """
#include <tuple>
#include <cute/tensor.hpp>
using namespace cute;
struct Tile { int m; int n; };
constexpr std::tuple<int, int, bool> tuple_of(int d) { if (d <= 64) { return {128, 64, true}; } return {64, 32, false}; }
constexpr Tile struct_of(int d) { if (d <= 64) { return {128, 64}; } return {64, 32}; }
template <int D> __global__ void k(float *o) {
  static constexpr std::tuple<int, int, bool> tile = tuple_of(D);
  using L = Layout<Shape<Int<std::get<0>(tile)>, _32>, Stride<Int<std::get<1>(tile) / 4>, _1>>;
  __shared__ float s[4096];
  auto x = make_tensor(make_smem_ptr(s), L{});
  x(threadIdx.x, 0) = 1.f;
  Tile other = struct_of(D);
  s[threadIdx.x * (other.n / 8)] = 1.f;
}
void go(float *o) { k<64><<<1, 32>>>(o); k<128><<<1, 32>>>(o); }
"""


def test_numbers_come_back_from_a_function_in_braces(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(RETURNED)
    facts = check([Source(str(path))], Settings()).facts
    found = [[(a.span.line, a.ways) for a in kernel.accesses] for kernel in facts.kernels]
    assert sorted(found) == [[(13, 8), (15, 4)], [(13, 16), (15, 8)]]


FORWARDED = """
#include <cute/tensor.hpp>
#include "cutlass/device_kernel.h"
#include "cutlass/kernel_launch.h"
using namespace cute;
template <typename Kernel>
struct enable_sm90 : Kernel {
  template <typename... Args>
  CUTLASS_DEVICE void operator()(Args&&... args) { Kernel::operator()(std::forward<Args>(args)...); }
};
template <int N, class TiledMma>
struct Fwd {
  static constexpr uint32_t MaxThreadsPerBlock = CUTE_STATIC_V(size(TiledMma{})) + 128;
  static constexpr int MinBlocksPerMultiprocessor = 1;
  struct SharedStorage { float tile[32][N]; };
  struct Params { float *out; };
  static dim3 get_block_shape() { return dim3(MaxThreadsPerBlock, 1, 1); }
  CUTLASS_DEVICE void operator()(Params const& params, char* smem_buf) {
    SharedStorage& s = *reinterpret_cast<SharedStorage*>(smem_buf);
    params.out[threadIdx.x] = s.tile[threadIdx.x % 32][threadIdx.x / 32];
  }
};
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2,_1,_1>>{}));
template <int N> void run(float *b, cudaStream_t stream) {
  using AttnKernel = enable_sm90<Fwd<N, Mma>>;
  typename AttnKernel::Params params{b};
  dim3 block_dims = AttnKernel::get_block_shape();
  cutlass::kernel_launch<AttnKernel>(dim3(1), block_dims, sizeof(typename AttnKernel::SharedStorage), stream, params, false);
}
template void run<32>(float *, cudaStream_t);
template void run<33>(float *, cudaStream_t);
"""


def test_a_wrapper_forwards_to_its_base(tmp_path):
    """As FlashAttention 3's kernels: the block is what the base says, the operator the base's."""
    path = tmp_path / "k.cu"
    path.write_text(FORWARDED)
    facts = check([Source(str(path))], Settings()).facts
    found = sorted(
        (k.instance.block, [(a.span.line, a.ways) for a in k.accesses]) for k in facts.kernels
    )
    assert found == [((384, 1, 1), [(20, 1)]), ((384, 1, 1), [(20, 32)])]


PACKS = """
__device__ void g(float *s, int n) { s[threadIdx.x * n] = 1; }
template <typename... Args> __device__ void forwarded(Args&&... args) { g(std::forward<Args>(args)...); }
template <typename... Args> __device__ void copied(int k, Args... args) { if (k) g(args...); }
struct Base { __device__ void operator()(float *s, int n) { s[threadIdx.x * n] = 1; } };
struct Derived : Base {
  template <typename... Args> __device__ void operator()(Args&&... args) { Base::operator()(std::forward<Args>(args)...); }
};
__global__ void k(float *o) {
  __shared__ float s[1024];
  CALL;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}
void go(float *o) { k<<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(
    ("call", "line", "ways"),
    [
        ("forwarded(s, 2)", 2, 2),
        ("copied(1, s, 4)", 2, 4),
        ("Derived d; d(s, 8)", 5, 8),
        ("auto f = [&](auto... x) { }; forwarded(s, 16)", 2, 16),
    ],
)
def test_a_pack_is_expanded(tmp_path, call, line, ways):
    path = tmp_path / "k.cu"
    path.write_text(PACKS.replace("CALL", call))
    (kernel,) = check([Source(str(path))], Settings()).facts.kernels
    assert next((a.span.line, a.ways) for a in kernel.accesses) == (line, ways)
    assert kernel.not_analysed == ()


BENCH = """
#include "cutlass/device_kernel.h"
#include "cutlass/kernel_launch.h"
template <class K> bool bench(float *out) {
  typename K::Params params{out};
  cutlass::kernel_launch<K>(dim3(1), dim3(32), sizeof(typename K::SharedStorage), 0, params, false);
  return true;
}
"""
COLUMN = """
#include "bench.h"
template <int N> struct Column {
  static constexpr int MaxThreadsPerBlock = 32;
  static constexpr int MinBlocksPerMultiprocessor = 1;
  struct SharedStorage { float tile[32][N]; };
  struct Params { float *out; };
  __device__ void operator()(Params const &params, char *smem_buf) {
    params.out[threadIdx.x] = reinterpret_cast<SharedStorage *>(smem_buf)->tile[threadIdx.x][0];
  }
};
"""


def test_a_unit_that_launches_none_leaves_the_kernel_to_those_that_do(tmp_path):
    """What another main file launches is that file's, and is not searched for in its header."""
    texts = {
        "bench.h": BENCH,
        "asks.cu": COLUMN + 'static_assert(sizeof(Column<32>) > 0, "");\n',
        "runs.cu": COLUMN + "bool go(float *out) { return bench<Column<32>>(out); }\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    sources = [Source(str(tmp_path / name)) for name in texts]
    project = Project(sources, Settings())
    found = {
        name: project.alone(str(tmp_path / name))[0].kernels for name in ("asks.cu", "runs.cu")
    }
    assert found["asks.cu"] == ()
    assert [[a.ways for a in kernel.accesses] for kernel in found["runs.cu"]] == [[32]]


IN_CUTLASS = (
    OPERATOR.partition("void launch")[0]
    + """
#if defined(CUTLASS_ARCH_MMA_SM90_SUPPORTED) && defined(CUTLASS_ARCH_MMA_SM100_SUPPORTED)
namespace cutlass { namespace mine {
template <class Kernel_> struct Device {
  using Kernel = Kernel_;
  using Params = typename Kernel::Params;
  static int run(Params &params, cudaStream_t stream = nullptr) {
    dim3 const block(Kernel::MaxThreadsPerBlock, 1, 1), grid(1), cluster(1);
    void const *kernel = (void const *)device_kernel<Kernel>;
    void *passed[] = {&params};
    return ClusterLauncher::launch(grid, cluster, block, 1 << 14, stream, kernel, passed);
  }
};
} }
#endif
"""
)
USE = """
template <class T> struct Bed {
  using Device = cutlass::mine::Device<mine::Transposer<32, T>>;
  void go(T *a, T *b) { typename Device::Params params{a, b}; Device::run(params); }
};
int main() { Bed<float> bed; bed.go(nullptr, nullptr); }
"""


def test_a_class_of_a_template_is_launched_by_a_variable():
    """`device_kernel<Kernel>`: what launches it has no `Kernel`."""
    (kernel,) = facts_of(IN_CUTLASS + USE).kernels
    assert kernel.instance.block == (256, 1, 1)
    assert [a.ways for a in kernel.accesses] == [1, 32]


def test_a_kernel_of_a_template_that_nothing_uses_is_said():
    assert len(facts_of(IN_CUTLASS).not_analysed) == 1
