"""Names that structured bindings of a loop and packs of variable templates give (nvcc 13.0, sm_90)."""

from __future__ import annotations

import pytest
from conftest import accesses_of

SOURCE = """
struct E { int a, b; };
template <class T, class... R> constexpr int count_v = 1 + sizeof...(R);
template <int... I> __device__ void put(float *s, int t, std::integer_sequence<int, I...>) {
  ((s[t * sizeof...(I) + I + 64 * I] = I), ...);
}
template <class... T> __global__ void k(float *o) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  E e[2] = {{2, 0}, {2, 64}};
  %s
}
void f(float *o) { k<int, int, int, int><<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(("body", "wavefronts"), [
    ("for (auto [a, b] : e) s[t * a + b] = 1;", 2),
    ("for (const auto &[a, b] : e) { s[t * a + b] = 1; }", 2),
    ("for (auto &[a, b] : e) a = 4; s[t * e[1].a] = 1;", 4),
    ("for (auto [a, b] : e) for (auto [c, d] : e) s[t * c + b] = 1;", 2),
    ("s[t * count_v<T...>] = 1;", 4),
    ("put(s, t, std::make_integer_sequence<int, 2>{});", 2),
])  # fmt: skip
def test_wavefronts(body, wavefronts) -> None:
    found = {a.wavefronts and a.wavefronts.mean for a in accesses_of(SOURCE % body)}
    assert found == {wavefronts}
