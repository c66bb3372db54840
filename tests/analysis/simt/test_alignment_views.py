"""SML301 and code of other files: a wider view there is most often an overload for another type."""

from __future__ import annotations

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.sources.source import Source

_VIEW = "__device__ int pair(const short* p) { return *reinterpret_cast<const int*>(p); }\n"
_KERNEL = (
    "__global__ void k(int* o) { __shared__ short s[64]; o[threadIdx.x] = pair(s + threadIdx.x); }\n"
    "void run(int* o) { k<<<1, 32>>>(o); }\n"
)


def _found(sources: list[Source]) -> list[tuple[str, str, int]]:
    result = check(sources, Settings(select=("SML301",)))
    return [(f.code, f.span.path, f.span.line) for f in result.findings]


def test_a_wider_view_in_the_same_file_is_misaligned() -> None:
    assert _found([Source("k.cu", _VIEW + _KERNEL)]) == [("SML301", "k.cu", 1)]


def test_a_wider_view_in_another_file_is_left_alone() -> None:
    both = [Source("view.h", _VIEW), Source("k.cu", '#include "view.h"\n' + _KERNEL)]
    assert _found(both) == []
