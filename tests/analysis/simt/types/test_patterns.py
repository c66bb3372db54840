"""Specializations and overloads that conditions choose: the figure says which one was taken."""

import pytest
from strides import access_of

TEXT = """
template <class T> struct tr { static constexpr int n = 2; };
template <class T> struct tr<T*> { static constexpr int n = 4 * tr<T>::n; };
template <> struct tr<float> { static constexpr int n = 1; };
template <class T, int N> struct tr<T[N]> { static constexpr int n = N; };
template <class T> struct tr<const T> { static constexpr int n = 16 * tr<T>::n; };
template <class T> struct tr<T&> { static constexpr int n = 8; };
template <class R, class A> struct tr<R (*)(A)> { static constexpr int n = 32; };
template <class T, class = void> struct open { static constexpr int n = 2; };
template <class... T> struct open<std::tuple<T...>> { static constexpr int n = 4; };
template <class T> __device__ std::enable_if_t<std::is_integral<T>::value, int> f(T) { return 2; }
template <class T> __device__ std::enable_if_t<!std::is_integral<T>::value, int> f(T) { return 4; }
template <class T, std::enable_if_t<(sizeof(T) > 4), int> = 0> __device__ int g() { return 8; }
template <class T, std::enable_if_t<sizeof(T) <= 4, int> = 0> __device__ int g() { return 16; }
template <class T, class = typename std::enable_if<U<T>::v>::type> __device__ int h(T) { return 2; }
template <class T> __device__ int h(T) { return 4; }
template <class D> struct Base { static constexpr int two = 2;
  __device__ int stride() const { return static_cast<const D*>(this)->own() * two; }
  __device__ static int st() { return D::N; } };
struct A : Base<A> { static constexpr int N = 4; __device__ int own() const { return 2; } };
struct B : Base<B> { static constexpr int N = 8; __device__ int own() const { return 4 * two; } };
"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("tr<int>::n", 2), ("tr<float>::n", 1), ("tr<int*>::n", 8), ("tr<float**>::n", 16),
        ("tr<int[8]>::n", 8), ("tr<const int>::n", 32), ("tr<const float>::n", 16),
        ("tr<int&>::n", 8), ("f(1)", 2), ("f(1.f)", 4), ("g<double>()", 8), ("g<int>()", 16),
        ("A::st()", 4), ("B::st()", 8), ("A().stride()", 4), ("B().stride()", 16),
    ],
)  # fmt: skip
def test_the_definition_that_fits_is_taken(index, expected):
    assert access_of(TEXT, index).wavefronts.mean == expected


@pytest.mark.parametrize("index", ["open<int>::n", "h(1)", "N::unclear"])
def test_what_is_not_clear_is_not_guessed(index):
    text = (
        f"{TEXT} namespace p {{ const int unclear = 2; }} namespace q {{ const int unclear = 4; }}"
    )
    assert access_of(text, index).wavefronts is None
