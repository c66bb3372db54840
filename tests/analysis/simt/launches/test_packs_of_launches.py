"""Packs that only the arguments of a launch tell: each launch is an instance with its own size.

The pack was taken for empty: `s[threadIdx.x * sizeof...(Ts)]` had one wavefront, whatever was passed,
and of launches with other packs the first alone was evaluated.
"""

from __future__ import annotations

import pytest
from conftest import facts_of


def found(kernel, launches):
    host = f"void run(float *o, double *d) {{ {launches} }}"
    kernels = facts_of(kernel + host).kernels
    return {(k.instance.template[-1][1], k.accesses[0].wavefronts.mean) for k in kernels}


@pytest.mark.parametrize("parameters", ["Ts... t", "const Ts&... t", "Ts&&... t"])
def test_each_number_of_arguments_is_an_instance(parameters):
    kernel = f"""
    template <typename... Ts> __global__ void k(float *o, {parameters}) {{
      __shared__ float s[1024];
      s[threadIdx.x * sizeof...(Ts)] = o[0];
    }}
    """
    launches = "k<<<1, 32>>>(o, 1, 2.0f); k<<<1, 32>>>(o, 1, 2, 'a', o);"
    assert found(kernel, launches) == {("int, float", 2), ("int, int, char, float*", 4)}


def test_elements_are_what_pointers_point_to():
    kernel = """
    template <typename... Ts> __global__ void k(Ts *... t) {
      __shared__ float s[1024];
      s[threadIdx.x * sizeof...(Ts)] = 1;
    }
    """
    assert found(kernel, "k<<<1, 32>>>(o, d);") == {("float, double", 2)}


def test_given_elements_come_first():
    kernel = """
    template <typename... Ts> __global__ void k(float *o, Ts... t) {
      __shared__ float s[1024];
      s[threadIdx.x * sizeof...(Ts)] = 1;
    }
    """
    assert found(kernel, "k<double><<<1, 32>>>(o, 1, 2);") == {("double, int", 2)}


def test_what_the_elements_are_worth_stays_open():
    kernel = """
    template <typename... Ts> __global__ void k(float *o, Ts... t) {
      __shared__ float s[1024];
      s[threadIdx.x * (t + ...)] = 1;
    }
    """
    host = "void run(float *o, int n, int m) { k<<<1, 32>>>(o, n, m); }"
    (found,) = facts_of(kernel + host).kernels
    assert not any(access.certainty.is_decided for access in found.accesses)


KERNEL = """
template <int N> __global__ void k(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x * N] = o[0];
}
"""


@pytest.mark.parametrize("size", ["sizeof...(Bs)", "(0 + ... + (Bs ? 1 : 1))"])
def test_the_packs_of_a_host_function_are_told_by_its_callers(size):
    host = f"""
    template <bool... Bs> void go(float *o) {{ k<{size}><<<1, 32>>>(o); }}
    """
    assert found(KERNEL + host, "go<true, false>(o); go<true, true, false, false>(o);") == {
        ("2", 2),
        ("4", 4),
    }


def test_the_pack_of_a_kernel_that_nothing_launches_is_not_empty():
    kernel = """
    template <int... Ns> __global__ void k(float *o) {
      __shared__ float s[1024];
      s[threadIdx.x * sizeof...(Ns)] = o[0];
    }
    """
    (found,) = facts_of(kernel).kernels
    assert not any(access.certainty.is_decided for access in found.accesses)
