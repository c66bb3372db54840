"""Both sides of an asynchronous copy as lane addresses, for every residue that its cost can see.

The cost of `cp.async` hangs on the 128-byte rows and lines that the lanes write and read. What is
unknown but the same for all threads (a stage, a row pitch) moves them: the classes modulo 128 bytes
are priced, and where they differ the cheapest, in which whole lines are moved, is taken and named.
Where nothing is known of what is read, rows are priced as if they were read from lines alike: no
source makes the copy cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.lanes import Lanes
from smemlint.analysis.simt.domain.spelling import abbreviated
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Conditional, Symbol, Unknown
from smemlint.analysis.simt.kernel.packed_rows import packed
from smemlint.hardware.arch import BANKS, LANES, WORD
from smemlint.hardware.async_copies import async_wavefronts
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_COPY_CLASSES
from smemlint.reasons import Assumption, ReasonCode, Topic

LINE = BANKS * WORD
"""Bytes of a line of global memory, and of a row of shared memory."""
_FAR = 1 << 20
"""Lines by which rows are parted whose pitch is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """One copy of all warps of the block.

    Attributes:
        to: bytes of shared memory that the threads write, int64 of shape (threads,).
        source: bytes that they read, from a multiple of 128 bytes.
        is_open: it is cheaper where rows lie one behind the other, which nothing rules out.
    """

    to: NDArray[np.int64]
    source: NDArray[np.int64]
    assumptions: tuple[Assumption, ...]
    is_open: bool = False


def copy_of(event: Event, columns: Mapping[str, tuple[int, int]]) -> Copy | Unknown:
    """Returns the addresses of an asynchronous copy, or why they are not known."""
    if isinstance(event.offset, Unknown):
        return event.offset
    source, taken = event.source, event.source_assumptions
    if not isinstance(source, AffineInt):
        why = source.reason if source is not None else "it is not followed"
        text = f"the lines that are read cost no more than the rows that are written ({why})"
        source, taken = event.offset, (*taken, Assumption(Topic.SOURCE, text))
    classes = _classes(event, event.offset, source)
    if classes is None and event.mask.reshape(-1, LANES).sum(axis=1).max() <= 1:
        anywhere = np.zeros(len(event.mask), np.int64)  # a lane alone: one row and one line
        return Copy(anywhere, anywhere, event.source_assumptions)
    if classes is None:
        return Unknown.because(
            ReasonCode.RESIDUES, "too many residues of the unknown numbers of the copy"
        )
    is_aligned = np.logical_not((classes % event.width).any(axis=(1, 2)))
    written, read = classes[is_aligned.argmax()].copy()
    if len(classes) == 1 or not is_aligned.any():  # what is aligned for no residue faults
        return Copy(written, read, taken)
    costs = _costs(classes[is_aligned], event)
    first = costs[0]
    behind = packed(event, source, columns)
    rows = np.array([[written, read if behind is None else behind]])
    is_open = behind is not None and bool((_costs(rows, event)[0] < first).any())
    if (costs == first).all():
        return Copy(written, read, taken, is_open)
    is_cheapest = (costs >= first).all()
    if not is_cheapest or not is_aligned[0]:
        return Unknown.because(ReasonCode.RESIDUES, "the cost of the copy hangs on unknown numbers")
    together = len(_shifts(event.offset, event.width)) * len(_shifts(source, event.width))
    is_by_pitch = (costs[:together] == first).all()
    named = [*_pitches_named(event.offset), *_pitches_named(source)]
    if not is_by_pitch:
        named += [*_shifts_named(event.offset), *_shifts_named(source)]
    return Copy(written, read, (*taken, *named), is_open)


def _classes(event: Event, to: AffineInt, source: AffineInt) -> NDArray[np.int64] | None:
    """Returns both sides for every residue that the cost can see; first for moves by whole lines.

    Returns:
        Of shape (classes, 2, threads): what is written and read; None where there are too many.
    """
    mask = event.mask
    shifts = [np.array(_shifts(side, event.width))[:, None] for side in (to, source)]
    most = MAX_COPY_CLASSES // (len(shifts[0]) * len(shifts[1]))
    moving = [(symbol, step) for side in (to, source) for symbol, step, _ in _moving(side)]
    pitches = list(islice(_pitches(moving, event.width), most + 1))
    if len(pitches) > most:
        return None
    moves = {key: np.array([[values[key]] for values in pitches]) for key in pitches[0]}
    classes = np.empty((len(pitches), len(shifts[0]), len(shifts[1]), 2, len(mask)), np.int64)
    written, read = (
        np.where(mask, _lanes(side, moves, mask)[:, None] + shift, 0)
        for side, shift in zip((to, source), shifts, strict=True)
    )
    classes[:, :, :, 0] = written[:, :, None]
    classes[:, :, :, 1] = read[:, None]
    return classes.reshape(-1, 2, len(mask))


def _shifts(offset: AffineInt, width: int) -> range:
    """Returns how far all lanes may lie in a line, by what moves them together."""
    terms = ((s, c) for s, c in offset.terms if not isinstance(s, Conditional))
    steps = (c * s.multiple for s, c in terms if isinstance(c, int))
    return range(0, LINE, max(gcd(LINE, *steps), width))


def _pitches_named(offset: AffineInt) -> Iterator[Assumption]:
    """Yields what holds, of each sum that a lane multiplies, where lanes move by lines."""
    sums: dict[tuple[bytes, int], list[tuple[Symbol, int]]] = {}
    for symbol, step, factors in _moving(offset):
        sign = 1 if factors[np.flatnonzero(factors)[0]] > 0 else -1
        direction = (sign * factors // step).tobytes()
        sums.setdefault((direction, step), []).append((symbol, sign))
    for (_, step), terms in sums.items():
        period = int(np.lcm.reduce([_period(symbol, step) for symbol, _ in terms]))
        number = AffineInt(0, terms=tuple(terms))
        name = repr(number)
        yield Assumption(Topic.NUMBER, f"`{abbreviated(name)}` is a multiple of {period}", name)


def _shifts_named(offset: AffineInt) -> Iterator[Assumption]:
    """Yields what holds where all lanes are moved by whole lines."""
    terms = [(s, c) for s, c in offset.terms if not isinstance(s, Conditional)]
    moved = [s for s, c in terms if isinstance(c, int) and (c * s.multiple) % LINE]
    if moved:
        names = ", ".join(f"`{abbreviated(s.name)}`" for s in moved)
        text = f"{names} move{'s' * (len(moved) == 1)} the copy by whole {LINE}-byte lines"
        yield Assumption(Topic.NUMBER, text, moved[0].name if len(moved) == 1 else "")


def _moving(offset: AffineInt) -> Iterator[tuple[Symbol, int, NDArray[np.int64]]]:
    """Yields the symbols that move lanes apart, with their least move and each lane's."""
    for symbol, factor in offset.terms:
        if not isinstance(factor, int) and not isinstance(symbol, Conditional):
            yield symbol, int(np.gcd.reduce(np.abs(factor))), np.asarray(factor, np.int64)


def _period(symbol: Symbol, step: int) -> int:
    """Returns the number whose multiples, as values of the symbol, move by whole lines."""
    return int(np.lcm(symbol.multiple, LINE // gcd(LINE, step)))


def _pitches(symbols: Sequence[tuple[Symbol, int]], width: int) -> Iterator[dict[str, int]]:
    """Yields values of the symbols that move lanes apart, one a class.

    Those that move a thread's address off a multiple of the width would fault.
    """
    periods: dict[Symbol, int] = {}
    strides: dict[Symbol, int] = {}
    for symbol, step in symbols:
        stride = int(np.lcm(symbol.multiple, width // gcd(width, step)))
        periods[symbol] = int(np.lcm(periods.get(symbol, 1), _period(symbol, step)))
        strides[symbol] = int(np.lcm(strides.get(symbol, 1), stride))
    values = [
        [residue + period * (_FAR << 4 * i) for residue in range(0, period, strides[symbol])]
        for i, (symbol, period) in enumerate(periods.items())
    ]
    keys = [symbol.key for symbol in periods]
    return (dict(zip(keys, row, strict=True)) for row in product(*values))


def _lanes(
    offset: AffineInt, moves: Mapping[str, NDArray[np.int64]], mask: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Returns the offsets (a row a class) with these values of what moves lanes apart, a column."""
    total: Lanes = np.broadcast_to(np.asarray(offset.base, np.int64), (1, len(mask)))
    for symbol, factor in offset.terms:
        if not isinstance(factor, int) and symbol.key in moves:
            total = total + factor * moves[symbol.key]
    return np.asarray(total, np.int64)


def _costs(classes: NDArray[np.int64], event: Event) -> NDArray[np.int64]:
    """Computes wavefronts by class (row) and warp (column), on both sides of all threads."""
    form = event.operation.rpartition(".")[2]
    mask = np.tile(event.mask.reshape(-1, LANES), (len(classes), 1))
    to, source = (_from_line(classes[:, i].reshape(-1, LANES), mask) for i in range(2))
    rows = np.concatenate((to, source, mask.astype(np.int64)), axis=1)
    keys: list[bytes] = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel().tolist()
    costs = [_price(form, event.width, key) for key in keys]
    return np.array(costs).reshape(len(classes), -1)


def _from_line(lanes: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns each warp's lanes (a row) from its first line on."""
    begins = lanes.min(axis=1, where=mask, initial=1 << 62, keepdims=True) & -LINE
    return np.where(mask, lanes - begins, 0)


@lru_cache(maxsize=1 << 13)
def _price(form: str, width: int, copy: bytes) -> int:
    to, source, active = np.frombuffer(copy, np.int64).reshape(3, LANES)
    return int(async_wavefronts(to, source, form=form, width=width, active=active).wavefronts)
