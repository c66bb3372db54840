"""Which lanes are on: predicates, early returns, partial warps, and conditions nobody knows."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of
from figures import expected_lanes, figure, kernel, lanes

from smemlint.facts import Certainty
from smemlint.reasons import ReasonCode, outcome


@pytest.mark.parametrize(
    ("body", "block", "on"),
    [
        ("if (t < 10) s[t] = 1;", 32, lambda t: t < 10),
        ("if (t >= 40) return; s[t] = 1;", 64, lambda t: t < 40),
        ("if (t % 4 == 0) s[t] = 1;", 64, lambda t: t % 4 == 0),
        ("if (t & 1) {} else s[t] = 1;", 32, lambda t: t % 2 == 0),
        ("if (t / 32 == 1) s[t] = 1;", 96, lambda t: t // 32 == 1),
        ("if (t > 3 && t < 9) s[t] = 1;", 32, lambda t: 3 < t < 9),
        ("if (t < 3 || t == 31) s[t] = 1;", 32, lambda t: t < 3 or t == 31),
        ("if (!(t < 3)) s[t] = 1;", 32, lambda t: t >= 3),
        ("if (t < 16) { if (t & 1) return; } s[t] = 1;", 32, lambda t: t >= 16 or t % 2 == 0),
        ("if (t < 8) ; else if (t < 16) s[t] = 1;", 32, lambda t: 8 <= t < 16),
        ("t < 5 ? s[t] = 1 : 0;", 32, lambda t: t < 5),
        ("t < 5 && (s[t] = 1);", 32, lambda t: t < 5),
        ("if (t == 0) s[t] = 1;", 256, lambda t: t == 0),
        ("bool mine = t > 6; if (mine) s[t] = 1;", 32, lambda t: t > 6),
        ("for (int i = 0; i < t; i++) if (i == 6) s[t] = 1;", 32, lambda t: t > 6),
        ("do { if (t < 4) break; s[t] = 1; } while (0);", 32, lambda t: t >= 4),
        ("switch (t % 4) { case 1: s[t] = 1; }", 32, lambda t: t % 4 == 1),
        ("switch (t % 4) { case 1: break; default: s[t] = 1; }", 32, lambda t: t % 4 != 1),
        ("switch (t % 4) { case 1: case 2: s[t] = 1; break; case 3: ; }", 32, lambda t: t % 4 in (1, 2)),
        ("s[t] = 1;", 48, lambda t: True),
        ("s[t] = 1;", 7, lambda t: True),
    ],
)  # fmt: skip
def test_the_lanes_that_store(body, block, on):
    (access,) = accesses_of(kernel(body, block=str(block)))
    expected = expected_lanes(lambda t: t if on(t) else None, block)
    assert lanes(access) == expected
    assert access.instructions == sum(expected.values())


def test_both_branches_have_their_lanes():
    text = kernel("if (t < 20) s[t] = 1;\nelse s[2 * t] = 2;")
    first, second = accesses_of(text)
    assert lanes(first) == expected_lanes(lambda t: t if t < 20 else None, 32)
    assert lanes(second) == expected_lanes(lambda t: 2 * t if t >= 20 else None, 32)


def test_a_value_set_under_a_lane_predicate():
    text = kernel("int i = t;\nif (t % 2) i = 3 * t;\ns[i] = 1;")
    (access,) = accesses_of(text)
    assert lanes(access) == expected_lanes(lambda t: 3 * t if t % 2 else t, 32)


def test_lanes_off_cost_nothing_and_warps_off_issue_nothing():
    text = kernel("if (t < 33) s[(t % 4) * 32] = 1;", block="128")
    (access,) = accesses_of(text)
    # Warp 0: four words of bank 0; warp 1: one lane; warps 2 and 3 branch around.
    assert figure(access) == ("store", 4, 2, 2.5, 1)


class TestUnknownConditions:
    """A branch nobody can decide is taken both ways, and what was assumed is said."""

    def test_both_ways(self):
        first, second = accesses_of(kernel("if (n > 5) s[t] = 1;\nelse s[2 * t] = 2;"))
        assert first.conditions == (outcome("n > 5", True),)
        assert second.conditions == (outcome("n > 5", False),)
        assert (first.wavefronts.mean, second.wavefronts.mean) == (1, 2)
        assert first.certainty is second.certainty is Certainty.ASSUMED

    def test_nested_conditions_are_all_named(self):
        (access,) = accesses_of(kernel("if (n > 5) { if (blockIdx.x == 0) s[t] = 1; }"))
        assert access.conditions == (outcome("n > 5", True), outcome("blockIdx.x == 0", True))

    def test_code_behind_is_not_conditional(self):
        (access,) = accesses_of(kernel("int a = 0; if (n > 5) { a = 1; }\ns[t] = a;"))
        assert access.conditions == ()

    def test_an_early_return_leaves_its_condition_behind(self):
        (access,) = accesses_of(kernel("if (n > 5) return;\ns[t] = 1;"))
        assert access.instructions == 1
        assert access.conditions == (outcome("n > 5", False),)

    def test_a_bound_check_on_blocks_keeps_all_lanes(self):
        text = kernel("int i = blockIdx.x * blockDim.x + t;\nif (i < n) s[t * 2] = 1;")
        (access,) = accesses_of(text)
        assert figure(access) == ("store", 4, 1, 2, 1)
        assert access.conditions == (outcome("i < n", True),)

    def test_a_value_that_differs_by_branch_is_not_guessed(self):
        text = kernel("int i = t; if (n > 5) i = 2 * t;\ns[i] = 1;")
        (access,) = accesses_of(text)
        assert not access.certainty.is_decided or lanes(access) == {}
        assert access.reason

    def test_a_value_that_is_alike_on_both_branches_is_kept(self):
        text = kernel("int i; if (n > 5) i = 2 * t; else i = t + t;\ns[i] = 1;")
        (access,) = accesses_of(text)
        assert access.certainty is Certainty.ASSUMED  # of the launch
        assert access.wavefronts.mean == 2

    def test_a_condition_on_data(self):
        text = kernel("if (g[t] > 0) s[t * 4] = 1;")
        (access,) = accesses_of(text)
        assert access.conditions == (outcome("g[t] > 0", True),)
        assert access.wavefronts.mean == 4


def test_nothing_is_issued_under_a_condition_that_is_false():
    text = kernel("if (n < n) s[t] = 1;\nif (sizeof(float) == 8) s[t] = 1;\ns[0] = 1;")
    assert [a.span.line for a in accesses_of(text)] == [7]


def test_all_that_was_assumed_stands_in_one_list():
    (access,) = accesses_of(kernel("if (n > 5) s[t] = 1;"))
    assert [(a.topic, a.subject) for a in access.assumptions] == [
        ("block", ""),
        ("condition", "n > 5"),
    ]


def test_a_kernel_that_never_touches_shared_memory_has_no_facts():
    facts = facts_of(kernel("g[t] = n;", shared=""))
    assert facts.kernels == () and facts.not_analysed == ()


def test_what_the_threads_of_a_branch_hold_is_known_to_them() -> None:
    """25 LDS.128 (nvcc 13.5.37, where the array is stored before): two wavefronts of 32 lanes."""
    text = """
__global__ void k(const int *nei, float *out, int n) {
  __shared__ float s[100];
  int t = threadIdx.x, at = t, j = 0;
  for (int i = 0; i < n; i++) {
    while (at < 100) {
      for (j = 0; j < 100; j++) out[at] += s[j];
      at += 128;
    }
    at = t;
  }
}
void f(int *n, float *o, int nn) { k<<<1, 128>>>(n, o, nn); }
"""
    (access,) = accesses_of(text)
    assert (access.certainty, access.instructions) == ("assumed", 100)
    assert (access.wavefronts.min, access.wavefronts.max) == (1, 2)


@pytest.mark.parametrize(
    ("then", "is_known"),
    [
        ("if (t < 8) g[0] = s[at];", True),
        ("if (t < 9) g[0] = s[at];", False),
        ("if (t < 8) at += t; if (t < 4) g[0] = s[at];", True),
        ("if (t < 4) at = g[t]; if (t < 8) g[0] = s[at];", False),
        ("if (t < 4) at = g[t]; if (t >= 4 && t < 8) g[0] = s[at];", True),
        ("for (int i = 0; i < n; i++) { if (t < 8) { g[0] = s[at]; at = g[t]; } }", False),
        ("if (n) at = g[t]; if (t < 8) g[0] = s[at];", False),
    ],
)
def test_only_threads_that_hold_a_known_number_know_it(then: str, is_known: bool) -> None:
    text = f"""
__global__ void k(int *g, int n) {{
  __shared__ int s[64];
  int t = threadIdx.x, at = g[t];
  if (t < 8) at = 2 * t;
  {then}
}}
void f(int *g, int n) {{ k<<<1, 32>>>(g, n); }}
"""
    (access,) = accesses_of(text)
    assert access.certainty == ("assumed" if is_known else "data-dependent")


@pytest.mark.parametrize(("count", "is_too_large"), [(1, False), (32, False), (33, True)])
def test_how_many_different_unknowns_the_lanes_of_a_number_may_hold(count, is_too_large):
    names = [f"n{k}" for k in range(count)]
    picks = "\n".join(f"if (t == {k}) x = {name};" for k, name in enumerate(names))
    text = f"""
    __global__ void k({", ".join(f"int {name}" for name in names)}) {{
      __shared__ float s[4096];
      int t = threadIdx.x, x = 0;
      {picks}
      s[t + x] = 1;
    }}"""
    (access,) = accesses_of(text, block_dim=(64, 1, 1))
    assert access.certainty is Certainty.UNKNOWN
    assert (access.reason.code is ReasonCode.TOO_LARGE) == is_too_large
