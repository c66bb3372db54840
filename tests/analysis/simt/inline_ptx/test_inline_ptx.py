"""Inline PTX: registers, arithmetic, predicates and jumps lead to the addresses of its accesses.

Figures beside `SASS` were read off nvcc 13.0.88, sm_90, by tests/oracle/compiled.
"""

from __future__ import annotations

import re

import pytest
from conftest import accesses_of, facts_of
from figures import figure, kernel

BEFORE = """
__device__ unsigned at(const void *p) { unsigned a; asm("{ .reg .u64 u64addr; cvta.to.shared.u64 u64addr, %1; cvt.u32.u64 %0, u64addr; }" : "=r"(a) : "l"(p)); return a; }
__device__ unsigned long long wide(const void *p) { unsigned long long a; asm("cvta.to.shared.u64 %0, %1;" : "=l"(a) : "l"(p)); return a; }
__device__ float lds(unsigned a) { float f; asm volatile("ld.shared.f32 %0, [%1];" : "=f"(f) : "r"(a)); return f; }
__device__ void sts(unsigned a, float f) { asm volatile("st.shared.f32 [%0], %1;" :: "r"(a), "f"(f) : "memory"); }
""".replace("\n", " ")  # fmt: skip


def figures(body, **how):
    return [figure(a) for a in accesses_of(kernel(body, before=BEFORE, **how))]


def stored(computation):
    """Wavefronts of a store at the byte `x` that PTX computes of the thread `t` and `base`."""
    body = f'unsigned x, base = at(s); asm("{computation}" : "=r"(x) : "r"(t), "r"(base)); sts(x, 1.0f);'
    found = accesses_of(kernel(body, before=BEFORE, shared="__align__(4096) float s[4096]"))
    return {(a.wavefronts.mean if a.wavefronts else None) for a in found if a.kind == "store"}


class TestAddresses:
    """The shared address, however it is taken."""

    @pytest.mark.parametrize(
        ("address", "constraint"),
        [
            ("at(s) + t * 8", "r"),
            ("at(s + t * 2)", "r"),
            ("at(&s[t * 2])", "r"),
            ("wide(s + t * 2)", "l"),
            ("static_cast<unsigned>(__cvta_generic_to_shared(s)) + t * 8", "r"),
            ("at(s) ^ (t * 8)", "r"),
        ],
    )
    @pytest.mark.parametrize("place", ["[%0]", "[%0 + 4]", "[%0+-4]", "[%0+%2]"])
    def test_forms(self, address, constraint, place):
        body = f'asm volatile("st.shared.f32 {place}, %1;" :: "{constraint}"({address}), "f"(1.f), "n"(16));'
        assert figures(body) == [("store", 4, 1, 2, 1)]

    @pytest.mark.parametrize(
        ("computation", "wavefronts"),
        [
            ("mad.lo.u32 %0, %1, 8, %2;", 2),
            ("{ .reg .b32 x; shl.b32 x, %1, 4; add.u32 %0, x, %2; }", 4),
            ("{ .reg .u32 x; mul.lo.u32 x, %1, 132; add.s32 %0, %2, x; }", 1),
            ("{ .reg .b32 x; xor.b32 x, %1, 5; mad.lo.u32 %0, x, 8, %2; }", 2),
            ("{ .reg .b32 x; and.b32 x, %1, 7; mad.lo.u32 %0, x, 128, %2; }", 8),
            ("{ .reg .b32 x; bfe.u32 x, %1, 2, 3; mad.lo.u32 %0, x, 128, %2; }", 8),
            ("{ .reg .b32 x; lop3.b32 x, %1, 3, 0, 0xc0; mad.lo.u32 %0, x, 128, %2; }", 4),
            ("{ .reg .b32 x; shr.u32 x, %1, 3; mad.lo.u32 %0, x, 128, %2; }", 4),
            ("{ .reg .b32 x; mov.u32 x, %laneid; mad.lo.u32 %0, x, 64, %2; }", 16),
            ("{ .reg .b32 x; mov.u32 x, %tid.x; mad.lo.u32 %0, x, 8, %2; }", 2),
            ("{ .reg .b32 x; popc.b32 x, %1; mad.lo.u32 %0, x, 128, %2; }", 6),
            ("{ .reg .pred p; .reg .b32 x; setp.lt.u32 p, %1, 8; selp.b32 x, 0, %1, p; mad.lo.u32 %0, x, 128, %2; }", 25),
            ("{ .reg .pred p; mov.u32 %0, %2; setp.ge.u32 p, %1, 16; @p mad.lo.u32 %0, %1, 128, %2; }", 17),
            ("{ .reg .b64 x; mul.wide.u32 x, %1, 16; cvt.u32.u64 %0, x; add.u32 %0, %0, %2; }", 4),
            ("{ .reg .b32 x, y; mov.b64 {x, y}, 0x1000000008; mad.lo.u32 %0, %1, x, %2; }", 2),
            ("{ .reg .b32 x, y; mov.b64 {x, y}, 0x1000000008; mad.lo.u32 %0, %1, y, %2; }", 4),
            ("{ .reg .u32 x; min.u32 x, %1, 3; mad.lo.u32 %0, x, 128, %2; }", 4),
            ("{ .reg .b32 x; shfl.sync.idx.b32 x, %1, 0, 0x1f, 0xffffffff; mad.lo.u32 %0, x, 128, %2; }", 1),
            ("{ .reg .b32 x; shfl.sync.idx.b32 x, %1, %1, 0x1c1f, 0xffffffff; mad.lo.u32 %0, x, 128, %2; }", 32),
            ("{ .reg .b32 x; shfl.sync.idx.b32 x, %1, 1, 0x181f, 0xffffffff; mad.lo.u32 %0, x, 128, %2; }", 4),
            ("{ .reg .b32 x; .reg .pred p; shfl.sync.bfly.b32 x|p, %1, 1, 0x1f, 0xffffffff; mad.lo.u32 %0, x, 8, %2; }", 2),
            ("{ .reg .b32 x; shfl.sync.up.b32 x, %1, 16, 0, 0xffffffff; mad.lo.u32 %0, x, 128, %2; }", 16),
            ("{ .reg .b32 x; shfl.sync.down.b32 x, %1, 8, 0x101f, 0xffffffff; mad.lo.u32 %0, x, 128, %2; }", 16),
            ("{ .reg .pred p; mov.u32 %0, %2; elect.sync _|p, 0xffffffff; @p mad.lo.u32 %0, %1, 0, %2; }", 1),
            ("{ .reg .b64 x; .reg .b32 y, z; mov.u32 z, 0x80000000; mov.b64 x, {%1, z}; mov.b64 {y, z}, x; mad.lo.u32 %0, y, 8, %2; }", None),
            ("rsqrt.approx.f32 %0, %1;", None),
            ("mystery.b32 %0, %1;", None),
        ],
    )  # fmt: skip
    def test_arithmetic(self, computation, wavefronts):
        assert stored(computation.replace("%laneid", "%%laneid").replace("%tid", "%%tid")) == {
            wavefronts
        }

    def test_an_array_that_asks_for_more_alignment_has_it(self):
        body = "sts(at(s) ^ 0x2000 ^ (t * 16), 1.0f);"
        assert figures(body, shared="__align__(16384) float s[4096]")[0] == ("store", 4, 1, 4, 1)


class TestPredicates:
    """Which threads an instruction runs in."""

    @pytest.mark.parametrize(
        ("asm", "wavefronts"),
        [
            ('"{ .reg .pred p; setp.ne.b32 p, %0, 0; @p st.shared.f32 [%1], %2; }" :: "r"((int)(t < 16))', 16),
            ('"{ .reg .pred p; setp.ne.b32 p, %0, 0; @!p st.shared.f32 [%1], %2; }" :: "r"((int)(t < 12))', 20),
            ('"{ .reg .pred p, q; setp.lt.and.u32 p|q, %0, 8, 1; @q st.shared.f32 [%1], %2; }" :: "r"(t)', 24),
            ('"{ .reg .pred p; setp.lt.u32 p, %0, 4; @p bra DONE; st.shared.f32 [%1], %2; DONE: }" :: "r"(t)', 28),
            ('"{ .reg .pred p; setp.eq.u32 p, %0, 99; @p st.shared.f32 [%1], %2; st.shared.f32 [%1], %2; }" :: "r"(t)', 32),
        ],
    )  # fmt: skip
    def test_lanes(self, asm, wavefronts):
        body = f'unsigned a = at(s) + t * 128; asm volatile({asm}, "r"(a), "f"(1.0f));'
        assert {w for *_, w, _ in figures(body)} == {wavefronts}

    def test_an_open_predicate_is_an_assumption(self):
        body = (
            'asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p st.shared.f32 [%1], %2; }"'
            ' :: "r"((int)g[t]), "r"(at(s) + t * 8), "f"(1.0f));'
        )
        (access,) = accesses_of(kernel(body, before=BEFORE))
        assert access.wavefronts.mean == 2
        assert [c.text for c in access.conditions] == ["`@p` holds"]

    @pytest.mark.parametrize("unique", ["", "_%="])
    def test_a_loop_of_a_barrier_leaves_what_follows(self, unique):
        body = (
            'asm volatile("{ .reg .pred P1; WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;'
            ' @P1 bra DONE; bra WAIT; DONE: }" :: "r"(at(s)), "r"(0)); s[t * 4] = 1;'
        )
        body = re.sub("WAIT(?=[:;])|DONE(?=[:;])", rf"\g<0>{unique}", body)
        (facts,) = facts_of(kernel(body, before=BEFORE)).kernels
        assert facts.not_analysed == ()
        assert figures(body) == [("store", 4, 1, 4, 1)]


class TestFusion:
    """ptxas fuses what inline PTX spells out; LLVM leaves it alone. SASS: nvcc 13.0.88, sm_90."""

    @pytest.mark.parametrize(
        ("body", "found"),
        [
            ("sts(a, 1.f); sts(a + 4, 2.f); sts(a + 8, 3.f); sts(a + 12, 4.f);", [("store", 16, 1)]),
            ("g[t] = lds(a) + lds(a + 4);", [("load", 8, 1)]),
            ("g[t] = lds(a) + lds(a);", [("load", 4, 1)]),
            ("sts(a, 1.f); sts(a, 2.f);", [("store", 4, 1)]),
            ("sts(a, 1.f); g[t] = lds(a);", [("store", 4, 1)]),
            ("float x = lds(a); sts(b, x); float y = lds(a); g[t] = x + y;", [("load", 4, 2), ("store", 4, 1)]),
            ("float x = lds(a); g[t] = x + s[t * 4] + s[t * 4 + 1];", [("load", 8, 1)]),
            ('asm volatile("{ .reg .pred p; setp.gt.s32 p, %0, 3; @p st.shared.f32 [%1], %2; @p st.shared.f32 [%1+4], %2; }" :: "r"(n), "r"(a), "f"(1.f));', [("store", 4, 2)]),
            ('float x, y; asm volatile("ld.volatile.shared.f32 %0, [%2]; ld.volatile.shared.f32 %1, [%2+4];" : "=f"(x), "=f"(y) : "r"(a)); g[t] = x + y;', [("load", 4, 2)]),
        ],
    )  # fmt: skip
    def test_instructions(self, body, found):
        whole = f"unsigned a = at(s) + t * 16, b = at(u) + t * 4; {body}"
        issued: dict[tuple[str, int], int] = {}
        for a in accesses_of(kernel(whole, before=BEFORE, shared="float s[1024], u[64]")):
            own = (str(a.kind), a.width_bytes)
            issued[own] = issued.get(own, 0) + a.instructions
        counts = {key: n for key, n in issued.items() if n}
        # A call line repeats the figures of the line that it calls.
        assert counts.keys() == {(k, w) for k, w, _ in found}


def test_what_is_loaded_to_shared_memory_is_stored_there():
    body = 'asm volatile("ld.global.f32 %0, [%1];" : "=f"(s[t * 2]) : "l"(g + t));'
    assert figures(body) == [("store", 4, 1, 2, 1)]


@pytest.mark.parametrize("template", ["%", "@", "[", "ld.shared.f32", "}{", "@p @q;", "ld.shared.f32 %0, [%9", "a: b: c", "%%%%", "mov.b32 {,}, ;"])  # fmt: skip
def test_text_that_is_no_ptx_ends_well(template):
    (k,) = facts_of(kernel(f'int i; asm("{template}" : "=r"(i) : "r"(t)); s[t] = i;')).kernels
    assert k.accesses[-1].wavefronts.mean == 1


@pytest.mark.parametrize("before", ["", "a ^= 8192;"])
def test_an_exclusive_or_of_the_address_switches_buffers_in_a_loop_that_run_time_ends(before):
    body = f"unsigned a = at(s + 2 * t); {before} float f = 0; for (int i = 0; i < n; ++i) {{ a ^= 8192; f += lds(a + 4); }} g[t] = f;"
    assert figures(body, shared="__align__(16384) float s[4096]") == [("load", 4, 1, 2, 1)]
