"""Only host code runs that can launch the kernel in question, and callers where they tell more."""

from __future__ import annotations

import pytest
from figures import facts_in

from smemlint.analysis.analyze import analyze
from smemlint.analysis.program.memo import Memo
from smemlint.analysis.simt.analyze import Project
from smemlint.analysis.simt.kernel.evaluate import evaluate_kernel
from smemlint.analysis.simt.launches import host_runs
from smemlint.analysis.simt.launches.host_code import HostCode, UnitHostCode
from smemlint.analysis.simt.launches.host_functions import execute_host_function
from smemlint.analysis.simt.launches.host_runs import Host, launches_of
from smemlint.analysis.simt.launches.open_parameters import open_parameters
from smemlint.analysis.simt.launches.written_calls import written_calls
from smemlint.config.settings import Settings
from smemlint.frontend.cuda.unit import LoadOptions, load_unit
from smemlint.limits.budgets import MAX_LAUNCHING_BESIDE
from smemlint.sources.source import Source

BODY = "__shared__ float s[4096]; s[threadIdx.x] = g[threadIdx.x]; g[0] = s[threadIdx.x ^ 1];"
K = f"__global__ void k(float *g) {{ {BODY} }}\n"
GENERIC = """
template <typename F, typename... A> void start(F f, dim3 block, A... a) {
  f<<<1, block>>>(a...);
}
"""


def run_functions(**files: str) -> tuple[list[str], set[tuple[int, int, int] | None]]:
    """Returns the host functions that were run, in order, and the blocks of the instances."""
    names: list[str] = []

    def spied(host):
        names.append(host.function.name)
        return launches_of(host)

    sources = [Source(name.replace("_cu", ".cu"), text) for name, text in files.items()]
    facts, _ = analyze(sources, Settings(), memo=Memo(evaluate_kernel, spied, load_unit))
    return names, {k.instance.block for k in facts.kernels}


def test_what_launches_other_kernels_is_not_run():
    other = "__global__ void other(float *g) { *g = 0; }\n"
    host = "void a(float *g) { start(k, 64, g); }\nvoid b(float *g) { start(other, 32, g); }"
    names, blocks = run_functions(a_cu=K + other + GENERIC + host)
    assert names == ["a"]
    assert blocks == {(64, 1, 1)}


def test_callers_are_run_where_the_block_depends_on_a_parameter():
    host = "void a(int n, float *g) { k<<<1, n>>>(g); }\nvoid b(float *g) { a(96, g); }"
    names, blocks = run_functions(a_cu=K + host + "\nvoid c(float *g) { b(g); }")
    assert names == ["a", "b"]
    assert blocks == {(96, 1, 1)}


def test_a_qualified_name_means_no_function_of_another_namespace():
    functions = (
        "namespace one { void go(int n, float *g) { k<<<1, n>>>(g); } }\n"
        "namespace two { void go(int n, float *g) {} }\n"
    )
    host = "void a(float *g) { two::go(32, g); }\nvoid b(float *g) { one::go(96, g); }\n"
    names, blocks = run_functions(a_cu=K + functions + host)
    assert names == ["go", "b"]
    assert blocks == {(96, 1, 1)}


def test_a_function_that_units_share_is_read_in_the_first_of_them():
    header = "inline void go(int n) { BODY; }"
    texts = {"a.cu": '#include "h.h"', "b.cu": '#include "h.h"', "h.h": header}
    units = [load_unit(path, texts[path], LoadOptions(read=texts.get)) for path in ("a.cu", "b.cu")]
    host = HostCode(map(UnitHostCode, units))
    assert host.named("go") == list(units[0].functions)


def test_callers_are_not_run_where_no_parameter_tells_what_is_open():
    host = "int count();\nvoid a(float *g) { k<<<1, count()>>>(g); }\nvoid b(float *g) { a(g); }"
    names, _ = run_functions(a_cu=K + host)
    assert names == ["a"]


def test_callers_that_pass_their_parameters_on_are_not_run():
    host = (
        "void a(int n, float *g) { k<<<1, n>>>(g); }\n"
        "void b(int n, float *g) { a(n, g); }\n"
        "void c(float *g) { b(160, g); }"
    )
    names, blocks = run_functions(a_cu=K + host)
    assert names == ["a", "c"]
    assert blocks == {(160, 1, 1)}


def test_a_program_with_a_function_of_the_same_name_calls_its_own():
    launch = "void a(int n, float *g) { k<<<1, n>>>(g); }\n"
    test = "void run_test(int m, float *g) { int n = 2 * m; a(n, g); }\n"
    host, main = K + launch + test, "int main() { run_test(48, nullptr); }"
    other = "void run_test(int m, float *g) { *g = m; }\n"
    names, blocks = run_functions(a_cu=host + main, b_cu=other + main)
    assert names == ["a", "main"]
    assert blocks == {(96, 1, 1)}
    names, blocks = run_functions(a_cu=host, b_cu=f"{other.partition('{')[0]};\n{main}")
    assert names == ["a", "run_test", "main"]
    assert blocks == {(96, 1, 1)}


def test_a_program_does_not_call_functions_of_another():
    """Of the file with `run_test()` of another program, as of templates in a library, is no call."""
    test = "void run_test(int m, float *g) { k<<<1, 2 * m>>>(g); }\n"
    other = "void run_test(int m, float *g);\nint main() { run_test(7, nullptr); }"
    _, blocks = run_functions(a_cu=K + test + "int main() { run_test(48, nullptr); }", b_cu=other)
    assert blocks == {(96, 1, 1)}
    _, blocks = run_functions(a_cu=K + test, b_cu=other)
    assert blocks == {(14, 1, 1)}


def test_a_pointer_tells_callers_something_only_where_it_is_an_address():
    tensor = "struct Tensor { int n; };\n"
    launch = "void a(Tensor *t, float *g) { k<<<1, t->n>>>(g); }\n"
    passed = "void b(Tensor **all, float *g) { Tensor *t = all[0]; a(t, g); }"
    names, _ = run_functions(a_cu=tensor + K + launch + passed)
    assert names == ["a"]
    own = "void b(float *g) { Tensor t; t.n = 224; a(&t, g); }"
    names, blocks = run_functions(a_cu=tensor + K + launch + own)
    assert names == ["a", "b"]
    assert blocks == {(224, 1, 1)}


def test_a_unit_that_compiles_its_instances_asks_no_other_file():
    header = "template <int N> __global__ void k(float *g) { __shared__ float s[64 * N]; s[threadIdx.x * N] = 1; }\n"
    header += "template <int N> void a(float *g) { k<N><<<1, 64>>>(g); }\n"
    names, _ = run_functions(
        a_cu=header + "template void a<2>(float *);",
        b_cu="template <int N> void a(float *g);\nvoid b(float *g) { a<4>(g); }",
    )
    assert names == ["a"]


def test_each_of_two_kernels_that_an_open_condition_chooses_between_is_launched():
    text = f"""
template <bool B> __global__ void k(float *g) {{ {BODY} }}
{GENERIC}
void a(float *g, float limit) {{
  void (*f)(float *);
  if (limit == 0.0f) {{ constexpr bool b = false; f = k<b>; }} else {{ f = k<true>; }}
  start(f, dim3(32, 4), g);
}}"""
    facts = facts_in(a_cu=text)
    found = {(k.instance.template, k.instance.block) for k in facts.kernels}
    assert {block for _, block in found} == {(32, 4, 1)}
    assert len(found) == 2


def test_a_kernel_of_a_header_is_evaluated_where_it_is_launched(tmp_path):
    (tmp_path / "k.cuh").write_text(
        K + "static inline void go(int n, float *g) { k<<<1, n>>>(g); }\n"
    )
    (tmp_path / "a.cu").write_text('#include "k.cuh"\n__global__ void other(float *g) {}')
    (tmp_path / "b.cu").write_text('#include "k.cuh"\nvoid run(float *g) { go(192, g); }')
    paths = [tmp_path / name for name in ("a.cu", "b.cu", "k.cuh")]
    sources = [Source(str(path), path.read_text()) for path in paths]
    facts, _ = analyze(sources, Settings())
    assert [k.instance.block for k in facts.kernels] == [(192, 1, 1)]


def test_a_function_of_the_same_name_in_another_program_is_no_caller():
    launch = "void a(int n, float *g) { k<<<1, n>>>(g); }\n"
    other = "void a(int n, float *g) { puts(g); }\nvoid d(float *g) { a(512, g); }"
    names, blocks = run_functions(a_cu=K + launch + "void b(float *g) { a(96, g); }", b_cu=other)
    assert names == ["a", "b"]
    assert blocks == {(96, 1, 1)}


def test_files_with_a_kernel_of_the_same_name_are_not_read_for_its_launches():
    other = K + "void d(float *g) { k<<<1, 512>>>(g); }"
    names, blocks = run_functions(a_cu=K + "void b(float *g) { k<<<1, 96>>>(g); }", b_cu=other)
    assert names == ["b", "d"]
    assert blocks == {(96, 1, 1), (512, 1, 1)}


def units_of_a_header(tmp_path, threads):
    """Returns the files that are read, in order, and the blocks of a header's kernel.

    Args:
        tmp_path: where the files are written.
        threads: with how many each file launches the kernel, through a function of the header.
    """
    header = K + "static inline void go(int n, float *g) { k<<<1, n>>>(g); }\n"
    (tmp_path / "k.cuh").write_text(header)
    for name, count in threads.items():
        call = f'#include "k.cuh"\nvoid run(float *g) {{ go({count}, g); }}'
        (tmp_path / name).write_text(call)
    sources = [Source(str(p), p.read_text()) for p in sorted(tmp_path.iterdir())]
    loaded: list[str] = []

    def spied(path, text, options):
        loaded.append(path.rsplit("/", 1)[-1])
        return load_unit(path, text, options)

    facts, _ = analyze(sources, Settings(), memo=Memo(evaluate_kernel, launches_of, spied))
    return loaded, sorted(k.instance.block for k in facts.kernels)


def test_a_caller_is_run_once_for_kernels_that_ask_the_same_of_it():
    other = K.replace(" k(", " j(")
    host = (
        "void a(int n, float *g) { k<<<1, n>>>(g); j<<<1, n>>>(g); }\n"
        "void b(float *g) { a(64, g); }\n"
        "void c(int n, float *g) { j<<<1, n>>>(g); }\n"
        "void d(float *g) { c(96, g); }\n"
    )
    names, blocks = run_functions(a_cu=K + other + host)
    assert names == ["a", "b", "c", "d"]
    assert blocks == {(64, 1, 1), (96, 1, 1)}


@pytest.mark.parametrize(("count", "runs"), [(2, 1), (MAX_LAUNCHING_BESIDE + 1, 5)])
def test_a_caller_is_run_once_for_what_few_functions_beside_each_other_launch(count, runs):
    kernels = "".join(K.replace(" k(", f" k{n}(") for n in range(count))
    launchers = "".join(
        f"void a{n}(int n, float *g) {{ k{n}<<<1, n>>>(g); }}\n" for n in range(count)
    )
    calls = "".join(f"a{n}({32 * n + 32}, g); " for n in range(count))
    names, blocks = run_functions(a_cu=kernels + launchers + f"void c(float *g) {{ {calls}}}\n")
    assert names.count("c") == runs
    assert blocks == {(32 * n + 32, 1, 1) for n in range(count)}


def test_what_others_instantiate_of_a_header_is_theirs(tmp_path):
    loaded, blocks = units_of_a_header(tmp_path, {"a.cu": 96, "b.cu": 192})
    assert blocks == [(96, 1, 1), (192, 1, 1)]
    assert loaded == ["a.cu", "b.cu"]


def test_equal_calls_are_executed_once():
    text = (
        "template <typename T> void a(int n, T *g, int &count) { count++; k<<<1, n>>>(g); }\n"
        "template <typename T> int go(int n, int unused, T *g) { k<<<1, n>>>(g); return n; }\n"
        "int get();\n"
        "void b(float *g) { int c = 0; go(32, get(), g); go(32, get(), g); int m = go(64, 1, g);"
        " a(m, g, c); a(m, g, c); k<<<1, 32 * c>>>(g); k<<<1, go(96, 1, g) + go(96, 1, g)>>>(g); }"
    )
    unit = load_unit("a.cu", K + text, LoadOptions(read=lambda path: None))
    (function,) = unit.functions_named("b")
    found = launches_of(Host(unit, (), function, frozenset(("a", "go"))))
    assert [launch.block[0] for launch in found.launches] == [32, 64, 64, 64, 64, 96, 192]


def test_parameters_that_a_launch_may_depend_on():
    unit = load_unit(
        "a.cu",
        K + GENERIC + "template <int N> void a(const int *p, int n, int m, int q) {"
        " int w = N; if (m > 3) w = n; start(k, dim3(w), p + q); }",
        LoadOptions(read=lambda path: None),
    )
    (function,) = unit.functions_named("a")
    (kernel,) = unit.functions_named("k")
    found = open_parameters(function, kernel, frozenset(("start",)), unit.functions_named)
    assert found.shape == {"N", "n", "m"}
    assert found.arguments == {"p", "q"}


DEDUCED = """
template <class T> __global__ void k(const T *in, int n) {
  __shared__ T tile[64];
  tile[threadIdx.x] = in[n];
}
template <class T> void go(const T *in, int n) { int m = n + 1; k<<<1, 64>>>(in, m); }
"""


def test_the_type_of_an_argument_tells_a_template_argument_of_the_kernel():
    unit = load_unit("a.cu", DEDUCED, LoadOptions(read=lambda path: None))
    (kernel,), (function,) = unit.functions_named("k"), unit.functions_named("go")
    found = open_parameters(function, kernel, frozenset(), unit.functions_named)
    assert found.shape == {"in", "T"}
    assert found.arguments == {"in", "n", "T"}


@pytest.mark.parametrize(
    "calls",
    [
        "void all(float *a, double *b) { go(a, 1); go(b, 1); }",
        "template <class T> void run() { T *p; go(p, 1); }\n"
        "int main() { run<float>(); run<double>(); }",
    ],
)
def test_callers_tell_the_types_of_pointers_that_they_pass(calls):
    facts = facts_in(a_cu=DEDUCED + calls)
    assert {k.instance.template for k in facts.kernels} == {(("T", "float"),), (("T", "double"),)}
    assert {a.width_bytes for k in facts.kernels for a in k.accesses} == {4, 8}


def test_calls_as_a_text_spells_them():
    text = "go<3>(a, f(b, c)[1], {1, 2}); ngo(x); a::go ( y );"
    assert list(written_calls(text, "go")) == [["a", "f(b, c)[1]", "{1, 2}"], ["y"]]


def test_the_number_of_arguments_tells_kernels_of_one_name():
    text = """
__global__ void k(float *a) { __shared__ float s[64]; s[threadIdx.x * 2] = a[0]; }
__global__ void k(float *a, int n) { __shared__ float s[128]; s[threadIdx.x * 4] = a[n]; }
void go(float *a) { k<<<1, 32>>>(a); k<<<1, 8>>>(a, 1); }
"""
    facts = facts_in(a_cu=text)
    found = {(k.instance.span.line, k.instance.block, k.accesses[0].ways) for k in facts.kernels}
    assert found == {(2, (32, 1, 1), 2), (3, (8, 1, 1), 1)}


@pytest.mark.parametrize(
    "check",
    ["template <class T> void check(void (*f)(T *, int), int n) { T *p; f(p, n); }", ""],
    ids=["defined", "in a header that was not read"],
)
@pytest.mark.parametrize("spelled", ["start<T, 2>", "&start<T, 2>"])
def test_a_launching_template_that_a_call_is_given_is_launched(check, spelled):
    """As benchmarks do: `check<half>(launch<half, 2>, n)`."""
    text = """
template <class T, int N> __global__ void k(T *g) {
  __shared__ T s[64 * N];
  s[threadIdx.x] = g[threadIdx.x]; g[0] = s[threadIdx.x ^ 1];
}
template <class T, int N = 1> void start(T *g, int n) { k<T, N><<<n, 64 * N>>>(g); }
"""
    main = f"int main() {{ using T = double; check<T>({spelled}, 4); }}"
    facts = facts_in(a_cu=text + check + main)
    found = {(k.instance.block, a.width_bytes) for k in facts.kernels for a in k.accesses}
    assert found == {((128, 1, 1), 8)}


TYPED = """
template <class T> __global__ void k(const T *in) {
  __shared__ T tile[64 * 2];
  tile[threadIdx.x * 2] = in[threadIdx.x];
}
template <class T> void go(const T *in) { k<<<1, 64>>>(in); }
"""
CHOSEN = """
void choose(Tensor *t) {
  switch (t->type) {
    case 0: go(reinterpret_cast<const float *>(find(t))); break;
    default: go(reinterpret_cast<const double *>(find(t)));
  }
}
"""


def test_a_cast_tells_the_type_of_what_is_not_known():
    """What `find` returns is not: `T` is that of the cast."""
    tensor = "struct Tensor { int type; };\nvoid *find(Tensor *t);\n"
    facts = facts_in(a_cu=TYPED + tensor + CHOSEN)
    assert {k.instance.template for k in facts.kernels} == {(("T", "float"),), (("T", "double"),)}


def test_other_units_are_read_only_where_a_caller_leaves_something_open():
    tensor = "struct Tensor { int type; };\nvoid *find(Tensor *t);\n"
    other = tensor + "void choose(Tensor *t);\nvoid top(Tensor t) { t.type = 0; choose(&t); }"
    names, _ = run_functions(a_cu=TYPED + tensor + CHOSEN, b_cu=other)
    assert names == ["go", "choose"]


def test_callers_of_what_launches_nothing_are_not_looked_for():
    """`silent` calls what launches, with a template argument that does not."""
    launcher = "template <bool B> void go(int n, float *g) { if constexpr (B) k<<<1, n>>>(g); }\n"
    callers = (
        "void silent(float *g) { go<false>(64, g); }\nvoid loud(float *g) { go<true>(96, g); }"
    )
    other = "void silent(float *g);\nvoid top(float *g) { silent(g); }"
    names, blocks = run_functions(a_cu=K + launcher + callers, b_cu=other)
    assert names == ["go", "silent", "loud"]
    assert blocks == {(96, 1, 1)}


def test_one_unit_asks_the_others_that_a_header_is_not_evaluated_in(tmp_path):
    """Five units: the first three are evaluated, and the first reads the other two."""
    threads = {f"{n}.cu": 32 * (n + 1) for n in range(5)}
    loaded, blocks = units_of_a_header(tmp_path, threads)
    assert [x for x, _, _ in blocks] == [32, 64, 96, 128, 160]
    assert sorted(loaded) == ["0.cu", "1.cu", "2.cu", "3.cu", "4.cu"]


def test_a_kernel_without_shared_memory_of_its_own_is_evaluated_where_it_is_launched(tmp_path):
    """`k` stores through a function of another header; `1.cu` includes both, and launches none."""
    store = "__device__ void put(float *g) { __shared__ float s[64]; s[threadIdx.x] = *g; }\n"
    (tmp_path / "put.cuh").write_text(store)
    kernel = '#include "put.cuh"\n__global__ void k(float *g) { put(g); }\n'
    launcher = "template <int N> void go(float *g) { k<<<1, N>>>(g); }\n"
    (tmp_path / "k.cuh").write_text(kernel + launcher)
    (tmp_path / "0.cu").write_text('#include "k.cuh"\nvoid run(float *g) { go<96>(g); }')
    (tmp_path / "1.cu").write_text('#include "k.cuh"\nvoid *more;')
    sources = [Source(str(p), p.read_text()) for p in sorted(tmp_path.iterdir())]
    facts, _ = analyze(sources, Settings())
    assert [k.instance.block for k in facts.kernels] == [(96, 1, 1)]


def test_a_kernel_that_no_unit_launches_is_evaluated(tmp_path):
    """Both units include a declaration of what would launch it."""
    launcher = "inline void go(float *g) { k<<<1, 96>>>(g); }\n"
    (tmp_path / "k.cuh").write_text(K + launcher)
    (tmp_path / "api.h").write_text("void go(float *g);\n")
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text('#include "k.cuh"\n#include "api.h"\n')
    sources = [Source(str(p), p.read_text()) for p in sorted(tmp_path.iterdir())]
    facts, _ = analyze(sources, Settings())
    assert [k.instance.block for k in facts.kernels] == [(96, 1, 1)]


def test_templates_without_use_call_nothing_that_a_unit_instantiates(tmp_path):
    launcher = "template <int N> void go(float *g) { k<<<1, N>>>(g); }\n"
    unused = "template <class T> static void choose(int n, T *g) { if (n) go<128>(g); }\n"
    (tmp_path / "k.cuh").write_text(K + launcher + unused)
    (tmp_path / "a.cu").write_text('#include "k.cuh"\ntemplate void go<96>(float *);')
    sources = [Source(str(p), p.read_text()) for p in sorted(tmp_path.iterdir())]
    facts, _ = analyze(sources, Settings())
    assert [k.instance.block for k in facts.kernels] == [(96, 1, 1)]


def test_a_template_that_no_unit_compiles_is_run_only_where_nothing_else_launches():
    launcher = "template <int N, class T> void go(int n, T *g) { k<<<n, N>>>(g); }\n"
    unused = "template <int W> void unused(float *g) { go<W * 32>(1, g); }\n"
    header, main = K + launcher + unused, '#include "k.cuh"\n'
    names, blocks = run_functions(k_cuh=header, a_cu=main + "void b(float *g) { go<96>(1, g); }")
    assert (names, blocks) == (["go", "b"], {(96, 1, 1)})
    names, _ = run_functions(k_cuh=header, a_cu=main)
    assert "unused" in names


METHODS = """
template <typename B, typename H, int S> __global__ void k(const B *b) {
  __shared__ H s[S];
  s[threadIdx.x * 2] = b[0];
}
%s Driver {
 public:
  void run(const void *p);
  template <typename H, int S> void with_sum(const void *p);
  template <typename H, int S, typename B> void with_bin(const void *p);
  void shape(dim3 *block);
  bool is_wide;
};
%s void Driver%s::run(const void *p) {
  if (is_wide) with_sum<double, 512>(p); else this->template with_sum<float, 1024>(p);
}
%s template <typename H, int S> void Driver%s::with_sum(const void *p) {
  with_bin<H, S, unsigned char>(p);
}
%s template <typename H, int S, typename B> void Driver%s::with_bin(const void *p) {
  dim3 block;
  shape(&block);
  k<B, H, S><<<1, block>>>((const B *)p);
}
%s void Driver%s::shape(dim3 *block) { block->x = 64; }
%s
"""


@pytest.mark.parametrize(
    ("head", "own", "use"),
    [
        ("class", ("", ""), ""),
        (
            "template <typename T> class",
            ("template <typename T>", "<T>"),
            "template class Driver<int>;",
        ),
    ],
)
def test_methods_call_others_of_their_class(head, own, use):
    kernels = facts_in(**{"k.cu": METHODS % (head, *(own * 4), use)}).kernels
    found = {k.instance.title: [a.wavefronts.mean for a in k.accesses] for k in kernels}
    assert found == {
        "k<unsigned char, double, 512>": [4],
        "k<unsigned char, float, 1024>": [2],
    }
    assert {k.instance.block for k in kernels} == {(64, 1, 1)}


@pytest.mark.parametrize(("statements", "expected"), [(100, 1), (5_000, None)])
def test_long_callers_are_not_followed_for_arguments(statements, expected):
    kernel = (
        "__global__ void k(float *g, int n) { __shared__ float s[4096]; s[threadIdx.x * n] = 0; }"
    )
    host = "void run(float *g, int n) { k<<<1, 32>>>(g, n); } int main() { float *g; int n = 0;"
    facts = facts_in(k_cu=f"{kernel} {host} {'n = 33;' * statements} run(g, n); }}")
    (access,) = facts.kernels[0].accesses
    assert (access.wavefronts and access.wavefronts.mean) == expected


LAUNCHED = """
template <class T> struct Traits { using Element = T; };
template <class Tr, int N> __global__ void k(typename Tr::Element *o) {
  __shared__ typename Tr::Element s[1024];
  s[threadIdx.x * N] = o[threadIdx.x];
  o[threadIdx.x] = s[threadIdx.x * N];
}
template <class T> void launch(T *o, bool is_wide) {
  using Tr = Traits<T>;
  WAY
}
void drive(float *o, bool is_wide) { launch<float>(o, is_wide); }
"""


@pytest.mark.parametrize(
    "way",
    [
        "auto go = [&](auto kernel) { kernel<<<1, 128>>>(o); };"
        "if (is_wide) go(k<Tr, 2>); else go(k<Tr, 4>);",
        "[&](auto kernel) { kernel<<<1, 128>>>(o); }(k<Tr, 2>);",
    ],
)
def test_callers_tell_the_template_of_a_kernel_that_a_lambda_launches(way):
    facts = facts_in(a_cu=LAUNCHED.replace("WAY", way))
    assert {a.width_bytes for kernel in facts.kernels for a in kernel.accesses} == {4}


def test_a_template_that_only_templates_without_use_call_is_not_run():
    launching = "template <typename T> void go(int n, float *g) { k<<<1, sizeof(T)>>>(g); }\n"
    unused = (
        "template <typename T> void fast(float *g) { go<T>(1, g); }\n"
        "template <typename T> void faster(float *g) { fast<T>(g); }\n"
    )
    used = "template <typename T> void slow(float *g) { go<T>(2, g); }\n"
    call = "struct S { float x[24]; };\nvoid a(float *g) { slow<S>(g); }\n"
    names, blocks = run_functions(a_cu=K + launching + unused + used + call)
    assert names == ["go", "a"]
    assert blocks == {(96, 1, 1)}
    instance = "template void fast<int[16]>(float *);\n"
    names, blocks = run_functions(a_cu=K + launching + unused + used + call + instance)
    assert blocks == {(96, 1, 1), (64, 1, 1)}
    names, blocks = run_functions(a_cu=K + launching + unused)
    assert "fast" in names or "faster" in names


def test_files_that_do_not_see_a_class_do_not_call_its_methods():
    header = "template <int N> struct {0} {{ void go(int n, float *g) {{ {1}<<<1, n>>>(g); }} }};\n"
    files = {
        "a_cu": '#include "a.h"\nvoid a(float *g) { A<1> run; run.go(96, g); }\n',
        "b_cu": '#include "b.h"\nvoid b(float *g) { B<1> run; run.go(64, g); }\n',
        "c_cu": '#include "a.h"\nvoid c(float *g) { A<2> run; run.go(32, g); }\n',
    }
    kernels = {"a.h": K, "b.h": K.replace("k(", "other(")}
    texts = {
        "a.h": "#pragma once\n" + kernels["a.h"] + header.format("A", "k"),
        "b.h": "#pragma once\n" + kernels["b.h"] + header.format("B", "other"),
    }
    names, blocks = run_functions(**files, **texts)
    assert blocks == {(96, 1, 1), (64, 1, 1), (32, 1, 1)}
    assert names.count("b") == 1


def test_files_that_do_not_see_the_class_of_a_main_file_do_not_call_its_methods():
    names, blocks = run_functions(
        a_cu=K
        + "struct A { void go(int n, float *g) { k<<<1, n>>>(g); } };\n"
        + "void a(float *g) { A run; run.go(96, g); }\n",
        b_cu="struct B { void go(int n, float *g); };\n"
        + "void b(float *g) { B run; run.go(64, g); }\n",
    )
    assert names == ["go", "a"]
    assert blocks == {(96, 1, 1)}


TILED = """
#include <cute/tensor.hpp>
using namespace cute;
template <class Tile> struct Op {
  static constexpr int M = get<0>(Tile{});
  __device__ void operator()(float *o) { __shared__ float s[1024]; s[threadIdx.x * M] = *o; }
};
template <class O> __global__ void k(float *o) { O op; op(o); }
template <int N> void run(float *o) {
  using Tile = cute::Shape<Int<N>, Int<8>>;
  k<Op<Tile>><<<1, 32>>>(o);
}
void first(float *o) { run<2>(o); }
void second(float *o) { run<4>(o); }
"""


def test_instances_differ_in_the_numbers_that_names_in_a_type_stand_for():
    facts = facts_in(a_cu=TILED)
    assert sorted(a.ways for kernel in facts.kernels for a in kernel.accesses) == [2, 4]


def test_units_that_all_ask_others_for_the_launches_of_a_header_leave_it_to_the_first(tmp_path):
    """Three of six units are evaluated; those that launch the template are the others."""
    header = f"""
template <int N> __global__ void t(float *g) {{ {BODY} }}
template <int N> void go(float *g) {{ t<N><<<1, N>>>(g); }}
__global__ void own(float *g) {{ *g = 0; }}
"""
    (tmp_path / "k.cuh").write_text(header)
    for k in range(3):
        for name, call in (("a", "own<<<1, 32>>>(g)"), ("b", f"go<{64 << k}>(g)")):
            text = f'#include "k.cuh"\nvoid f(float *g) {{ {call}; }}'
            (tmp_path / f"{name}{k}.cu").write_text(text)
    sources = [Source(str(p), p.read_text()) for p in sorted(tmp_path.iterdir())]
    project = Project(sources, Settings())
    found = {task: project.alone(task)[0].kernels for task in sorted(project.tasks())}
    blocks = [{k.instance.block[0] for k in kernels} for kernels in found.values()]
    assert blocks == [{64, 128, 256}, set(), set()]


@pytest.mark.parametrize("is_kernel", [False, True])
def test_a_unit_that_declares_another_function_of_a_kernels_name_is_not_run(is_kernel):
    declared = "__global__ void k(T *g);" if is_kernel else "void k(T *g);"
    call = "k<float><<<1, 96>>>(g)" if is_kernel else "k<float>(g); other<<<1, n>>>(g)"
    own = f"__global__ void other(float *g) {{ *g = 0; }}\ntemplate <class T> {declared}\n"
    other = f"{own}void run(int n, float *g) {{ {call}; }}"
    names, _ = run_functions(a_cu=K + "void a(float *g) { k<<<1, 64>>>(g); }", b_cu=other)
    assert names == (["a", "run"] if is_kernel else ["a"])


def test_single_paths_are_not_run_for_a_kernel_whose_launches_every_path_says():
    text = f"""{K}__global__ void other(float *g) {{ *g = 0; }}
void a(int given, float *g) {{
  int n = 64;
  if (given) n = given;
  k<<<1, 96>>>(g);
  other<<<1, n>>>(g);
}}
"""
    unit = load_unit("a.cu", text, LoadOptions())
    function = unit.functions_named("a")[0]
    runs = {
        name: launches_of(Host(unit, (), function, frozenset(), False, name))
        for name in ("k", "other", "elsewhere")
    }
    assert runs["k"].left_open == runs["elsewhere"].left_open == {"other"}
    assert runs["other"].left_open == frozenset()
    assert runs["k"].steps == runs["elsewhere"].steps < runs["other"].steps
    assert {launch.block for launch in runs["other"].launches} == {(96, 1, 1), (64, 1, 1)}
    _, blocks = run_functions(a_cu=text)
    assert blocks == {(96, 1, 1)}


def test_what_was_run_on_every_path_for_one_kernel_is_not_run_again_for_another(monkeypatch):
    run: list[bool] = []

    def spied(policy, function, template):
        run.append(policy.paths.default_path)
        return execute_host_function(policy, function, template)

    monkeypatch.setattr(host_runs, "execute_host_function", spied)
    body = "s[threadIdx.x] = *g;"
    text = f"""__global__ void k(float *g) {{ __shared__ float s[99]; {body} }}
__global__ void other(float *g) {{ __shared__ float s[99]; {body} }}
void a(int given, float *g) {{
  int n = 64;
  if (given) n = given;
  k<<<1, 96>>>(g);
  other<<<1, n>>>(g);
}}
"""
    assert {k.instance.block for k in facts_in(a_cu=text).kernels} == {(96, 1, 1), (64, 1, 1)}
    assert run == [False, True]


def test_the_main_function_of_one_program_calls_no_function_of_another():
    kernel = (
        "template <class T> __global__ void k(T *g) { __shared__ T s[512]; s[threadIdx.x] = *g; }"
    )
    header = f"{kernel}\ntemplate <class T> void go(T *g, int n) {{ k<T><<<1, n>>>(g); }}\n"
    main = '#include "k.cuh"\nint width() DEFINED\nint main() { float *g; go(g, width()); }\n'
    others = {
        f"{name}_cu": main.replace("DEFINED", f"{{ return {32 * n}; }}")
        for n, name in enumerate("bcdef", 2)
    }
    open_ = main.replace("DEFINED", ";").replace("width())", "width() * 7)")
    blocks = {k.instance.block for k in facts_in(k_cuh=header, a_cu=open_, **others).kernels}
    assert blocks == {(32 * n, 1, 1) for n in range(2, 7)}  # none of 7 times one of these


def test_single_paths_are_not_run_where_only_a_caller_may_tell_the_block():
    text = f"""{K}int shift(int n) {{ int s; if (n & 1) s = 3; else s = 5; return s; }}
void of_caller(int n, int threads, float *g) {{ int s = shift(n); k<<<s, threads * 2>>>(g); }}
void of_choice(int n, int threads, float *g) {{ int s = shift(n); k<<<1, threads * s>>>(g); }}
void known(int n, int threads, float *g) {{ int s = shift(n); k<<<1, 32 * s>>>(g); }}
"""
    unit = load_unit("a.cu", text, LoadOptions())
    runs = {
        name: launches_of(Host(unit, (), unit.functions_named(name)[0], frozenset(), False, "k"))
        for name in ("of_caller", "of_choice", "known")
    }
    assert {launch.block for launch in runs["known"].launches} == {(96, 1, 1), (160, 1, 1)}
    assert {launch.block for launch in runs["of_caller"].launches} == {None}
    assert runs["of_caller"].steps < runs["of_choice"].steps < runs["known"].steps
