"""Shared memory that only the operator of an object touches, which no word of the caller names."""

import pytest
from conftest import accesses_of, facts_of

from smemlint.facts import AccessKind

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


ITERATOR = """
struct It {
  float *p;
  __device__ float &operator*() { return *p; }
  __device__ It operator*(int n) { return {p + n}; }
  __device__ It &operator++() { ++p; return *this; }
};
__global__ void k(float *out) {
  __shared__ float s[2048];
  It it{s + 32 * threadIdx.x};
  BODY
}
void f(float *out) { k<<<1, 64>>>(out); }
"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("out[threadIdx.x] = *it;", AccessKind.LOAD),
        ("*it = out[threadIdx.x];", AccessKind.STORE),
        ("++it; out[threadIdx.x] = *it;", AccessKind.LOAD),
    ],
)
def test_what_the_operator_of_an_iterator_names_is_accessed(body, kind):
    accesses = accesses_of(ITERATOR.replace("BODY", body))
    assert [(a.kind, a.instructions, a.wavefronts.mean) for a in accesses] == [(kind, 2, 32.0)]


def test_a_class_object_that_is_dereferenced_by_what_was_not_read_is_said():
    text = ITERATOR.replace("{ return *p; }", ";", 1).replace("BODY", "out[threadIdx.x] = *it;")
    assert any(kernel.not_analysed for kernel in facts_of(text).kernels)
