"""Constants and functions that are known by name where their headers were not read."""

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty


def stride_of(expression, before=""):
    text = f"""{before}
    __global__ void k(float *g) {{
      __shared__ float s[4096];
      s[threadIdx.x * ({expression})] = 1;
    }}"""
    (access,) = accesses_of(text, block_dim=(32, 1, 1))
    return access.wavefronts.mean if access.certainty.is_decided else None


@pytest.mark.parametrize(
    ("expression", "stride"),
    [
        ("raft::WarpSize / 8", 4),
        ("raft::warp_size() / 2", 16),
        ("lib::kWarpSize / 4", 8),
        ("raft::ceildiv(9, 5)", 2),
        ("raft::ceildiv<int>(33, 4 * 2)", 1),  # 5: odd
        ("THREADS_PER_WARP", 32),
    ],
)
def test_what_a_name_means(expression, stride):
    assert stride_of(expression) == stride


def test_a_definition_wins():
    before = "constexpr int WarpSize = 64; __device__ int ceildiv(int a, int b) { return 2; }"
    assert stride_of("WarpSize / 16", before) == 4
    assert stride_of("ceildiv(8, 1)", before) == 2
    assert stride_of("lib::warp_size(3)") is None


def test_a_reduction_over_a_group_is_data():
    text = """__global__ void k(int *g) {
      __shared__ int s[64];
      auto tile = cg::tiled_partition<32>(cg::this_thread_block());
      s[cg::reduce(tile, g[threadIdx.x], cg::plus<int>())] = 1;
    }"""
    (access,) = accesses_of(text, block_dim=(32, 1, 1))
    assert access.certainty is Certainty.DATA_DEPENDENT


@pytest.mark.parametrize(
    ("index", "mean"),
    [
        ("view.extent(0) + threadIdx.x", 1),
        ("view.stride(1) * 32 + threadIdx.x * 2", 2),
        ("view.rank_of(0) + threadIdx.x", None),
        ("view.extent(threadIdx.x) + threadIdx.x", None),
    ],
)
def test_extents_of_an_argument_are_one_for_all_threads(index, mean):
    text = f"""__global__ void k(lib::view<float> view) {{
      __shared__ float s[4096];
      s[{index}] = 1;
    }}"""
    (access,) = accesses_of(text, block_dim=(32, 1, 1))
    decided = access.certainty.is_decided
    assert (access.wavefronts.mean if decided else None) == mean


def test_a_variable_of_that_name_is_no_function():
    before = "namespace other { constexpr int warp_size = 32; }"
    assert stride_of("raft::warp_size() / 2", before) == 16


def test_a_recursive_function_with_the_name_of_a_groups_function_calls_itself():
    """Thread t loads words 4t to 4t + 3: one LDS.128 (nvcc 13, sm_90), 4 wavefronts, 4 ideal."""
    text = """
    template <int N> struct Int {};
    template <typename T> __device__ T reduce(T *in, T sum, Int<0>) { return sum; }
    template <int N, typename T> __device__ T reduce(T *in, T sum, Int<N>) {
      return reduce(in + 1, sum + *in, Int<N - 1>());
    }
    __global__ void k(int *g) {
      __shared__ int s[1024];
      g[threadIdx.x] = reduce(s + 4 * threadIdx.x + 1, s[4 * threadIdx.x], Int<3>());
    }
    void f(int *g) { k<<<1, 32>>>(g); }
    """
    loads = [a for a in accesses_of(text) if a.instructions]
    assert [(a.width_bytes, a.wavefronts.max, a.ideal.max) for a in loads] == [(16, 4, 4)]
