"""Host code that throws, catches and exits, and kernels that trap: what is behind is run or not."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

KERNEL = """
__global__ void k(float *o) { __shared__ float s[1024]; s[threadIdx.x] = o[0]; }
void die(const char *why) { fprintf(stderr, why); exit(1); }
void check(bool ok) { if (!ok) { fprintf(stderr, "no"); exit(1); } }
"""


@pytest.mark.parametrize(("body", "blocks"), [
    ("try { k<<<1, 32>>>(o); } catch (const E &e) { k<<<1, 64>>>(o); } k<<<1, 96>>>(o);", {32, 64, 96}),
    ("try { g(); } catch (int e) { k<<<1, 32>>>(o); } catch (...) { k<<<1, 64>>>(o); throw; }", {32, 64}),
    ("try { if (n) throw 1; k<<<1, 32>>>(o); } catch (int) { k<<<1, 64>>>(o); }", {32, 64}),
    ("try { throw 1; k<<<1, 32>>>(o); } catch (int) {} k<<<1, 64>>>(o);", {64}),
    ("try { try { throw 1; } catch (int) { throw; } k<<<1, 32>>>(o); } catch (int) {} k<<<1, 64>>>(o);", {32, 64}),
    ("auto f = [&] { throw 1; }; try { f(); k<<<1, 32>>>(o); } catch (int) { k<<<1, 64>>>(o); }", {64}),
    ("int t = 0; if (n == 1) t = 32; else if (n == 2) t = 64; else throw 1; k<<<1, t>>>(o);", {32, 64}),
    ("int t = 0; switch (n) { case 1: t = 32; break; case 2: t = 64; break; default: std::exit(1); }"
     " k<<<1, t>>>(o);", {32, 64}),
    ("int t = 32; if (n < 0) { t = 0; die(\"n\"); } k<<<1, t>>>(o);", {32}),
    ("int t = n > 2 ? 64 : throw 1; k<<<1, t>>>(o);", {64}),
    ("k<<<1, 32>>>(o); exit(0); k<<<1, 64>>>(o);", {32}),
    ("check(n > 3); k<<<1, 32>>>(o); die(\"x\"); k<<<1, 64>>>(o);", {32}),
    ("for (int i = 0; i < n; i++) { if (i == 3) abort(); k<<<1, 32>>>(o); } k<<<1, 64>>>(o);", {32, 64}),
    ("while (n--) { abort(); } k<<<1, 64>>>(o);", {64}),
    ("other::exit(1); k<<<1, 64>>>(o);", {64}),
    ("for (;;) for (int i = 1; i < 1; i++) k<<<1, 32>>>(o); k<<<1, 64>>>(o);", {64}),
    ("while (true) { k<<<1, 32>>>(o); } k<<<1, 64>>>(o);", {32, 64}),
    ("while (1) { k<<<1, 32>>>(o); exit(0); } k<<<1, 64>>>(o);", {32}),
])  # fmt: skip
def test_what_stands_behind_the_end_of_a_program_is_not_run(body, blocks) -> None:
    facts = facts_of(f"{KERNEL}void run(float *o, int n) {{ {body} }}")
    assert {k.instance.block[0] for k in facts.kernels} == blocks


@pytest.mark.parametrize(("body", "wavefronts"), [
    ("if (blockDim.x != 32) { __trap(); } s[2 * t] = 1;", [2]),
    ("if (blockDim.x == 32) { __trap(); } s[2 * t] = 1;", []),
    ("if (n > 3) __trap(); s[2 * t] = 1;", [2]),
    ("end(n > 3); s[2 * t] = 1;", [2]),
    ("switch (sizeof(int)) { case 4: s[2 * t] = 1; break; default: __trap(); } s[4 * t + 1] = 1;", [2, 4]),
])  # fmt: skip
def test_a_kernel_goes_on_behind_a_trap_that_it_may_come_to(body, wavefronts) -> None:
    text = f"""
__device__ void end(bool bad) {{ if (bad) __trap(); }}
__global__ void k(int n) {{ __shared__ float s[1024]; int t = threadIdx.x; {body} }}
void f(int n) {{ k<<<1, 32>>>(n); }}
"""
    found = accesses_of(text)
    assert [a.wavefronts.mean for a in found] == wavefronts
    assert not any(a.conditions for a in found)
