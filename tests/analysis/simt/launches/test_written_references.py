"""Numbers of host code that something else than `=` writes: a stale one would price a launch."""

import pytest
from conftest import accesses_of

KERNEL = """
__global__ void k(int n) { __shared__ int s[4096]; s[n * threadIdx.x] = 1; }
struct C { int v; C(int x) : v(x) {} C &operator=(const C &c) { v = c.v * 4; return *this; }
  C &operator=(int x) { v = x * 8; return *this; } };
struct P { int a, b; };
"""
CLASSES = """struct Base { int n = 2; void set(int x) { n = x; } };
struct L : Base { void go() { set(8); k<<<1, 32>>>(n); } };
"""


def wavefronts_of(body):
    text = f"{KERNEL} void run(int argc) {{ {body} }}"
    return [a.wavefronts and a.wavefronts.mean for a in accesses_of(text)]


@pytest.mark.parametrize(
    "body",
    [
        "int a = 2, b = 4; std::swap(a, b); k<<<1, 32>>>(a);",
        "using std::swap; int a = 2, b = 4; swap(a, b); k<<<1, 32>>>(a);",
        "int a = 2, b = 4; std::tie(a, b) = unread(); k<<<1, 32>>>(a);",
        "int a = 2; std::cin >> a; k<<<1, 32>>>(a);",
        "int a = 2, b = 4; std::cin >> a >> b; k<<<1, 32>>>(b);",
        "std::ifstream in; int a = 2; in >> a; k<<<1, 32>>>(a);",
        "int a = 2; int b = std::exchange(a, 8); k<<<1, 32>>>(a);",
        "P p{2, 4}; unread(p); k<<<1, 32>>>(p.a);",
    ],
)
def test_what_unread_code_writes_is_unknown(body):
    assert wavefronts_of(body) == [None]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("C c(2); c = 2; k<<<1, 32>>>(c.v);", 16),
        ("C c(2), d(1); c = d; k<<<1, 32>>>(c.v);", 4),
        ("P p{2, 4}; auto &[x, y] = p; x = 8; k<<<1, 32>>>(p.a);", 8),
        ("P p{2, 4}; auto [x, y] = p; x = 8; k<<<1, 32>>>(p.a);", 2),
        ("int a = 8, b = a >> 1; k<<<1, 32>>>(a >> b >> b - 4);", 1),
        ("int a = 2; auto f = [a] { k<<<1, 32>>>(a); }; a = 4; f();", 2),
        ("int a = 2; auto f = [=] { k<<<1, 32>>>(a); }; a = 4; f();", 2),
        ("int a = 2; auto f = [&] { k<<<1, 32>>>(a); }; a = 4; f();", 4),
        ("int a = 2; auto f = [=, &a] { k<<<1, 32>>>(a); }; a = 4; f();", 4),
        ("int a = 2; auto f = [b = a * 4] { k<<<1, 32>>>(b); }; a = 4; f();", 8),
        ("int a = 2; auto f = [a]() mutable { a *= 2; return a; }; f(); k<<<1, 32>>>(f());", 8),
        ("int a = 2; auto f = [a]() mutable { a *= 2; }; f(); k<<<1, 32>>>(a);", 2),
        ("k<<<1, 32>>>(sizeof(\"abc\"));", 4),
    ],
)  # fmt: skip
def test_what_code_that_was_read_writes_is_known(body, expected):
    assert wavefronts_of(body) == [expected]


def test_a_method_of_a_base_writes_members():
    text = f"{KERNEL}{CLASSES} int main() {{ L l; l.go(); }}"
    assert [a.wavefronts.mean for a in accesses_of(text)] == [8]
