"""Threads that an open condition cannot let through, as they would leave the array.

RELION's `diff2.cuh` has `if (tid < trans_num) s_outs[tid] = s[tid * block_sz]` with
`s[block_sz * chunk_sz]`: `chunk_sz` threads at most, where 32 were taken to conflict.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

_KERNEL = """
__global__ void sums(const float *in, float *out, int count) {
    __shared__ float s[256 * 7];
    int tid = threadIdx.x;
    BODY
}
void run(const float *in, float *out, int n) { sums<<<1, 256>>>(in, out, n); }
"""


@pytest.mark.parametrize(
    ("body", "wavefronts", "instructions"),
    [
        ("if (tid < count) out[tid] = s[tid * 256];", 7, 1),
        ("if (count > tid) s[1024 - tid * 256] = in[tid];", 5, 1),
        ("out[tid] = tid < count ? s[tid * 256] : 0;", 7, 1),
        ("if (tid < count) out[tid] = s[tid * 2];", 2, 8),  # all 256 threads are inside
        ("if (tid < count) out[tid] = s[tid * 16];", 16, 4),  # 112 of them are
        ("if (tid < count) out[tid] = s[(tid + 9) * 256];", 32, 8),  # none is: not understood
        ("if (tid < count) out[tid] = s[tid * 256 + (count & 7)];", 7, 1),  # wherever in a row
        ("if (tid < count) out[tid] = s[tid * 256 - (count & 7)];", 8, 1),
        ("if (tid < count) out[tid] = s[tid * 256 + count];", 32, 8),  # it may be negative
        ("if (count > 7) out[tid] = s[tid * 256];", 32, 8),  # all threads take it or none
        ("out[tid] = s[tid * 256];", 32, 8),  # a mistake, which SML401 reports
        ("int row = tid / 32; if (row >= count) return; out[tid] = s[tid * 256];", 32, 8),
        ("if (!(tid / 32 < count)) return; out[tid] = s[tid * 256];", 32, 8),
        ("if (blockIdx.x * 256 + tid >= count) return; out[tid] = s[tid * 256];", 32, 8),
        ("if (tid / 32 < count && count > 3) out[tid] = s[tid * 256];", 32, 8),
        ("if (tid / 32 < count && tid < count) out[tid] = s[tid * 256];", 7, 1),
    ],
)
def test_figures(body, wavefronts, instructions):
    (access,) = accesses_of(_KERNEL.replace("BODY", body))
    assert access.wavefronts.max == wavefronts
    assert access.instructions == instructions
