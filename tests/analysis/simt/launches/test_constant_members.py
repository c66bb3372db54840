"""Blocks that a constant member of a class tells: its declared value, where no other is given."""

from __future__ import annotations

import pytest
from figures import facts_in

KERNEL = "__global__ void k() { __shared__ float s[512]; s[threadIdx.x * 2] = 0; }\n"


def is_of_96(**files: str) -> bool:
    """Returns whether the kernel is evaluated for blocks of 96 threads, which none guesses."""
    return {kernel.instance.block[0] for kernel in facts_in(**files).kernels} == {96}


@pytest.mark.parametrize(("members", "is_known"), [
    ("const int n = 96; D(float *p) : o(p) {}", True),
    ("const int n = 96; D(float *p);", False),
    ("const int half = 48; const int n = 2 * half; D(float *p) { o = p; }", True),
    ("const int half = 48; const int n = 2 * half; D(int a) : half(a) {}", False),
    ("int const n{96}; D() {} explicit D(float *p) : o(p) {}", True),
    ("const int n = 96; D(float *p) : o(p) {} D(int m) : n(m) {}", False),
    ("const int n = 96; D(float *p) : o(p) {} D(int m);", False),
    ("const int n = 96; D(float *p) {} D(const D &) = delete; ~D();", False),
    ("const int n = 96; D(float *p) {} ~D() {}", True),
    ("const int n = 96; template <class T> D(T p) : n{8} {}", False),
    ("const int n = 96; D(int m) : D(0.f) {} D(float m) : n(9) {}", False),
    ("const int n = 96;", False),
    ("int n = 96; D(float *p) : o(p) {}", False),
    ("const int n; D(int m) : n(m) {}", False),
])  # fmt: skip
def test_constant_members(members, is_known):
    found = is_of_96(
        a_cu=f"{KERNEL}class D {{ float *o; public: {members} void go() {{ k<<<1, n>>>(); }} }};"
    )
    assert found == is_known


@pytest.mark.parametrize("maker", ["D::D(float *p) : n(32), o(p) {}", ""])
def test_constructors_outside_of_the_class(maker):
    assert not is_of_96(
        d_cuh="class D { const int n = 96; float *o; public: D(float *p); void go(); };",
        a_cu=f'#include "d.cuh"\n{KERNEL}{maker}\nvoid D::go() {{ k<<<1, n>>>(); }}',
    )
