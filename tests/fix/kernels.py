"""Kernel texts for the tests of fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.lint.result import Result
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from smemlint.finding import Finding

TRANSPOSE = """\
#define TILE 32
__global__ void transpose(float *out, const float *in, int n) {
  __shared__ float tile[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  out[x * n + y] = tile[threadIdx.x][threadIdx.y];
}
void launch(float *out, const float *in, int n) {
  transpose<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(out, in, n);
}
"""


def kernel(declaration: str, body: str, *, block: str = "32", before: str = "") -> str:
    """A kernel with one declaration and a body, launched with one block shape."""
    return (
        f"{before}__global__ void k(float *out, int n) {{\n  {declaration}\n  {body}\n}}\n"
        f"void run(float *out, int n) {{ k<<<1, dim3({block})>>>(out, n); }}\n"
    )


def checked(*texts: str, **settings: object) -> Result:
    """What is found in `k.cu`, `k1.cu`, ..."""
    names = ("k.cu", *(f"k{i}.cu" for i in range(1, len(texts))))
    sources = [Source(n, t) for n, t in zip(names, texts, strict=True)]
    return check(sources, Settings(**settings))  # type: ignore[arg-type]


def conflicts(*texts: str) -> list[Finding]:
    """The bank conflicts of these files."""
    return [f for f in checked(*texts).findings if f.code == "SML101"]
