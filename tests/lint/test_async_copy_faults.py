"""Which side of an asynchronous copy SML103 holds to be at fault."""

from __future__ import annotations

import re

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.sources.source import Source

KERNEL = """\
#include <cuda_pipeline.h>
__global__ void k(const float4 *in, float4 *out) {
  __shared__ __align__(128) float4 tile[2048];
  int lane = threadIdx.x & 31;
  __pipeline_memcpy_async(&tile[%s], &in[%s], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x];
}
void run(float4 *in, float4 *out) { k<<<1, 32>>>(in, out); }
"""


def numbers(to: str, source: str) -> list[str]:
    """The numbers of the reason and of the help: ways first."""
    found = check([Source("k.cu", KERNEL % (to, source))], Settings()).findings
    (copy,) = (finding for finding in found if finding.code == "SML103")
    reason = re.sub(r"`.*?`", "", copy.message)
    return re.findall(r"\d+", f"{reason}; {copy.help}")


@pytest.mark.parametrize(
    ("to", "source", "expected"),
    [
        # all 512 bytes of four lines, but each lane beside one of another line (Sparse-Marlin)
        ("lane", "lane % 4 * 8 + lane / 4", ["8", "8", "128"]),
        ("lane", "lane + 2", ["2", "32", "128"]),
        ("lane", "lane / 4 * 32 + lane % 4", ["2", "64", "128", "128", "2"]),
        ("2 * lane", "lane", ["8", "16"]),  # gaps
        ("8 * lane", "lane", ["8"]),  # a column
        ("16 * lane", "lane", ["8"]),
    ],
)
def test_what_is_at_fault(to, source, expected):
    assert numbers(to, source) == expected
