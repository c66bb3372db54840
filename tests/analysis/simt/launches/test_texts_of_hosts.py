"""Functions that give a text are not run: a kernel's source that host code builds cost its launches.

The budget of a host function is 10,000 statements; a switch over types spent it on their names.
"""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.limits.steps import step_limit

KERNEL = """
template <int N> __global__ void k(float *g) {
  __shared__ float s[1024];
  s[threadIdx.x] = g[N];
  g[0] = s[threadIdx.x ^ 1];
}
"""
NAMES = """
#include <string>
enum class Kind { a, b, c, d, e, f, g, h };
inline std::string name(const Kind kind) {
  switch (kind) {
    case Kind::a: return "a";
    case Kind::b: return "b";
    case Kind::c: return "c";
    case Kind::d: return "d";
    case Kind::e: return "e";
    case Kind::f: return "f";
    default: return std::string("kind ") + std::to_string(static_cast<int>(kind));
  }
}
inline std::string replaced(const std::string &text, const std::string &by) { return text + by; }
"""


def blocks(text):
    return sorted(k.instance.block for k in facts_of(text).kernels)


def steps(calls):
    host = "\n".join("code = replaced(code, name(kind));" for _ in range(calls))
    text = f"{KERNEL}{NAMES}void run(float *g, Kind kind) {{ std::string code;\n{host}\nk<1><<<1, 96>>>(g); }}"
    with step_limit(10_000_000) as budget:
        assert blocks(text) == [(96, 1, 1)]
    return budget.spent


def test_a_text_costs_its_statement():
    """Each call was 30 statements of the host function, and its expressions."""
    assert (steps(22) - steps(2)) / 20 < 40


def test_what_gives_nothing_costs_its_statement():
    """What a failed check calls was run at each of them: 4 % of the host statements of ggml."""
    fail = "void fail(const char *text, int n) { " + "lib::log(text, n);" * 40 + " lib::stop(); }"

    def spent(calls):
        text = f"{KERNEL}{fail} void run(float *g, int n) {{ {'fail(__FILE__, n);' * calls} k<1><<<1, 96>>>(g); }}"
        with step_limit(10_000_000) as budget:
            assert blocks(text) == [(96, 1, 1)]
        return budget.spent

    assert (spent(22) - spent(2)) / 20 < 40


@pytest.mark.parametrize("parameter", ["const P &p", "const P *p", "int *n"])
def test_what_gives_nothing_and_writes_is_run(parameter):
    through = {"const P &p": "p.n", "const P *p": "p->n", "int *n": "n"}[parameter]
    given = {"const P &p": "p", "const P *p": "&p", "int *n": "&n"}[parameter]
    text = f"""{KERNEL}struct P {{ int *n; }};
void plan({parameter}) {{ *{through} = 96; }}
void run(float *g) {{ int n = 32; P p{{&n}}; plan({given}); k<1><<<1, n>>>(g); }}"""
    assert blocks(text) == [(96, 1, 1)]


def test_launches_behind_many_texts_are_found():
    host = "\n".join("code = replaced(code, name(kind));" for _ in range(900))
    text = f"{KERNEL}{NAMES}void run(float *g, Kind kind) {{ std::string code;\n{host}\nk<1><<<1, 96>>>(g); }}"
    assert blocks(text) == [(96, 1, 1)]


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        ("std::string plan(dim3 &b) { b.x = 96; return \"x\"; }", "plan(b);"),
        ("std::string plan(dim3 *b) { b->x = 96; return \"x\"; }", "plan(&b);"),
        ("template <class F> std::string plan(F f) { f(); return \"x\"; }", "plan([&] { b.x = 96; });"),
        ("struct P { int n = 32; std::string plan() { n = 96; return \"x\"; } };", "P p; p.plan(); b.x = p.n;"),
    ],
)  # fmt: skip
def test_what_such_a_function_writes_counts(helper, call):
    text = f"#include <string>\n{KERNEL}{helper}\nvoid run(float *g) {{ dim3 b(32); {call} k<1><<<1, b>>>(g); }}"
    assert blocks(text) == [(96, 1, 1)]


@pytest.mark.parametrize(
    "parameter", ["P p", "const P &p", "const P *const p", "Q p", "const Q &p"]
)
def test_what_a_class_given_to_such_a_function_points_to_is_written(parameter):
    """The block was that of before the call: `P` is given by value, and what it points to is not."""
    through = "p->n" if "*" in parameter else "p.in.n" if "Q" in parameter else "p.n"
    given = "&p" if "*" in parameter else "q" if "Q" in parameter else "p"
    text = f"""#include <string>
{KERNEL}struct P {{ int *n; }};
struct Q {{ P in; }};
std::string plan({parameter}) {{ *{through} = 96; return "x"; }}
void run(float *g) {{ int n = 32; P p{{&n}}; Q q; q.in.n = &n; plan({given}); k<1><<<1, n>>>(g); }}"""
    assert blocks(text) == [(96, 1, 1)]


def test_what_a_class_points_to_is_forgotten_where_a_call_is_not_run_to_its_end():
    text = f"""#include <string>
{KERNEL}struct P {{ int *n; }};
int plan(P p, int m) {{ int e = 0; for (int i = 0; i < m; i++) e += i * m; *p.n = lib::f(e); return e; }}
void run(float *g) {{ int n = 32; P p{{&n}}; plan(p, 100000); k<1><<<1, n>>>(g); }}"""
    assert (32, 1, 1) not in blocks(text)


def test_what_such_a_function_launches_counts():
    text = f"""#include <string>
{KERNEL}std::string go(float *const g) {{ k<1><<<1, 96>>>(g); return "x"; }}
void run(float *g) {{ std::string done = go(g); }}"""
    assert blocks(text) == [(96, 1, 1)]
