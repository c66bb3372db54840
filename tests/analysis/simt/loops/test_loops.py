"""Loops: those with known trip counts run, others are followed as far as they move by constants."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of
from figures import expected_lanes, figure, kernel, lanes

from smemlint.facts import AccessKind, Certainty


def only(body, **how):
    (access,) = accesses_of(kernel(body, **how))
    return access


@pytest.mark.parametrize(
    ("loop", "block", "counters"),
    [
        ("for (int i = 0; i < 5; i++) {}", 32, [0, 1, 2, 3, 4]),
        ("for (int i = 7; i >= 0; i -= 2) {}", 32, [7, 5, 3, 1]),
        ("for (int i = 16; i > 0; i >>= 1) {}", 32, [16, 8, 4, 2, 1]),
        ("for (int i = 16; i > 0; i /= 2) {}", 32, [16, 8, 4, 2, 1]),
        ("for (int i = 1; i < 20; i *= 2) {}", 32, [1, 2, 4, 8, 16]),
        ("for (int i = 1; i <= 16; i <<= 1) {}", 32, [1, 2, 4, 8, 16]),
        ("for (int i = 0; i != 6; i += 3) {}", 32, [0, 3]),
        ("for (unsigned i = blockDim.x / 2; i; i >>= 1) {}", 32, [16, 8, 4, 2, 1]),
        ("for (int i = 0, j = 3; i < j; i++, j--) {}", 32, [0, 1]),
        ("int i = 2; while (i < 30) { {} i = i * 3; }", 32, [2, 6, 18]),
        ("int i = 4; do { {} i--; } while (i > 1);", 32, [4, 3, 2]),
        ("int i = 9; do {} while (++i < 9);", 32, [9]),
        ("for (int i = 0; ; i++) { if (i == 3) break; {} }", 32, [0, 1, 2]),
        ("for (int i = 0; i < 6; i++) { if (i % 2) continue; {} }", 32, [0, 2, 4]),
        ("for (int i = 0; i < 100; i++) { if (i > 2) return; {} }", 32, [0, 1, 2]),
        ("int i = 5; while (i--) {}", 32, [4, 3, 2, 1, 0]),
        ("while (true) { int i = n0; n0 += 4; if (i > 8) break; {} }", 32, [0, 4, 8]),
        ("for (int q = 0; q < 4; q++) switch (q) { case 1: { int i = 11; {} break; } case 3: { int i = 33; {} } }", 32, [11, 33]),
    ],
)  # fmt: skip
def test_counters_of_known_loops(loop, block, counters):
    store = "{ s[t * 2 + i * 70] = 1; }"
    body = "int n0 = 0; " + (loop.replace("{}", store) if "{}" in loop else loop)
    total: dict = {}
    for access in accesses_of(kernel(body, shared="float s[8192]", block=str(block))):
        for row, count in lanes(access).items():
            total[row] = total.get(row, 0) + count
    expected: dict = {}
    for i in counters:
        for row, count in expected_lanes(lambda t, i=i: t * 2 + i * 70, block).items():
            expected[row] = expected.get(row, 0) + count
    assert total == expected


def test_a_halving_reduction_counts_warps_and_lanes():
    text = kernel(
        "for (int o = blockDim.x / 2; o > 0; o >>= 1) {\nif (t < o)\ns[t] += s[t + o];\n__syncthreads(); }",
        block="256",
    )
    for access in accesses_of(text):
        # 128, 64, 32, 16, .. 1 threads: 4 + 2 + 1 + 5 warps with an active lane.
        assert access.instructions == 12
        assert (access.wavefronts.max, access.certainty) == (1, Certainty.ASSUMED)


def test_interleaved_reduction_conflicts_as_the_stride_grows():
    body = "for (int d = 1; d < blockDim.x; d *= 2) { int i = 2 * d * t; if (i < blockDim.x)\ns[i] = 1; __syncthreads(); }"
    access = only(body, block="64")
    # Active threads and stride in words of each round: 32 x 2, 16 x 4, 8 x 8, 4 x 16, 2 x 32, 1.
    assert access.instructions == 6
    assert access.wavefronts.mean * 6 == 2 + 2 + 2 + 2 + 2 + 1


def test_triangular_bounds():
    body = "for (int i = 0; i < 4; i++) for (int j = i; j < 4; j++)\ns[(i * 4 + j) * 32 + t] = 1;"
    access = only(body)
    assert access.instructions == 4 + 3 + 2 + 1
    assert access.wavefronts.mean == 1


def test_lanes_that_leave_a_loop_at_different_times():
    access = only("for (int i = t; i < 40; i += 32) s[i] = 1;")
    expected = {
        **expected_lanes(lambda t: t, 32),
        **expected_lanes(lambda t: t + 32 if t < 8 else None, 32),
    }
    assert lanes(access) == expected


class TestUnknownBounds:
    """Trip counts that only run time knows."""

    def test_the_condition_is_named_and_the_figure_holds_for_every_iteration(self):
        access = only("for (int i = 0; i < n; i++) s[t * 4 + i * 32] = 1;")
        assert [a.subject for a in access.conditions] == ["i < n"]
        assert access.wavefronts.mean == access.wavefronts.min == 4

    def test_a_counter_that_moves_lanes_apart_is_not_decided(self):
        access = only("for (int i = 0; i < n; i++) s[t * i] = 1;")
        assert not access.certainty.is_decided
        assert access.reason.code == "residues"
        assert access.wavefronts is None

    def test_a_pointer_that_advances(self):
        access = only("float *p = s + t * 2; for (int i = 0; i < n; i++) { *p = 1; p += 33; }")
        assert access.wavefronts.mean == 2
        assert access.certainty is Certainty.ASSUMED

    def test_a_pointer_that_advances_by_an_unknown_step(self):
        access = only("float *p = s + t * 8; for (int i = 0; i < n; i++) { *p = 1; p += n; }")
        assert access.wavefronts.mean == 8

    def test_a_strided_loop_from_the_lane(self):
        access = only("for (int i = t; i < n; i += blockDim.x) s[i * 2] = 1;", block="64")
        assert access.wavefronts.mean == 2
        assert [a.subject for a in access.conditions] == ["i < n"]

    def test_double_buffers_that_are_toggled(self):
        text = kernel(
            "int b = 0; for (int i = 0; i < n; i++) {\ns[b][t * 2] = 1; __syncthreads(); g[i] = s[b ^ 1][t]; b ^= 1; }",
            shared="float s[2][64]",
        )
        store, load = accesses_of(text)
        assert (store.wavefronts.mean, load.wavefronts.mean) == (2, 1)
        assert store.certainty.is_decided and load.certainty.is_decided

    def test_double_buffers_by_the_parity_of_the_counter(self):
        text = kernel(
            "for (int i = 0; i < n; i++) s[i % 2][t * 2] = 1;\nfor (int i = 0; i < n; i++) s[i & 1][t] = 1;",
            shared="float s[2][64]",
        )
        assert [a.wavefronts.mean for a in accesses_of(text)] == [2, 1]

    def test_a_value_that_a_loop_changes_is_not_known_behind_it(self):
        access = only("int x = 1; for (int i = 0; i < n; i++) x *= 3;\ns[t * x] = 1;")
        assert not access.certainty.is_decided and access.reason

    def test_while_on_data(self):
        access = only("int i = 0; while (g[i] > 0) { s[t + 32 * i] = 1; i++; }")
        assert access.wavefronts.mean == 1
        assert [a.subject for a in access.conditions] == ["g[i] > 0"]


def test_long_loops_are_counted_whole():
    access = only("for (int i = 0; i < 4000; i++) { s[t * 2] = 1; __syncthreads(); }")
    assert figure(access) == ("store", 4, 4000, 2, 1)


@pytest.mark.parametrize("loop", ["while (true)", "for (;;)", "while (1)"])
def test_nothing_behind_an_endless_loop_is_reached(loop):
    inside = only(f"{loop} {{ s[t] = 1; }}\ns[t * 2] = 1;")
    assert inside.wavefronts.mean == 1


@pytest.mark.parametrize(
    ("leave", "figures"),
    [
        ("return", [("store", 4, 2), ("store", 4, 2)]),
        ("break", [("store", 4, 2), ("store", 4, 2), ("store", 4, 1)]),
    ],
)
def test_an_endless_loop_that_data_end_is_run_for_its_first_and_a_general_iteration(leave, figures):
    body = f"while (true) {{ s[t] = 1;\nif (g[n] > 0) {leave}; n++;\ns[t * 2] = 1; }}\ns[t] = 1;"
    found = accesses_of(kernel(body))
    assert [(a.kind, a.width_bytes, a.instructions) for a in found] == figures
    assert [[c.subject for c in a.conditions] for a in found][1] == ["g[n] > 0"]


@pytest.mark.parametrize(
    ("count", "times"),
    [("last = g[n]", 2), ("i++", 2), ("m += 4", 5)],
    ids=["nothing changes the condition", "another number counts", "the condition counts"],
)
def test_a_loop_whose_condition_nothing_changes_is_endless_where_data_leave_it(count, times):
    body = (
        f"int last = 0, i = 0, m = 0;\nwhile (t + m < 20) {{ s[t * 2] = last;\n"
        f"if (g[n] > last) break; {count}; }}\ns[t] = i;"
    )
    found = accesses_of(kernel(body))
    assert [(a.instructions, a.wavefronts.max) for a in found] == [(times, 2), (1, 1)]


def test_goto_is_not_followed_and_said():
    facts = facts_of(kernel("again: s[t] = 1; if (n) goto again;"))
    assert "not-modelled" in [n.reason.code for k in facts.kernels for n in k.not_analysed]


def test_the_inner_loop_of_a_triangle_is_laid_out_for_each_row():
    """Row i of 17 words has i of them in front of its end: 40 LDS a warp of nvcc 13.0.88 -O3, sm_90."""
    text = """
    __global__ void k(const float *g, float *o) {
      __shared__ float s[16][17];
      for (int i = threadIdx.x; i < 256; i += 64) s[i / 16][i % 16] = g[i];
      __syncthreads();
      float x[16];
      for (int i = 0; i < 16; i++) x[i] = g[i * 256 + threadIdx.x];
    #pragma unroll
      for (int i = 0; i < 16; i++) {
    #pragma unroll
        for (int j = 0; j < i; j++) x[i] -= s[i][j] * x[j];
      }
      for (int i = 0; i < 16; i++) o[i * 256 + threadIdx.x] = x[i];
    }
    void f(float *a) { k<<<1, 64>>>(a, a); }
    """
    loads = [a for a in accesses_of(text) if a.kind is AccessKind.LOAD]
    assert sum(a.instructions for a in loads) == 2 * 40
