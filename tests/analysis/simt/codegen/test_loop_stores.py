"""Places that loops have in registers, as in the SASS of nvcc 13.5.37 -O3 for sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """
__global__ void k(const int *in, int *out, int n) {
  __shared__ int s[1024], u[512];
  int t = threadIdx.x;
  int *m = s + 4 * t;
  BEFORE
  LOOP { BODY }
  __syncthreads();
  out[t] = s[t ^ 1] + u[t ^ 3];
}
void f(int *p, int n) { k<<<1, 256>>>(p, p, n); }
"""
FILL = "for (int i = 0; i < 4; i++) m[i] = in[t + i]; u[t] = in[t];"
SIX = '_Pragma("unroll 1") for (int j = 0; j < 6; j++)'
MANY = "for (int j = 0; j < 100; j++)"
OPEN = "for (int j = 0; j < n; j++)"
MIX = "m[0] += m[1]; m[3] ^= m[0]; m[2] += m[3]; m[1] = m[1] * 7 ^ m[2];"


def of_loop(loop: str, body: str, before: str) -> list[tuple[str, int, int, float, bool]]:
    """Returns (kind, bytes, instructions of a warp, wavefronts, is of each iteration) of the loop."""
    source = KERNEL.replace("BEFORE", before).replace("LOOP", loop).replace("BODY", body)
    return [
        (str(a.kind), a.width_bytes, a.instructions // 8, a.wavefronts.mean, a.repeats)
        for a in accesses_of(source)
        if a.span.line == 7 and a.instructions and a.wavefronts
    ]


@pytest.mark.parametrize("loop", [SIX, OPEN])
def test_what_threads_have_to_themselves_is_loaded_and_stored_once(loop):
    both = [("load", 16, 1, 4, False), ("store", 16, 1, 4, False)]
    assert of_loop(loop, MIX, FILL + "__syncthreads();") == both
    assert of_loop(loop, MIX, FILL) == both[1:]  # registers have it already


def test_a_place_is_loaded_in_front_of_a_loop_that_reads_other_arrays():
    found = of_loop(MANY, "m[1] += u[j & 255];", FILL + "__syncthreads();")
    assert [each for each in found if each[3] == 4] == [
        ("load", 4, 1, 4, False),
        ("store", 4, 1, 4, False),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "if (in[j] > 3) m[1] += 7;",
        "if (in[j] > 5) break; m[1] += in[j + 7];",
        "m[1] += __shfl_xor_sync(~0u, m[1], 1);",
        "__syncthreads(); m[1] += in[j];",
        "m[1] += s[j];",
    ],
)
def test_a_store_stays_where_it_is_not_sure_or_others_may_see_it(body):
    found = of_loop(OPEN, body, FILL + "__syncthreads();")
    assert ("store", 4, 1, 4, True) in found


@pytest.mark.parametrize("inner", ["", '_Pragma("unroll")'])
def test_a_loop_inside_that_is_unrolled_has_its_places_in_each_iteration(inner):
    body = inner + "for (int i = 0; i < 4; i++) m[i] += in[4 * j + i];"
    both = [("load", 16, 1, 4, False), ("store", 16, 1, 4, False)]
    assert of_loop(OPEN, body, FILL + "__syncthreads();") == both


def test_a_loop_inside_that_stays_one_has_other_places_in_each():
    body = '_Pragma("unroll 1") for (int i = 0; i < 4; i++) m[i] += in[4 * j + i];'
    found = of_loop(OPEN, body, FILL + "__syncthreads();")
    assert [(kind, width) for kind, width, *_ in found] == [("load", 4), ("store", 4)]
