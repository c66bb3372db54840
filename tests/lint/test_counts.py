"""`check`, `analyze` and SML901 count undecided accesses by one rule."""

from __future__ import annotations

import re

import pytest

KERNEL = """\
__global__ void %s(float *o, const int *g) {
  __shared__ float t[64];
  t[g[threadIdx.x + 0]] = t[g[threadIdx.x + 1]] + t[threadIdx.x]; t[g[threadIdx.x + 2]] = 0;
  o[0] = t[g[threadIdx.x + 3]];
}
"""
TWICE = (
    "template <int N> "
    + KERNEL % "a"
    + "void h(float *o, int *g) { a<1><<<1, 32>>>(o, g); a<2><<<1, 32>>>(o, g); }\n"
)


@pytest.mark.parametrize(("text", "decided", "undecided"), [(KERNEL % "a", 1, 4), (TWICE, 1, 4)])
def test_they_agree(smemlint, tmp_path, text, decided, undecided):
    (tmp_path / "k.cu").write_text(text)
    _, out, closing = smemlint("check", "k.cu", "--output-format", "concise")
    (noted,) = re.findall(r"SML901 note: .*`a`, (\d+) ", out)
    _, _, listed = smemlint("analyze", "k.cu")
    count = re.compile(r"(\d+) shared access(?:es)? decided, (\d+) not").search
    assert int(noted) == undecided
    assert [count(text).groups() for text in (closing, listed)] == [
        (str(decided), str(undecided))
    ] * 2  # type: ignore[union-attr]
