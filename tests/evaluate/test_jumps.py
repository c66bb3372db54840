"""Jumps out of branches that hang on what is not known: what was written before them counts."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of, ways_of

HELPERS = """
__device__ void either(int n, int &st) { if (n < 7) { st = 32; return; } st = 1; }
__device__ void once(int n, int &st) { if (n < 7) { st = 32; return; } }
__device__ void pointed(int n, int *at) { if (n < 7) { *at = 32 * threadIdx.x; return; } *at = 0; }
__device__ void found(int n, int &st) {
  for (int i = 0; i < n; i++) if (i * i > n) { st = 32; return; }
}
__device__ void checked(int n, int &st) { if (n < 7) { st = 2; return; } st = 2; }
struct Step {
  int st;
  __device__ bool set(int n) { if (n < 3) { st = 32; return true; } return false; }
};
"""
KERNEL = """
__global__ void k(float *g, int n) {
  __shared__ float s[4096];
  int st = 1, at = threadIdx.x; Step step = {1};
  %s
  s[%s] = g[0];
  __syncthreads();
  g[1] = s[threadIdx.x];
}
void f(float *a, int n) { k<<<1, 64>>>(a, n); }
"""


@pytest.mark.parametrize(
    ("text", "index", "reason"),
    [
        ("either(n, st);", "threadIdx.x * st", "of `n < 7`"),
        ("once(n, st);", "threadIdx.x * st", "of `n < 7`"),
        ("pointed(n, &at);", "at", "the condition is not known"),
        ("found(n, st);", "threadIdx.x * st", "of `i * i > n`"),
        ("step.set(n);", "threadIdx.x * step.st", "of `n < 3`"),
        ("auto put = [&](int m) { if (m < 4) { st = 32; return; } }; put(n);", "threadIdx.x * st", "of `m < 4`"),
        ("for (int i = 0; i < 4; i++) if (n < i) { st = 32; break; }", "threadIdx.x * st", "of `n < i`"),
        ("for (int i = 0; i < n; i++) if (n < i * i) { st = 32; break; }", "threadIdx.x * st", "of `n < i * i`"),
        ("while (true) { if (n < 5) { st = 32; break; } n--; }", "threadIdx.x * st", "of `n < 5`"),
        ("for (int i = 0; i < 2; i++) { if (n < i) { st = 32; continue; } g[i] = 7; }", "threadIdx.x * st", "of `n < i`"),
        ("switch (n) { case 1: if (g[0] < 1) { st = 32; break; } }", "threadIdx.x * st", "a condition on a floating-point number"),
        ("for (int i = 0; i < 2; i++) switch (n) { case 1: st = 32; continue; }", "threadIdx.x * st", "of `n`"),
    ],
)  # fmt: skip
def test_what_was_written_before_a_jump_is_joined_where_it_ends(text, index, reason):
    first, *_ = accesses_of(HELPERS + KERNEL % (text, index))
    assert (first.kind, first.wavefronts) == ("store", None)
    assert first.reason.endswith(reason)


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("checked(n, st);", 2.0),
        ("for (int i = 0; i < 4; i++) { if (n < i) { st = 4; break; } st = 4; }", 4.0),
        ("for (int i = 0; i < 4; i++) { if (n < i) break; g[i] = 7; }", 1.0),
        ("for (int i = 0; i < 4; i++) { if (threadIdx.x < i) { at = 0; break; } }", 1.0),
        ("if (n < 7) return; st = 8;", 8.0),
        ("for (int i = 0; i < 4; i++) { int own = 3; if (n < i) { own = 5; continue; } g[own] = 7; }", 1.0),
    ],
)  # fmt: skip
def test_jumps_that_leave_the_same_or_nothing_behind_change_nothing(text, ways):
    store, *_ = ways_of(HELPERS + KERNEL % (text, "threadIdx.x * st"))
    assert store[1:] == ("store", ways)


def test_a_block_that_a_host_function_sets_before_it_returns_is_taken():
    text = """
__global__ void k(float *g) { __shared__ float s[2048]; s[2 * threadIdx.x] = g[0]; g[1] = s[0]; }
int pick(int n, dim3 &block) {
  int shapes[2][2] = {{16, 16}, {8, 8}};
  for (int i = 0; i < 2; i++) {
    int *shape = shapes[0];
    if (n * shape[0] < 1000) { block.x = shape[0]; block.y = shape[1]; return n; }
  }
  exit(1);
}
void run(float *g, int n) { dim3 block; int size = pick(n, block); k<<<1, block, size>>>(g); }
"""
    assert [k.instance.block for k in facts_of(text).kernels] == [(16, 16, 1)]


def test_what_jumps_note_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
__device__ void pick(int n, int &at) {
  at = 1;
  if (n > 3) { at = 2; return; }
  at = 3;
}
__global__ void k(int n, float *g) {
  __shared__ float s[1024];
  int at;
  pick(n, at);
  s[threadIdx.x * at] = g[0];
  g[1] = s[threadIdx.x];
}
void f(float *g) { k<<<1, 32>>>(3, g); }
"""
    monkeypatch.setattr("smemlint.evaluate.joins._MOST_NOTED", 0)
    (kernel,) = facts_of(text).kernels
    said = "evaluation stopped: too much is written before jumps under open conditions"
    assert said in [n.reason for n in kernel.not_analysed]
