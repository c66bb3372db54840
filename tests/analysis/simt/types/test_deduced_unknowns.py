"""A type that is deduced of an unknown value has no size: `T *` is not what `auto *` is."""

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty

LAUNCH = "template <class K> void run(K k, float *o) { kernel<<<1, 32>>>(k, o); }"


@pytest.mark.parametrize(
    "use",
    [
        "using T = decltype(phi(k, 1.0f)); T *w = reinterpret_cast<T *>(mem); w[threadIdx.x] = 1;",
        "using T = decltype(phi(k, 1.0f)); T *w = (T *)mem; put(w);",
        "put_as(phi(k, 1.0f), mem);",
    ],
)
def test_an_open_type_of_elements_gives_no_width(use: str) -> None:
    text = f"""
    template <class V> __device__ void put(V *w) {{ auto *x = &w[0]; x[threadIdx.x] = 1; }}
    template <class V> __device__ void put_as(V v, unsigned char *p) {{
      V *w = (V *)p; w[threadIdx.x] = v;
    }}
    template <class K> __global__ void kernel(K k, float *o) {{
      extern __shared__ unsigned char mem[];
      {use}
    }}
    {LAUNCH}"""
    (access,) = accesses_of(text)
    assert access.certainty is Certainty.UNKNOWN


def test_a_pointer_to_auto_takes_what_it_is_given() -> None:
    text = f"""
    template <class K> __global__ void kernel(K k, float *o) {{
      __shared__ double mem[64];
      const auto *w = &mem[0]; auto *v = mem;
      v[threadIdx.x] = 1; __syncthreads(); o[threadIdx.x] = w[threadIdx.x];
    }}
    {LAUNCH}"""
    assert [a.width_bytes for a in accesses_of(text)] == [8, 8]
