"""Blocks that functions and variables of other files make, as utilities of a program do."""

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

KERNEL = """
#include "shapes.h"
__global__ void k(float *g) {
  __shared__ double s[8192];
  s[128 * threadIdx.z + 16 * threadIdx.x + threadIdx.y] = g[0];
}
void run(float *p, dim3 wanted) { dim3 block; make(&block, wanted.x, wanted.y); k<<<4, block>>>(p); }
"""
HEADER = """
#pragma once
extern dim3 Usual;
void make(dim3 *block, unsigned x, unsigned y);
void run(float *p, dim3 wanted);
"""
MAKER = """
#include "shapes.h"
void make(dim3 *block, unsigned x, unsigned y) { block->x = x; block->y = y; block->z = 4; }
"""


def blocks(files: dict[str, str]) -> set[tuple[tuple[int, ...], str, float]]:
    """Returns block, certainty and wavefronts of the accesses."""
    files = {"k.cu": KERNEL, "shapes.h": HEADER, **files}
    facts, crashed = analyze([Source(path, text) for path, text in files.items()], Settings())
    assert not crashed
    found = facts.kernels
    return {
        (k.instance.block, str(a.certainty), a.wavefronts.mean)
        for k in found
        for a in k.accesses
        if a.wavefronts is not None
    }


@pytest.mark.parametrize("maker", ["make.cpp", "make.c"])
def test_what_a_function_of_another_file_makes_a_block_is_followed(maker):
    caller = '#include "shapes.h"\nvoid use(float *p) { run(p, dim3(8, 8)); }'
    assert blocks({"use.cu": caller, maker: MAKER}) == {((8, 8, 4), "assumed", 16)}


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        ("void use(float *p) { run(p, Usual); }", ((8, 8, 4), "assumed", 16)),
        ("void use(float *p) { Usual = dim3(4, 4); run(p, Usual); }", ((4, 4, 4), "assumed", 8)),
    ],
)
def test_a_variable_that_one_file_gives_its_value_keeps_it_elsewhere(caller, expected):
    made = MAKER + "dim3 Usual = {8, 8, 4};"
    files = {"use.cu": f'#include "shapes.h"\n{caller}', "make.cpp": made}
    assert blocks(files) == {expected}


def test_without_its_definition_the_block_is_not_known():
    caller = '#include "shapes.h"\nvoid use(float *p) { run(p, dim3(8, 8)); }'
    assert {certainty for _, certainty, _ in blocks({"use.cu": caller})} == {"sampled"}
