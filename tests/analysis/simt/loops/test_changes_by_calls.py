"""Calls in loops that change more than they are given: objects, lambdas and methods hold variables."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

KERNEL = """
struct It {
    int i;
    __device__ void next() { i += %(step)d; }
    __device__ void advance(int n) { next(); }
    __device__ void operator()() { i += %(step)d; }
};
__global__ void k(float *o, int n) {
    __shared__ float s[4096];
    It it;
    it.i = 0;
    int i = 0;
    auto next = [&]() { i += %(step)d; };
    for (int j = 0; j < n; j++) { o[j] = s[threadIdx.x * (1 + %(index)s)]; %(call)s; }
}
"""
CALLS = [("it.i", "it.advance(1)"), ("i", "next()"), ("it.i", "it()"), ("it.i", "it.next()")]


@pytest.mark.parametrize(("index", "call"), CALLS)
def test_a_stride_that_a_call_changes_is_not_that_of_the_first_iteration(index, call):
    (access,) = accesses_of(KERNEL % {"step": 33, "index": index, "call": call})
    assert access.wavefronts is None  # 1, 2, 1, 4, .. wavefronts of strides 1, 34, 67, 100


@pytest.mark.parametrize(("index", "call"), CALLS)
def test_a_stride_that_keeps_its_residue_is_decided(index, call):
    (access,) = accesses_of(KERNEL % {"step": 32, "index": index, "call": call})
    assert access.wavefronts is not None
    assert access.wavefronts.mean == 1.0


def test_what_a_method_sets_in_a_loop_of_the_host_is_launched():
    text = """
    struct Shape {
        dim3 block;
        Shape(int n) { set(n); }
        void set(int n) { block.x = n; }
    };
    __global__ void k(float *o) { __shared__ float s[256]; s[threadIdx.x] = o[0]; }
    void go(float *o, int n) {
        for (int i = 0; i < n; i++) { Shape shape(64); k<<<1, shape.block>>>(o); }
    }"""
    assert {kernel.instance.block for kernel in facts_of(text).kernels} == {(64, 1, 1)}
