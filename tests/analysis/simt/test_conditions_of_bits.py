"""`&` and `|` of conditions of which one is not known: what the other one excludes is excluded."""

import pytest
from conftest import accesses_of


@pytest.mark.parametrize(
    "condition",
    [
        "(t < 8) & (n > 0)",
        "(n > 0) & (t < 8)",
        "t < 8 & n > 0 & m > 0",
        "!(t >= 8 | n < 0)",
        "!((n < 0) | (m < 0) | (t >= 8))",
    ],
)
def test_threads_that_one_side_excludes_are_off(condition):
    """Of eight threads that are 128 bytes apart each takes a wavefront, of 32 four times as many."""
    [access] = accesses_of(f"""__global__ void k(float *o, int n, int m) {{
      __shared__ float s[32][32];
      int t = threadIdx.x;
      if ({condition}) s[t][0] = o[t];
    }}
    void run(float *o, int n, int m) {{ k<<<1, 64>>>(o, n, m); }}""")
    assert access.instructions == 1
    assert access.wavefronts is not None
    assert access.wavefronts.mean == 8


def test_numbers_that_are_no_conditions_keep_their_bits():
    [access] = accesses_of("""__global__ void k(float *o, int n) {
      __shared__ float s[64];
      int t = threadIdx.x;
      if (t & 2) s[t] = o[n];
    }
    void run(float *o, int n) { k<<<1, 64>>>(o, n); }""")
    assert access.instructions == 2
