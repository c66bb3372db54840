"""Objects under construction: base classes in initializer lists, delegation, and `this`."""

from __future__ import annotations

import pytest
from conftest import ways_of

BASES = """
namespace n { template <class T, int N> struct Base { T words; __device__ Base(int a) { words = a * N; } }; }
struct Plain { int unused; int words; __device__ Plain(int a) : words(a) {} };
template <bool B> struct Derived;
template <> struct Derived<true> : public Plain {
  template <class P> __device__ Derived(P a, int b) : Plain(a * b) {}
};
template <class T> struct Pitch : public n::Base<T, 2> {
  int first;
  __device__ Pitch(int a, int b) : n::Base<T, 2>(a * b), first(1) {}
  __device__ Pitch(int a) : Pitch(a, 4) {}
};
struct Self {
  int words;
  __device__ Self(int a) { this->words = a; }
  __device__ void set(int a) { this->words = a; }
  __device__ int get() const { return (*this).words; }
  __device__ int twice() const { auto f = [this](int n) { return n * this->words; }; return f(2); }
  __device__ Self &add(int a) { words += a; return *this; }
  __device__ const Self *me() const { return this; }
};
"""
KERNEL = """
__global__ void k(float *o) {
  __shared__ float s[1024];
  %s;
  s[threadIdx.x * (%s)] = o[0];
}
void go(float *o) { k<<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(
    ("statements", "words", "ways"),
    [
        ("Derived<true> p(2, 4)", "p.words", 8),
        ("Pitch<int> p(2, 2)", "p.words", 8),
        ("Pitch<int> p(2)", "p.words", 16),
        ("Pitch<int> p(2)", "p.first", 1),
        ("Self p(4)", "p.words", 4),
        ("Self p(4); p.set(8)", "p.words", 8),
        ("Self p(4)", "p.get()", 4),
        ("Self p(4)", "p.twice()", 8),
        ("Self p(4); p.add(4).add(8)", "p.words", 16),
        ("Self p(4)", "p.me()->words", 4),
    ],
)
def test_members_have_what_the_constructor_gave_them(statements, words, ways):
    (store,) = ways_of(BASES + KERNEL % (statements, words))
    assert store[1:3] == ("store", ways)


@pytest.mark.parametrize(("word", "first"), [("struct", 4), ("class", 4), ("union", 8)])
def test_members_of_a_class_lie_behind_each_other(word, first):
    text = f"{word} Pair {{ public: int a; int b; }};" + KERNEL % (
        "Pair p; p.a = 4; p.b = 8",
        "p.a",
    )
    assert ways_of(text)[0][1:] == ("store", first)
