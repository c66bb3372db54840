"""Pointers that move with a loop that is not fully unrolled: loop strength reduction picks them.

Of accesses of `s[16 * t + 32 * k + i]` in a loop over k that stays one, LLVM makes one pointer that
advances, and ptxas proves no more of it than the offset that it points to lets it. That is the
last one, the first behind the middle of 0 and the last, or 0 itself: the one for which
the offsets in the instructions have the fewest bits (`GenerateCrossUseConstantOffsets` and
`ImmCost` of LLVM). Of two that are alike it is the earlier in this list for 0 to 2; else it differs
with where the loop begins, the order of the accesses, and whether the index is written as `s[k][c]`
or `s[64 * k + c]`, and is open where they are not aligned alike: of -1 to 1, 1 to 4, or 4, 5 and 7
(the PTX of 1,950 loops, nvcc 13.5.37). Of the kernels of test_register_tiles.py with 1 to 8 rows
and columns, 8, 16 and 32 deep (nvcc 13.0.88, -O3, sm_90), all 323 such pointers are so; 8 further
ones are computed from the loop's counter, which is not modelled. By the offsets
of a `float` array:

| offsets | SASS |
| --- | --- |
| 0, 1 | LDS, LDS |
| 0 to 2; 0 to 3; 0 to 4 | LDS.64, LDS; two LDS.64; two LDS.64, LDS |
| 0 to 5 | six LDS |
| 0 to 7; 0 to 3, 16 to 19 | two LDS.128 |
| 0 to 11; 0 to 15 | six LDS.64; four LDS.128 |
| 0 to 3 of `s[32 * k + i]`, of an array with `__align__(16)`, of a `float4` | LDS.128 |
| 0 to 3 of a pointer that the text advances | LDS.128 |

The middle is that of 0 and the last, and 0 is the third choice: of 4 to 7 it is the last, of 4 to
11 it is 6. Of five offsets or more the middle is in front of the last in this list, and in a loop
from a constant to another it is the middle whatever the bits are, of more than four from 0 on in
several iterations, too, and 0 of 0 and 1 (400 kernels, nvcc 13.0.88 and 13.5.37). In front of 0 the
first stands for the last: of -7 to -4 it is -7, of -8 to -1 it is -4, of -3 to 0 it is -1, and of
-6 to 1 it is -2 (nvcc 13.5). An offset is one from where variables of loops around stand: those of
`s[64 * k + 8 * c + i]` in a loop over c are i from any k on. A loop that LLVM leaves as it is by
our count of its costs, but not by half of them, is open.

So it is of iterations that share a basic block, of which there are more, as `#pragma unroll 4` or
the cost of a loop of known length makes them, if the offsets are not those of one access in so many
iterations. Of `a += s[32 * t + i]`, `a += s[32 * t + i] * q[20 * t + i]` or `s[32 * t + i] =
in[i * n]` for i from 0 on, by what is behind `unroll`:

| `unroll` | SASS for each sum |
| --- | --- |
| 2 | one LDS.64, or with `in[i]` in the loop two LDS: open |
| 4; 6; 12 | two LDS.64; six LDS; six LDS.64 |
| 8; 16 | two LDS.128; four LDS.128 |
| 4, with `+ s[i]`; 6, with a loop around | four LDS; three LDS.64: open |
| 2 or 4, four words of `s[64 * i + 4 * t]` | LDS.128 each |
| 2, four words of `s[66 * i + 4 * t]` | LDS.64 |
| 4, with `__align__(16)`; `*p++` | LDS.128 |

So it is of the four iterations that share a basic block where only run time tells how many there
are: of `s[2 * t + 64 * i]` and the word behind it, from i = 0 or 2 on LDS.64, from 1 on, from 32 or
31 downwards and behind `i++` words, from a variable n on LDS.64, behind `i++` words, from n + 1 on
LDS.64: open.

So it is in what is left over of a loop that is unrolled by four at run time: of
`for (i = t; i < 256; i += 128) g[i] = s[2 * i] * s[2 * i + 1];` both iterations are, with two LDS
each, of `i < 1024` none, with an LDS.64. Of `i += blockDim.x` all are LDS.64. Stores are as loads,
those of the two members of a record, too, whether written one by one or copied.

A pointer that begins at a constant minus something is aligned to nothing: of `s[4 * k + c - 4 * t +
i]` in a loop that stays one four LDS, with a variable for c one LDS.128. So it is of `s[c - k]` and
`s[c + 1 - k]` from k = 2 * t or a variable on, and from k = 0 on where the loop may be left before
its end; from k = 0 to a constant, one place for all threads, they are an LDS.64 (21 of 21 kernels,
nvcc 13.5.37). With more terms, with `31 - (t & 31)`, which is `^`, and of `s[c - 64 * k + 2 * t]`
from k = 0 on it is one of both: open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, pairwise
from types import MappingProxyType

from smemlint.analysis.simt.codegen.slots import SLOT, position_of, run_and_position
from smemlint.analysis.simt.codegen.unroll import RUN_TIME, stays_a_loop, unrolled
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.linear_forms import with_form
from smemlint.analysis.simt.domain.scev import Scev, is_combined, power_of_two
from smemlint.analysis.simt.domain.trace import Event, Fence, holds_loops
from smemlint.analysis.simt.domain.values import AffineInt

_FEW = 4
_MANY = 64
"""Accesses of a block of iterations from which on a pointer may be that of the last of them.

Of `#pragma unroll 4` and `x[i][j] += a[8 * r + i][k] * b[k][8 * c + j]` with 8 x 8 sums and rows of
32 and 64 floats, it is the last of the 32 of a (LDS), the middle of the 32 of b (LDS.128).
"""


def mark_induction_pointers(
    items: Sequence[Event | Fence],
    atoms: Set[str],
    pragma: str,
    together: int = 1,
    known: dict[object, tuple[int, bool]] | None = None,
    *,
    is_left: bool | None = False,
    is_parted: bool = False,
    is_from_constant: bool = False,
    may_be_left: bool = False,
    around: Mapping[str, AffineInt] = MappingProxyType({}),
) -> None:
    """Marks accesses whose address is what the loop advances and something else.

    Args:
        items: of the loop.
        atoms: the names that sums have for what the loop advances.
        pragma: before the loop.
        together: iterations in one basic block, of which there are more; 1 if only run time tells.
        known: what the first iterations showed of the pointers.
        is_left: the compiler leaves the loop as it is, without being asked; None if that is open.
            Of iterations that share a basic block: None if that is open.
        is_parted: some iterations fill no block, in front of the others or behind them.
        is_from_constant: all threads count from one constant to another.
        may_be_left: before they are there.
        around: what the names of variables of loops around it stand for.
    """
    for item in items:
        if isinstance(item, Event) and isinstance(item.offset, AffineInt):
            form = scev_of(item.offset)
            is_whole = is_from_constant and not may_be_left
            if is_whole and form.is_mirrored and _is_moved_alone(item, atoms):
                form = replace(form, ptxas_alignment=form.alignment)
                item.offset = with_form(item.offset, form)
            others = [(atom, factor) for atom, factor in form.terms if atom not in atoms]
            is_lower = len(others) == 1 and others[0][1] < 0
            is_moved = len(others) < len(form.terms) and bool(others or not item.offset.is_uniform)
            if is_moved and (form.is_mirrored or is_lower):
                is_open = form.is_open or len(others) > 1 or any(is_combined(a) for a, _ in others)
                is_open |= is_from_constant and not is_lower and others[0][1] > 0
                form = replace(form, ptxas_alignment=1, is_open=is_open)
                item.offset = with_form(item.offset, form)
    known = {} if known is None else known
    if is_parted:
        for run in _runs(items, atoms, around).values():
            nodes = {event.node for event in chain.from_iterable(run.values())}
            if len(run) > max(together, RUN_TIME) or len(nodes) > 1:
                _mark_run(run, 1, is_open=True)
    if stays_a_loop(pragma) or together > 1:
        together, is_sure = 1 if stays_a_loop(pragma) else together, is_left is not None
    elif is_left is not False and not holds_loops(items):
        is_sure = is_left is True
    else:
        return
    _mark_pointers(
        items, atoms, known, together, is_sure=is_sure, is_constant=is_from_constant, around=around
    )


def mark_run_time_pointers(
    items: Sequence[Event | Fence], trip: AffineInt, cost: int, pragma: str, *, is_second: bool
) -> None:
    """Marks accesses of the iteration that stands for all of a loop that is unrolled at run time.

    Args:
        items: of the iteration.
        trip: the number of the iteration, an unknown.
        cost: of the iteration; where a third more is too much for four of them, it is open.
        pragma: before the loop.
        is_second: an iteration was run before that one.
    """
    together, surely = (unrolled(1, c, pragma, is_constant=False) for c in (cost, 4 * cost // 3))
    if len(trip.terms) != 1 or together == 1 or holds_loops(items):
        return
    ((symbol, each),) = trip.terms
    for run in _runs(items, {symbol.key}).values():
        offset = next(iter(run.values()))[0].offset
        assert isinstance(offset, AffineInt)
        factors = {unknown.key: factor for unknown, factor in offset.terms}
        moved = factors.pop(symbol.key, None)
        if not isinstance(moved, int) or not isinstance(each, int):
            continue
        block = range(-is_second, together - is_second)
        places = sorted({at + k * (moved // each) for at in run for k in block})
        if places[0] >= 0:
            is_open = bool(factors or pragma) or surely != RUN_TIME
            _mark_run(run, power_of_two(_pointed_at(places)), is_open)


def mark_left_over(items: Sequence[Event | Fence], atoms: Set[str]) -> None:
    """Marks accesses in iterations that are left over of a loop that is unrolled at run time."""
    _mark_pointers(items, atoms, {})


def _mark_pointers(
    items: Sequence[Event | Fence],
    atoms: Set[str],
    known: dict[object, tuple[int, bool]],
    together: int = 1,
    *,
    is_sure: bool = True,
    is_constant: bool = False,
    around: Mapping[str, AffineInt] = MappingProxyType({}),
) -> None:
    runs = _runs(items, atoms, around)
    keys = [
        (kind, obj, width, frozenset(e.node for e in chain.from_iterable(places.values())))
        for (kind, obj, width, *_), places in runs.items()
    ]
    sums = Counter(obj for _, obj, *_ in set(keys))
    events = [item for item in items if isinstance(item, Event)]
    sums.update({id(event.object) for event in events if _is_moved_alone(event, atoms)})
    is_crowded = together > 1 and sum(map(len, runs.values())) >= _MANY
    for key, places in zip(keys, runs.values(), strict=True):
        if key not in known:
            is_alone = sums[key[1]] == 1
            found = _pointer(
                places, together, is_alone=is_alone, is_sure=is_sure, is_constant=is_constant
            )
            known[key] = _left_open(*found, places) if is_crowded else found
        _mark_run(places, *known[key])


def _left_open(
    alignment: int, is_open: bool, run: Mapping[int, Sequence[Event]]
) -> tuple[int, bool]:
    """Returns what is known of a pointer among so many that LLVM tries not all places for it."""
    of_last = power_of_two(max(run))
    return min(alignment, of_last), is_open or of_last < min(alignment, max(SLOT.values()))


def _is_moved_alone(event: Event, atoms: Set[str]) -> bool:
    """Returns whether the place of an access, one for all threads, is what the loop advances."""
    if not isinstance(event.offset, AffineInt):
        return False
    terms = scev_of(event.offset).terms
    return bool(terms) and event.offset.is_uniform and all(atom in atoms for atom, _ in terms)


def _runs(
    items: Iterable[Event | Fence],
    atoms: Set[str],
    around: Mapping[str, AffineInt] = MappingProxyType({}),
) -> dict[tuple[object, ...], dict[int, list[Event]]]:
    """Returns accesses by kind, object, width and sum, and by their place in it."""
    runs: dict[tuple[object, ...], dict[int, list[Event]]] = {}
    for item in items:
        if not isinstance(item, Event) or not isinstance(item.offset, AffineInt):
            continue
        moved = any(atom in atoms for atom, _ in scev_of(item.offset).terms)
        if moved and not _is_moved_alone(item, atoms):
            run, place = run_and_position(item, item.offset)
            place -= _place_of_heads(scev_of(item.offset), around, int(item.mask.argmax()))
            runs.setdefault((item.kind, *run), {}).setdefault(place, []).append(item)
    return runs


def _place_of_heads(form: Scev, around: Mapping[str, AffineInt], thread: int) -> int:
    """Returns where a sum stands for what variables of other loops hold in a thread."""
    place = 0
    for atom, factor in form.terms:
        head = around.get(atom)
        if head is not None:
            each = next((by for symbol, by in head.terms if symbol.key == atom), 1)
            place += factor * position_of(head, thread) // each if isinstance(each, int) else 0
    return place


def _pointer(
    run: Mapping[int, Sequence[Event]],
    together: int,
    *,
    is_alone: bool,
    is_sure: bool,
    is_constant: bool,
) -> tuple[int, bool]:
    """Returns what ptxas proves of the pointer of a run: its alignment, and whether it is open."""
    if together == 1:
        return _pointer_of(run, is_sure=is_sure, is_constant=is_constant)
    if not is_sure:
        first = _first_iteration(run, together)
        alignment, is_open = _pointer_of(first, is_sure=False, is_constant=is_constant)
        if is_open:
            return alignment, True
    return _pointer_of_block(run, is_alone=is_alone, is_constant=is_constant)


def _first_iteration(
    run: Mapping[int, Sequence[Event]], together: int
) -> Mapping[int, Sequence[Event]]:
    events = sorted(chain.from_iterable(run.values()), key=lambda event: event.sequence)
    first = {id(event) for event in events[: len(events) // together]}
    return {at: each for at, each in run.items() if any(id(e) in first for e in each)} or run


def _pointer_of_block(
    run: Mapping[int, Sequence[Event]], *, is_alone: bool, is_constant: bool
) -> tuple[int, bool]:
    """Returns what ptxas proves of the pointer of a run in iterations that share a basic block.

    Args:
        run: places -> accesses.
        is_alone: the loop advances no other sum in the array.
        is_constant: it counts from a constant to another.

    Returns:
        Its alignment, and whether it is open.
    """
    places = sorted(run)
    count, width = len(places), next(iter(run.values()))[0].width
    is_middle = is_constant and places[0] == 0 and len(places) > _FEW
    proved = power_of_two(_middle(places) if is_middle else _pointed_at(places))
    alike = set(map(power_of_two, _may_be_pointed_at(places)))
    if not is_middle and len(alike) > 1:
        return min(alike), True
    nodes = {event.node for events in run.values() for event in events}
    if len(nodes) > 1 or {b - a for a, b in pairwise(places)} != {width}:
        return proved, False
    return proved, not (is_alone and count % 2 == 0 and count >= _FEW)


def _pointer_of(
    run: Mapping[int, Sequence[Event]], *, is_sure: bool, is_constant: bool
) -> tuple[int, bool]:
    """Returns what ptxas proves of the pointer of a run in its first iteration, if that is known.

    Args:
        run: places -> accesses.
        is_sure: the compiler is known to leave the loop as it is.
        is_constant: it counts from a constant to another.

    Returns:
        Its alignment, and whether it is open.
    """
    width = next(iter(run.values()))[0].width
    places = sorted(run)
    if is_constant and places == [0, width]:
        return power_of_two(0), False
    are_many = places[0] >= 0 and len(places) > _FEW
    is_middle = is_constant and are_many
    at = _middle(places) if is_middle else _pointed_at(places, from_middle=are_many)
    proved = power_of_two(at)
    alike = set(map(power_of_two, _may_be_pointed_at(places)))
    if not is_middle and len(alike) > 1 and places != [*range(0, len(places) * width, width)]:
        return min(alike), True
    is_open = not (is_sure or proved >= min(_FEW, len(run)) * width)
    return (width, True) if is_open else (proved, False)


def _pointed_at(places: Sequence[int], *, from_middle: bool = False) -> int:
    """Returns the place that loop strength reduction lets the pointer have: see the docstring.

    Args:
        places: the offsets, ascending.
        from_middle: of choices that are alike it is the middle.
    """
    low, high, middle = min(places[0], 0), max(places[-1], 0), _middle(places)
    choices = (middle, high, low, 0) if from_middle else (high or low, middle, low, 0)
    return min(choices, key=lambda at: _immediates(places, at))


def _may_be_pointed_at(places: Sequence[int]) -> set[int]:
    """Returns the places that a pointer may have of which none is cheaper than another."""
    at, first = _pointed_at(places), places[0]
    of_first = _middle([place - first for place in places]) + first
    choices = (min(first, 0), 0, at, _middle(places), of_first, max(places[-1], 0))
    return {x for x in choices if _immediates(places, x) == _immediates(places, at)}


def _immediates(places: Sequence[int], at: int) -> int:
    """Returns the significant bits of all offsets from a place."""
    return sum(_bits(place - at) for place in places)


def _middle(places: Sequence[int]) -> int:
    """Returns the first place behind the middle of 0 and the last."""
    low, high = min(places[0], 0), max(places[-1], 0)
    return next((place for place in places if 2 * place >= low + high), low)


def _bits(immediate: int) -> int:
    """Returns the significant bits of an offset in an instruction, its sign among them."""
    magnitude = immediate if immediate >= 0 else ~immediate
    return magnitude.bit_length() + 1 if immediate else 0


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
        event.offset = with_form(offset, form)
