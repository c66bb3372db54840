"""Constants of a class that is a base of a template argument, as tfhe-rs' `FFTDegree` has them."""

from __future__ import annotations

import pytest
from conftest import accesses_of

_KERNEL = """
template <typename T> constexpr unsigned log2_of(T n) {
  if constexpr (sizeof(T) == 4) return (unsigned)(8 * sizeof(T) - __builtin_clz(n) - 1);
  else if constexpr (sizeof(T) == 8) return (unsigned)(8 * sizeof(T) - __builtin_clzll(n) - 1);
  else return n <= 2 ? 1 : 1 + log2_of(n / 2);
}
template <int N> struct Other { constexpr static int degree = 2 * N; };
template <int N> struct Degree {
  constexpr static int degree = N;
  constexpr static int log2_degree = log2_of(N);
};
template <class P> struct Half {
  constexpr static int degree = P::degree / 2;
  constexpr static int log2_degree = P::log2_degree - 1;
};
struct Forward { constexpr static int direction = 0; };
template <class P, class D> struct Transform : public P {
  constexpr static int direction = D::direction;
  __device__ static int twice() { return 2 * P::log2_degree; }
};
constexpr int N = 3;
template <class P> __global__ void k(float *out) {
  __shared__ float s[P::degree];
  using H = Half<P>;
  s[threadIdx.x * (H::degree / 128) % P::degree] = 0;
  s[(threadIdx.x << (12 - H::log2_degree)) % P::degree] = 1;
  out[threadIdx.x] = s[threadIdx.x * (P::twice() / 4 + P::direction) % P::degree];
}
void run(float *out) { k<ARGUMENT><<<1, 128>>>(out); }
"""


@pytest.mark.parametrize("argument", ["Degree<1024>", "Transform<Degree<1024>, Forward>"])
def test_constants_of_bases(argument):
    text = _KERNEL.replace("ARGUMENT", argument)
    if "Transform" not in argument:
        text = text.replace("P::twice() / 4 + P::direction", "5")
    # 512 / 128 words apart; 1 << (12 - 9) = 8; 2 * 10 / 4 = 5
    assert [a.wavefronts.mean for a in accesses_of(text)] == [4, 8, 1]


def test_a_parameter_that_no_launch_gives_has_no_other_class_s_constants():
    text = """
struct A { constexpr static int degree = 32; };
template <class P> __global__ void k(float *out) {
  __shared__ float s[4096];
  s[threadIdx.x * P::degree] = out[threadIdx.x];
}
"""
    (access,) = accesses_of(text)
    assert access.wavefronts is None
