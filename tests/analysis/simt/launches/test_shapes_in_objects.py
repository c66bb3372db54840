"""Launches whose block is a member of an object that a constructor or a method sets."""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = """
struct Shape { dim3 block; int n; %s };
__global__ void k(float *o) { __shared__ float s[256]; s[threadIdx.x] = o[0]; }
void go(float *o, int n) { %s k<<<1, shape.block>>>(o); }
"""
LONG = "for (int i = 0; i < m; i++) for (int j = 0; j < 99999; j++) n += i ^ (n * j);"


@pytest.mark.parametrize(
    ("members", "body", "blocks"),
    [
        ("Shape(int m) { n = m; block.x = 128; }", "Shape shape(n);", {(128, 1, 1)}),
        ("Shape(int m, int l) : block(m, l) {}", "Shape shape(32, 4);", {(32, 4, 1)}),
        ("void set() { block.x = 128; }", "Shape shape; shape.set();", {(128, 1, 1)}),
        (
            "Shape() { block.x = 1; } Shape(int m) { set(); } void set() { block.x = 64; }",
            "Shape shape(n);",
            {(64, 1, 1)},
        ),
        ("void log() {}", "Shape shape; shape.block.x = 64; shape.log();", {(64, 1, 1)}),
    ],
)
def test_what_constructors_and_methods_set_is_launched(members, body, blocks):
    found = facts_of(KERNEL % (members, body)).kernels
    assert {kernel.instance.block for kernel in found} == blocks


@pytest.mark.parametrize(
    "members",
    [
        f"Shape(int m) {{ {LONG * 40} block.x = 128; }}",
        "template <typename... T> Shape(T... m) { block.x = 128; }",
    ],
)
def test_an_object_whose_constructor_is_not_run_has_no_known_shape(members):
    found = facts_of(KERNEL % (members, "Shape shape(n);")).kernels
    assert {kernel.instance.block for kernel in found} == {(256, 1, 1)}


WORDS = "int x = 0; " + " ".join(f"x += word{i};" for i in range(45))


@pytest.mark.parametrize(
    ("helper", "body", "block"),
    [
        (f"void set(int &t) {{ {WORDS} t = 64; }}", "set(t);", 256),
        (f"void set(int *t) {{ {WORDS} *t = 64; }}", "set(&t);", 256),
        ("template <class... A> void set(int &t, A... a) { t = 64; }", "set(t, n);", 256),
        (f"void show(const int &t) {{ {WORDS} }}", "show(t);", 32),
        (f"void show(const int *t) {{ {WORDS} }}", "show(&t);", 32),
        (f"void show(int t) {{ {WORDS} }}", "show(t);", 32),
        ("template <class... A> void show(A &&... a) { }", "show(t, n);", 32),
    ],
)
def test_what_a_call_that_is_not_run_may_write_is_not_known(helper, body, block):
    text = "__global__ void k(float *o) { __shared__ float s[256]; s[threadIdx.x] = o[0]; }\n"
    text += f"{helper}\nvoid go(float *o, int n) {{ int t = 32; {body} k<<<1, t>>>(o); }}"
    assert {kernel.instance.block for kernel in facts_of(text).kernels} == {(block, 1, 1)}


@pytest.mark.parametrize(
    ("declared", "body", "block"),
    [
        ("void set(int n, int &t);", "int t = 1; set(n, t);", 256),
        ("void set(int n, int const &t);", "int t = 32; set(n, t);", 32),
        ("void set(int n, int t); ", "int t = 32; set(n, t);", 32),
        ("bool set(int n, int &t);", "int t = 32; if (set(n, t)) n++;", 256),
        ("", "int t = 1; set(n, t);", 256),  # by reference, perhaps: nothing else is of use
        ("", "int t = 32; int g = div_up(n, t);", 32),
        ("", 'int t = 32; printf("%d", t);', 32),
        ("", 'int t = 32; say("%d threads", t);', 32),
        ("", 'int t = 1; option("threads", t);', 256),
        ("", "int t = 1; std::swap(t, n);", 256),
        ("", "int t = 1, u; std::tie(t, u) = set(n);", 256),
        ("", "int t = 1; std::cin >> t;", 256),
        ("", "int t = 1; if (!(file >> n >> t)) return;", 256),
        ("", "dim3 t; options.get(t);", 256),
        ("struct C { dim3 b; void set(int n); };", "C c; c.set(n); dim3 t = c.b;", 256),
        ("struct C { int t = 32; void log(int n) const; };", "C c; c.log(n); int t = c.t;", 32),
        ("struct C { int t = 32; static void log(int n); };", "C c; c.log(n); int t = c.t;", 32),
        ("struct C { int t = 1; C() { set(); } void set(); };", "C c; int t = c.t;", 256),
        ("struct C { int t = 1; }; void set(C &c);", "C c; set(c); int t = c.t;", 256),
    ],
)
def test_a_function_without_a_body_writes_what_it_takes_by_reference(declared, body, block):
    text = "__global__ void k(float *o) { __shared__ float s[256]; s[threadIdx.x] = o[0]; }\n"
    text += f"{declared}\nvoid go(float *o, int n) {{ {body} k<<<1, t>>>(o); }}"
    assert {kernel.instance.block for kernel in facts_of(text).kernels} == {(block, 1, 1)}


def test_what_was_not_written_of_an_object_that_is_not_known_is_not_one():
    text = """
    __global__ void k(float *o) { __shared__ float s[1024]; s[threadIdx.y * 32 % 1024] = o[0]; }
    struct R {
        dim3 block;
        void resize(int n) { block.y = n; }
        void run(float *o) { block.x = 1; k<<<1, block>>>(o); }
    };"""
    assert {kernel.instance.block for kernel in facts_of(text).kernels} != {(1, 1, 1)}
