"""Launches that the default path of the host code passes by, with the shape that it gives them."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.launches import host_runs
from smemlint.analysis.simt.launches.host_functions import execute_host_function

PROGRAM = """
template <int T> __global__ void a(float *o) {
  __shared__ float s[32][32];
  s[threadIdx.x][threadIdx.y] = o[T];
}
__global__ void b(float *o) {
  __shared__ float s[32][32];
  s[threadIdx.x][threadIdx.y] = o[0];
}
int main(int argc, char **argv) {
  int which = 0, width = 16, height = 8;
  float *o;
  if (argc > 1) which = atoi(argv[1]);
  if (argc > 2) { width = atoi(argv[2]); height = atoi(argv[3]); }
  if (argc > 4) width = atoi(argv[4]);
  int threads = width * height;
  dim3 block(width, height);
  %s
}
"""
LAUNCH = "a<0><<<1, block>>>(o);"
OTHER = "b<<<1, block>>>(o);"


def blocks_of(body: str) -> dict[str, set[tuple[int, ...] | None]]:
    found: dict[str, set[tuple[int, ...] | None]] = {}
    for kernel in facts_of(PROGRAM % body).kernels:
        instance = kernel.instance
        block = instance.block if instance.place else None
        found.setdefault(instance.kernel, set()).add(block)
    return found


@pytest.mark.parametrize(
    "choice",
    [
        "switch (which) { case 0: FIRST break; case 1: SECOND break; }",
        "if (which) { SECOND } else { FIRST }",
        "if (which == 0) { FIRST } else if (which == 1 && argc > 2) { SECOND }",
    ],
)
def test_the_other_ways_of_a_choice_have_the_default_block(choice):
    found = blocks_of(choice.replace("FIRST", LAUNCH).replace("SECOND", OTHER))
    assert found == {"a": {(16, 8, 1)}, "b": {(16, 8, 1)}}


@pytest.mark.parametrize(
    "condition", ["width != 16", "threads != 128", "block.x != 16", "width * 2 != 32"]
)
def test_a_condition_on_the_default_itself_leaves_the_block_open(condition):
    found = blocks_of(f"if ({condition}) {{ {OTHER} }} else {{ {LAUNCH} }}")
    assert found == {"a": {(16, 8, 1)}, "b": {None}}


def test_a_case_says_the_width_that_the_default_is_not():
    body = "dim3 square(width, width); switch (width) { case 8: a<8><<<1, square>>>(o); break; }"
    assert blocks_of(body)["a"] == {(8, 8, 1)}


def test_a_choice_between_two_numbers_behind_a_default_stays_open():
    body = f"if (which) {{ if (argc > 7) block.x = 32; {OTHER} }}"
    assert blocks_of(body)["b"] == {None}


@pytest.mark.parametrize(
    ("block", "runs"),
    [
        ("dim3 block(width + lanes())", 0),  # no default makes it known
        ("dim3 block(width, lanes())", 0),  # 16 of the default, on the only way to it
        ("dim3 block(lanes(), width); if (which == 0) return 0", 1),  # it launches nothing
    ],
)
def test_open_defaults_are_run_where_the_default_path_misses_a_launch(monkeypatch, block, runs):
    open_runs = []

    def counted(policy, function, template):
        open_runs.extend([policy] * (policy.paths.open_defaults is not None))
        return execute_host_function(policy, function, template)

    monkeypatch.setattr(host_runs, "execute_host_function", counted)
    body = f"{{ {block}; {OTHER} }}"
    assert blocks_of(body)["b"] == {None}
    assert len(open_runs) == runs
