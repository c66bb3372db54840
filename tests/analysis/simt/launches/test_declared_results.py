"""Functions of which only the declaration was read: the pointer that they give tells a type."""

from __future__ import annotations

import pytest
from conftest import facts_of

TEXT = """
struct Input {{ float *floats() const; double *doubles() const; }};
struct Other {{ char *get(); float *floats(int); }};
struct Given : Input {{}};
namespace lib {{ extern "C" double *find(int n); float *find(int n, int m); }}
static float *found(int n);
double *either(int n); float *either(float x);
template <class T> __global__ void k(const T *o) {{
  __shared__ T s[256];
  s[threadIdx.x * 2] = o[0];
}}
template <class T> void run(const T *p) {{ k<<<1, 64>>>(p); }}
void go(Input &a, Input *b, Given c, unread::Tensor t, int n) {{ {body} }}
"""


@pytest.mark.parametrize(("body", "types"), [
    ("run(a.floats());", {"float"}),
    ("if (n) run(a.floats()); else run(b->doubles());", {"float", "double"}),
    ("auto p = c.doubles(); run(p);", {"double"}),
    ("run(found(n));", {"float"}),
    ("run(lib::find(n));", {"double"}),
    ("run(lib::find(n, 2));", {"float"}),
    ("run(t.get());", {"T"}),  # another class has such a method
    ("run(get());", {"T"}),
    ("run(either(n));", {"T"}),  # which one is not known
])  # fmt: skip
def test_what_a_template_is_given(body, types):
    kernels = facts_of(TEXT.format(body=body)).kernels
    assert {dict(k.instance.template)["T"] for k in kernels} == types
    ways = {"float": 2, "double": 4, "T": None}
    for kernel in kernels:
        (access,) = kernel.accesses
        found = access.wavefronts.mean if access.wavefronts else None
        assert found == ways[dict(kernel.instance.template)["T"]]
