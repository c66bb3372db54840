"""Arrays that the launch sizes get an index with a longer pitch, and with that index are free."""

from __future__ import annotations

import re

import pytest
from kernels import conflicts

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.sources.source import Source

KERNEL = """\
__device__ int at(int i) {{ return i; }}
__global__ void k({type} *out, const {type} *in) {{
  extern __shared__ {type} s[];
  int x = threadIdx.x, y = threadIdx.y;
  for (int j = y; j < {rows}; j += blockDim.y) s[at(j * 32 + x)] = in[j * 32 + x];
  __syncthreads();
  for (int j = y; j < {rows}; j += blockDim.y) out[j * 32 + x] = {read};
}}
void run({type} *o, const {type} *i, size_t n) {{ k<<<1, dim3({block}), n>>>(o, i); }}
"""


@pytest.mark.parametrize(
    ("type", "rows", "block", "pitch", "run", "extra", "more"),
    [
        # 4096 bytes are reached, so 31 rows of 32 words have a row behind them
        ("float", 32, "32, 8", 32, 32, 1, 31 * 4),
        # lanes 8 vectors apart: one vector behind every 8 of 256
        ("float4", 8, "32", 8, 8, 1, 31 * 16),
        ("double", 32, "32, 8", 32, 32, 1, 31 * 8),
    ],
)
def test_a_longer_pitch_is_named_and_frees(type, rows, block, pitch, run, extra, more):
    text = KERNEL.format(type=type, rows=rows, block=block, read=f"s[at(x * {pitch} + j)]")
    (found,) = conflicts(text)
    assert found.fix is None
    index = re.search(r"`(i \+ i / (\d+)(?: \* (\d+))?)`", found.help)
    assert (int(index[2]), int(index[3] or 1)) == (run, extra)
    assert str(more) in re.findall(r"\d+", found.help)
    assert conflicts(text.replace("return i;", f"return {index[1]};")) == []


@pytest.mark.parametrize(
    "read",
    [
        "s[at(x * 32 + j)] + s[n]",  # an address that is not known
        "p[at(x * 32 + j)]",  # a pointer into the array, whose rows are another's business
        "s[at(x * 32 + j)] + *p",
    ],
)
def test_where_an_access_is_not_known_or_not_by_name_there_is_no_index(read):
    text = KERNEL.format(type="float", rows=32, block="32, 8", read=read)
    text = text.replace("const float *in)", "const float *in, int n)").replace(
        "(o, i)", "(o, i, n)"
    )
    text = text.replace("int x =", "float *p = s + 32;\n  int x =")
    found = conflicts(text)
    assert [f.span.line for f in found] == [8]
    assert not re.search(r"i / \d", found[0].help)


def test_in_a_python_file_the_index_is_one_of_both_languages():
    text = """\
from numba import cuda, float32

@cuda.jit
def k(out, given):
    s = cuda.shared.array(0, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[AT(y * 32 + x)] = given[y * 32 + x]
    cuda.syncthreads()
    out[y * 32 + x] = s[AT(x * 32 + y)]

def run(o, i):
    k[1, (32, 32), 0, 4096](o, i)
"""

    def found(index):
        written = re.sub(r"AT\((.*?)\)", lambda m: index.replace("i", f"({m[1]})"), text)
        result = check([Source("k.py", written)], Settings())
        return [f for f in result.findings if f.code == "SML101"]

    (conflict,) = found("i")
    index = re.search(r"`(i \+ \(i >> 5\))`", conflict.help)
    assert index and found(index[1]) == []
