"""Kernels of one name for several element types: a launch runs the one for its pointers."""

from __future__ import annotations

from conftest import facts_of

KERNELS = """
#include <cuda_fp16.h>
template <typename T> struct Vec { static constexpr int size = 4; };
template <> struct Vec<half> { static constexpr int size = 8; };
template <int V> __global__ void k(float *m, int n) {
  __shared__ float s[2048];
  s[threadIdx.x * V] = 1;
  m[0] = s[n];
}
template <int V> __global__ void k(half *m, int n) {
  __shared__ half s[4096];
  s[threadIdx.x * V] = 1;
  m[0] = s[n];
}
template <typename T> void run(int n) {
  T *d;
  cudaMalloc((void **)&d, 100 * sizeof(T));
  k<Vec<T>::size><<<1, 256>>>(d, n);
}
int main() { run<float>(4); run<half>(4); }
"""


def test_a_launch_runs_the_kernel_for_its_pointers() -> None:
    found = {
        (k.instance.span.line, k.instance.template, k.accesses[0].width_bytes)
        for k in facts_of(KERNELS).kernels
    }
    assert found == {(5, (("V", "4"),), 4), (10, (("V", "8"),), 2)}
