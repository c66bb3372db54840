"""Shared memory that is given to code that was not read: said, whatever way it is given."""

from __future__ import annotations

import pytest
from conftest import facts_of


@pytest.mark.parametrize("body", [
    "lib::Reduce<float> r(s); g[0] = r.sum(g[1]);",
    "Reduce r(s); g[0] = r.sum(g[1]);",
    "lib::Reduce r{s, 3}; g[0] = r.sum(g[1]);",
    "lib::View<float> v(s, 64); v[threadIdx.x] = g[0];",
    "g[0] = F().sum(g[1], s);",
    "F f(s); g[0] = f.sum(g[1]);",
    "F f = {s}; g[0] = f.sum(g[1]);",
    "__shared__ typename F::Storage own; F f; f.go(g, own.first);",
    "lib::each([&](int i) { s[i] = 1; });",
    "auto f = [=](int i) { s[i] = 1; }; lib::each(f);",
])  # fmt: skip
def test_who_is_given_it_is_named(body):
    (found,) = facts_of(f"""
    template <class F> __global__ void k(float *g) {{ __shared__ float s[64]; {body} }}
    void run(float *g) {{ k<lib::F><<<1, 64>>>(g); }}
    """).kernels
    assert len(found.not_analysed) == 1
    assert not found.accesses


@pytest.mark.parametrize("body", [
    "lib::Reduce<float> r(g); g[0] = r.sum(g[1]);",
    "g[0] = F().sum(g[1], n);",
    "lib::each([&](int i) { g[i] = 1; });",
])  # fmt: skip
def test_other_memory_is_no_note(body):
    (found,) = facts_of(f"""
    template <class F> __global__ void k(float *g, int n) {{
      __shared__ float s[64];
      {body}
      s[threadIdx.x] = g[0];
    }}
    void run(float *g) {{ k<lib::F><<<1, 64>>>(g, 3); }}
    """).kernels
    assert not found.not_analysed
    assert len(found.accesses) == 1
