"""The facts of kernels and of a run, and how those of several units are merged and counted."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from typing import TypeVar

from smemlint.facts.accesses import Access, AccessKind
from smemlint.facts.layouts import DotUse, LayoutUse
from smemlint.facts.places import Argument, Instance, SharedArray, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class NotAnalysed:
    """Code that was seen and not decided, which is always reported.

    Attributes:
        kernel: the enclosing kernel; empty at file level.
        reason: in words, lower case, no full stop.
        array: the only shared array that it can touch; None where it may be any.
    """

    span: Span
    kernel: str
    reason: Reason
    array: SharedArray | None = None

    def is_refuted(self, reached: Container[Span]) -> bool:
        """Returns whether it says that nothing reached one of the places that were reached."""
        return self.reason.code is ReasonCode.NOT_REACHED and self.span in reached


@dataclass(frozen=True, slots=True, eq=False)
class KernelFacts:
    """Everything known of one kernel instance.

    Attributes:
        steps: how many statements were run for it.
        layouts: swizzled layouts of its shared memory; also in `Facts.layouts`.
        passed: numbers that its launch passes; only where compiled code of the run needs them.
        hangs_on_launch: accesses are decided by numbers that its launch passes.
    """

    instance: Instance
    arrays: tuple[SharedArray, ...] = ()
    accesses: tuple[Access, ...] = ()
    not_analysed: tuple[NotAnalysed, ...] = ()
    steps: int = 0
    layouts: tuple[LayoutUse, ...] = ()
    dots: tuple[DotUse, ...] = ()
    passed: tuple[Argument, ...] = ()
    hangs_on_launch: bool = False

    @property
    def decided(self) -> int:
        """How many accesses are decided."""
        return sum(a.certainty.is_decided for a in self.accesses)


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything known of the sources of one run.

    Attributes:
        reached: places in other files than the analysed one that its execution came to.
    """

    kernels: tuple[KernelFacts, ...] = ()
    not_analysed: tuple[NotAnalysed, ...] = ()
    layouts: tuple[LayoutUse, ...] = ()
    dots: tuple[DotUse, ...] = ()
    reached: tuple[Span, ...] = ()

    @staticmethod
    def merged(
        parts: Sequence[Facts], place: Callable[[int, Instance], int] = lambda at, _: at
    ) -> Facts:
        """Merges the facts of units that may hold the same code.

        Of each layout and product the first part decides; notes stand once, and none says that
        nothing reached what another part reached.

        Args:
            parts: the facts of each unit.
            place: the place of a part among those that hold a kernel instance, the first of which
                decides; by default that in which they are given.
        """
        reached = dict.fromkeys(span for part in parts for span in part.reached)
        notes = dict.fromkeys(
            n for part in parts for n in part.not_analysed if not n.is_refuted(reached)
        )
        return Facts(
            _of_first_place([p.kernels for p in parts], place),
            tuple(notes),
            _of_first_part([p.layouts for p in parts], lambda layout: layout.span),
            _of_first_part([p.dots for p in parts], lambda dot: dot.span),
            tuple(reached),
        )

    @staticmethod
    def joined(parts: Sequence[Facts]) -> Facts:
        """Joins the facts of different code, of which nothing can stand in two parts."""
        return Facts(
            tuple(k for part in parts for k in part.kernels),
            tuple(n for part in parts for n in part.not_analysed),
            tuple(u for part in parts for u in part.layouts),
            tuple(d for part in parts for d in part.dots),
            tuple(span for part in parts for span in part.reached),
        )


def _of_first_place(
    parts: Sequence[Sequence[KernelFacts]], place: Callable[[int, Instance], int]
) -> tuple[KernelFacts, ...]:
    """Keeps of the kernels with equal instances those of the part with the first place."""
    first: dict[Hashable, int] = {}
    for at, part in enumerate(parts):
        for instance in (k.instance for k in part):
            mine = place(at, instance)
            first[instance.key] = min(mine, first.get(instance.key, mine))
    return tuple(
        kernel
        for at, part in enumerate(parts)
        for kernel in part
        if place(at, kernel.instance) == first[kernel.instance.key]
    )


def _of_first_part(
    parts: Sequence[Sequence[Fact]], key: Callable[[Fact], Hashable]
) -> tuple[Fact, ...]:
    """Keeps of the facts with equal keys those of the first part that has any."""
    found: list[Fact] = []
    seen: set[Hashable] = set()
    for part in parts:
        fresh = [fact for fact in part if key(fact) not in seen]
        seen.update(map(key, fresh))
        found += fresh
    return tuple(found)


Site = tuple[Span, AccessKind, bool]
"""An access site, and whether it has a figure or verdict."""


def sites_of(kernels: Iterable[KernelFacts]) -> tuple[Site, ...]:
    """Returns the access sites of kernel instances, those of several instances more than once."""
    return tuple(
        (access.span, access.kind, access.certainty.is_decided)
        for kernel in kernels
        for access in kernel.accesses
    )


def verdicts(sites: Iterable[Site]) -> dict[tuple[Span, AccessKind], bool]:
    """Returns for each place and kind of access whether it is decided in all instances.

    Whatever counts accesses counts these: the closing lines of `check` and `analyze`, and SML901.
    """
    found: dict[tuple[Span, AccessKind], bool] = {}
    for span, kind, is_decided in sites:
        found[span, kind] = found.get((span, kind), True) and is_decided
    return found
