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


@pytest.mark.parametrize(("body", "blocks"), [
    ("if (n == 32) k<<<1, n>>>(o); else if (64 == n) k<<<1, n>>>(o);", {(32, 1, 1), (64, 1, 1)}),
    ("dim3 b(n, 2); if (o && n == 32) k<<<1, b>>>(o);", {(32, 2, 1)}),
    ("if (n != 96) { check(1); } else { k<<<1, n * 2>>>(o); }", {(192, 1, 1)}),
    ("if (n == 32) check(1); k<<<1, n>>>(o);", {(256, 1, 1)}),  # guessed
    ("if (n == 32 || check(1)) k<<<1, n>>>(o);", {(256, 1, 1)}),
])  # fmt: skip
def test_what_a_condition_says_a_number_equals(body, blocks):
    facts = facts_of(f"{KERNEL}{CHECK}void run(float *o, int n) {{ {body} }}")
    assert {k.instance.block for k in facts.kernels} == blocks
