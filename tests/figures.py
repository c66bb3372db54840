"""Kernel texts and their figures, for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from smemlint.facts import Access, Facts


def facts_in(**files: str) -> Facts:
    """Facts of a run over several files; `_cu` at a name's end is its suffix."""
    sources = [Source(name.replace("_cu", ".cu"), text) for name, text in files.items()]
    facts, crashed = analyze(sources, Settings())
    assert not crashed, facts.not_analysed
    return facts


def wavefronts_of_words(index: Callable[[int], int], threads: int) -> float:
    """The mean wavefronts of warps whose lanes read word `index(t)` of four bytes."""
    spent = []
    for first in range(0, threads, 32):
        words = {index(t) for t in range(first, first + 32)}
        spent.append(max(sum(w % 32 == bank for w in words) for bank in range(32)))
    return sum(spent) / len(spent)


def kernel(
    body: str,
    *,
    block: str = "32",
    shared: str = "float s[1024]",
    params: str = "float *g, int n",
    before: str = "",
) -> str:
    """One launched kernel `k` with the thread's number in `t`; the body's first line is line 5."""
    names = ", ".join(p.split()[-1].lstrip("*&") for p in params.split(",") if p)
    return (
        f"{before.strip() or '// nothing before'}\n"
        f"__global__ void k({params}) {{\n"
        f"{f'__shared__ {shared};' if shared else ''}\n"
        f"int t = threadIdx.x;\n"
        f"{body}\n"
        f"}}\n"
        f"void run({params}) {{ k<<<1, {block}>>>({names}); }}\n"
    )


def figure(access: Access) -> tuple[str, int, int, float, float]:
    """(kind, bytes a lane, instructions, mean wavefronts, mean ideal), -1 where there is none."""
    spent = access.wavefronts.mean if access.wavefronts else -1
    ideal = access.ideal.mean if access.ideal else -1
    kind = str(access.kind)
    return kind, access.width_bytes, access.instructions, round(spent, 3), round(ideal, 3)


def lanes(access: Access) -> dict[tuple[int | None, ...], int]:
    """Byte offsets in the array, lane by lane (None: off) -> how many instructions have them."""
    base = access.array.base if access.array is not None else 0
    found: dict[tuple[int | None, ...], int] = {}
    for p in access.patterns:
        key = tuple(
            int(a) - base if on else None for a, on in zip(p.addresses, p.active, strict=True)
        )
        found[key] = found.get(key, 0) + p.count
    return found


def expected_lanes(index, block: int, width: int = 4) -> dict[tuple[int | None, ...], int]:
    """What `lanes` gives for one access of `index(thread)` elements (None: off), all threads."""
    found: dict[tuple[int | None, ...], int] = {}
    for warp in range(-(-block // 32)):
        row = []
        for thread in range(32 * warp, 32 * warp + 32):
            at = index(thread) if thread < block else None
            row.append(None if at is None else at * width)
        if any(at is not None for at in row):
            found[tuple(row)] = found.get(tuple(row), 0) + 1
    return found
