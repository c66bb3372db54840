"""memcpy and memset of shared memory: instructions and widths of SASS (nvcc 13.0.88, sm_90, -O3)."""

from __future__ import annotations

from collections import Counter

import pytest
from conftest import accesses_of, facts_of

SOURCE = """
struct V { float a, b, c; };
__global__ void k(float *g, int n) {
  %s
  int t = threadIdx.x;
  %s
}
void f(float *g, int n) { k<<<1, 32>>>(g, n); }
"""
ALIGNED, FLOATS, CHARS = (
    "__shared__ alignas(16) char s[8192];", "__shared__ float s[2048];", "__shared__ char s[8192];",
)  # fmt: skip


@pytest.mark.parametrize(("array", "body", "found"), [
    (ALIGNED, "memset(s + 16 * t, 0, 16);", {("store", 16, 1)}),
    (ALIGNED, "memset(s + 4 * t, 0, 2);", {("store", 2, 1)}),
    (ALIGNED, "memset(s + 32 * t, 0, 32);", {("store", 1, 32)}),
    (ALIGNED, "memset(s, 0, 64);", {("store", 16, 4)}),
    (ALIGNED, "memcpy(s + 16 * t, g + 4 * t, 16);", {("store", 16, 1)}),
    (ALIGNED, "float4 r; memcpy(&r, s + 16 * t, sizeof(r)); g[t] = r.x + r.y + r.z + r.w;", {("load", 16, 1)}),
    (ALIGNED, "float4 r = {1, 2, 3, g[t]}; std::memcpy(s + 16 * t, &r, sizeof r);", {("store", 16, 1)}),
    (FLOATS, "memcpy(s + 4 * t, g + 4 * t, 16);", {("store", 16, 1)}),
    (FLOATS, "memcpy(s + 3 * t, g + 3 * t, 12);", {("store", 4, 3)}),
    (FLOATS, "memcpy(s + 8 * t, g + 8 * t, 32);", {("store", 1, 32)}),
    (FLOATS, "unsigned u; memcpy(&u, s + 2 * t, 4); g[t] = u;", {("load", 4, 1)}),
    (FLOATS, "memcpy(s + 1024 + 2 * t, s + 2 * t, 8);", {("load", 8, 1), ("store", 8, 1)}),
    (FLOATS, "memcpy(s + 24 * t, g + 24 * t, 96);", {("store", 1, 96)}),
    (FLOATS, "float r[24]; memcpy(r, s + 24 * t, 96); for (int i = 0; i < 24; i++) g[i] = r[i];", {("load", 16, 6)}),
    (CHARS, "memcpy(s + 8 * t, g + 2 * t, 8);", {("store", 1, 8)}),
    ("__shared__ V s[64];", "memcpy(&s[t], g + 3 * t, sizeof(V));", {("store", 4, 3)}),
])  # fmt: skip
def test_instructions_and_widths(array, body, found) -> None:
    counted: Counter[tuple[str, int]] = Counter()
    for access in accesses_of(SOURCE % (array, body)):
        counted[str(access.kind), access.width_bytes] += access.instructions
    assert {(kind, width, n) for (kind, width), n in counted.items()} == found


def test_wavefronts_of_a_copy_of_every_other_word() -> None:
    (access,) = accesses_of(SOURCE % (FLOATS, "memset(s + 2 * t, 0, 4);"))
    assert access.wavefronts.mean == 2


@pytest.mark.parametrize("body", [
    "memset(s + t * n, 0, n);", "memcpy(s + 260 * t, g, 260);", "memmove(s + 4 * t, g, 16);",
])  # fmt: skip
def test_what_is_not_expanded_is_said(body) -> None:
    (kernel,) = facts_of(SOURCE % (FLOATS, body)).kernels
    assert not kernel.accesses
    assert len(kernel.not_analysed) == 1
