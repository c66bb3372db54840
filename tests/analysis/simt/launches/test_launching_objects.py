"""Launches by objects: an `operator()` that launches, a kernel in a member that a list assigns."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.reasons import ReasonCode

KERNEL = """
template <class T, int N> __global__ void k(T *o) { __shared__ T s[N]; s[threadIdx.x * 2] = o[0]; }
struct Shape { int threads; };
struct Plan { void *kernel; int threads; };
"""
LAUNCHER = """
template <class T> struct Stencil {
    int threads;
    Stencil(int t) : threads(t) {}
    void operator()(T *o) { k<T, 512><<<1, threads>>>(o); }
};
"""
CHOICE = """
template <class T> Plan choose(int n) {
    Plan plan = {(void *)k<T, 512>, 64};
    if (n > 3) plan = {(void *)k<T, 1024>, 64};
    return plan;
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            LAUNCHER + "void run(double *o) { Stencil<double> st(64); st(o); }",
            {("double", "512", (64, 1, 1), 4.0)},
        ),
        (
            LAUNCHER + "void run(float *o) { Stencil<float> st(32); st(o); }",
            {("float", "512", (32, 1, 1), 2.0)},
        ),
        (
            "void run(int n) { Plan p; p = {(void *)k<float, 512>, 64};"
            " cudaLaunchKernel(p.kernel, 1, p.threads, 0, 0, 0); }",
            {("float", "512", (64, 1, 1), 2.0)},
        ),
        (
            CHOICE + "void run(int n) { Plan p = choose<double>(n);"
            " cudaLaunchKernel(p.kernel, 1, p.threads, 0, 0, 0); }",
            {("double", "512", (64, 1, 1), 4.0), ("double", "1024", (64, 1, 1), 4.0)},
        ),
        (
            "void run(double *o) { const int b = 64;"
            " gpu::LaunchKernel(k<double, b * 8>, 1, b, 0, stream, o); }",
            {("double", "512", (64, 1, 1), 4.0)},
        ),
        (
            "template <class F, class... A> void LaunchKernel(int b, F f, A... a) {"
            " f<<<1, b>>>(a...); } void run(double *o) { LaunchKernel(64, k<double, 512>, o); }",
            {("double", "512", (64, 1, 1), 4.0)},
        ),
        (
            "void run(float *o) { Shape s; s = {32}; k<float, 512><<<1, s.threads>>>(o); }",
            {("float", "512", (32, 1, 1), 2.0)},
        ),
    ],
)
def test_what_objects_launch(text, expected):
    found = {
        (
            dict(kernel.instance.template)["T"],
            dict(kernel.instance.template)["N"],
            kernel.instance.block,
            access.wavefronts.mean,
        )
        for kernel in facts_of(KERNEL + text).kernels
        for access in kernel.accesses
    }
    assert found == expected


OBJECTS = """
__global__ void k(float *g) { __shared__ float s[512]; s[threadIdx.x] = g[0]; }
struct Plan {
  unsigned threads;
  void execute(float *g) const { k<<<1, threads>>>(g); }
};
Plan *made(int n);
void run(float *g) {
  Plan p{64};
  p.execute(g);
  %s
}
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("made(1)->execute(g);", 1),
        ("auto *q = made(2); q->execute(g);", 1),
        ("Plan q{64}; q.execute(g);", 0),
    ],
)
def test_a_call_on_an_object_that_is_not_known_is_said(more, said):
    facts = facts_of(OBJECTS % more)
    assert [kernel.instance.block for kernel in facts.kernels] == [(64, 1, 1)]
    codes = [note.reason.code for note in facts.not_analysed]
    assert codes.count(ReasonCode.LEFT_OUT) == said
