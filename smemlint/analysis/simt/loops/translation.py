"""Iterations that repeat one another: one block of them, moved along, stands for the rest.

A loop that the compiler leaves rolled runs the same instructions block after block. Where the
second block, run with its number unknown, does what the first did when that number is put in, it
stands for all: addresses are affine in the number, so two points settle them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.lanes import is_zero, settled
from smemlint.analysis.simt.domain.scev import atom, sum_of
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Symbol, Unknown, Value

_LINE = 128
"""Bytes of a line of global memory, and of a row of shared memory."""


def step_between(begin: Value, end: Value, algebra: AffineDomain) -> int | None:
    """Returns what a number or pointer advances by; None where that is no constant."""
    if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
        begin, end = begin.offset, end.offset
    if not isinstance(begin, AffineInt) or not isinstance(end, AffineInt):
        return None
    return algebra.add(end, begin, -1).constant


def moved(value: Value, symbol: Symbol, step: int) -> Value:
    """Returns `value + step * symbol` for a number or pointer."""
    if isinstance(value, Pointer):
        offset = moved(value.offset, symbol, step)
        assert isinstance(offset, AffineInt)
        return replace(value, offset=offset)
    assert isinstance(value, AffineInt)
    return AffineInt(value.base, value.type, (*value.terms, (symbol, step)), value.form)


def put_in(value: Value, symbol: Symbol, number: int) -> Value:
    """Returns the value with a number in place of the symbol."""
    if isinstance(value, Pointer):
        offset = put_in(value.offset, symbol, number)
        assert isinstance(offset, AffineInt)
        return replace(value, offset=offset)
    if not isinstance(value, AffineInt):
        return value
    base = value.base
    for s, factor in value.terms:
        if s == symbol:
            base = base + factor * number
    terms = tuple((s, c) for s, c in value.terms if s != symbol)
    return AffineInt(settled(base), value.type, terms, value.form)


def repeats(
    first: Sequence[Event | Fence], general: Sequence[Event | Fence], symbol: Symbol
) -> bool:
    """Returns whether the general block, one step back, issues what the first one did.

    Each block may differ from the next by a move of all lanes by whole words and vectors only,
    which costs the same.
    """
    a, b = _events(first), _events(general)
    return len(a) == len(b) and all(_repeats(x, y, symbol) for x, y in zip(a, b, strict=True))


def at_block(
    first: Iterable[Event | Fence],
    general: Iterable[Event | Fence],
    symbol: Symbol,
    number: int,
    times: int,
) -> list[Event | Fence]:
    """Returns the block of that number, issued that many times.

    A place whose form is not that of the first block is computed anew in each: its form says in
    which.

    Args:
        first: what the first block issues.
        general: what the block of number `symbol` issues.
        symbol: stands for the number of a block.
        number: which block.
        times: how often.
    """
    result: list[Event | Fence] = []
    before = iter(_events(first))
    own = atom(f"{symbol.key} {number}", _LINE)
    for item in general:
        if isinstance(item, Event):
            offset, earlier = item.offset, next(before).offset
            if isinstance(offset, AffineInt) and isinstance(earlier, AffineInt):
                form = scev_of(offset)
                form = form if form == scev_of(earlier) else sum_of(form, own)
                moved_on = AffineInt(offset.base, offset.type, offset.terms, form)
                offset = put_in(moved_on, symbol, number)  # type: ignore[assignment]
            source = item.source
            if isinstance(source, AffineInt):
                source = put_in(source, symbol, number)  # type: ignore[assignment]
            result.append(replace(item, offset=offset, source=source, issued=item.issued * times))
        else:
            result.append(item)
    return result


def _events(items: Iterable[Event | Fence]) -> list[Event]:
    return [item for item in items if isinstance(item, Event)]


def _repeats(first: Event, general: Event, symbol: Symbol) -> bool:
    if (first.node, first.kind, first.width, first.assumptions, first.issued) != (
        general.node, general.kind, general.width, general.assumptions, general.issued,
    ):  # fmt: skip
        return False
    if not np.array_equal(first.mask, general.mask):
        return False
    if isinstance(first.offset, Unknown) or isinstance(general.offset, Unknown):
        return isinstance(first.offset, Unknown) and isinstance(general.offset, Unknown)
    if first.object is not general.object or not _moves_by_words(general, symbol):
        return False
    return _is_one_step_back(first.offset, general.offset, symbol) and (
        not isinstance(general.source, AffineInt)
        or not isinstance(first.source, AffineInt)
        or _is_one_step_back(first.source, general.source, symbol)
    )


def _is_one_step_back(first: AffineInt, general: AffineInt, symbol: Symbol) -> bool:
    back = put_in(general, symbol, -1)
    assert isinstance(back, AffineInt)
    return is_zero(back.base - first.base) and _unknowns(back) == _unknowns(first)


def _moves_by_words(event: Event, symbol: Symbol) -> bool:
    assert isinstance(event.offset, AffineInt)
    terms = list(event.offset.terms)
    unit = max(event.width, 4)
    if isinstance(event.source, AffineInt):  # both sides of a copy may move by whole lines only
        terms, unit = [*terms, *event.source.terms], _LINE
    return all(isinstance(c, int) and c % unit == 0 for s, c in terms if s == symbol)


def _unknowns(value: AffineInt) -> Mapping[tuple[str, int], object]:
    """Returns the unknown part: what is loaded anew in every iteration is alike by name."""
    return {(s.name, s.multiple): c if isinstance(c, int) else c.tobytes() for s, c in value.terms}
