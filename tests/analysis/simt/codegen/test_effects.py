"""What shuffles and `asm volatile` leave in registers: SASS of nvcc 13.5.37, sm_90, -O3.

LLVM takes both for stores to anywhere. Within a basic block ptxas knows what no store to shared
memory is behind: loads, and the last store.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(const int *in, int *out, int n) {
  __shared__ int s[4096], q[4096];
  int t = threadIdx.x, x = in[t], y = 0;
  s[t] = in[t + 4]; q[t] = in[t + 7];
  __syncthreads();
  %s
  out[t] = y;
}
void f(int *in, int *out, int n) { k<<<1, 128>>>(in, out, n); }
"""


def issued(body: str) -> tuple[float, float]:
    """Returns how many warp instructions load and store for each warp, behind the barrier."""
    accesses = [a for a in accesses_of(KERNEL % body) if a.span.line == 7]
    loads = sum(a.instructions for a in accesses if a.kind is AccessKind.LOAD)
    return loads / 4, sum(a.instructions for a in accesses) / 4 - loads / 4


@pytest.mark.parametrize(
    "effect",
    [
        'asm volatile("");',
        'asm volatile("" ::: "memory");',
        'asm("");',
        'asm volatile("prefetch.global.L1 [%%0];" :: "l"(in));',
        "y += __shfl_xor_sync(-1, x, 1);",
        "y += __ballot_sync(-1, x > 3);",
        "y += clock();",
    ],
)
@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("s[t] = x; %s y += s[t];", (0, 1)),
        ("s[8 * t] = x; s[8 * t + 5] = 5; %s y += s[8 * t] + s[8 * t + 5];", (1, 2)),
        ("s[8 * t] = x; q[t] = 5; %s y += s[8 * t] + q[t] * 3;", (1, 2)),
        ("s[8 * t] = x; y = q[t + 5]; %s y += s[8 * t] * 3;", (1, 1)),
        ("int a = s[8 * t]; %s y += s[8 * t] * 3 + a;", (1, 0)),
        ("int a = s[8 * t]; q[t] = x; %s y += s[8 * t] * 3 + a;", (2, 1)),
        ("int a = s[8 * t]; %s s[8 * t + 5] = x; y += s[8 * t] * 3 + a;", (2, 1)),
        ("s[8 * t] = x; %s s[8 * t] = x * 3;", (0, 1)),
        ("s[8 * t] = x; s[8 * t + 5] = 5; %s s[8 * t] = x * 3;", (0, 3)),
        ("s[8 * t] = x; %s y += q[t + 5]; s[8 * t] = x * 3;", (1, 2)),
    ],
)
def test_what_ptxas_knows_is_not_loaded_again(effect, body, count):
    assert issued(body % effect.replace("%%", "%")) == count


@pytest.mark.parametrize(
    "harmless",
    ["", 'asm("mov.u32 %0, 5;" : "=r"(y));', "atomicAdd(out + 5000, x);", "if (x == 77) __trap();"],
)
def test_what_llvm_sees_through_leaves_all(harmless):
    body = "s[8 * t] = x; s[8 * t + 5] = 5; %s y += s[8 * t] + s[8 * t + 5];"
    assert issued(body.replace("%s", harmless)) == (0, 2)


def test_a_loop_that_shuffles_and_does_not_store_leaves_the_last_store():
    loop = "for (int j = 0; j < 64; j++) y += __shfl_xor_sync(-1, s[t] * q[j + 64], 1);"
    assert issued(f's[t] = x; _Pragma("unroll 1") {loop}')[0] == 64


def test_threads_past_a_branch_that_shuffles_keep_their_registers():
    body = """s[t] = x; q[t] = x * 3; if (t < 32) { x += __shfl_xor_sync(-1, s[t], 1); s[t] = x; } y = s[t];"""
    assert issued(body)[0] == 0
