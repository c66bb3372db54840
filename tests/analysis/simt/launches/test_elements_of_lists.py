"""What host code changes of a `std::vector` that begins with a list, by its iterators, too."""

from __future__ import annotations

import pytest
from conftest import facts_of

HOST = """
#include <vector>
void fill(std::vector<int> &a);
void put(int *a);
__global__ void k(float *o) {
  __shared__ float s[512];
  s[threadIdx.x] = 1;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}
void f(float *o) { std::vector<int> v{64, 32}; BODY k<<<1, v[0]>>>(o); }
"""


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("", 64),
        ("int n = std::accumulate(v.begin(), v.end(), 0);", 64),
        ("auto b = v.begin(); *b = 8;", 8),
        ("*v.begin() = 8;", 8),
        ("int *p = v.data(); p[0] = 8;", 8),
        ("*(v.end() - 2) = 8;", 8),
        ("std::sort(v.begin(), v.end());", None),
        ("std::sort(std::begin(v), std::end(v));", None),
        ("std::ranges::sort(v);", None),
        ("std::iter_swap(v.begin(), v.begin() + 1);", None),
        ("put(v.data());", None),
        ("fill(v);", None),
    ],
)
def test_the_first_element(body, threads):
    instances = [kernel.instance for kernel in facts_of(HOST.replace("BODY", body)).kernels]
    assert {i.block[0] for i in instances if i.origin and i.block} == ({threads} - {None})


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("n = v.size() * 32;", 64),
        ("for (int x : v) n += x;", 96),
        ("v[1] = 8; n = v.size() * 32;", 64),
        ("v.push_back(96); n = v.size() * 32;", 96),
        ("v.push_back(96); n = v.back();", 96),
        ("v.emplace_back(96); v.pop_back(); n = v.back() * 4;", 128),
        ("v.clear(); v.push_back(160); n = v[0];", 160),
        ("if (v.empty()) n = 32; else n = 96;", 96),
        ("std::vector<int> w; for (int i = 32; i < 200; i *= 2) w.push_back(i); n = w[2] + w.size();", 131),
        ("std::vector<int> w; for (int i = 0; i < 64; i++) w.push_back(i); n = w.size();", None),
        ("std::vector<int> w; for (int i = 0; i < 3; i++) w.insert(w.begin(), i); n = w.size();", None),
        ("for (auto i = std::begin(v); i != std::end(v); ++i) n += *i;", 96),
        ("for (auto i = v.begin(); i != v.end(); ++i) n += *i;", 96),
        ("v.push_back(96); for (int x : v) n += 32;", 96),
        ("v.resize(o ? 3 : 4); for (int x : v) n += 32;", None),
        ("fill(v); n = v.size() * 32;", None),
    ],
)  # fmt: skip
def test_how_many_elements_a_list_has_that_methods_change(body, threads):
    text = HOST.replace("BODY", f"int n = 0; {body}").replace("v[0]>>>", "n>>>")
    instances = [kernel.instance for kernel in facts_of(text).kernels]
    assert {i.block[0] for i in instances if i.origin and i.block} == ({threads} - {None})


def test_a_list_that_one_way_shortens():
    text = HOST.replace("BODY", "if (o) v.pop_back();").replace("v[0]>>>", "v.size() * 32>>>")
    instances = [kernel.instance for kernel in facts_of(text).kernels]
    assert {i.block[0] for i in instances} == {32, 64}
