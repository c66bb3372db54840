"""The addresses that an unknown term of an offset allows, where they cost different things."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.lanes import Lanes
from smemlint.analysis.simt.domain.linear_forms import ByResidue, Turns
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Symbol, Unknown
from smemlint.facts import AccessKind
from smemlint.hardware.arch import BANKS, WIDEST_ACCESS, WORD
from smemlint.hardware.banks import wavefronts
from smemlint.limits.budgets import MAX_RESIDUES
from smemlint.limits.steps import spend
from smemlint.reasons import ReasonCode

_GENERIC = 1 << 20


def alternative_offsets(offset: AffineInt, event: Event) -> list[NDArray[np.int64]] | Unknown:
    """Returns lane addresses for every residue of the unknown part that matters to banks.

    What moves all lanes by one multiple of the access width (and of a word) only rotates the banks.
    """
    for term in offset.terms:
        if _values_of(*term) and not _agree_by_warp(np.asarray(term[1]), event.mask):
            return _for_each_value(offset, term, event)
    for symbol, factor in offset.terms:
        if isinstance(symbol, Turns) and not _goes_round(offset.base, symbol, factor, event.mask):
            return _lanes_depend_on(symbol)
    unit = max(event.width, 4)
    base = np.broadcast_to(np.asarray(offset.base, dtype=np.int64), event.mask.shape)
    steps: list[int] = []
    for symbol, factor in offset.terms:
        if not isinstance(factor, int):
            if not _agree_by_warp(factor, event.mask):
                by = factor * symbol.multiple
                if len(offset.terms) > 1 or not _keeps_banks(base, by, event):
                    return _lanes_depend_on(symbol)
                return [base + by * _GENERIC]
            factor = int(np.gcd.reduce(factor[event.mask]))
        steps.append(factor * symbol.multiple)
    common = unit
    for step in steps:
        common = gcd(common, step)
    residues = range(0, unit, common) if common < unit else range(1)
    if len(residues) > MAX_RESIDUES:
        return Unknown.because(ReasonCode.RESIDUES, "too many residues of an unknown")
    found = [base + r for r in residues]
    if len(found) > 1 and event.width > 1:
        aligned = [b for b in found if not (b[event.mask] % event.width).any()]
        found = aligned or found[:1]  # a misaligned residue would fault: it does not occur
    return found


def _goes_round(base: Lanes, turns: Turns, factor: Lanes, mask: NDArray[np.bool_]) -> bool:
    """Returns whether lanes reach the same banks, and each its own word, however often they turn.

    A turn is a multiple of all banks; lanes at one place of the ring turn together, and those at
    others are apart by something else than turns.
    """
    if not isinstance(factor, int) or factor % (BANKS * WORD):
        return False
    shape = (-1, WARP)
    lanes, places = (np.broadcast_to(x, mask.shape).reshape(shape) for x in (base, turns.places))
    meets = (lanes[:, :, None] - lanes[:, None, :]) % factor // WORD == 0
    is_apart = places[:, :, None] != places[:, None, :]
    active = mask.reshape(shape)
    return not (meets & is_apart & active[:, :, None] & active[:, None, :]).any()


def _lanes_depend_on(symbol: Symbol) -> Unknown:
    text = f"how far lanes lie apart depends on `{symbol.name}`, not known"
    return Unknown.because(ReasonCode.RESIDUES, text)


def _values_of(symbol: Symbol, factor: Lanes) -> range:
    """Returns the values of an unknown that moves lanes apart, where those are few."""
    if isinstance(factor, int) or symbol.is_iteration or not symbol.nonnegative:
        return range(0)
    if symbol.multiple > 1 or symbol.most is None or symbol.most - symbol.least >= MAX_RESIDUES:
        return range(0)
    return range(symbol.least, symbol.most + 1)


def _for_each_value(
    offset: AffineInt, term: tuple[Symbol, Lanes], event: Event
) -> list[NDArray[np.int64]] | Unknown:
    """Returns lane addresses for each value of an unknown, if all of them take as long."""
    found: list[NDArray[np.int64]] = []
    others = tuple(t for t in offset.terms if t is not term)
    for value in _values_of(*term):
        base = np.asarray(offset.base) + np.asarray(term[1]) * value
        part = alternative_offsets(AffineInt(base, offset.type, others), event)
        if isinstance(part, Unknown):
            return part
        found += part
        if len(found) > MAX_RESIDUES:
            return _lanes_depend_on(term[0])
    return found if _cost_alike(found, event) else _lanes_depend_on(term[0])


def offsets_by_residue(offset: Unknown, event: Event) -> list[NDArray[np.int64]]:
    """Returns lane addresses for each residue of an unknown, if all of them take as long.

    Only of what no neighbour is fused with.
    """
    if not isinstance(offset, ByResidue) or event.width < WIDEST_ACCESS:
        return []
    found: list[NDArray[np.int64]] = []
    for case in offset.cases:
        part = alternative_offsets(case, event)
        if isinstance(part, Unknown) or len(found) + len(part) > MAX_RESIDUES:
            return []
        found += part
    return found if _cost_alike(found, event) else []


def _cost_alike(alternatives: Sequence[NDArray[np.int64]], event: Event) -> bool:
    """Returns whether every warp takes as many wavefronts, of as many at best, in each of them."""
    if event.kind not in (AccessKind.LOAD, AccessKind.STORE):
        return False
    active = event.mask.reshape(-1, WARP)
    spend(len(alternatives))
    try:
        costs = [
            wavefronts(
                np.where(event.mask, lanes, 0).reshape(-1, WARP),
                kind=event.kind, width=event.width, active=active,
            )
            for lanes in alternatives
        ]  # fmt: skip
    except ValueError:  # a misaligned address: one of them does not occur
        return False
    first = costs[0]
    return all(
        np.array_equal(c.wavefronts, first.wavefronts) and np.array_equal(c.ideal, first.ideal)
        for c in costs
    )


def _keeps_banks(base: NDArray[np.int64], by: NDArray[np.int64], event: Event) -> bool:
    """Returns whether lanes moved by multiples `by` neither change banks nor meet.

    Their differences are multiples of all banks, and lanes of one word stay those of one word
    for the least values of the unknown and a large one.
    """
    mask = event.mask
    if (by[mask] % (BANKS * WORD)).any():
        return False
    first = _sharing(base, mask)
    return all(
        np.array_equal(_sharing(base + by * value, mask), first) for value in (1, 2, 3, _GENERIC)
    )


def _sharing(addresses: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns for every active lane the first one of its warp that reaches the same word."""
    rows, active = (addresses // WORD).reshape(-1, WARP), mask.reshape(-1, WARP)
    same = (rows[:, :, None] == rows[:, None, :]) & active[:, None, :]
    found: NDArray[np.int64] = same.argmax(axis=2)[active]
    return found


def _agree_by_warp(lanes: NDArray[np.int64], mask: NDArray[np.bool_]) -> bool:
    """Returns whether the active lanes of every warp hold one number."""
    rows, active = lanes.reshape(-1, WARP), mask.reshape(-1, WARP)
    first = rows[np.arange(len(rows)), active.argmax(axis=1)]
    return not ((rows != first[:, None]) & active).any()


def warps(mask: NDArray[np.bool_]) -> int:
    """Returns how many warps have an active lane."""
    return int(mask.reshape(-1, WARP).any(axis=1).sum())
