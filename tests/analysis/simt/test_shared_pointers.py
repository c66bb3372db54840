"""Pointers that lie in shared memory themselves: what is accessed through them, or that it is not.

nvcc 13.5 for sm_90 drops a pointer that is stored one address only, and accesses what it points to.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

KERNEL = """
__global__ void k(float *o, int n, int m) {
  __shared__ float a[32 * 33], b[32 * 32];
  __shared__ float *p, *rows[4];
  int t = threadIdx.x;
  %s
}
void f(float *o, int m) { k<<<1, 32>>>(o, 2, m); }
"""


def figures(body: str) -> list[tuple[str, float | None]]:
    found = [a for a in accesses_of(KERNEL % body) if a.array.name in "ab"]
    return [(a.array.name, a.wavefronts and a.wavefronts.mean) for a in found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = b; o[t] = p[t * 32];", [("b", 32.0)]),
        ("if (t == 0) p = b + n; __syncthreads(); o[t] = p[t * 2];", [("b", 2.0)]),
        ("p = a; o[t] = p[t * 33]; p = b; o[t] += p[t * 2];", [("a", 1.0), ("b", 2.0)]),
        ("p = b; p = o; o[t] += p[t * 2];", []),
        ("p = a; if (m > 3) p = b; o[t] = p[t * 2];", [("b", None)]),
        ("p = a; for (int i = 0; i < m; ++i) { o[t] += p[t * 2]; p = p + 1; }", [("a", 2.0)]),
    ],
)
def test_one_that_the_threads_share_has_the_value_that_was_stored_last(
    body: str, expected: list[tuple[str, float | None]]
) -> None:
    assert figures(body) == expected


def test_one_in_an_array_is_said_not_to_be_followed() -> None:
    facts = facts_of(KERNEL % "rows[0] = a; __syncthreads(); o[t] = rows[m][t * 32];")
    said = [(n.span.line, n.reason.code) for k in facts.kernels for n in k.not_analysed]
    assert said == [(6, ReasonCode.NOT_MODELLED)]
