"""Constants of a class that is a base of a template argument, as tfhe-rs' `FFTDegree` has them."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from strides import access_of

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


BASES = """constexpr int N = 2; struct C { int v[2]; }; using T = short; enum { E = 2 };
struct B { struct C { int v[4]; }; static constexpr int N = 4; using T = double; enum { E = 4 }; };
struct D : B {
  C c; static constexpr int M = N; T t[2];
  __device__ static int n() { return N; }
  __device__ static int e() { return E; }
  __device__ int st() { C x; T y; return sizeof(x) + sizeof(y); }
  struct I { __device__ static int n() { return N; } };
};
template <int Q> struct W { static constexpr int N = Q; using V = char[Q]; };
struct F : W<8> { static constexpr int M = N; };
template <int Q> struct G : W<Q> {
  static constexpr int M = N, Z = W<Q>::N, O = G::N;
  __device__ static int f() { return N; }
  __device__ int g() { return this->N; }
};
struct A { static constexpr int N = 2;
  struct I { static constexpr int N = 4, J = N; struct H { static constexpr int M = N; }; }; };
struct J : A { struct K : I { static constexpr int L = N; }; static constexpr int U = N; };
struct X { static const int K = 2; static const int N = K; struct I { static const int K = 4; int v[N]; }; };
struct Y { static constexpr int S = 2;
  template <int N> struct I { static constexpr int v = N * S; __device__ static int w() { return N; } };
  template <class T> using P = W<sizeof(T)>; };
"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("sizeof(D::C)", 16), ("sizeof(D)", 32), ("D::M", 4), ("D::n()", 4), ("D::e()", 4),
        ("D().st()", 8), ("D::I::n()", 4), ("F::M", 8), ("G<8>::M", 2), ("G<8>::Z", 8),
        ("G<8>::O", 8), ("G<8>::f()", 2), ("G<8>().g()", 8), ("J::K::L", 4), ("J::U", 2),
        ("A::I::H::M", 4), ("sizeof(X::I)", 8), ("Y::I<4>::v", 8), ("Y::I<4>::w()", 4),
        ("Y::P<int>::N", 4), ("N", 2), ("sizeof(C)", 8), ("(W<4>::N) * 2", 8),
    ],
)  # fmt: skip
def test_a_class_sees_its_bases_before_what_is_around_it(index, expected):
    assert access_of(BASES, index).wavefronts.mean == expected
