"""Functions that are given what launches: lambdas, temporary objects, pointers to kernels."""

import pytest
from conftest import accesses_of

KERNEL = """
__global__ void k(float *g) {
  __shared__ float s[2048];
  s[threadIdx.x] = g[threadIdx.x];
}
__global__ void other(float *g) {
  __shared__ float s[2048];
  s[threadIdx.x] = g[threadIdx.x];
}
template <class F> void inner(int n, F &&f) { f(n * 2); }
template <class F> void outer(int n, F &&f) { inner(n, std::forward<F>(f)); }
template <class F> void choose(int n, F f) { if (n > 64) f(128); else f(64); }
template <class F> void plain(F f) { f(); }
struct Op { template <class T> void operator()(T *g, int n) const { k<<<1, n>>>(g); } };
struct Entry { int n; void (*kernel)(float *); };
"""


def _blocks(host: str) -> set[tuple[str, int]]:
    accesses = accesses_of(f"{KERNEL}\n{host}")
    found = {(a.instance.kernel, a.instance.block[0], bool(a.instance.place)) for a in accesses}
    return {(kernel, block) for kernel, block, is_launched in found if is_launched}


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        ("plain([=] { k<<<1, 96>>>(g); });", {96}),
        ("auto f = [&] { k<<<1, 96>>>(g); }; plain(f);", {96}),
        ("outer(80, [&](int t) { k<<<1, t>>>(g); });", {160}),
        ("choose(n, [&](int t) { k<<<1, t>>>(g); });", {64, 128}),
        ("plain([&] { choose(n, [&](int t) { k<<<1, t>>>(g); }); });", {64, 128}),
        ("plain([&] { return 3; }); k<<<1, 192>>>(g);", {192}),
        ("Op{}(g, 160);", {160}),
        ("Op()(g, 160);", {160}),
    ],
)
def test_what_is_given_is_called(body, blocks):
    found = _blocks(f"void go(float *g, int n) {{ {body} }}")
    assert found == {("k", block) for block in blocks}


@pytest.mark.parametrize(
    ("table", "called"),
    [
        ("void (*table[])(float *) = {k, other};", "table[n]"),
        ("void (*const table[2])(float *) = {k, other};", "table[n]"),
        ("static const Entry table[] = {{1, k}, {2, other}};", "table[n].kernel"),
    ],
)
def test_tables_of_pointers_without_a_name_for_their_type(table, called):
    host = f"{table}\nvoid go(float *g, int n) {{ {called}<<<1, 352>>>(g); }}"
    assert _blocks(host) == {("k", 352), ("other", 352)}


def test_a_table_that_is_written_again_is_not_known():
    host = "void (*table[])(float *) = {k, other};\nvoid set() { table[0] = other; }\n"
    assert _blocks(f"{host}void go(float *g, int n) {{ table[n]<<<1, 352>>>(g); }}") == set()


@pytest.mark.parametrize(
    "given",
    [
        'm.def("k", [](Array<T> x, long n) { launch<T>(x.data(), n); });',
        'm.def("k", [](T *x, long n) { launch(x, n); });',
        "define([](T *x, long n) { launch<T>(x, n); });",
    ],
)
@pytest.mark.parametrize(
    "host",
    [
        "void init(py::module_ &m) { bind<float>(m); bind<double>(m); }",
        "PYBIND11_MODULE(name, m) { bind<float>(m); bind<double>(m); }",
        "template <class D> void all(nb::module_ &m) { bind<float>(m); bind<double>(m); }\n"
        "NB_MODULE(name, m) { all<gpu>(m); all<managed>(m); }",
    ],
)
def test_a_lambda_that_unread_code_is_given_may_be_called(given, host):
    """Python modules register lambdas with libraries whose headers are not here."""
    kernel = (
        "template <class T> __global__ void kt(T *g) { __shared__ T s[96]; s[threadIdx.x] = *g; }"
    )
    launch = "template <class T> void launch(T *x, int n) { kt<T><<<n, 96>>>(x); }"
    bind = f"template <class T> void bind(nb::module_ &m) {{ {given} }}"
    found = accesses_of("\n".join((kernel, launch, bind, host)))
    assert {(a.width_bytes, a.instance.block[0]) for a in found} == {(4, 96), (8, 96)}


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        ("std::vector<Test> all = {Test{1, [](float *p) { k<<<1, 96>>>(p); }}}; each(all);", {96}),
        ("Held h([](float *p) { k<<<1, 96>>>(p); }); h.f(g);", {96}),
        ("std::map<int, F> m; m[3] = [](float *p) { k<<<1, 96>>>(p); }; m[n](g);", {96}),
        ("int t = 96; Held h([t](float *p) { k<<<1, t>>>(p); }); h.f(g);", {96}),
        ("Held h([](float *p) { pass(p, k); }); h.f(g);", {224}),
        ("auto f = [&](int t) { k<<<1, t>>>(g); }; f(64);", {64}),
        ("Held h([](float *p) { p[0] = 1; }); k<<<1, 32>>>(g);", {32}),
    ],
)
def test_a_lambda_that_an_object_holds_may_be_called(body, blocks):
    """Benchmarks keep their variants in lists, as lambdas behind a name"""
    held = """
    using F = std::function<void(float *)>;
    struct Test { int n; F f; };
    struct Held { F f; Held(F given) : f(given) {} };
    void pass(float *g, void (*kernel)(float *)) { kernel<<<1, 224>>>(g); }
    """
    assert _blocks(f"{held}void go(float *g, int n) {{ {body} }}") == {("k", b) for b in blocks}
