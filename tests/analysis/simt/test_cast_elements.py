"""Elements of floating-point arrays that are cast to integers: `n = (int)params[4]`."""

from __future__ import annotations

import pytest
from figures import facts_in, figure

KERNEL = """
__global__ void k(const double *p, const float *d, float *o) {{
  __shared__ float s[512], f[32];
  if (threadIdx.x < 32) f[threadIdx.x] = d[threadIdx.x];
  __syncthreads();
  int n = {cast};
  s[{index}] = o[threadIdx.x];
}}
void go(double *p, float *d, float *o) {{ k<<<1, 128>>>(p, d, o); }}
"""


def written(cast: str, index: str) -> tuple[float, float]:
    """Returns the wavefronts a warp of the store to `s` and the fewest; -1 where not decided."""
    facts = facts_in(a_cu=KERNEL.format(cast=cast, index=index))
    stores = [a for k in facts.kernels for a in k.accesses if a.array and a.array.name == "s"]
    return figure(stores[0])[3:]


@pytest.mark.parametrize("cast", [
    "(int)p[4]", "(int)(p[4])", "static_cast<int>(p[4])", "(int)p[blockIdx.x]", "(int)f[3]",
])  # fmt: skip
def test_what_all_lanes_read_is_one_integer(cast):
    assert written(cast, "threadIdx.x + n") == (1, 1)
    assert written(cast, "2 * threadIdx.x + n") == (2, 1)
    assert written(cast, "n * threadIdx.x")[0] == -1


@pytest.mark.parametrize(
    "cast", ["(int)p[threadIdx.x]", "(int)f[threadIdx.x]", "(int)(p[4] * d[threadIdx.x])"]
)
def test_what_lanes_read_apart_is_data(cast):
    assert written(cast, "threadIdx.x + n")[0] == -1
