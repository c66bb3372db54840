"""What shared layout to write instead of one whose accesses conflict: tried out, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod

from smemlint.analysis.python.gluon.values import TileAccess
from smemlint.facts import Access, SharedArray
from smemlint.layout.gluon import Nvmma, Padded, SharedLayout, Swizzled, identity_bases
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_ADVISED_ACCESSES, MAX_ADVISED_ELEMENTS

_PHASES = (2, 4, 8, 16, 32)
_VECTOR_BITS = 128
_LINE = 128
"""Bytes of a row of all banks."""


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """An array's accesses under one layout."""

    layout: SharedLayout
    accesses: tuple[Access, ...]

    @property
    def cost(self) -> float:
        """Wavefronts of all accesses together."""
        return sum(p.wavefronts * p.count for a in self.accesses for p in a.patterns)

    @property
    def is_decided(self) -> bool:
        """Returns whether every access has a figure."""
        return all(a.certainty.is_decided and a.ways > 0 for a in self.accesses)

    @property
    def is_free(self) -> bool:
        """Returns whether no access conflicts."""
        return all(a.ways <= 1 for a in self.accesses)

    def is_worse_somewhere(self, accesses: Sequence[Access]) -> bool:
        """Returns whether an access conflicts more than before."""
        return any(b.ways > max(a.ways, 1) for a, b in zip(accesses, self.accesses, strict=True))


def with_advice(
    seen: Sequence[TileAccess],
    accesses: Sequence[Access],
    kept: Callable[[SharedArray], bool],
    evaluate: Callable[[TileAccess], Access],
) -> tuple[Access, ...]:
    """Returns the accesses, those that conflict with what to write instead where that was found.

    Args:
        seen: what the source does, in order.
        accesses: their facts.
        kept: whether an array's layout is what others (TMA, tensor cores) need it to be.
        evaluate: the fact of one access.
    """
    found = list(accesses)
    for array in {a.array for a in accesses if a.array is not None and a.ways > 1}:
        mine = [i for i, a in enumerate(accesses) if a.array == array]
        if kept(array) or len(mine) > MAX_ADVISED_ACCESSES:
            continue
        advice = _advice([seen[i] for i in mine], [accesses[i] for i in mine], evaluate)
        for i in mine:
            if advice and found[i].ways > 1:
                found[i] = replace(found[i], advice=advice)
    return tuple(found)


def _advice(
    seen: Sequence[TileAccess], accesses: Sequence[Access], evaluate: Callable[[TileAccess], Access]
) -> str:
    first = seen[0].descriptor
    layout, shape, dtype = first.layout, first.allocated_shape, first.element
    same = all((s.descriptor.layout, s.descriptor.allocated_shape) == (layout, shape) for s in seen)
    if layout is None or shape is None or dtype is None or not same:
        return ""
    now = _Trial(layout, tuple(accesses))
    if not now.is_decided or prod(shape) > MAX_ADVISED_ELEMENTS:
        return ""
    best = now
    for other in _others(layout, shape, dtype.bits):
        trial = _trial(seen, other, evaluate)
        if trial is None or not trial.is_decided or trial.is_worse_somewhere(accesses):
            continue
        if trial.cost < best.cost:
            best = trial
        if trial.is_free:
            break
    return _message(now, best) if best is not now else ""


def _trial(
    seen: Sequence[TileAccess], layout: SharedLayout, evaluate: Callable[[TileAccess], Access]
) -> _Trial | None:
    """Returns the accesses under another layout; None where it does not fit."""
    try:
        moved = [s.under(layout) for s in seen]
    except (ValueError, IndexError):
        return None
    return _Trial(layout, tuple(evaluate(s) for s in moved))


def _message(now: _Trial, best: _Trial) -> str:
    count = len(best.accesses)
    accesses = {1: "its access", 2: "both accesses"}.get(count, f"all {count} accesses")
    what = f"write `{_spelled(best.layout)}`: "
    if best.is_free:
        before = f"{best.cost:.0f} wavefronts instead of {now.cost:.0f}"
        return f"{what}removes the bank conflicts of {accesses} ({before})"
    return f"{what}lowers {accesses} to {best.cost:.0f} wavefronts instead of {now.cost:.0f}"


def _others(layout: SharedLayout, shape: tuple[int, ...], bits: int) -> Iterator[SharedLayout]:
    """Returns layouts of the same class to try, the simplest first."""
    if isinstance(layout, Swizzled):
        row = layout.row(shape)
        most = max(_VECTOR_BITS // bits, 1)
        vecs = [v for v in (1, 2, 4, 8, 16) if v <= min(most, row)]
        per_row = max(_LINE * 8 // (row * bits), 1)
        for per_phase in dict.fromkeys((per_row, 1)):
            for vec in reversed(vecs):
                for phases in _PHASES:
                    if vec * phases <= row:
                        yield Swizzled(vec, per_phase, phases, layout.order)
    elif isinstance(layout, Nvmma):
        for width in (128, 64, 32):
            yield replace(layout, swizzle_bytes=width)
    elif isinstance(layout, Padded) and len(layout.pairs) == 1:
        interval = layout.pairs[0][0]
        for padding in (1, 2, 4, 8, 16):
            if padding * bits >= 32:
                yield replace(layout, pairs=((interval, padding),))


def _spelled(layout: SharedLayout) -> str:
    match layout:
        case Swizzled():
            numbers = f"{layout.vec}, {layout.per_phase}, {layout.max_phase}"
            return f"SwizzledSharedLayout({numbers}, {list(layout.order)})"
        case Nvmma():
            return f"NVMMASharedLayout({layout.swizzle_bytes}, {layout.element_bits}, ..)"
        case Padded():
            pairs = [list(p) for p in layout.pairs]
            for order in ([1, 0], [0, 1], [0]):
                is_known = len(order) == len(layout.shape)
                if is_known and layout.offset_bases == identity_bases(layout.shape, order):
                    shape = list(layout.shape)
                    return f"PaddedSharedLayout.with_identity_for({pairs}, {shape}, {order})"
            return f"PaddedSharedLayout({pairs}, ..)"
    return ""
