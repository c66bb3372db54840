"""Inline PTX, atomics, and which instructions the compiler makes of neighbouring accesses."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of
from figures import expected_lanes, figure, kernel, lanes

from smemlint.facts import AccessKind, Certainty, Stat

ADDRESS = (
    "__device__ unsigned at(const void *p) "
    "{ return static_cast<unsigned>(__cvta_generic_to_shared(p)); }"
)


def figures(body, **how):
    return [figure(a) for a in accesses_of(kernel(body, **how))]


class TestPtx:
    """Shared memory that an `asm` statement names."""

    @pytest.mark.parametrize(
        ("asm", "found"),
        [
            ('"st.shared.f32 [%0], %1;" :: "r"(a + t * 8), "f"(1.0f)', ("store", 4, 1, 2, 1)),
            ('"st.shared.v2.f32 [%0], {%1, %1};" :: "r"(a + t * 8), "f"(1.0f)', ("store", 8, 1, 2, 2)),
            ('"st.shared.v4.u32 [%0], {%1, %1, %1, %1};" :: "r"(a + t * 16), "r"(1)', ("store", 16, 1, 4, 4)),
            ('"st.shared.u8 [%0], %1;" :: "r"(a + t), "r"(1)', ("store", 1, 1, 1, 1)),
            ('"st.shared.b16 [%0], %1;" :: "r"(a + t * 128), "h"((short)1)', ("store", 2, 1, 32, 1)),
            ('"st.shared.u64 [%0 + 16], %1;" :: "r"(a + t * 8), "l"(1ll)', ("store", 8, 1, 2, 2)),
            ('"ld.shared.f32 %0, [%1];" : "=f"(f) : "r"(a + t * 16)', ("load", 4, 1, 4, 1)),
            ('"ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(f), "=f"(f), "=f"(f), "=f"(f) : "r"(a + t % 8 * 128)', ("load", 16, 1, 32, 4)),
            ('volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(i) : "r"(a + 4 * t))', ("load", 4, 1, 1, 1)),
            ('"red.shared.add.u32 [%0], %1;" :: "r"(a + t * 8), "r"(2)', ("atomic", 4, 1, 2, 1)),
            ('"atom.shared.add.u32 %0, [%1], %2;" : "=r"(i) : "r"(a), "r"(2)', ("atomic", 4, 1, 1, 1)),
            ('"atom.shared.max.s32 %0, [%1], %2;" : "=r"(i) : "r"(a), "r"(t)', ("atomic", 4, 1, 32, 1)),
            ('"red.shared.max.s32 [%0], %1;" :: "r"(a), "r"(t)', ("atomic", 4, 1, 1, 1)),
            ('"cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a + t * 16), "l"(g)', ("async_copy", 16, 1, 32, 4)),
            ('"cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(a + t * 4), "l"(g + t), "n"(4)', ("async_copy", 4, 1, 1, 1)),
            ('"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(i), "=r"(i), "=r"(i), "=r"(i) : "r"(a + t * 128)', ("ldmatrix", 16, 1, 32, 4)),
            ('"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(i), "=r"(i) : "r"(a + t * 16)', ("ldmatrix", 16, 1, 2, 2)),
            ('"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" :: "r"(a + t * 16), "r"(i)', ("stmatrix", 16, 1, 4, 4)),
        ],
    )  # fmt: skip
    def test_one_instruction(self, asm, found):
        statement = f"asm {asm};" if asm.startswith("volatile") else f"asm volatile({asm});"
        body = f"unsigned a = at(s); float f = 0; unsigned i = 0; {statement} g[t] = f + i;"
        assert figures(body, before=ADDRESS, shared="__align__(128) float s[4096]") == [found]

    def test_what_touches_no_shared_memory_is_no_access(self):
        body = 'float f; asm("ld.global.f32 %0, [%1];" : "=f"(f) : "l"(g)); g[t] = f; s[t] = 1;'
        assert len(figures(body)) == 1

    def test_the_lane_register(self):
        body = 'unsigned l; asm("mov.u32 %0, %%laneid;" : "=r"(l)); s[l * 2] = 1;'
        assert figures(body, block="64") == [("store", 4, 2, 2, 1)]

    def test_an_operand_that_is_computed_in_ptx_is_not_guessed(self):
        body = (
            'unsigned a; asm("{ .reg .u64 x; cvta.to.shared.u64 x, %1; cvt.u32.u64 %0, x; }" '
            ': "=r"(a) : "l"(s)); asm volatile("st.shared.f32 [%0], %1;" :: "r"(a + t * 8), "f"(1.0f));'
        )
        (access,) = accesses_of(kernel(body))
        assert access.wavefronts is None or access.wavefronts.mean == 2

    def test_bulk_copies_are_said_not_to_be_followed(self):
        body = 'asm volatile("cp.async.bulk.shared::cluster.global [%0], [%1], %2, [%3];" :: "r"(0), "l"(g), "r"(16), "r"(0)); s[t] = 1;'
        (k,) = facts_of(kernel(body)).kernels
        assert [n.reason.code for n in k.not_analysed] == ["unknown-address"]


class TestAtomics:
    """Integer atomics of shared words, as the counters show them."""

    @pytest.mark.parametrize(
        ("call", "wavefronts", "ideal"),
        [
            ("atomicAdd(&s[t], n)", 1, 1),
            ("atomicAdd(&s[t * 2], n)", 2, 1),
            ("atomicAdd(&s[t % 4], n)", 8, 1),
            ("atomicExch(s, n)", 32, 1),
            ("atomicMax(&s[t / 2], n)", 2, 1),
            ("atomicOr(s + t * 32, n)", 32, 1),
            ("atomicCAS(&s[t], n, 3)", 2, 2),
        ],
    )
    def test_wavefronts(self, call, wavefronts, ideal):
        found = figures(f"{call};", shared="int s[1024]")
        assert found == [("atomic", 4, 1, wavefronts, ideal)]

    @pytest.mark.parametrize(
        ("statement", "wavefronts"),
        [
            ("atomicMax(s, g[t]);", 1),  # REDUX, then one lane
            ("atomicAdd(&s[n], g[t]);", 1),
            ("atomicAnd(&s[blockIdx.x % 64], g[t]);", 1),
            ("g[t] = atomicAdd(s, 5);", 1),  # POPC, then one lane
            ("g[t] = atomicAdd(s, g[t]);", 1),  # a prefix sum in a full warp
            ("if (t < 20) g[t] = atomicAdd(s, g[t]);", 20),  # no full warp
            ("if (t < 20) atomicAdd(s, g[t]);", 1),
            ("atomicMax(&s[__shfl_sync(~0u, t / 32, 0)], g[t]);", 1),
            ("g[t] = atomicMax(s, g[t]);", 32),  # the result is used
            ("atomicMax(&s[t / 32], g[t]);", 32),  # the compiler does not know that t < 32
            ("atomicMax(&s[threadIdx.y], g[t]);", 32),
            ("atomicExch(s, t);", 32),
        ],
    )
    def test_lanes_on_one_address_are_combined(self, statement, wavefronts):
        (access,) = accesses_of(kernel(statement, shared="int s[64]", params="int *g, int n"))
        assert (access.wavefronts.max, access.instructions) == (wavefronts, 1)

    def test_an_index_from_data_is_not_decided(self):
        text = kernel("atomicAdd(&s[(int)g[t]], 1);", shared="int s[256]")
        (access,) = accesses_of(text)
        assert access.kind is AccessKind.ATOMIC
        assert access.certainty is Certainty.DATA_DEPENDENT


class TestFusion:
    """Neighbouring accesses of one basic block: loads fuse from three of four, stores only whole."""

    @pytest.mark.parametrize(
        ("offsets", "loads"),
        [
            ([0, 1, 2, 3], [16]),
            ([0, 1, 2], [16]),
            ([1, 2, 3], [16]),
            ([0, 1], [8]),
            ([2, 3], [8]),
            ([1, 2], [4, 4]),
            ([0, 2], [4, 4]),
            ([0, 3], [4, 4]),
            ([3, 1, 0, 2], [16]),
            ([0, 1, 2, 3, 4], [16, 4]),
            ([0, 1, 2, 3, 4, 5], [16, 8]),
            ([0, 1, 2, 3, 4, 5, 6], [16, 16]),
            ([1, 2, 3, 4], [16, 4]),
            ([2, 3, 4, 5], [8, 8]),
        ],
    )
    def test_loads_of_a_slot(self, offsets, loads):
        body = "\n".join(f"float v{i} = s[8 * t + {i}];" for i in offsets)
        body += f"\ng[t] = {' + '.join(f'v{i}' for i in offsets)};"
        widths = [w for kind, w, n, *_ in figures(body) if n]
        assert sorted(widths, reverse=True) == loads

    @pytest.mark.parametrize(
        ("offsets", "stores"),
        [
            ([0, 1, 2, 3], [16]),
            ([3, 1, 0, 2], [16]),
            ([0, 1, 2], [8, 4]),
            ([1, 2, 3], [8, 4]),
            ([0, 1], [8]),
            ([1, 2], [4, 4]),
            ([0, 2], [4, 4]),
            ([1, 2, 3, 4, 5, 6, 7], [16, 8, 4]),
        ],
    )
    def test_stores_of_a_slot(self, offsets, stores):
        body = "\n".join(f"s[8 * t + {i}] = {i};" for i in offsets)
        widths = [w for kind, w, n, *_ in figures(body) if n]
        assert sorted(widths, reverse=True) == stores

    @pytest.mark.parametrize(
        ("shared", "index", "width"),
        [
            ("float s[1024]", "s[4 * t + i]", 16),
            ("float s[32][32]", "s[t][i]", 16),
            ("float s[32][33]", "s[t][i]", 4),
            ("float s[32][34]", "s[t][i]", 8),
            ("float s[32][36]", "s[t][i]", 16),
            ("float s[1024]", "s[6 * t + i]", 8),
            ("float s[1024]", "s[(t & ~3) * 1 + i]", 16),
            ("float s[1024]", "s[t / 4 * 4 + i]", 16),
            ("float s[1024]", "s[((t ^ t >> 2) * 8 >> 1) + i]", 16),
            ("float s[1024]", "s[((t ^ t >> 2) * 8 >> 2) + i]", 8),
            ("float s[1024]", "s[((t * 16 ^ 32) >> 2) + i]", 16),
            ("float s[1024]", "s[(((t & 28) * 8 + 16) >> 1) + i]", 16),
            ("float s[1024]", "s[(((t & 28) * 8 + 3) >> 1) + i]", 4),
            ("float s[1024]", "s[t + i]", 4),
            ("float a[32]; __shared__ float s[1024]", "s[4 * t + i]", 16),
            ("float a[33]; __shared__ float s[1024]", "s[4 * t + i]", 4),
            ("float a[34]; __shared__ float s[1024]", "s[4 * t + i]", 8),
            ("volatile float s[1024]", "s[4 * t + i]", 4),
            ("unsigned short s[1024]", "s[4 * t + i]", 8),
            ("unsigned char s[1024]", "s[4 * t + i]", 1),
        ],
    )
    def test_four_loads_by_what_the_compiler_can_prove(self, shared, index, width):
        body = f"float v = 0; for (int i = 0; i < 4; i++)\nv += {index};\ng[t] = v;"
        if " a[" in shared:
            body = "a[t] = 1; __syncthreads();\n" + body
        load = figures(body, shared=shared)[-1]
        element = 2 if "short" in shared else 1 if "char" in shared else 4
        assert load[:3] == ("load", width, 4 * element // width)

    def test_fused_loads_cost_what_the_wide_one_does(self):
        body = "float v = 0; for (int i = 0; i < 4; i++)\nv += s[8 * t + i];\ng[t] = v;"
        # One LDS.128 a warp at a stride of 32 bytes: twice the ideal four wavefronts.
        assert figures(body) == [("load", 16, 1, 8, 4)]

    def test_alternating_stores_stay_apart(self):
        body = "for (int i = 0; i < 4; i++) {\ns[4 * t + i] = 1; u[4 * t + i] = 2; }"
        found = figures(body, shared="float s[128]; __shared__ float u[128]")
        assert found == [("store", 4, 4, 4, 1)] * 2

    def test_a_store_between_loads_ends_their_window(self):
        body = "for (int i = 0; i < 4; i++)\nu[i * 32 + t] = s[4 * t + i];"
        found = figures(body, shared="float s[128]; __shared__ float u[128]")
        assert sorted(found) == [("load", 4, 4, 4, 1), ("store", 4, 4, 1, 1)]

    def test_a_barrier_between_loads_ends_their_window(self):
        body = "float a = s[2 * t]; __syncthreads();\nfloat b = s[2 * t + 1]; g[t] = a + b;"
        assert [f[1] for f in figures(body)] == [4, 4]

    def test_loads_under_their_own_predicate_stay_apart(self):
        body = "float v = 0; for (int i = 0; i < 4; i++) if (t < 30 - i)\nv += s[4 * t + i];\ng[t] = v;"
        (load,) = figures(body)
        assert load[:3] == ("load", 4, 4)

    def test_loads_of_two_arrays_pass_each_other(self):
        body = (
            "float v = 0; for (int i = 0; i < 4; i++)\nv += s[4 * t + i] * u[4 * t + i];\ng[t] = v;"
        )
        found = figures(body, shared="float s[128]; __shared__ float u[128]")
        assert found == [("load", 16, 1, 4, 4)] * 2

    def test_a_load_of_one_address_is_issued_once(self):
        body = "float v = 0;\nv += s[t * 2];\nv += s[t * 2]; g[t] = v;"
        assert sum(n for _, _, n, *_ in figures(body)) == 1


class TestUnrolling:
    """Loads fuse over iterations only where the compiler puts these into one block."""

    @pytest.mark.parametrize(
        ("pragma", "trips", "width", "instructions"),
        [
            ("", 16, 16, 4),
            ("#pragma unroll", 16, 16, 4),
            ("#pragma unroll 1", 16, 4, 16),
            ("#pragma unroll 4", 16, 8, 8),  # two LDS.64 a round (nvcc 13.0.88, sm_90)
            ("#pragma nounroll", 16, 4, 16),
        ],
    )
    def test_pragmas(self, pragma, trips, width, instructions):
        body = f"float v = 0;\n{pragma}\nfor (int i = 0; i < {trips}; i++) v += s[{trips} * t + i];\ng[t] = v;"
        (load,) = figures(body)
        assert load[:3] == ("load", width, instructions)

    def test_an_outer_loop_that_stays_one_leaves_the_inner_whole(self):
        body = (
            "float v = 0;\n#pragma unroll 1\nfor (int j = 0; j < 3; j++)\n"
            "for (int i = 0; i < 4; i++) v += s[16 * t + 4 * j + i];\ng[t] = v;"
        )
        (access,) = accesses_of(kernel(body))
        assert (access.width_bytes, access.instructions) == (8, 6)  # LDS.64 (nvcc 13.5.37, sm_90)
        assert access.certainty is not Certainty.SAMPLED


class TestCertainty:
    """How sure a figure is, and on what it rests."""

    def test_a_launch_is_an_assumption(self):
        (access,) = accesses_of(kernel("s[t * 2] = 1;"))
        assert access.certainty is Certainty.ASSUMED
        assert [a.topic for a in access.assumptions] == ["block"]
        assert access.conditions == () and access.reason is None

    def test_instructions_count_warps_with_a_lane_and_iterations(self):
        body = "for (int i = 0; i < 5; i++) { if (t < 40)\ns[t + i * 32] = 1; __syncthreads(); }"
        (access,) = accesses_of(kernel(body, block="128"))
        assert access.instructions == 5 * 2
        assert sum(p.count for p in access.patterns) == 10

    def test_the_figures_are_means_over_warps_with_their_extremes(self):
        text = kernel("s[t < 32 ? t : t * 4] = 1;", block="64")
        (access,) = accesses_of(text)
        w = access.wavefronts
        assert (w.min, w.mean, w.max) == (1, 2.5, 4)
        assert access.ways == 4
        assert access.worst.warp == 1
        assert lanes(access) == expected_lanes(lambda t: t if t < 32 else 4 * t, 64)

    def test_two_sites_on_one_line_are_two_accesses(self):
        first, second = accesses_of(kernel("s[t] = 1; s[t * 2] = 2;"))
        assert first.span.line == second.span.line
        assert first.span.end_column <= second.span.column

    def test_the_span_is_the_index_expression(self):
        (access,) = accesses_of(kernel("  g[t] = s[t * 2] + 1;"))
        assert (access.span.column, access.span.end_column) == (10, 18)
        assert access.expression == "s[t * 2]"

    @pytest.mark.slow
    def test_loops_that_share_the_budget_end_with_one_general_iteration(self):
        nest = "for (int a = 0; a < 1000; a++) for (int b = 0; b < 1000; b++) for (int c = 0; c < 1000; c++)"
        (k,) = facts_of(kernel(f"{nest} s[(a ^ b ^ c) % 32 + t] = a;")).kernels
        (access,) = k.accesses
        assert (access.certainty, access.wavefronts) == ("assumed", Stat(1, 1, 1))
        assert (access.instructions, len(access.patterns)) == (1000**3, 32)

    @pytest.mark.slow
    def test_a_general_iteration_stores_where_all_lanes_agree(self):
        nest = "int x = 0; for (int a = 0; a < 1000; a++) for (int b = 0; b < 1000; b++)"
        body = f"s[t] = 1;\n{nest} {{ x = (x ^ a * b) & 1023; s[h[x]] = a; }}"
        (k,) = facts_of(kernel(body, params="float *g, int *h, int n")).kernels
        assert [(str(a.kind), str(a.certainty), a.wavefronts) for a in k.accesses] == [
            ("store", "assumed", Stat(1, 1, 1)),
            ("store", "assumed", Stat(1, 1, 1)),  # of one element
        ]
