"""Conditions of host code that hold together: two choices by one flag give two launches, not four."""

from __future__ import annotations

import pytest
from conftest import facts_of

BEFORE = """
__global__ void k(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x] = o[0];
  __syncthreads();
  o[0] = s[threadIdx.x ^ 1];
}
enum class T { A, B };
struct P {
  int n; bool c; T t; float *p; std::string m;
  bool is_a() const { return t == T::A; }
  void next() { n++; }
};
struct R { bool c_; void run() { int b = c_ ? 1 : 4, c = c_ ? 64 : 16; k<<<1, dim3(4, b, c)>>>(0); } };
"""
TOGETHER = {(4, 1, 64), (4, 4, 16)}


@pytest.mark.parametrize(
    ("parameter", "condition"),
    [
        ("T t", "t == T::A"),
        ("int n", "n > 4"),
        ("P p", "p.c"),
        ("const P &p", "p.c"),
        ("P *p", "p->t == T::A"),
        ("float *q", "q"),
        ("const P &p", "p.p != nullptr"),
        ("const P &p", "p.is_a()"),
        ("std::string m", 'm == "a"'),
        ("const P &p", 'p.m == "a"'),
        ("P p", "p.n < 3 && p.c"),
    ],
)
def test_what_reads_the_same_holds_together(parameter, condition):
    body = f"int b = ({condition}) ? 1 : 4; int c = ({condition}) ? 64 : 16;"
    text = f"{BEFORE}void f({parameter}) {{ {body} k<<<1, dim3(4, b, c)>>>(0); }}"
    assert _blocks(text) == TOGETHER


def test_a_kernel_is_chosen_together_with_its_block():
    text = (
        BEFORE
        + """
template <int N> __global__ void c(float *o) { __shared__ float s[256]; s[threadIdx.x] = o[N]; }
struct Opt { bool bias, relu; };
void f(const Opt &o) {
  auto fn = o.bias ? (o.relu ? c<3> : c<2>) : c<1>;
  int threads = o.bias ? 128 : 64;
  if (o.relu && o.bias) threads = 32;
  fn<<<1, threads>>>(nullptr);
}
"""
    )
    found = [k.instance for k in facts_of(text).kernels if k.instance.kernel == "c"]
    assert {(i.template[0][1], i.block[0]) for i in found} == {("1", 64), ("2", 128), ("3", 32)}


def test_a_member_of_the_object_itself_does_too():
    assert _blocks(BEFORE) == TOGETHER


def test_a_condition_and_its_negation_exclude_each_other():
    body = "bool big = n > 4; int b = big ? 1 : 4; int c = !big ? 16 : 64;"
    assert _blocks(f"{BEFORE}void f(int n) {{ {body} k<<<1, dim3(4, b, c)>>>(0); }}") == TOGETHER


@pytest.mark.parametrize("between", ["n = g();", "n++;", "p.n = g();", "p.next();"])
def test_what_was_written_between_two_conditions_parts_them(between):
    of = "p.n" if between.startswith("p") else "n"
    body = f"int b = {of} > 4 ? 1 : 4; {between} int c = {of} > 4 ? 64 : 16;"
    text = f"{BEFORE}int g(); void f(int n, P &p) {{ {body} k<<<1, dim3(4, b, c)>>>(0); }}"
    assert _blocks(text) == {(4, b, c) for b in (1, 4) for c in (16, 64)}


def _blocks(text):
    own = text if "void f(" not in text else text.replace("struct R", "struct R2")
    kernels = facts_of(own).kernels
    line = own.count("\n", 0, own.index("void f(")) + 1 if "void f(" in own else 0
    return {
        k.instance.block
        for k in kernels
        if k.instance.place and (not line or k.instance.place.line == line)
    }


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if (n > 512) return 256; return 128;", {128, 256}),
        ("if (n > 512) return 256; else return 128;", {128, 256}),
        (
            "if (n > 9) { if (n > 99) return 512; return 256; } if (n > 5) return 64; return 32;",
            {512, 256, 64, 32},
        ),
        ("switch (n) { case 1: return 32; case 2: return 64; default: return 96; }", {32, 64, 96}),
        ("return n > 3 ? 32 : 64;", {32, 64}),
    ],
)
def test_each_way_through_a_function_gives_a_block(body, found):
    text = BEFORE + f"int pick(int n) {{ {body} }}\nvoid f(int n) {{ k<<<1, pick(n)>>>(0); }}"
    assert {x for x, _, _ in _blocks(text)} == found


@pytest.mark.parametrize("parameter", ["const std::string &m", "std::string m", "const char *m"])
def test_a_text_that_is_given_may_be_the_one_that_is_compared(parameter):
    pick = f'int pick({parameter}) {{ if (m == "wide") return 96; return 128; }}'
    text = BEFORE + f'{pick}\nvoid f() {{ k<<<1, pick("wide")>>>(0); }}'
    assert (96, 1, 1) in _blocks(text)
