"""Which kernels may touch shared memory: names that reach a function that does."""

import pytest

from smemlint.analysis.simt.shared_functions import touches_shared
from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.frontend.cuda.unit import load_unit

UNIT = """
namespace cp_async { template <int N> __device__ void load(int *p) { __shared__ int s[N]; p[0] = s[1]; } }
struct Global { int *p; __device__ int load(int i) { return p[i]; } };
struct Tile { __device__ int store(int i) { __shared__ int t[32]; return t[i]; } };
template <class T> __device__ int forward(T &x) { return x.store(0); }
__global__ void kernel(int *p, Global g, Tile t) { BODY; }
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p[0] = g.load(1)", False),  # not the function of the namespace
        ("Global *q = &g; p[0] = q->load(1)", False),
        ("using namespace cp_async; load<32>(p)", True),
        ("p[0] = g.load(1); cp_async::load<32>(p)", True),
        ("p[0] = t.store(threadIdx.x)", True),
        ("p[0] = forward(t)", True),
        ("p[0] = g.p[1]", False),
    ],
)
def test_members_of_objects_are_no_free_functions(body, expected):
    unit = load_unit("k.cu", UNIT.replace("BODY", body), LoadOptions(read=lambda _: None))
    (kernel,) = (f for f in unit.functions if f.is_kernel)
    assert touches_shared(kernel, unit) is expected
