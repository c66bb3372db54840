"""Pointers that move with a loop that is not unrolled: loop strength reduction picks their base.

Of `#pragma unroll 1` and accesses of `s[16 * t + 32 * k + i]`, LLVM makes one pointer that
advances, which points into the middle of the offsets or to the last: ptxas proves no more of it
than that offset lets it. SASS of nvcc 13.0.88, -O3, sm_90, by the offsets i of a `float` array:

| offsets | SASS |
| --- | --- |
| 0, 1 | LDS, LDS |
| 0 to 2; 0 to 3; 0 to 4 | LDS.64, LDS; two LDS.64; two LDS.64, LDS |
| 0 to 5 | six LDS |
| 0 to 7; 0 to 3, 16 to 19 | two LDS.128 |
| 0 to 11; 0 to 15 | six LDS.64; four LDS.128 |
| 0 to 3 of `s[32 * k + i]`, of an array with `__align__(16)`, of a `float4` | LDS.128 |
| 0 to 3 of a pointer that the text advances | LDS.128 |

It is the middle one of an even number of neighbours from 0 on, in 60 loops over one and two arrays.
What it is of others hangs on what else the loop has (the last of 1 to 3, 4 to 7), and is not
modelled: how wide these accesses are is open.

So it is in what is left over of a loop that is unrolled by four at run time: of
`for (i = t; i < 256; i += 128) g[i] = s[2 * i] * s[2 * i + 1];` both iterations are, with two LDS
each, of `i < 1024` none, with an LDS.64. Of `i += blockDim.x` all are LDS.64. Stores are as loads,
those of the two members of a record, too, whether written one by one or copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain

from smemlint.analysis.simt.codegen.slots import run_and_position
from smemlint.analysis.simt.codegen.unroll import stays_a_loop
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import power_of_two
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt


def mark_induction_pointers(items: Iterable[Event | Fence], atoms: Set[str], pragma: str) -> None:
    """Marks accesses whose address is what the loop advances and something else.

    Args:
        items: of the loop.
        atoms: the names that sums have for what the loop advances.
        pragma: before the loop.
    """
    if stays_a_loop(pragma):
        _mark_pointers(items, atoms)


def mark_left_over(items: Iterable[Event | Fence], atoms: Set[str]) -> None:
    """Marks accesses in iterations that are left over of a loop that is unrolled at run time.

    Args:
        items: of these iterations.
        atoms: the names that sums have for what the loop advances.
    """
    _mark_pointers(items, atoms)


def _mark_pointers(items: Iterable[Event | Fence], atoms: Set[str]) -> None:
    runs: dict[tuple[object, ...], dict[int, list[Event]]] = {}
    for item in items:
        if not isinstance(item, Event) or not isinstance(item.offset, AffineInt):
            continue
        moved = [atom in atoms for atom, _ in scev_of(item.offset).terms]
        if any(moved) and not (all(moved) and item.offset.is_uniform):
            run, place = run_and_position(item, item.offset)
            runs.setdefault((item.kind, *run), {}).setdefault(place, []).append(item)
    of_first: dict[object, tuple[int, bool]] = {}
    for (kind, obj, width, *_), places in runs.items():
        nodes = frozenset(event.node for event in chain.from_iterable(places.values()))
        found = of_first.setdefault((kind, obj, width, nodes), _pointer_of(places))
        _mark_run(places, *found)


def _pointer_of(run: Mapping[int, Sequence[Event]]) -> tuple[int, bool]:
    """Returns what ptxas proves of the pointer of a run in its first iteration, if that is known.

    Returns:
        Its alignment, and whether it is open.
    """
    width = next(iter(run.values()))[0].width
    first, count = min(run), len(run)
    apart = {place - first for place in run}
    is_open = bool(first or count % 2) or apart != set(range(0, count * width, width))
    return width if is_open else power_of_two(count // 2 * width), is_open


def _mark_run(run: Mapping[int, Sequence[Event]], alignment: int, is_open: bool) -> None:
    """Lowers what ptxas proves of the addresses of one sum, by their place."""
    for event in chain.from_iterable(run.values()):
        offset = event.offset
        assert isinstance(offset, AffineInt)
        form = scev_of(offset)
        form = replace(
            form,
            ptxas_alignment=min(alignment, form.ptxas_alignment),
            is_open=is_open or form.is_open,
        )
        event.offset = AffineInt(offset.base, offset.type, offset.terms, form)
