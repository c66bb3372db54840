"""Launches whose block an open choice of the host code picks among known ones."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.launches import host_runs
from smemlint.analysis.simt.launches.host_interpreter import execute_host_function
from smemlint.reasons import Topic

PICKED = """
__global__ void k(float *out) {
  __shared__ float s[32][33];
  s[threadIdx.x][threadIdx.y] = out[threadIdx.x];
  __syncthreads();
  out[0] = s[0][threadIdx.x];
}
void run(float *o, int mode, int n) { %s k<<<1, block>>>(o); }
"""


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        (
            "dim3 block; switch (mode) { case 0: block = dim3(32, 32); break;"
            " case 1: block = dim3(16, 16); break; default: block = dim3(8, 8); }",
            {(32, 32, 1), (16, 16, 1), (8, 8, 1)},
        ),
        (
            "int block = 16; switch (mode) { case 0: block = 32; break; case 7: block = 64; }",
            {(32, 1, 1), (64, 1, 1), (16, 1, 1)},
        ),
        (
            "int block; if (n < 128) block = 64; else if (n < 512) block = 256; else block = 512;",
            {(64, 1, 1), (256, 1, 1), (512, 1, 1)},
        ),
        ("int block = n > 5 ? 64 : 128;", {(64, 1, 1), (128, 1, 1)}),
        ("int block = 64; if (n) block = atoi(argv[1]);", {(64, 1, 1)}),
    ],
)
def test_all_known_shapes_of_an_open_choice_are_evaluated(body, blocks):
    kernels = facts_of(PICKED % body).kernels
    assert {k.instance.block for k in kernels} == blocks
    for kernel in kernels:
        (access, *_) = kernel.accesses
        assert any(a.topic is Topic.HOST for a in access.assumptions)


@pytest.fixture
def executed(monkeypatch):
    """The host functions that were executed."""
    found = []

    def noted(*given):
        found.append(given)
        return execute_host_function(*given)

    monkeypatch.setattr(host_runs, "execute_host_function", noted)
    return found


def test_the_default_path_is_taken_only_where_a_launch_is_open(executed):
    body = "int m = 1; if (n) m = atoi(argv[1]); int block = n > 5 ? 64 : 128;"
    assert {k.instance.block for k in facts_of(PICKED % body).kernels} == {(64, 1, 1), (128, 1, 1)}
    assert len(executed) == 1 + 2


@pytest.mark.parametrize(("flags", "runs"), [(4, 1 + 16 + 1), (5, 1 + 1)])
def test_more_ways_than_a_few_are_left_to_the_default_path(flags, runs, executed):
    unrelated = "".join(f"int f{i} = 0; if (n == {i}) f{i} = 1; " for i in range(flags))
    body = f"{unrelated} int block = 64; if (n) block = atoi(argv[1]);"
    assert {k.instance.block for k in facts_of(PICKED % body).kernels} == {(64, 1, 1)}
    assert len(executed) == runs
