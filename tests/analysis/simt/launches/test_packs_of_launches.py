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
