"""Statements of host code that no launch depends on are not executed; those that one does are."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.launches.slices import Slices
from smemlint.analysis.simt.state import Frame
from smemlint.frontend.cuda.unit import LoadOptions, load_unit

BODY = "__shared__ float s[4096]; s[threadIdx.x] = g[threadIdx.x]; g[0] = s[threadIdx.x ^ 1];"
K = f"__global__ void k(float *g, int n) {{ {BODY} }}\n"
HELPERS = """
void check(int code, const char *what) { if (code) { printf("%s", what); exit(1); } }
void doubled(int &x) { x *= 2; }
void cleared(int *x) { *x = 64; }
int &same(int &x) { return x; }
struct Holder { int *p; int store(int x) { return *p = x; } };
struct Shape { int threads; int widen() { return threads *= 2; } };
int junk(int x) { return 3 * x; }
struct Writer { Writer(int &x) { x = 64; } };
"""


def idle_lines(host: str) -> list[int]:
    """Returns the lines of `run` that are not executed, counted from its first statement."""
    text = f"{K}{HELPERS}void run(float *g, int n) {{\n{host}\n}}\n"
    unit = load_unit("k.cu", text, LoadOptions())
    (function,) = unit.functions_named("run")
    slices = Slices(lambda name: list(unit.functions_named(name)), frozenset())
    idle, _ = slices.idle(function, Frame("run", [{}]), frozenset(("run",)))
    first = text[: text.index("void run(")].count("\n") + 2
    return sorted({unit.span(node).line - first + 1 for node in idle})


def blocks(host: str) -> list[tuple[int, int, int] | None]:
    facts = facts_of(f"{K}{HELPERS}void run(float *g, int n) {{\n{host}\n}}\n")
    return [kernel.instance.block for kernel in facts.kernels]


@pytest.mark.parametrize(
    ("host", "lines"),
    [
        ("int a = 1;\nint t = 32;\na += t;\nk<<<1, t>>>(g, 1);", [1, 3]),
        ('check(cudaMalloc(&g, 4), "m");\nk<<<1, 64>>>(g, 1);', [1]),
        ("float *d;\ncudaMalloc((void **)&d, 4);\nk<<<1, 64>>>(d, 1);", [2]),
        ("for (int i = 0; i < 9; i++) {\njunk(i);\nif (n > i) break;\n}\nk<<<1, 64>>>(g, 1);", [1, 2, 3]),
        ("int a = 0;\nif (n > 3) {\na = junk(n);\n} else {\nk<<<1, 64>>>(g, 1);\n}", [1, 2, 3]),
        ("int t = 32;\n{\nint t = 64;\nt++;\n}\nk<<<1, t>>>(g, 1);", [2, 3, 4]),
        ("int t = 32;\ncleared(&t);\nk<<<1, t>>>(g, 1);", []),
        ("int t = 32;\njunk(t);\nk<<<1, t>>>(g, 1);", [2]),
        ("int t = 32;\nif (n > 2) return;\nk<<<1, t>>>(g, 1);", []),
        ("int t = 32;\ngoto end;\nend: k<<<1, 64>>>(g, 1);", []),
    ],
)  # fmt: skip
def test_which_statements_are_idle(host, lines):
    assert idle_lines(host) == lines


@pytest.mark.parametrize(
    "host",
    [
        "int t = 32; int *p = &t; int **q = &p; **q = 64; k<<<1, t>>>(g, 1);",
        "int t = 32; int &r = t; r = 64; k<<<1, t>>>(g, 1);",
        "int t = 32; auto &r = t; auto *p = &r; *p += 32; k<<<1, t>>>(g, 1);",
        "int t = 32; doubled(t); k<<<1, t>>>(g, 1);",
        "int t = 32; cleared(&t); k<<<1, t>>>(g, 1);",
        "int t = 32; int *p = &t; cleared(p); k<<<1, t>>>(g, 1);",
        "int t = 32; same(t) = 64; k<<<1, t>>>(g, 1);",
        "int t = 32; auto set = [&] { t = 64; }; set(); k<<<1, t>>>(g, 1);",
        "int t = 32; auto set = [&](int x) { t = x; }; auto again = set; again(64); k<<<1, t>>>(g, 1);",
        "int t = 32; Holder h; h.p = &t; h.store(64); k<<<1, t>>>(g, 1);",
        "int t = 32; Holder h = {&t}; h.store(64); k<<<1, t>>>(g, 1);",
        "Shape s; s.threads = 32; s.widen(); k<<<1, s.threads>>>(g, 1);",
        "Shape s; Shape *p = &s; p->threads = 64; k<<<1, s.threads>>>(g, 1);",
        "int t[2] = {32, 32}; int *p = t; p[1] = 64; k<<<1, t[1]>>>(g, 1);",
        "int t = 0; for (int i = 0; i < 9; i++) { if (i == 2) break; t += 32; } k<<<1, t>>>(g, 1);",
        "int t = 32, m = 2; switch (m) { case 1: t = 16; break; case 2: t = 64; } k<<<1, t>>>(g, 1);",
        "enum { W = 2 }; const int two = W; int t = 32; switch (W) { case two: t = 64; } k<<<1, t>>>(g, 1);",
        "int t = 32; int u = (t = 64); k<<<1, t>>>(g, 1);",
        "using T = int; T t = 32; { typedef T U; U u = 2; t *= u; } k<<<1, t>>>(g, 1);",
        "dim3 b(32); dim3 *p = &b; p->x = 64; k<<<1, b>>>(g, 1);",
        "int t = 64; void *a[] = {&g, &t}; cudaLaunchKernel((void *)k, dim3(1), dim3(t), a, 0, 0);",
        "int t = 32; Writer w(t); k<<<1, t>>>(g, 1);",
        "int t = 32; Writer w{t}; k<<<1, t>>>(g, 1);",
        "int t = 32; Writer{t}; k<<<1, t>>>(g, 1);",
    ],
)  # fmt: skip
def test_what_a_launch_depends_on_is_executed(host):
    assert blocks(host) == [(64, 1, 1)]


@pytest.mark.parametrize(
    "host",
    ["Starter s(g, 96);", "Starter s{g, 96};", "Starter(g, 96);", "auto s = Starter{g, 96};"],
)
def test_constructors_that_launch_are_executed(host):
    starter = "struct Starter { Starter(float *g, int t) { k<<<1, t>>>(g, 1); } };\n"
    facts = facts_of(f"{K}{starter}void run(float *g) {{ {host} }}")
    assert [kernel.instance.block for kernel in facts.kernels] == [(96, 1, 1)]


def test_a_chain_of_pointers_is_sliced_within_bounds():
    def idle_of(count):
        pointers = "\n".join(f"int *p{i}; *p{i} = 1;" for i in range(count))
        chain = "\n".join(f"p{i} = p{i + 1};" for i in range(count - 1))
        return len(idle_lines(f"{pointers}\n{chain}\nk<<<1, 64>>>(g, 1);"))

    assert idle_of(300) == 599
    assert idle_of(2000) == 0  # all are executed


def test_a_caller_sees_what_a_function_that_launches_writes():
    go = "void go(float *g, int *t) { int *p = t; k<<<1, 32>>>(g, 1); *p = 64; }\n"
    host = "void run(float *g) { int t = 32; go(g, &t); k<<<1, t>>>(g, 1); }"
    assert {k.instance.block for k in facts_of(K + go + host).kernels} == {(32, 1, 1), (64, 1, 1)}


def test_idle_code_takes_none_of_the_statements_that_may_be_executed():
    idle = "for (int i = 0; i < 12; i++) { x = junk(x); }\n" * 400
    assert blocks(f"int x = 1;\n{idle}k<<<1, 96>>>(g, 1);") == [(96, 1, 1)]


def test_a_variable_of_a_file_keeps_what_it_is_given():
    chosen = "void (*f)(float *, int);\nint choose(int x) { f = k; return x; }\n"
    host = "void run(float *g) { int y = choose(3); f<<<1, 64>>>(g, 1); }"
    assert [k.instance.block for k in facts_of(K + chosen + host).kernels] == [(64, 1, 1)]
