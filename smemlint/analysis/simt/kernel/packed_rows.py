"""Rows of global memory that a copy may read one behind the other, since their pitch is not known.

Of `base + row * pitch + column` a copy reads the columns of its lanes. Where the pitch is just as
many, it reads whole lines, however narrow the rows are. A pitch is longer where the kernel reads
other columns, too: behind those of this copy, or moved by a block, an iteration or an index. Tiles
of GEMMs are cut out of long rows; the rows of one head of an attention may be stored as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Conditional, Symbol
from smemlint.facts import AccessKind

_PARAMETER = "param:"
_ANY = 1 << 62
_Columns = tuple[int, int]


def columns_read(events: Iterable[Event]) -> Mapping[str, _Columns]:
    """Returns the first column and the end of what all copies read of rows, by the pitch's key."""
    found: dict[str, _Columns] = {}
    for event in events:
        source = event.source
        symbol = pitch_of(source) if event.kind is AccessKind.ASYNC_COPY else None
        if symbol is None or not isinstance(source, AffineInt):
            continue
        begin, end = _columns(source, event)
        if any(_moves_along(other, step, event.width) for other, step in source.terms):
            begin, end = 0, _ANY
        known = found.get(symbol.key, (begin, end))
        found[symbol.key] = min(begin, known[0]), max(end, known[1])
    return found


def pitch_of(source: object) -> Symbol | None:
    """Returns the one unknown that moves lanes of a source apart; None where there are others."""
    if not isinstance(source, AffineInt):
        return None
    moving = [symbol for symbol, factor in source.terms if not isinstance(factor, int)]
    return moving[0] if len(moving) == 1 and not isinstance(moving[0], Conditional) else None


def packed(
    event: Event, source: AffineInt, read: Mapping[str, _Columns]
) -> NDArray[np.int64] | None:
    """Returns what the threads read where rows lie one behind the other; None where they do not."""
    symbol = pitch_of(source)
    if symbol is None:
        return None
    begin, end = _columns(source, event)
    factor = next(np.asarray(f, np.int64) for s, f in source.terms if s is symbol)
    step = int(np.gcd.reduce(np.abs(factor)))
    least = step * symbol.multiple
    if read.get(symbol.key) != (begin, end) or (end - begin) % least or end - begin == least:
        return None  # a pitch of `heads * 64` is not meant for one head
    return np.asarray(source.base - begin + factor // step * (end - begin), np.int64)


def _columns(source: AffineInt, event: Event) -> _Columns:
    base = np.broadcast_to(np.asarray(source.base, np.int64), event.mask.shape)[event.mask]
    return (int(base.min()), int(base.max()) + event.width) if len(base) else (0, 0)


def _moves_along(symbol: Symbol, factor: object, width: int) -> bool:
    """Returns whether a term moves all lanes by columns; an argument may move them by rows."""
    if isinstance(symbol, Conditional) or not isinstance(factor, int) or _PARAMETER in symbol.key:
        return False
    return factor * symbol.multiple % width == 0
