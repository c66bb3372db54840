"""Blocks that virtual methods, and methods with `&` or `&&` behind their parameters, give.

What g++ 12.2 calls is in the tables: the numbers are those that the same host code prints.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

KERNEL = """
template <int I> __global__ void k(float *g) {
  __shared__ float s[1024];
  s[threadIdx.x] = g[threadIdx.x];
  __syncthreads();
  g[threadIdx.x] = s[threadIdx.x ^ 1];
}
"""
CLASSES = """
struct Base {
  int w = 1;
  Base() { k<0><<<1, size()>>>(nullptr); }
  virtual int size() const { return 64; }
  virtual int pure() const = 0;
  int twice() { return 2 * size(); }
  virtual ~Base() {}
};
struct D : Base {
  int pad[3];
  int size() const override { return 96; }
  int pure() const { return 160; }
};
struct E : D { int size() const { return 128; } };
struct Holder { int a; D d; E es[2]; };
"""


def threads(text):
    """Threads of the launch of each instance, by its number; None where it is a guess."""
    kernels = facts_of(text).kernels
    found = {}
    for each in kernels:
        (_, number), *_ = each.instance.template
        found[int(number)] = each.instance.block[0] if each.instance.place else None
    return found


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("D().size()", 96),
        ("E().size()", 128),
        ("d.twice()", 192),
        ("h.d.twice()", 192),
        ("h.es[1].twice()", 256),
        ("((Base &)h.d).pure()", 160),
        ("p->size()", 128),
        ("p->Base::size()", 64),
        ("(new E())->size()", 128),
        ("std::make_unique<E>()->size()", 128),
        ("owned()->size()", 96),
        ("held->size()", 128),
        ("through(e)", 128),
        ("pointed(&d)", 160),
    ],
)
def test_the_class_that_an_object_was_made_as_tells_what_runs(size, expected):
    helpers = """
int through(const Base &b) { return b.size(); }
int pointed(Base *b) { return b->pure(); }
std::unique_ptr<Base> owned() { return std::make_unique<D>(); }
"""
    host = f"int main() {{ D d; E e; Holder h; Base *p = &e; std::unique_ptr<Base> held(new E); k<1><<<1, {size}>>>(nullptr); }}"
    assert threads(KERNEL + CLASSES + helpers + host) == {0: 64, 1: expected}


@pytest.mark.parametrize(
    ("derived", "expected"),
    [("struct F : B { int size() const override { return 32; } };", None), ("", 64)],
)
def test_an_object_of_a_class_that_is_not_known_calls_what_nothing_overrides(derived, expected):
    host = """
struct B { virtual int size() const { return 64; } void run() { k<1><<<1, size()>>>(nullptr); } };
"""
    assert threads(KERNEL + host + derived) == {1: expected}


def test_a_method_of_a_base_calls_what_the_object_of_device_code_overrides():
    accesses = accesses_of("""
struct Even {
  __device__ virtual int at(int t) const { return 2 * t; }
  __device__ void fill(float *s, int t) const { s[at(t)] = t; }
};
struct Swizzled : Even { __device__ int at(int t) const override { return 2 * t + (t >> 4); } };
__global__ void k(float *g) {
  __shared__ float s[1024];
  Swizzled sw;
  sw.fill(s, threadIdx.x);
  __syncthreads();
  g[threadIdx.x] = s[threadIdx.x];
}
void f(float *g) { k<<<1, 128>>>(g); }
""")
    assert [a.wavefronts.mean for a in accesses] == [1, 1]  # nvcc 13.0, sm_90; `Even` has 2


QUALIFIED = """
struct B {
  int n;
  int get() & { return 32 * n; }
  int get() && { return 96 * n; }
  int only() const & { return 160; }
  B &self() & { return *this; }
  B &&self() && { return static_cast<B &&>(*this); }
};
B make() { return B{1}; }
"""


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("b.get()", 32),
        ("(&b)->get()", 32),
        ("make().get()", 96),
        ("B{1}.get()", 96),
        ("B(b).get()", 96),
        ("std::move(b).get()", 96),
        ("b.self().get()", 32),
        ("B{1}.self().get()", 96),
        ("B{1}.only()", 160),
    ],
)
def test_the_value_category_of_an_object_tells_which_overload_runs(size, expected):
    host = f"void f() {{ B b{{1}}; k<1><<<1, {size}>>>(nullptr); }}"
    assert threads(KERNEL + QUALIFIED + host) == {1: expected}


def test_a_method_of_a_class_template_is_called_with_its_arguments():
    host = """
struct Wide { enum { X = 96 }; };
template <class P> struct Caller { static void call() { k<P::X><<<1, P::X>>>(nullptr); } };
template <class P> void filter() { Caller<P>::call(); }
int main() { filter<Wide>(); }
"""
    assert threads(KERNEL + host) == {96: 96}


def test_methods_of_a_class_template_are_run_for_each_class_that_is_written():
    host = """
struct Pass { virtual void run() = 0; };
template <int P> struct Tile : Pass { void run() override { k<P><<<1, 32 * P>>>(nullptr); } };
Pass *make(int);
Tile<2> two;
void f(int n) { Tile<3> three; make(n)->run(); }
"""
    assert threads(KERNEL + host) == {2: 64, 3: 96}
