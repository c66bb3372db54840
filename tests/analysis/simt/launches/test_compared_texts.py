"""Host code that chooses a kernel by a text: each of its launches may be made.

A text was taken for a pointer that is equal to no other, so that the branch of an equal one was lost.
"""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = """
#include <string>
template <int N> __global__ void k(float *g) {
  __shared__ float s[64 * 32];
  s[threadIdx.x * N] = g[0];
}
"""
CHOICE = "if ({}) k<1><<<1, 32>>>(g); else k<2><<<1, 64>>>(g);"


def blocks(host):
    return sorted({k.instance.block[0] for k in facts_of(KERNEL + host).kernels})


@pytest.mark.parametrize(
    ("parameter", "condition"),
    [
        ("const std::string &mode", 'mode == "fast"'),
        ("std::string mode", 'mode != "fast"'),
        ("std::string mode", '"fast" == mode'),
        ("lib::Options mode", 'mode.name() == "fast"'),
        ("const char *mode", "std::string(mode) == \"fast\""),
    ],
)  # fmt: skip
def test_a_parameter_may_be_the_text(parameter, condition):
    host = f"void run({parameter}, float *g) {{ {CHOICE.format(condition)} }}"
    assert blocks(host) == [32, 64]


@pytest.mark.parametrize("call", ['go("fast", g);', 'std::string mode = "fast"; go(mode, g);'])
def test_what_was_given_may_be_the_text(call):
    choice = CHOICE.format('mode == "fast"')
    host = f"void go(std::string mode, float *g) {{ {choice} }}\nvoid run(float *g) {{ {call} }}"
    assert blocks(host) == [32, 64]


def test_a_text_is_not_null():
    choice = CHOICE.format("mode != nullptr")
    assert blocks(f'void run(float *g) {{ const char *mode = "a"; {choice} }}') == [32]


@pytest.mark.parametrize("parameter", ["const char *mode", "int mode"])
def test_a_parameter_may_be_null_whatever_a_caller_gives(parameter):
    choice = CHOICE.format("mode != 0")
    host = f"void go({parameter}, float *g) {{ {choice} }}\nvoid run(float *g) {{ go(7, g); }}"
    assert blocks(host) == [32, 64]
