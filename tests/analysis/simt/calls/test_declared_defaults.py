"""Default arguments that a declaration gives and the definition behind it does not repeat.

C++ adds them up ([dcl.fct.default], [temp.param]). Ways are strides of words over 32 banks.
"""

import pytest
from conftest import accesses_of, ways_of

HOST = "void h(float *o) { k<<<1, 128>>>(o); }"


def ways(declared: str, call: str) -> float:
    """Returns the ways of the first store of a kernel that runs one call on `__shared__ s`."""
    kernel = f"__global__ void k(float *o) {{ __shared__ float s[2048]; {call}; o[0] = s[0]; }}"
    return next(w for _, kind, w in ways_of(f"{declared}\n{kernel}\n{HOST}") if kind == "store")


@pytest.mark.parametrize(
    ("declared", "call", "expected"),
    [
        (
            "__device__ void f(float *s, int t, int pitch = 2);"
            "__device__ void f(float *s, int t, int pitch) { s[t * pitch] = 1; }",
            "f(s, threadIdx.x)",
            2,
        ),
        (  # no names in the declaration, and a name that has more than one word of type
            "__device__ void f(float *, unsigned int, int = 4);"
            "__device__ void f(float *s, unsigned int t, int pitch) { s[t * pitch] = 1; }",
            "f(s, threadIdx.x)",
            4,
        ),
        (
            "template <int V, typename T> __device__ void f(T *s, int t, bool twice = true);"
            "template <int V, typename T> __device__ void f(T *s, int t, bool twice) {"
            " s[t * (twice ? 2 * V : V)] = 1; }",
            "f<4>(s, threadIdx.x)",
            8,
        ),
        (  # of overloads each has its own
            "template <class T> __device__ void f(T *s, int t, int pitch = 8);"
            "template <class T> __device__ void f(T *s, float t, int pitch = 4);"
            "template <class T> __device__ void f(T *s, float t, int p) { s[int(t) * p] = 1; }"
            "template <class T> __device__ void f(T *s, int t, int p) { s[t * p] = 1; }",
            "f(s, int(threadIdx.x))",
            8,
        ),
        (
            "struct A { float *s; __device__ void f(int t, int pitch = 4) const; };"
            "__device__ void A::f(int t, int pitch) const { s[t * pitch] = 1; }",
            "A a{s}; a.f(threadIdx.x)",
            4,
        ),
        (
            "template <class T> struct A { T *s; __device__ void f(int pitch = 2); };"
            "template <class T> __device__ void A<T>::f(int p) { s[threadIdx.x * p] = 1; }",
            "A<float> a{s}; a.f()",
            2,
        ),
        (
            "template <class T, int N = 8> __device__ void f(T *s);"
            "template <class T, int N> __device__ void f(T *s) { s[threadIdx.x * N] = 1; }",
            "f(s)",
            8,
        ),
        (
            "template <class T, int N = 4, class = void> struct A;"
            "template <class T, int N, class U> struct A { T v[N]; };",
            "A<float> *a = (A<float> *)s; a[threadIdx.x].v[1] = 1",
            4,
        ),
    ],
)
def test_a_declaration_gives_the_default_arguments(declared, call, expected):
    assert ways(declared, call) == expected


def test_a_partial_specialization_has_no_defaults_of_the_first_declaration():
    text = """
    template <class T, int N = 2> struct A;
    template <class T, int N> struct A { T v[N]; };
    template <class T> struct A<T, 3> { T v[3]; };
    __global__ void k(float *o) {
      __shared__ A<float, 3> s[128];
      s[threadIdx.x].v[1] = 1;
    }"""
    assert ways_of(text + HOST)[0][2] == 1  # rows of three words


def test_another_function_of_the_name_gives_none():
    text = """
    namespace n { __device__ void f(float *s, int t, int pitch = 2); }
    __device__ void f(float *s, int t, int pitch) { s[t * pitch] = 1; }
    __global__ void k(float *o) { __shared__ float s[256]; f(s, threadIdx.x); }"""
    assert not accesses_of(text + HOST)


def test_a_kernel_takes_what_its_declaration_gives():
    text = """
    template <class F, int N = 2, class S = double> __global__ void k(F f);
    template <class F, int N, class S> __global__ void k(F f) {
      __shared__ S s[N * 64];
      s[threadIdx.x * N] = f;
    }
    void h() { k<<<1, 64>>>(3.0f); }"""
    (access,) = accesses_of(text)
    assert access.width_bytes == 8
    assert access.wavefronts is not None
    assert access.wavefronts.mean == 4
