"""Launches by functions and lambdas that objects keep: followed where they are made or called."""

from __future__ import annotations

import pytest
from conftest import facts_of

SOURCE = """
template <int N> __global__ void k(float *o) { __shared__ float s[4096]; s[threadIdx.x * N] = o[0]; }
using Fn = void (*)(float *);
struct Job { std::function<void(float *)> f; void run(float *o) { f(o); } };
void first(float *o) { k<1><<<1, 32>>>(o); }
void run(float *o, int i) { %s }
"""
TABLE = "std::map<int, Fn> m = {{4, k<4>}, {8, k<8>}};"
PAIRS = "struct E { int n; Fn f; } m[] = {{1, k<4>}, {2, k<8>}};"


@pytest.mark.parametrize("body", [
    f"{TABLE} m.at(i)<<<1, 32>>>(o);",
    "std::map<int, Fn> m{{4, k<4>}, {8, k<8>}}; m.at(i)<<<1, 32>>>(o);",
    f"{TABLE} for (auto &[n, f] : m) f<<<1, 32>>>(o);",
    f"{PAIRS} for (const auto &[n, f] : m) if (n == i) f<<<1, 32>>>(o);",
    "Job a; a.f = [](float *p) { k<4><<<1, 32>>>(p); }; a.run(o); Job b{[](float *p) { k<8><<<1, 32>>>(p); }};",
    'std::map<std::string, std::function<void()>> t; t["x"] = [&] { k<4><<<1, 32>>>(o); k<8><<<1, 32>>>(o); };',
    "std::thread t([&] { k<4><<<1, 32>>>(o); k<8><<<1, 32>>>(o); }); t.join();",
    "auto f = [&] { k<4><<<1, 32>>>(o); }; f(); auto g = [&](int b) { k<8><<<1, 32>>>(o); }; keep(g);",
])  # fmt: skip
def test_every_kernel_is_launched(body) -> None:
    facts = facts_of(SOURCE % body)
    assert {dict(k.instance.template)["N"] for k in facts.kernels} == {"1", "4", "8"}
