"""Which host functions come to a launch; names that other things share do not lead there."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.launches.host_code import HostCode, UnitHostCode
from smemlint.frontend.cuda.unit import LoadOptions, load_unit

LAUNCHERS = """
__global__ void k(float *g) { g[threadIdx.x] = 0; }
namespace gpu { void pick(float *g) { k<<<1, 64>>>(g); } }
struct Runner { float *g; void run() { k<<<1, 64>>>(g); } };
struct Maker { Maker(float *g) { k<<<1, 64>>>(g); } };
"""
OWN = {"pick", "run", "Maker"}


def launching(text: str) -> set[str]:
    """Returns the functions that launch beside those of `LAUNCHERS`."""
    unit = load_unit("a.cu", LAUNCHERS + text, LoadOptions())
    found = HostCode([UnitHostCode(unit)]).launching
    assert found >= OWN
    return set(found) - OWN


@pytest.mark.parametrize(
    "body",
    [
        "gpu::pick(g);",
        "pick(g);",
        "auto f = pick; f(g);",
        "Runner r{g}; r.run();",
        "Runner *r = new Runner{g}; r->run();",
        "auto f = &Runner::run;",
        "r.template run<0>();",
        "Maker m(g);",
        "auto m = lib::make<Maker>(g);",
    ],
)
def test_what_names_a_function_that_launches_may_launch(body: str):
    assert launching(f"void f(float *g) {{ {body} }} void top(float *g) {{ f(g); }}") == {
        "f",
        "top",
    }


@pytest.mark.parametrize(
    "body",
    [
        "pick<3>::apply(g);",  # a class template
        "pick::apply(g);",
        "table.pick(g);",  # a member of an object, and the function is none
        "table->pick(g);",
        "run(g);",  # no member of an object, and outside of classes
        "lib::pick(g); int n = pick::size;",
    ],
)
def test_what_only_shares_the_name_does_not(body: str):
    other = "namespace lib { void pick(float *g) {} }\n"
    assert launching(f"{other}void f(float *g) {{ {body} }}") == set()


def test_methods_call_methods_without_naming_the_object():
    text = "struct Base : Runner { void twice() { run(); run(); } };"
    assert launching(text) == {"twice"}


def test_an_unqualified_name_in_a_class_means_the_method_of_the_class():
    text = (
        LAUNCHERS
        + """
    struct Other { void run() {} void again() { run(); } };
    template <class R> void run(R r) { r.run(); }
    int main() { run(Runner{nullptr}); }
    """
    )
    unit = load_unit("a.cu", text, LoadOptions())
    host = HostCode([UnitHostCode(unit)])
    callers = {f.scope: {c.name for c in host.callers(f)} for f in host.named("run")}
    assert callers == {("Runner",): {"run"}, ("Other",): {"again", "run"}, (): {"main"}}


def test_a_function_launches_through_a_method_of_its_own_name():
    text = """
    template <class K> __global__ void kernel() {
      __shared__ float s[1024];
      s[threadIdx.x * K::stride] = 1;
    }
    template <class K> struct Adapter {
      int run() { kernel<K><<<1, K::threads>>>(); return 0; }
      template <class S> int run(S stream) { return run(); }
    };
    struct Two { static constexpr int stride = 2, threads = 64; };
    template <class A> int run(int n) { A adapter; return adapter.run(n); }
    int main() { return run<Adapter<Two>>(3); }
    """
    (kernel,) = facts_of(text).kernels
    assert kernel.instance.block == (64, 1, 1)
    assert [(a.ways, a.certainty.is_decided) for a in kernel.accesses] == [(2.0, True)]
