"""Shared memory that only the operator of an object touches, which no word of the caller names."""

import pytest
from conftest import facts_of

CLASS = (
    "struct Body { __device__ void operator()(int t) { __shared__ float s[64]; s[2 * t] = 1; } };"
)
KERNEL = "template <class F> __global__ void k(F f) { f(threadIdx.x); }"
WRAPPED = "template <template <int> class B> __global__ void k() { B<2> b; b(threadIdx.x); }"
BODY = "template <int N> struct Body { __device__ void operator()(int t) { __shared__ float s[128];"
BODY += "s[N * t] = 1; } };"


@pytest.mark.parametrize(
    ("text", "launch"),
    [
        (CLASS + KERNEL, "k<<<1, 32>>>(Body());"),
        (CLASS + KERNEL, "Body b; k<<<1, 32>>>(b);"),
        (CLASS + KERNEL, "k<Body><<<1, 32>>>({});"),
        (KERNEL, f"{CLASS} k<<<1, 32>>>(Body{{}});"),
        (CLASS + "__global__ void k(Body f) { f(threadIdx.x); }", "k<<<1, 32>>>(Body());"),
    ],
)
def test_a_kernel_is_evaluated_whose_argument_is_called(text, launch):
    facts = facts_of(f"{text} void run() {{ {launch} }}")
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert (access.wavefronts.mean, access.ideal.mean) == (2, 1)


def test_a_class_template_is_what_a_template_parameter_stands_for():
    host = "template <template <int> class C> void call() { k<C><<<1, 32>>>(); }"
    other = BODY.replace("Body", "Other").replace("N * t", "2 * N * t")
    text = BODY + other + WRAPPED + host
    kernels = facts_of(f"{text} void run() {{ call<Body>(); call<Other>(); }}").kernels
    assert [(k.instance.template, k.accesses[0].wavefronts.mean) for k in kernels] == [
        ((("B", "Body"),), 2),
        ((("B", "Other"),), 4),
    ]


def test_a_function_is_run_that_calls_an_object_which_touches_shared_memory():
    function = "template <class F> __device__ float apply(F f, int t) { return f(t); }"
    functor = "struct G { __device__ float operator()(int t) { extern __shared__ float s[];"
    functor += "return s[2 * t]; } };"
    kernel = "__global__ void k(float* o) { o[threadIdx.x] = apply(G{}, threadIdx.x); }"
    host = "void run(float* o) { k<<<1, 32, 256>>>(o); }"
    (facts,) = facts_of(function + functor + kernel + host).kernels
    assert [a.wavefronts.mean for a in facts.accesses] == [2]
