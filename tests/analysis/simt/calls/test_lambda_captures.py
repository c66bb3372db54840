"""What a lambda captures by copy keeps its value; counted in sm_90 code of nvcc 13.0."""

import pytest
from conftest import accesses_of
from figures import kernel

BEFORE = """
struct P { int stride; int off; };
struct M {
  int n;
  __device__ float run(float *s) {
    auto f = [*this](float *s) { return s[threadIdx.x * n]; };
    n = 8;
    return f(s);
  }
  __device__ float now(float *s) {
    auto f = [this](float *s) { return s[threadIdx.x * n]; };
    n = 8;
    return f(s);
  }
};
"""


@pytest.mark.parametrize(
    ("body", "ways"),
    [
        ("const float *p = s; auto f = [=] { return p[t * 2]; }; p = s + t; g[t] = f();", 2),
        ("int m = 2; auto f = [&r = m] { return s[t * r]; }; m = 8; g[t] = f();", 8),
        ("int m = 2, r = 1; auto f = [&r = m] { return s[t * r]; }; m = 8; g[t] = f() + r;", 8),
        ("P p{2, 1}; auto f = [p] { return s[t * p.stride]; }; p.stride = 4; g[t] = f();", 2),
        ("P p{2, 1}; auto f = [&p] { return s[t * p.stride]; }; p.stride = 4; g[t] = f();", 4),
        ("int a[2] = {2, 4}; auto f = [a] { return s[t * a[0]]; }; a[0] = 8; g[t] = f();", 2),
        ("int m = 2; int &q = m; auto f = [=] { return s[t * q]; }; m = 4; g[t] = f();", 2),
        ("int m = 2; int &q = m; auto f = [&q] { return s[t * q]; }; m = 4; g[t] = f();", 4),
        ("int m = 2; int *q = &m; auto f = [=] { return s[t * *q]; }; m = 4; g[t] = f();", 4),
        ("M m{2}; g[t] = m.run(s);", 2),
        ("M m{2}; g[t] = m.now(s);", 8),
    ],
)
def test_copies_keep_their_values_and_references_follow(body, ways):
    text = kernel(body.replace("; ", ";\n"), before=BEFORE)
    (access,) = accesses_of(text)
    assert access.wavefronts.mean == ways


def test_a_lambda_that_changes_its_copy_of_an_array():
    body = "int a[2] = {1, 4};\nauto f = [a]() mutable { a[0] *= 2; return s[t * a[0]]; };"
    body += "\na[0] = 16;\ng[t] = f();\ng[t + 32] = f();"
    (access,) = accesses_of(kernel(body))
    assert (access.instructions, access.wavefronts.mean) == (2, (2 + 4) / 2)
