"""Templates that instantiate themselves: calls of other instances end where the compiler's do."""

from __future__ import annotations

import pytest
from conftest import facts_of

CLASS = """
template <int N> struct Rows {
  static __device__ void fill(float *s) { s[N * 64] = N; Rows<N - 1>::fill(s); }
};
template <> struct Rows<0> { static __device__ void fill(float *s) { s[0] = 0; } };
template <int I, int J, int E> struct Half {
  static __device__ void fill(float *s) { s[(I * 5 + J) * 64] = J; Half<I, J + 1, E>::fill(s); }
};
template <int I, int E> struct Half<I, E, E> {
  static __device__ void fill(float *s) { s[(I * 5 + E) * 64] = E; Half<I + 1, I + 1, E>::fill(s); }
};
template <int E> struct Half<E, E, E> {
  static __device__ void fill(float *s) { s[(E * 5 + E) * 64] = E; }
};
template <int N> __device__ void fill(float *s) {
  if constexpr (N > 0) { s[N * 64] = N; fill<N - 1>(s); }
}
template <int N> __device__ void halve(float *s, int n) {
  s[n * 64] = N;
  if (n > 0) halve<N>(s, n / 2);
}
__global__ void k(float *o, int n) {
  __shared__ float s[25 * 64];
  CALL
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}
void f(float *o, int n) { k<<<1, 32>>>(o, n); }
"""


@pytest.mark.parametrize(
    ("call", "stores"),
    [
        ("Rows<20>::fill(s + 2 * threadIdx.x);", 21),
        ("Half<0, 0, 4>::fill(s + 2 * threadIdx.x);", 15),
        ("fill<20>(s + 2 * threadIdx.x);", 20),
    ],
)
def test_instances_of_a_template_are_followed_to_their_end(call: str, stores: int) -> None:
    """SASS of nvcc 13.5.37, sm_90: so many STS, of lanes 8 bytes apart."""
    (kernel,) = facts_of(CLASS.replace("CALL", call)).kernels
    found = [a for a in kernel.accesses if a.kind.value == "store"]
    assert sum(a.instructions or 0 for a in found) == stores
    assert {a.wavefronts and a.wavefronts.mean for a in found} == {2.0}
    assert not kernel.not_analysed


def test_one_instance_that_calls_itself_is_not() -> None:
    (kernel,) = facts_of(CLASS.replace("CALL", "halve<3>(s + threadIdx.x, n);")).kernels
    assert kernel.not_analysed
