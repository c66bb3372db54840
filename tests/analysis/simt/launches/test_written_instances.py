"""Instances of kernels without a launch in sight: those that the source spells."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.facts import Access, Certainty

ELEMENT = """
template <typename T> __global__ void __launch_bounds__(256) k(const T *in, T *out, float *f) {
  __shared__ T tile[8][33];
  __shared__ float plain[256];
  tile[threadIdx.x % 8][threadIdx.x / 8] = in[threadIdx.x];
  plain[threadIdx.x] = f[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[0][threadIdx.x % 32];
  f[threadIdx.x] = plain[threadIdx.x * 8 % 256];
}
"""


def found(source: str) -> dict[tuple[str, int], Access]:
    return {
        (k.instance.title, a.span.line): a for k in facts_of(source).kernels for a in k.accesses
    }


def test_explicit_instantiations_are_the_instances() -> None:
    text = "template __global__ void k<double>(const double *, double *, float *);"
    accesses = found(ELEMENT + text)
    assert {title for title, _ in accesses} == {"k<double>"}
    store = accesses["k<double>", 5]
    assert store.certainty is Certainty.ASSUMED
    assert store.width_bytes == 8


def test_a_table_of_kernels_gives_the_instances() -> None:
    accesses = found("""
template <int B> __global__ void __launch_bounds__(256) k(float *out) {
  __shared__ float s[2048];
  s[threadIdx.x * B] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
typedef void (*kernel_fn)(float *);
static const kernel_fn table[] = {nullptr, k<1>, k<2>, k<3>, k<4>};
""")
    stores = {title: a.ways for (title, line), a in accesses.items() if line == 4}
    assert stores == {"k<1>": 1.0, "k<2>": 2.0, "k<3>": 1.0, "k<4>": 4.0}


@pytest.mark.parametrize(
    ("caller", "title", "subjects"),
    [
        ("", "k<unsigned long long>", {"I"}),
        ("void f(int *a) { build<int>(a); }", "k<int>", set()),
        ("void f(int *a) { build(a); }", "k<unsigned long long>", set()),
        ("template void build<short>(int *a);", "k<short>", set()),
    ],
)
def test_a_default_argument_of_host_code_counts_where_no_call_gives_another(
    caller: str, title: str, subjects: set[str]
) -> None:
    """As in cuvs: `IdxT = uint64_t` there, and all that the library instantiates is uint32_t."""
    text = """
template <class I> __global__ void k(int *out) {
  __shared__ I s[64];
  s[threadIdx.x] = 1;
}
template <class I = unsigned long long> void build(int *a) { k<I><<<1, 64>>>(a); }
"""
    ((key, access),) = found(text + caller).items()
    assert key == (title, 4)
    assert {assumption.subject for assumption in access.assumptions} & {"I"} == subjects


LOSS = """
template <class T> __global__ void k(T *out) {
  __shared__ T s[64];
  s[threadIdx.x] = 1;
}
template <class T> struct Loss {
  void plain(T *p);
  template <class M> void solve(M m, T *p);
  %s
  void unused(T *p) { k<T><<<1, 32>>>(p); }
};
template <class T> void Loss<T>::plain(T *p) { k<T><<<1, 64>>>(p); }
template <class T> template <class M> void Loss<T>::solve(M m, T *p) { k<T><<<1, 96>>>(p); }
"""
THROUGH = "void through(T *p) { plain(p); }"
FIT = """
template <class L> struct Objective {
  L *loss;
  template <class T> void run(T *p) { loss->through(p); }
};
template <class T> void fit(T *p) { Loss<T> loss; Objective<Loss<T>> o{&loss}; o.run(p); }
"""


@pytest.mark.parametrize(
    ("member", "host", "instances"),
    [
        ("", "void f(int *p) { Loss<int> loss; loss.plain(p); }", {("k<int>", 64)}),
        (THROUGH, "void f(int *p) { Loss<int> loss; loss.through(p); }", {("k<int>", 64)}),
        ("", "void f(int *p) { Loss<int> loss; loss.solve(3, p); }", {("k<int>", 96)}),
        (THROUGH, FIT + "void f(int *p) { fit(p); }", {("k<int>", 64)}),
        (THROUGH, FIT + "template void fit<short>(short *p);", {("k<short>", 64)}),
        ("", "template class Loss<int>;", {("k<int>", 32), ("k<int>", 64), ("k<int>", 96)}),
        ("", "", {("k<T>", 32), ("k<T>", 64), ("k<T>", 96)}),
    ],
)
def test_methods_of_class_templates_launch_what_their_objects_say(
    member: str, host: str, instances: set[tuple[str, int]]
) -> None:
    """cuml's solvers launch in methods that other methods call, of classes that are templates."""
    kernels = facts_of(LOSS % member + host).kernels
    assert {(k.instance.title, k.instance.block[0]) for k in kernels} == instances


@pytest.mark.parametrize(
    ("others", "called"),
    [
        ("", "impl"),
        ("template <class V, int W> void middle(V *a) { impl<V, W>(a); }", "middle"),
        ("void build(bool, float *, int);\nvoid run(float *a) { build(true, a, 1); }", "impl"),
    ],
)
def test_callers_with_default_arguments_take_the_place_of_what_they_call(
    others: str, called: str
) -> None:
    """As in cuvs' knn_merge_parts: `k<float, ?>` is nobody's, and `run` calls another function."""
    accesses = found(f"""
template <class V, int W> __global__ void k(V *out) {{
  __shared__ V s[W * 64];
  s[threadIdx.x * W] = 1;
}}
template <class V, int W> void impl(V *a) {{ k<V, W><<<1, 64>>>(a); }}
{others}
template <class V = float> void build(V *a, int n) {{
  if (n == 1) {called}<V, 1>(a);
  else if (n <= 32) {called}<V, 2>(a);
  else {called}<V, 4>(a);
}}
""")
    ways = {title: access.ways for (title, _), access in accesses.items()}
    assert ways == {"k<float, 1>": 1.0, "k<float, 2>": 2.0, "k<float, 4>": 4.0}
    assert all("V" in {s.subject for s in a.assumptions} for a in accesses.values())


DEDUCED = """
template <typename T, int N> __global__ void k(T *out) {
  __shared__ T s[N];
  s[threadIdx.x] = out[threadIdx.x];
}
template <typename T> void run(int n, T *out, const T *, const int *ids, cudaStream_t stream) {
  k<T, 64><<<n, 64, 0, stream>>>(out);
}
"""


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        ("template void run(int n, double *out, const double *, const int *i, cudaStream_t);", [8]),
        ("template void run<char>(int, char *, char const *c, const int *, cudaStream_t s);", [1]),
        (
            "#define RUN(T) template void run(int, T *, const T *, const int *, cudaStream_t)\\n"
            "RUN(float);\\nRUN(short);",
            [4, 2],
        ),
        ("template void run(int n, double *out);", []),  # of another function
        (
            "template <Kind K, typename T> void go(Tensor t) { run<T>(1, t.at<T>(), t.at<T>(), 0, 0); }"
            "template void go<gpu, float>(Tensor); template void go<gpu, double>(Tensor);",
            [4, 8],
        ),
        ("extern template void run(int, float *, const float *, const int *, cudaStream_t);", []),
    ],
)
def test_parameters_of_an_explicit_instantiation_tell_arguments(text, widths) -> None:
    facts = facts_of(DEDUCED + text.replace("\\n", "\n"))
    found = [(k.instance.block, a.width_bytes) for k in facts.kernels for a in k.accesses]
    assert [width for _, width in found if width] == widths
    assert {block for block, width in found if width} <= {(64, 1, 1)}


OPEN = """
template <typename T, int STEP> __global__ void k(T *g) {
  __shared__ T s[256];
  if constexpr (STEP == 2) s[STEP * threadIdx.x] = g[0]; else s[threadIdx.x] = g[0];
}
template __global__ void k<float, 1>(float *);
template __global__ void k<float, 2>(float *);
template __global__ void k<double, 2>(double *);
struct Runner { template <int STEP> void run(T_OF *g); };
template <int STEP> void Runner::run(T_OF *g) { k<T_OF, STEP><<<1, 96>>>(g); }
"""


@pytest.mark.parametrize(
    ("element", "stores"),
    [
        ("float", {"k<float, 1>": 1, "k<float, 2>": 2}),
        ("double", {"k<double, 2>": 4}),  # two wavefronts are ideal
        ("short", {}),  # no such instance is compiled
    ],
)
def test_a_launch_of_open_arguments_means_explicit_instantiations(element, stores) -> None:
    kernels = facts_of(OPEN.replace("T_OF", element)).kernels
    assert {k.instance.block for k in kernels} == {(96, 1, 1)}
    decided = {
        k.instance.title: a.wavefronts.mean
        for k in kernels
        for a in k.accesses
        if a.certainty.is_decided and a.instructions
    }
    assert decided == stores
