"""Other layouts for CuTe tensors that conflict: found by the solver, shown by evaluation.

A tensor's copies and elements decide their widths by its layout, so what another layout achieves is
not computed from the addresses that were seen: the kernel is evaluated again with it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from smemlint.analysis.swizzle_advice import all_of, best_swizzle, may_lack_patterns, offsets_of
from smemlint.layout import cute
from smemlint.layout.solver import best_padding
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_ADVISED_PATTERNS,
    MAX_LAYOUT_TRIALS,
    MAX_STEPS_OF_A_TRIAL,
)
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smemlint.analysis.simt.domain.values import Pointer
    from smemlint.facts import Access, KernelFacts, SharedArray
    from smemlint.layout.cute import AnyLayout

    Evaluate = Callable[["LayoutTrial"], KernelFacts]


@dataclass(frozen=True, slots=True)
class LayoutTrial:
    """Another layout for the tensors that begin at one place and have no swizzle of bytes.

    Attributes:
        array, base: the place: a shared array and a byte of it.
        swizzle: is composed with each layout, in place of its own; None for none.
        pitch, padding: elements of a row, and how many each row gets besides.
    """

    array: SharedArray
    base: int
    swizzle: Swizzle | None = None
    pitch: int = 0
    padding: int = 0

    def concerns(self, pointer: Pointer) -> bool:
        """Returns whether a tensor over a pointer gets the other layout."""
        array = pointer.object.shared
        is_there = pointer.offset.constant == self.base
        return is_there and array is not None and _place(array) == _place(self.array)

    def applied(self, layout: AnyLayout) -> AnyLayout:
        """Returns the other layout in place of one.

        Raises:
            CuteError: its strides are not those of rows, or it is a slice of a swizzled one.
        """
        if isinstance(layout, cute.ComposedLayout) and layout.offset != 0:
            raise cute.CuteError("a slice of a swizzled layout")
        plain = layout.plain
        if self.swizzle is not None:
            return cute.compose_swizzle(self.swizzle, plain)
        return cute.Layout(plain.shape, self._padded(plain.stride))

    def _padded(self, stride: cute.IntTuple) -> cute.IntTuple:
        if isinstance(stride, tuple):
            return tuple(map(self._padded, stride))
        if not isinstance(stride, int) or (stride >= self.pitch and stride % self.pitch):
            raise cute.CuteError("a stride that is no multiple of a row")
        return stride // self.pitch * (self.pitch + self.padding) + stride % self.pitch


def with_layout_advice(facts: KernelFacts, evaluate: Evaluate) -> KernelFacts:
    """Returns the facts; accesses that conflict name the layout that frees their tensors.

    Args:
        facts: of a kernel.
        evaluate: returns the facts of the same kernel under a trial.
    """
    # What was not followed may move the tensor by TMA or read it by descriptor, which allow few
    # layouts, or may touch it in another way.
    if facts.not_analysed or facts.steps > MAX_STEPS_OF_A_TRIAL:
        return facts
    advice: dict[tuple[object, int] | None, str] = {}
    for key, accesses in _groups(facts.accesses).items():
        if any(a.ways > 1 for a in accesses) and _is_whole(accesses, facts.accesses):
            advice[key] = _advice(accesses, facts, evaluate)
    if not any(advice.values()):
        return facts
    return replace(
        facts,
        accesses=tuple(
            replace(a, advice=advice.get(_key(a), "")) if a.ways > 1 and not a.advice else a
            for a in facts.accesses
        ),
    )


def _place(array: SharedArray) -> tuple[object, str]:
    return array.span, array.name


def _key(access: Access) -> tuple[object, int] | None:
    """The place of the tensor that an access goes through; None for swizzles of byte addresses."""
    use, array = access.layout, access.array
    if use is None or array is None or (use.family, use.units) != ("cute", "elements"):
        return None
    return None if use.base is None else (_place(array), use.base)


def _groups(accesses: Sequence[Access]) -> dict[tuple[object, int], list[Access]]:
    groups: dict[tuple[object, int], list[Access]] = {}
    for access in accesses:
        key = _key(access)
        if key is not None:
            groups.setdefault(key, []).append(access)
    return groups


def _is_whole(mine: Sequence[Access], accesses: Sequence[Access]) -> bool:
    """Returns whether all is known of what touches the bytes of a group."""
    array, use = mine[0].array, mine[0].layout
    assert array is not None and use is not None
    here = [a for a in accesses if a.array is not None and _place(a.array) == _place(array)]
    others = [a for a in here if a not in mine]
    if not all(a.certainty.is_decided and a.patterns for a in (*mine, *others)):
        return False
    uses = [a.layout for a in mine if a.layout is not None]
    if any((u.element_bytes, u.swizzle) != (use.element_bytes, use.swizzle) for u in uses):
        return False
    first = array.base + (use.base or 0)
    last = first + use.element_bytes * max(_cosize(u.shape, u.stride) for u in uses)
    return all(not may_lack_patterns(a) and _lies_outside(a, first, last) for a in others) and all(
        _lies_inside(a, first, last) for a in mine
    )


def _lies_outside(access: Access, first: int, last: int) -> bool:
    reached = [p.addresses[p.active] + at for p in access.patterns for at in (0, p.width - 1)]
    return all(not ((r >= first) & (r < last)).any() for r in reached)


def _lies_inside(access: Access, first: int, last: int) -> bool:
    reached = [p.addresses[p.active] for p in access.patterns]
    return all(((r >= first) & (r < last)).all() for r in reached)


def _advice(accesses: Sequence[Access], facts: KernelFacts, evaluate: Evaluate) -> str:
    use = accesses[0].layout
    assert use is not None
    copies = all_of(accesses)
    for trial in islice(_trials(accesses), MAX_LAYOUT_TRIALS):
        spend(facts.steps)
        after = evaluate(trial)
        if not _is_freed(accesses, after, trial):
            continue
        if trial.swizzle is not None:
            instead = " instead" if use.swizzle is not None else ""
            return f"compose the layout with {trial.swizzle}{instead}: that frees {copies}"
        padded = trial.pitch + trial.padding
        return (
            f"give its rows a stride of {padded} elements instead of {trial.pitch}: that frees "
            f"{copies}, and the array grows with `cosize`"
        )
    return ""


def _trials(accesses: Sequence[Access]) -> Iterator[LayoutTrial]:
    """Yields what may free a group, by the addresses that were seen."""
    array, use = accesses[0].array, accesses[0].layout
    assert array is not None and use is not None and use.base is not None
    size = use.element_bytes
    before = Swizzle(*(use.swizzle or (0, 0, 0)))
    patterns = [p for a in accesses for p in offsets_of(a, array.base + use.base, size, before)]
    if len(patterns) > MAX_ADVISED_PATTERNS:
        return
    extents = [a.layout for a in accesses if a.layout is not None]
    extent = max(_cosize(u.shape, u.stride) for u in extents)
    try:
        swizzle = best_swizzle(patterns, size, extent)
        if swizzle is not None:
            yield LayoutTrial(array, use.base, swizzle=swizzle)
        for pitch in sorted({min(rest) for u in extents if (rest := _rows(u.stride))}):
            padding, achieved = best_padding(patterns, size, pitch)
            if achieved.is_free and padding:
                yield LayoutTrial(array, use.base, pitch=pitch, padding=padding)
    except ValueError:
        return


def _rows(stride: tuple[int, ...]) -> list[int]:
    return [s for s in stride if s > 1]


def _cosize(shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * abs(d) for n, d in zip(shape, stride, strict=True))


def _is_freed(before: Sequence[Access], facts: KernelFacts, trial: LayoutTrial) -> bool:
    """Returns whether a trial's evaluation shows the same accesses, none slower and all free."""
    if facts.not_analysed:
        return False
    after = {
        (a.span, a.kind): a
        for a in facts.accesses
        if a.array is not None and a.layout is not None and a.layout.base == trial.base
        if _place(a.array) == _place(trial.array)
    }
    for access in before:
        other = after.pop((access.span, access.kind), None)
        if other is None or not other.certainty.is_decided or not other.patterns:
            return False
        if other.width_bytes != access.width_bytes or other.instructions != access.instructions:
            return False
        if other.ways > 1 or any((p.addresses % p.width).any() for p in other.patterns):
            return False
    return not after
