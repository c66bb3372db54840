"""Arithmetic that the compiler gives branches: whether neighbours are fused across it is open.

SASS of nvcc 13.0.88 (sm_90, -O3): four accesses of 32 bits, or two of 64, where `parts` is true,
else one of 128. With -use_fast_math most are fused.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

STORES = """
%(helper)s
__global__ void k(const %(type)s *in, %(type)s *o) {
  __shared__ %(align)s %(type)s s[128 * %(count)d];
  int t = threadIdx.x;
  %(type)s v[4];
  for (int i = 0; i < %(count)d; i++) %(statement)s;
  %(then)s
  __syncthreads();
  o[t] = s[0];
}
void go(const %(type)s *in, %(type)s *o) { k<<<1, 128>>>(in, o); }
"""
LOADS = """
__global__ void k(const %(type)s *in, %(type)s *o) {
  __shared__ %(type)s s[128 * %(count)d];
  int t = threadIdx.x;
  for (int i = 0; i < %(count)d; i++) s[t + 128 * i] = in[t];
  __syncthreads();
  %(type)s a = 0;
  for (int i = 0; i < %(count)d; i++) a += %(value)s;
  o[t] = a;
}
void go(const %(type)s *in, %(type)s *o) { k<<<1, 128>>>(in, o); }
"""


def stored(value: str, type_: str = "float", **parts: str):
    count = 4 if type_ == "float" else 2
    parts = {"statement": f"s[{count} * t + i] = {value}", **parts}
    parts = {"helper": "", "align": "", "then": "", "type": type_, "count": count, **parts}
    found = accesses_of(STORES % parts)
    (access,) = (a for a in found if a.kind is AccessKind.STORE)
    return access


def loaded(value: str, type_: str = "float"):
    found = accesses_of(
        LOADS % {"type": type_, "count": 4 if type_ == "float" else 2, "value": value}
    )
    (access,) = (a for a in found if a.kind is AccessKind.LOAD)
    return access


def check(access, parts: bool) -> None:
    certainty = Certainty.SAMPLED if parts else Certainty.ASSUMED
    assert (access.width_bytes, access.certainty) == (16, certainty)


@pytest.mark.parametrize(
    ("value", "type_", "parts"),
    [
        ("in[t + i] * 2", "float", False),
        ("expf(in[t + i])", "float", False),
        ("tanhf(in[t + i])", "float", False),
        ("__expf(in[t + i])", "float", False),
        ("in[t + i] / 2.f", "float", False),
        ("in[t + i] / 3.f", "float", True),
        ("in[t + i] / in[t]", "float", True),
        ("1 / in[t + i]", "float", True),
        ("sqrtf(in[t + i])", "float", True),
        ("logf(in[t + i])", "float", True),
        ("log(in[t + i])", "float", True),
        ("sinf(in[t + i])", "float", True),
        ("powf(in[t + i], 1.5f)", "float", True),
        ("exp(in[t + i])", "double", True),
        ("sqrt(in[t + i])", "double", True),
        ("floor(in[t + i])", "double", False),
        ("in[t + i] / in[t]", "double", True),
    ],
)
def test_stores(value, type_, parts):
    check(stored(value, type_), parts)


@pytest.mark.parametrize(
    ("value", "type_", "parts"),
    [
        ("expf(s[4 * t + i])", "float", False),
        ("logf(s[4 * t + i])", "float", False),
        ("sinf(s[4 * t + i])", "float", True),
        ("s[4 * t + i] / in[t + i]", "float", True),
        ("exp(s[2 * t + i])", "double", False),
        ("pow(s[2 * t + i], 1.5)", "double", True),
    ],
)
def test_loads(value, type_, parts):
    check(loaded(value, type_), parts)


def test_llvm_sees_one_instruction_where_ptxas_makes_branches() -> None:
    check(stored("in[t + i] / in[t]", align="__align__(16)"), parts=False)
    check(stored("sinf(in[t + i])", align="__align__(16)"), parts=True)


def test_what_is_computed_before_all_stores_parts_none() -> None:
    later = "for (int i = 0; i < 4; i++) s[4 * t + i] = v[i];"
    check(stored("", statement="v[i] = in[t + i] / in[t]", then=later), parts=False)


@pytest.mark.parametrize(
    ("body", "parts"),
    [("return x * y;", False), ("float z = x / y; return z;", True), ("return cosf(x);", True)],
)
def test_a_helper_that_is_not_run_parts_as_its_text_says(body, parts):
    helper = f"__device__ float of(float x, float y) {{ {body} }}"
    check(stored("of(in[t + i], in[t])", helper=helper), parts)


@pytest.mark.parametrize("divisor", ["in[i]", "(in[0] + 1)"])
def test_an_accumulator_that_is_divided_parts_loads(divisor):
    """nvcc: 40 LDS, and with a product in the place of the quotient ten LDS.128."""
    text = """__global__ void k(float *o, const float *in) {{
      __shared__ float s[1600];
      int t = threadIdx.x; float a = 0;
      s[t] = in[t];
      __syncthreads();
      for (int i = 0; i < 40; i++) {{ a += s[40 * t + i]; a /= {}; }}
      o[t] = a;
    }}
    void f(float *o, float *in) {{ k<<<1, 32>>>(o, in); }}"""
    (load,) = (a for a in accesses_of(text.format(divisor)) if a.kind is AccessKind.LOAD)
    assert load.certainty is Certainty.SAMPLED
