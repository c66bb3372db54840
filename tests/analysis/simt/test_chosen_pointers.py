"""Pointers of which run time picks one: what is accessed through them is priced, or said."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

BUFFERS = """
__global__ void k(float *out, const float *in, int n) {
  __shared__ float s[4096], q[2048];
  int t = threadIdx.x;
  float v = 0;
  %s
  out[t] = v;
}
void f(float *o, int n) { k<<<1, 256>>>(o, o, n); }
"""


def figures(body: str) -> list[tuple[str, float | None, str]]:
    found = accesses_of(BUFFERS % body)
    return [(a.kind, a.wavefronts and a.wavefronts.mean, a.certainty) for a in found]


@pytest.mark.parametrize(
    "body",
    [
        "float *p[2] = {s, s + 2048}; unsigned b = 0; for (int i = 0; i < n; ++i) {"
        " p[1 - b][t * 2] = in[i]; __syncthreads(); v += p[b][t * 4]; b = 1 - b; }",
        "float *p[2] = {s, s + 2048}; for (int i = 0; i < n; ++i) {"
        " p[i & 1][t * 2] = in[i]; __syncthreads(); v += p[(i + 1) % 2][t * 4]; }",
        "float *p[4] = {s, s + 1024, s + 2048, s + 3072}; for (int i = 0; i < n; ++i) {"
        " p[i % 4][t * 2] = in[i]; __syncthreads(); v += p[(i + 1) % 4][t * 4]; }",
        "float *p = s, *r = s + 2048; for (int i = 0; i < n; ++i) {"
        " r[t * 2] = in[i]; __syncthreads(); v += p[t * 4]; float *x = p; p = r; r = x; }",
    ],
)
def test_of_pointers_as_far_apart_each_has_the_same_figure(body: str) -> None:
    assert figures(body) == [("store", 2.0, "assumed"), ("load", 4.0, "assumed")]


@pytest.mark.parametrize(
    "body",
    [
        "float *p = s, *r = q; for (int i = 0; i < n; ++i) {"
        " r[t * 2] = in[i]; __syncthreads(); v += p[t * 4]; float *x = p; p = r; r = x; }",
        "float *p = n > 5 ? s : q; p[t * 2] = in[t]; __syncthreads(); v += p[t * 4];",
        "float *p = s; if (n > 5) p = q; p[t * 2] = in[t]; __syncthreads(); v += p[t * 4];",
    ],
)
def test_accesses_of_one_of_two_arrays_are_not_lost(body: str) -> None:
    assert figures(body) == [("store", None, "unknown"), ("load", None, "unknown")]


def test_an_element_that_is_not_known_of_pointers_into_several_arrays_is_said() -> None:
    body = "float *p[2] = {s, q}; p[n & 1][t * 2] = in[t]; __syncthreads(); v = s[t];"
    (kernel,) = facts_of(BUFFERS % body).kernels
    assert [note.span.line for note in kernel.not_analysed] == [6]


def test_which_neighbours_of_a_chosen_pointer_fuse_is_open() -> None:
    body = (
        "float *p[2] = {s, s + 2048}; s[t] = in[t]; q[t] = n; __syncthreads();"
        " float *c = p[n & 1]; v = c[4 * t] + c[4 * t + 1] + c[4 * t + 2] + c[4 * t + 3];"
    )
    loads = [a for a in accesses_of(BUFFERS % body) if a.kind == "load"]
    assert {(a.certainty, a.reason.code) for a in loads} == {("sampled", "compiler")}


def test_the_index_may_be_a_number_that_moves_the_pointers_too() -> None:
    body = (
        "float *p[2] = {s + t * n, s + t * n + 64}; s[t] = in[t]; __syncthreads(); v = p[n][t + n];"
    )
    assert figures(body) == [("store", 1.0, "assumed"), ("load", None, "unknown")]


@pytest.mark.parametrize(
    "body",
    [
        "float *p = (t & 1) ? s : q; p[4 * t] = 1;",
        "((t & 1) ? s : q)[4 * t] = 1;",
        "float *p = s; if (t & 1) p = q; p[4 * t] = 1;",
        "float *p = (t & 1) ? s : nullptr; if (p) p[4 * t] = 1;",
        "float *p = n ? s : nullptr; if (p) p[4 * t] = 1;",
        "float *p = n ? s : ((float **)in)[0]; p[4 * t] = 1;",
        "float *p[2] = {s, q}; p[t & 1][4 * t] = 1;",
        "float *p = s; for (int i = 0; i < n; i++) { p[4 * t] = 1; p = ((float **)in)[i]; }",
    ],
)
def test_pointers_that_may_point_elsewhere_are_not_lost(body: str) -> None:
    """Which array is meant is not known, and no index is read: that is no matter of data."""
    assert figures(body) == [("store", None, "unknown")]
