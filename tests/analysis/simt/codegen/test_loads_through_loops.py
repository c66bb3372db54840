"""What registers hold through a loop that run time ends: SASS of nvcc 13.0.88, -O3, sm_90.

`s[32 * t]` is loaded in front of each loop, in 32 wavefronts; the figures are how many loads of it
there are in all.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *g, const float *in, int n) {
  __shared__ float s[8192];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float v = s[32 * t];
  %s
  g[t] = v;
}
void f(float *g, float *in, int n) { k<<<1, 128>>>(g, in, n); }
"""


def loads(body):
    """Returns how often each warp loads the place."""
    found = [a for a in accesses_of(KERNEL % body) if a.kind is AccessKind.LOAD]
    return sum(a.instructions // 4 for a in found if a.wavefronts.mean == 32)


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; ++i) v += in[i * 7 + t] * s[i]; v *= s[32 * t];",
        "for (int i = 0; i < n; ++i) v += in[i * 7 + t] * s[32 * t];",
        "for (int i = 0; i < n; ++i) if (in[i] > 5) v += in[i * 7 + t] * s[32 * t];",
        "for (int i = 0; i < n; ++i) { for (int j = 0; j < i; ++j) v += in[i * j] * s[j]; v *= s[i]; } v *= s[32 * t];",
        "for (int i = t; i < n; i += 32) g[i + 999] = s[i]; if (n > 7) v *= s[32 * t] + in[t + 7];",
        "while (v < in[t]) v += s[t] * 3; v *= s[32 * t];",
        "for (int i = 0; i < n; ++i) v += in[i * 7 + t] * s[i]; v *= s[32 * t]; __syncthreads(); v += s[t];",
        "for (int i = 0; i < n; ++i) for (int j = 0; j < i; ++j) v += in[i * j] * s[32 * t]; __syncthreads(); v += s[t];",
    ],
)  # fmt: skip
def test_what_a_loop_does_not_store_to_is_not_loaded_again(body):
    assert loads(body) == 1


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; ++i) s[4096 + i] = v; v *= s[32 * t];",
        "for (int i = 0; i < n; ++i) { v += in[i * 7 + t] * s[32 * t]; __syncthreads(); }",
        "for (int i = 0; i < n; ++i) { v += in[i * 7 + t] * s[32 * t]; s[i] = v; }",
        "for (int i = 0; i < n; ++i) { for (int j = 0; j < i; ++j) v += in[j] * s[32 * t]; s[i] = v; }",
        "for (int i = 0; i < n; ++i) atomicAdd(&s[i], v); v *= s[32 * t];",
        "for (int i = 0; i < n; ++i) s[t] += v; v *= s[32 * t];",
    ],
)
def test_what_a_loop_may_change_is_loaded_again(body):
    assert loads(body) == 2


@pytest.mark.parametrize(
    "body",
    [
        "s[32 * t] = 0; for (int i = 0; i < n; ++i) s[32 * t] += in[i]; v += s[32 * t];",
        "s[32 * t] = 0; for (int i = 0; i < n; ++i) s[32 * t] += s[4099 + i]; v += s[32 * t];",
        "s[32 * t] = 0; for (int i = 0; i < n; ++i) if (in[i] > 5) s[32 * t] += in[t]; v += s[32 * t];",
        "s[32 * t] = 0; for (int i = 0; i < n; ++i) for (int j = 0; j < i; ++j) s[32 * t] += in[i * j]; v += s[32 * t];",
        "s[32 * t] = 0; if (n > 7) s[32 * t] = in[t + 7]; v += s[32 * t];",
    ],
)  # fmt: skip
def test_a_sum_in_an_element_stays_in_a_register(body):
    """Nothing but the first load, which a barrier keeps apart from what follows."""
    assert loads("__syncthreads(); " + body) == 1


@pytest.mark.parametrize(
    "body",
    [
        "s[32 * t] = 0; for (int i = 0; i < n; ++i) { s[32 * t] += in[i]; s[3 * t] = in[t]; }",
        "if (n > 7) s[32 * t] = 0; for (int i = 0; i < n; ++i) s[32 * t] += in[i];",
    ],
)
def test_a_sum_is_loaded_again_where_other_bytes_may_lie_there(body):
    assert loads("__syncthreads(); " + body) == 2


@pytest.mark.parametrize(
    ("head", "inner", "count"),
    [
        # Rodinia's lud; of `int i = 1` nvcc leaves 5 of 23
        ("", "s[32 * t + i] -= s[32 * t + j];", 24),
        ("", "s[32 * t + i] = in[j];", 24),
        ("g[t + 300] = s[32 * t + i];", "s[32 * t + i] -= s[32 * t + j];", 0),
    ],
)
def test_what_an_inner_loop_stores_that_may_not_run_is_loaded_behind_it(head, inner, count):
    loop = f"{head} for (int j = 0; j < i; ++j) {inner} g[t + i] = s[32 * t + i];"
    body = f"for (int i = 0; i < 24; ++i) {{ __syncthreads(); {loop} }}"
    found = [a for a in accesses_of(KERNEL % body) if a.kind is AccessKind.LOAD]
    assert found[-1].instructions // 4 == count


def test_the_place_that_an_inner_loop_stores_last_is_not_seen():
    """The inner loop surely runs, and stores s[32 * t + i - 1] in its last iteration."""
    inner = "for (int j = 0; j < i; ++j) s[32 * t + j] = in[j]; g[t + i] = s[32 * t + i - 1];"
    body = f"for (int i = 1; i < 24; ++i) {{ __syncthreads(); {inner} }}"
    found = [a for a in accesses_of(KERNEL % body) if a.kind is AccessKind.LOAD]
    assert found[-1].instructions // 4 == 23
