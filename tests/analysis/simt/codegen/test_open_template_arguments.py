"""Where an array begins behind as many elements as a template argument says.

nvcc 13.0.88, sm_90: with CTA = 256 the four stores are one STS.128, with 255 one STS.64 and two STS,
with blockDim.x four STS.
"""

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty


def stores_of(parameters, begin, launch=""):
    text = f"""struct vec4 {{ float x, y, z, w; }};
    {parameters} __global__ void k(const float *g) {{
      extern __shared__ int s[];
      vec4 *xyz = reinterpret_cast<vec4 *>(&s[{begin}]);
      float o = g[threadIdx.x];
      xyz[threadIdx.x] = {{o, 1, 2, 3}};
    }}
    {launch}"""
    return [(a.certainty, a.ways, a.width_bytes) for a in accesses_of(text, block_dim=(256, 1, 1))]


def test_a_template_argument_that_no_launch_gives_may_be_aligned():
    assert stores_of("template <int CTA>", "CTA") == [(Certainty.SAMPLED, 4, 4)]


@pytest.mark.parametrize(
    ("parameters", "begin", "launch", "found"),
    [
        ("template <int CTA>", "CTA", "void run() { k<256><<<1, 256>>>(0); }", (1, 16)),
        ("template <int CTA>", "CTA", "void run() { k<255><<<1, 256>>>(0); }", (4, 8)),
        ("", "blockDim.x * gridDim.x", "", (4, 4)),
    ],
)
def test_what_the_compiler_knows_is_assumed(parameters, begin, launch, found):
    assert stores_of(parameters, begin, launch) == [(Certainty.ASSUMED, *found)]
