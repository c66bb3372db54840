"""Pointers that a kernel is given and that may be null: both ways are judged."""

from __future__ import annotations

import pytest
from conftest import facts_of


@pytest.mark.parametrize("condition", ["mask", "!mask", "mask == nullptr", "mask != g"])
def test_both_ways_of_a_kernel_are_judged(condition):
    kernel = f"""
    __global__ void k(const float *mask, float *g) {{
      __shared__ float s[64 * 32];
      if ({condition}) s[threadIdx.x * 2] = g[0];
      else s[threadIdx.x * 4] = g[0];
    }}
    void run(float *m, float *o) {{ k<<<1, 64>>>(m, o); }}
    """
    (found,) = facts_of(kernel).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [2, 4]
    assert all(a.certainty.is_decided for a in found.accesses)


def test_a_block_that_leaves_without_a_mask_is_whole_afterwards():
    kernel = """
    __global__ void k(const float *mask, float *g) {
      __shared__ float s[64 * 32];
      if (mask == nullptr) return;
      s[threadIdx.x * 2] = mask[threadIdx.x];
      __syncthreads();
      g[threadIdx.x] = s[threadIdx.x * 2];
    }
    void run(float *m, float *o) { k<<<1, 64>>>(m, o); }
    """
    (found,) = facts_of(kernel).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [2, 2]


@pytest.mark.parametrize(("head", "condition"), [
    ("bool has = mask != nullptr;", "has"),
    ("bool has = mask != nullptr;", "!has"),
    ("", "mask != nullptr && n > 0 && lut"),
    ("", "given(mask)"),
    ("", "lut && mask"),
    ("", "!lut || !mask"),
])  # fmt: skip
def test_a_condition_that_hangs_on_a_pointer_through_others(head, condition):
    kernel = f"""
    __device__ bool given(const float *p) {{ return p != nullptr; }}
    __global__ void k(const float *mask, const float *lut, float *g, int n) {{
      __shared__ float s[64 * 32];
      {head}
      if ({condition}) s[threadIdx.x * 2] = g[0];
      else s[threadIdx.x * 4] = g[0];
    }}
    void run(float *m, float *o) {{ k<<<1, 64>>>(m, m, o, 1); }}
    """
    (found,) = facts_of(kernel).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [2, 4]


def test_what_null_leads_to_takes_nothing_from_what_is_known_without_it():
    kernel = """
    __global__ void k(const int *list, float *g) {
      __shared__ float s[64 * 32];
      int stride = 2;
      if (!list) { stride = 4; s[threadIdx.x] = g[0]; }
      s[threadIdx.x * stride] = g[1];
      float *t = list ? &s[threadIdx.x * 8] : &s[threadIdx.x * 16];
      *t = g[2];
    }
    void run(int *m, float *o) { k<<<1, 64>>>(m, o); }
    """
    (found,) = facts_of(kernel).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [1, 2, 8]


def test_what_stands_behind_a_way_that_returns_where_a_pointer_is_given():
    kernel = """
    __global__ void k(const float *mask, float *g) {
      __shared__ float s[64 * 32];
      if (mask) { g[0] = mask[threadIdx.x]; return; }
      s[threadIdx.x * 2] = g[0];
    }
    void run(float *m, float *o) { k<<<1, 64>>>(m, o); }
    """
    (found,) = facts_of(kernel).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [2]
