"""Smaller and larger of numbers that hang on an open bound: nested ones keep all known limits.

The expected wavefronts are counted by brute force over the words that lanes reach, where the open
`n` is large (of `min`) or small (of `max`).
"""

from __future__ import annotations

import re

import pytest
from conftest import accesses_of
from figures import wavefronts_of_words

from smemlint.reasons import Topic

THREADS = 256


@pytest.mark.parametrize(
    ("code", "index"),
    [
        ("s[min(min(n, t * 4), 200)]", lambda t: min(t * 4, 200)),
        ("s[min(n, min(t * 4, 200))]", lambda t: min(t * 4, 200)),
        ("s[min(min(n, 200), t * 4)]", lambda t: min(t * 4, 200)),
        ("s[max(min(n, t * 4), 300)]", lambda t: max(t * 4, 300)),
        ("s[max(max(n, 300), t * 4)]", lambda t: max(t * 4, 300)),
        ("s[min(min(t * 4, n), n + 1)]", lambda t: t * 4),
        ("s[min(min(t * 4, n), t * 2)]", lambda t: t * 2),
        ("x = t * 4; if (x > n) x = n; if (x > 200) x = 200; s[x]", lambda t: min(t * 4, 200)),
        ("x = t * 4 < n ? t * 4 : n; x = x < 300 ? 300 : x; s[x]", lambda t: max(t * 4, 300)),
        ("x = t * 4 > n ? t * 4 : n; x = 300 > x ? 300 : x; s[x]", lambda t: max(t * 4, 300)),
    ],
)
def test_known_limits_count_beside_an_open_one(code, index):
    *before, access = code.split("; ")
    found = accesses_of(
        "__global__ void k(float *o, int n) { __shared__ float s[2048]; int t = threadIdx.x, x;"
        f" {' '.join(f'{part};' for part in before)} o[t] = {access}; }}"
        f" void f(float *o, int n) {{ k<<<1, {THREADS}>>>(o, n); }}"
    )
    (read,) = found
    assert read.wavefronts.mean == wavefronts_of_words(index, THREADS)
    assert {a.topic for a in read.assumptions} & {Topic.NUMBER, Topic.CONDITION}


@pytest.mark.parametrize(
    ("code", "taken"),
    [("min(min(n, 200), t)", "min(t, 200)"), ("min(n, t)", "t")],
)
def test_the_limit_is_named(code, taken):
    (read,) = accesses_of(
        "__global__ void k(float *o, int n) { __shared__ float s[512]; int t = threadIdx.x;"
        f" o[t] = s[{code}]; }} void f(float *o, int n) {{ k<<<1, 256>>>(o, n); }}"
    )
    assert [code, taken] in [re.findall("`(.*?)`", a.text) for a in read.assumptions]


@pytest.mark.parametrize(
    ("code", "bound", "index"),
    [
        ("x = t * 4, z = min(n, 200); if (x > z) x = z;", "200", lambda t: min(t * 4, 200)),
        ("x = t - 1, z = n < 0 ? -n : 0; x = x < z ? z : x;", "0", lambda t: max(t - 1, 0)),
        ("x = t * 4 - 4, z = max(n, 3); x = z > x ? z : x;", "3", lambda t: max(t * 4 - 4, 3)),
        ("x = t * 4, z = n > 90 ? 200 - (n - 90) : 200; x = x > z ? z : x;", "200",
         lambda t: min(t * 4, 200)),
    ],
)  # fmt: skip
def test_a_bound_that_touches_some_threads_for_sure_is_taken_at_the_end_of_its_range(
    code, bound, index
):
    """As halos of stencils are clamped: interior blocks have the largest range."""
    (read,) = accesses_of(
        "__global__ void k(float *o, int n) { __shared__ float s[2048]; int t = threadIdx.x,"
        f" {code} o[t] = s[x]; }} void f(float *o, int n) {{ k<<<1, 256>>>(o, n); }}"
    )
    assert read.wavefronts.mean == wavefronts_of_words(index, THREADS)
    assert ["z", bound] in [re.findall("`(.*?)`", a.text) for a in read.assumptions]
