"""Fingerprints survive what leaves the access as it is, and nothing else."""

from __future__ import annotations

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.lint.fingerprints import fingerprints
from smemlint.sources.source import Source, lines_of

KERNEL = """\
__global__ void k(float *out) {
  __shared__ float s[32][32];
  s[threadIdx.x][0] = out[threadIdx.x];
  __syncthreads();
  s[threadIdx.x][1] = out[threadIdx.x];
}
void run(float *out) { k<<<1, 32>>>(out); }
"""


def of(text: str, path: str = "k.cu", **settings: object) -> tuple[str, ...]:
    result = check([Source(path, text)], Settings(**settings))  # type: ignore[arg-type]
    return fingerprints(result.findings, lambda _: text)


def test_they_are_pinned_so_that_baselines_stay_valid():
    assert of(KERNEL) == ("0aabdf4d47f7307517ff09729fdb823a", "630a259ef2e274ab68eb9d39d9eb585d")


@pytest.mark.parametrize(
    "edited",
    [
        "// a comment\n\n" + KERNEL,
        KERNEL.replace("\n", "\r\n"),
        KERNEL.replace("s[threadIdx.x][0]", "s[ threadIdx.x ]\n    [0]"),
        KERNEL.replace("s[32][32]", "s[32][64]"),
        KERNEL.replace("out[threadIdx.x];\n", "out[threadIdx.x];  /* é */\n"),
    ],
)
def test_lines_layout_and_neighbours_do_not_matter(edited):
    assert of(edited) == of(KERNEL)


def test_the_path_does_not_matter():
    assert of(KERNEL, "moved/k.cu") == of(KERNEL)


@pytest.mark.parametrize(
    "edited",
    [
        KERNEL.replace(" k", " other"),
        KERNEL.replace("s[", "tile["),
        KERNEL.replace("][0]", "][2]").replace("][1]", "][3]"),
    ],
)
def test_kernel_array_and_access_do(edited):
    assert len(of(edited)) == 2
    assert not set(of(edited)) & set(of(KERNEL))


def test_equal_accesses_are_told_apart_by_their_order():
    doubled = KERNEL.replace("][1]", "][0]")
    first, second = of(doubled)
    assert first == of(KERNEL)[0] != second


def test_lines_are_those_that_spans_count():
    assert lines_of("a\x0cb\nc\r\nd\re\u2028f") == ("a\x0cb", "c", "d", "e\u2028f")
