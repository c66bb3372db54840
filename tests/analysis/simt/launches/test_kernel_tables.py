"""Kernels out of tables whose index is known at run time only: each entry is launched so."""

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

KERNELS = """
typedef void (*kernel_t)(float *, int);
template <int S> __global__ void k(float *g, int n) {
  __shared__ float s[2048];
  s[threadIdx.x * S] = g[threadIdx.x];
}
struct Entry { kernel_t kernel; int threads; };
"""


def launched(text):
    found = {(a.instance.template, a.instance.block[0], a.ways) for a in accesses_of(text)}
    return {(template[0][1], threads, ways) for template, threads, ways in found}


@pytest.mark.parametrize(
    "table",
    [
        "static kernel_t table[] = {k<2>, k<4>};",
        "static const kernel_t table[2] = {&k<2>, &k<4>};",
        "constexpr std::array<kernel_t, 2> table = {k<2>, k<4>};",
        "constexpr auto table = std::array{k<2>, k<4>};",
    ],
)
@pytest.mark.parametrize("is_global", [True, False])
def test_all_entries_are_launched(table, is_global):
    text = f"""{KERNELS}
    {table if is_global else ""}
    void run(float *g, int which) {{
      {"" if is_global else table}
      kernel_t chosen = table[which];
      chosen<<<1, 128>>>(g, 3);
    }}"""
    assert launched(text) == {("2", 128, 2), ("4", 128, 4)}


def test_members_beside_the_kernel_are_read_where_all_entries_agree():
    text = f"""{KERNELS}
    static const Entry entries[] = {{{{k<2>, 64}}, {{k<4>, 64}}}};
    void run(float *g, int which) {{
      const Entry &e = entries[which];
      e.kernel<<<1, e.threads>>>(g, 3);
    }}"""
    assert launched(text) == {("2", 64, 2), ("4", 64, 4)}


def test_a_table_that_is_written_elsewhere_is_not_known():
    text = f"""{KERNELS}
    static kernel_t table[] = {{k<2>, k<4>}};
    void change() {{ table[1] = k<8>; }}
    void run(float *g, int which) {{ table[which]<<<1, 64>>>(g, 3); }}"""
    assert 64 not in {threads for _, threads, _ in launched(text)}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("std::max({1, 2, 4})", 4),
        ("std::min({8, 2, 4})", 2),
        ("std::max<int>({2})", 2),
        ("std::max(2, std::min({16, 32}))", 16),
        ("max(int(2u), 8)", 8),
    ],
)
def test_extremes_of_lists_in_host_code(expression, value):
    text = f"""
    __global__ void k(float *g, int stride) {{
      __shared__ float s[2048];
      s[threadIdx.x * stride] = 1;
    }}
    void run(float *g) {{ k<<<1, 32>>>(g, {expression}); }}"""
    (access,) = accesses_of(text)
    assert access.ways == value


@pytest.mark.parametrize("given", ["k<4>", "&k<4>"])
def test_a_kernel_may_be_launched_through_what_points_to_it(given):
    text = f"""{KERNELS}
    void run(float *g) {{
      k<2><<<1, 32>>>(g, 2);
      void (*kernel)(float *, int) = {given};
      (*kernel)<<<1, 64>>>(g, 4);
    }}"""
    assert launched(text) == {("2", 32, 2), ("4", 64, 4)}


@pytest.mark.parametrize(
    ("table", "launch", "found"),
    [
        (
            "static kernel_t t[2][2] = {{k<2>, k<4>}, {k<8>, k<1>}};",
            "t[1][0]<<<1, 64>>>(g, 3)",
            "8",
        ),
        (
            "static Entry t[] = {{k<2>, 64}, {k<4>, 64}};",
            "t[1].kernel<<<1, t[1].threads>>>(g, 3)",
            "4",
        ),
        ("struct T { static constexpr kernel_t f = &k<8>; };", "T::f<<<1, 64>>>(g, 3)", "8"),
    ],
)
def test_entries_of_variables_that_keep_their_value(table, launch, found):
    text = f"{KERNELS}\n{table}\nvoid run(float *g) {{ {launch}; }}"
    assert launched(text) == {(found, 64, float(found))}


@pytest.mark.parametrize(
    "change",
    [
        "t.threads = 32;",
        "t.kernel = k<4>;",
        "t.threads += 32;",
        "t.set(32);",
        "Entry &other = t; other.threads = 32;",
        "for (auto &e : list) e.threads = 32;",
    ],
)
@pytest.mark.parametrize("begin", ["Entry t = {k<2>, 64};", "Entry t{k<2>, 64};"])
def test_an_object_that_is_changed_anywhere_has_no_value_of_its_own(change, begin):
    before = f"{KERNELS}\nstatic {begin}\nstatic Entry list[] = {{{{k<2>, 64}}}};"
    launch = "list[0]" if "list" in change else "t"
    text = f"""{before}\nvoid change() {{ {change} }}
    void run(float *g) {{ {launch}.kernel<<<1, {launch}.threads>>>(g, 3); }}"""
    assert 64 not in {threads for _, threads, _ in launched(text)}


UNKNOWN = """
__global__ void plain(float *g, int n) { __shared__ float s[64]; s[threadIdx.x] = g[n]; }
__global__ void other(float *g) { __shared__ float s[64]; s[threadIdx.x] = g[0]; }
static std::map<int, kernel_t> table = {{1, k<2>}, {2, plain}};
static const auto given = other;
void run(float *g, int which) {
  table[which]<<<1, 32>>>(g, 3);
  k<4><<<1, 32>>>(g, 3), plain<<<1, 32>>>(g, 3), other<<<1, 32>>>(g);
}
"""


def test_launches_of_unknown_kernels_are_said_and_what_else_is_written_is_evaluated():
    facts = facts_of(KERNELS + UNKNOWN)
    values = {(k.instance.kernel, *(v for _, v in k.instance.template)) for k in facts.kernels}
    assert values == {("k", "2"), ("k", "4"), ("plain",), ("other",)}
    said = [n.kernel for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert said == ["k", "plain"]
