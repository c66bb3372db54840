"""Host code that jumps, and choices inside of others: every block that a way comes to."""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = "__global__ void k(float *o) { __shared__ float s[1024]; s[threadIdx.x] = o[0]; }\n"
CHECK = "#define CHECK(x) do { if (check(x)) goto end; } while (0)\n"


def blocks_and_notes(body: str) -> tuple[set[int], int]:
    facts = facts_of(f"{KERNEL}{CHECK}void run(float *o, int n) {{ {body} }}")
    return {k.instance.block[0] for k in facts.kernels}, len(facts.not_analysed)


@pytest.mark.parametrize(("body", "blocks", "notes"), [
    ("int t = 64; if (n) goto end; k<<<1, t>>>(o); return; end: t = 128; k<<<1, t>>>(o);", {64, 128}, 0),
    ("int t = 64; goto on; t = 32; k<<<1, t>>>(o); on: k<<<1, t>>>(o);", {64}, 0),
    ("int t = 64; { t = 96; goto on; } t = 32; on: k<<<1, t>>>(o);", {96}, 0),
    ("int t = 64; if (check(1)) goto end; t = 96; k<<<1, t>>>(o); if (check(2)) { t = 32; goto end; }"
     " else t = 160; t += 32; end: k<<<1, t>>>(o);", {32, 64, 96, 192}, 0),
    ("CHECK(1); k<<<1, 64>>>(o); CHECK(2); k<<<1, 96>>>(o); end: k<<<1, 128>>>(o);", {64, 96, 128}, 0),
    ("int t = 64; again: k<<<1, t>>>(o); t = 128; if (check(1)) goto again;", {64}, 1),  # said
    ("CHECK(1); k<<<1, 64>>>(o); return; end: k<<<1, 96>>>(o);", {64}, 1),  # said
    ("int t = 64; if (check(1)) { if (check(2)) t = 32; else t = 192; } k<<<1, t>>>(o);", {32, 64, 192}, 0),
])  # fmt: skip
def test_every_way_through_host_code_is_followed_or_said(body, blocks, notes):
    assert blocks_and_notes(body) == (blocks, notes)
