"""Template arguments of kernels whose address a template takes that is instantiated elsewhere."""

import pytest
from conftest import facts_of

KERNEL = """
struct Chosen { void *kernel; int warps; };
template <class T, int N> __global__ void k(T *o) {
  __shared__ T s[32][N];
  s[threadIdx.x % 32][0] = o[threadIdx.x];
}
template <class T> Chosen choose(int way) {
  Chosen c = {0};
  if (way == 1) { c.kernel = (void *)k<T, 8>; c.warps = 4; return c; }
  if (way == 2) { c.kernel = (void *)k<T, 16>; c.warps = 8; return c; }
  return c;
}
"""


@pytest.mark.parametrize(
    "use",
    [
        "template Chosen choose<float>(int); template Chosen choose<double>(int);",
        "Chosen f(int w, bool b) { return b ? choose<float>(w) : choose<double>(w); }",
    ],
)
def test_a_template_writes_instances_for_each_of_its_own(use):
    found = {k.instance.template for k in facts_of(KERNEL + use).kernels}
    assert found == {(("T", t), ("N", n)) for t in ("float", "double") for n in ("8", "16")}


def test_a_launch_tells_more_than_a_name():
    launch = "void f(float *x) { k<float, 8><<<1, 64>>>(x); } template Chosen choose<float>(int);"
    [analysed] = facts_of(KERNEL + launch).kernels
    assert analysed.instance.block == (64, 1, 1)


def test_what_nothing_instantiates_stays_open():
    [analysed] = facts_of(KERNEL).kernels
    assert all(a.wavefronts is None for a in analysed.accesses)


def test_a_table_in_the_initializers_of_a_constructor_is_read():
    table = """
    template <class T> struct Table { void (*kernels[2])(T *); Table(); };
    template <class T> Table<T>::Table() : kernels{&k<T, 8>, &k<T, 16>} {}
    template class Table<float>;
    """
    found = {k.instance.template for k in facts_of(KERNEL + table).kernels}
    assert found == {(("T", "float"), ("N", n)) for n in ("8", "16")}
