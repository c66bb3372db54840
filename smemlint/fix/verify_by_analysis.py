"""Runs the analysis on edited sources and compares what it says before and after.

A fix is offered only where that shows that findings are gone, that none is new or worse, that
nothing is less well known, and that every access still reaches the element that it means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.analyze import analyze
from smemlint.analysis.program.memo import AnalysisScope, Memo
from smemlint.config.settings import Settings
from smemlint.facts import Access, Facts, KernelFacts, Span, WarpPattern
from smemlint.finding import REPAIRED, Edit, Finding
from smemlint.fix.padding import Padding, Usage
from smemlint.hardware.arch import STATIC_SHARED_LIMIT, WIDEST_ACCESS
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.check import run_rules
from smemlint.sources.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What findings were found in.

    Attributes:
        settings_of: the settings that a file's findings are judged by.
        memo: what is known from before of edited sources; see `Project`.
    """

    sources: tuple[Source, ...]
    settings: Settings
    settings_of: Callable[[str], Settings]
    memo: Callable[[Sequence[Source]], Memo] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One declaration before and after an edit.

    Attributes:
        pairs: every access of the kernels concerned, before and after, by its place before.
        conflicts: those that conflict afterwards, by identity.
    """

    pairs: Mapping[Span, Sequence[tuple[Access, Access]]]
    conflicts: frozenset[int]

    def healed(self, finding: Finding) -> Access | None:
        """Returns the finding's access as it is afterwards, where no instance of it conflicts."""
        array = finding.access.array if finding.access is not None else None
        after = [
            (old, new)
            for old, new in self.pairs.get(finding.span, ())
            if array is not None and array.is_declared_as(old.array)
        ]
        if any(id(new) in self.conflicts for _, new in after):
            return None
        return next((new for old, new in after if old is finding.access), None)

    def conflicting_sites(self, declaration: Span) -> frozenset[Span]:
        """Returns places that still conflict on the array declared there."""
        return frozenset(
            old.span for old, new in self._of(declaration) if id(new) in self.conflicts
        )

    def wavefronts(self, declaration: Span) -> tuple[float, float]:
        """Returns what the array's accesses take in all instances together, before and after."""
        used = list(self._of(declaration))
        return _total([old for old, _ in used]), _total([new for _, new in used])

    def _of(self, declaration: Span) -> Iterator[tuple[Access, Access]]:
        for pairs in self.pairs.values():
            yield from (p for p in pairs if p[0].array and p[0].array.span == declaration)


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """The best padding of an array, evaluated.

    Attributes:
        edit: of its declaration, or of the constant that pads it.
        spelled: the declarator with the edit, in words.
        added_bytes: by how much the array grows; the most over all instances.
    """

    edit: Edit
    spelled: str
    added_bytes: int
    comparison: Comparison


def concerned(facts: Facts, declaration: Span) -> tuple[KernelFacts, ...]:
    """Returns the kernel instances that have the array declared there."""
    return tuple(k for k in facts.kernels if any(a.span == declaration for a in k.arrays))


def unfollowed_lines(facts: Facts, declaration: Span) -> tuple[int, ...]:
    """Returns lines of the kernels that have an array where another use of it may be hidden."""
    kernels = concerned(facts, declaration)
    notes = {n.span.line for k in kernels for n in k.not_analysed}
    arrays = ((a, a.array.buffers) for k in kernels for a in k.accesses if a.array is not None)
    return tuple(sorted(notes | {a.span.line for a, spans in arrays if declaration in spans}))


def compare(
    kernels: Sequence[KernelFacts],
    declaration: Span,
    padding: Padding,
    text: str,
    run: Run,
    *,
    is_typed: bool,
) -> Comparison | None:
    """Evaluates the kernels with an array padded; None where that is worse in any way.

    Args:
        kernels: all that have the array.
        declaration: of the array.
        padding: what the edit does to it.
        text: of the array's file, edited.
        run: that they were found in.
        is_typed: no access counts on the old layout, whatever its address.
    """
    if any(k.not_analysed for k in kernels) and not is_typed:
        return None  # a pointer may have gone there
    if any(_moves_vectors(k, declaration, padding) for k in kernels):
        return None
    after = _evaluated(kernels, declaration.path, text, run)
    if after is None or not all(
        _is_right(old, new, declaration, padding, is_typed=is_typed)
        for old, new in _pairs(kernels, after.kernels)
    ):
        return None
    return _compared(kernels, after.kernels, run)


def compare_constant(
    kernels: Sequence[KernelFacts], path: str, text: str, run: Run
) -> Comparison | None:
    """Evaluates the kernels with a constant of a file changed; None where that is worse in any way.

    That every access reaches the element that it means, the author of the constant has to know.
    """
    after = _evaluated(kernels, path, text, run)
    return _compared(kernels, after.kernels, run) if after is not None else None


def compare_swizzle(
    facts: Facts, kernels: Sequence[KernelFacts], path: str, text: str, run: Run
) -> Comparison | None:
    """Evaluates the kernels with a swizzle of a file changed; None where that is worse in any way.

    It is, too, where rules on layouts report more than before: the swizzle may have other users.

    Args:
        facts: from before.
        kernels: those of `facts` that the swizzle may concern.
        path: the file with the edit.
        text: its new content.
        run: how sources are analysed.
    """
    after = _evaluated(kernels, path, text, run)
    if after is None:
        return None
    before = Facts(tuple(kernels), layouts=facts.layouts)
    if _layout_findings(after, path, run) - _layout_findings(before, path, run):
        return None
    return _compared(kernels, after.kernels, run)


def _layout_findings(facts: Facts, path: str, run: Run) -> Counter[str]:
    """Returns how often each rule reports a layout of a file."""
    own = tuple(use for use in facts.layouts if use.span.path == path)
    found = run_rules(Facts(facts.kernels, layouts=own), run.settings_of)
    return Counter(f.code for f in found if f.access is None)


def _evaluated(kernels: Sequence[KernelFacts], path: str, text: str, run: Run) -> Facts | None:
    """Returns the kernels with a file edited, None where less is known of one or it is too big."""
    edited = [s.edited(text) if s.path == path else s for s in run.sources]
    scope = AnalysisScope(path, frozenset(k.instance.kernel for k in kernels))
    memo = run.memo(edited) if run.memo is not None else None
    facts, crashed = analyze(edited, run.settings, scope, memo)
    after = {_key(k): k for k in facts.kernels}
    if crashed or not after.keys() >= {_key(k) for k in kernels}:
        return None
    found = [after[_key(k)] for k in kernels]
    for old, new in zip(kernels, found, strict=True):
        if not _is_as_well_known(old, new) or _static_bytes(new) > STATIC_SHARED_LIMIT:
            return None
    return Facts(tuple(found), layouts=facts.layouts)


def _pairs(
    kernels: Sequence[KernelFacts], after: Sequence[KernelFacts]
) -> Iterator[tuple[Access, Access]]:
    """Yields every access of the kernels, before and after."""
    for kernel, other in zip(kernels, after, strict=True):
        yield from zip(kernel.accesses, other.accesses, strict=True)


def _compared(
    kernels: Sequence[KernelFacts], after: Sequence[KernelFacts], run: Run
) -> Comparison | None:
    """Returns what an edit does to the kernels; None where a finding of one is worse."""
    conflicts = _objections(kernels, after, run)
    if conflicts is None:
        return None
    by_place: dict[Span, list[tuple[Access, Access]]] = {}
    for old, new in _pairs(kernels, after):
        by_place.setdefault(old.span, []).append((old, new))
    return Comparison(by_place, conflicts)


def _key(kernel: KernelFacts) -> Hashable:
    instance = kernel.instance
    launch = instance.block, instance.passed
    return instance.span.path, instance.kernel, instance.template, launch


def _is_as_well_known(old: KernelFacts, new: KernelFacts) -> bool:
    """Returns whether the accesses are the same, as decided as before, none missing."""
    missing = Counter((n.span.line, n.reason) for n in new.not_analysed)
    missing -= Counter((n.span.line, n.reason) for n in old.not_analysed)
    return (
        not missing
        and [_site(a) for a in old.accesses] == [_site(a) for a in new.accesses]
        and all(
            b.certainty.is_decided >= a.certainty.is_decided
            for a, b in zip(old.accesses, new.accesses, strict=True)
        )
    )


def _site(access: Access) -> Hashable:
    name = access.array.name if access.array is not None else ""
    return access.span.path, access.span.line, access.kind, access.expression, name


def _moves_vectors(kernel: KernelFacts, declaration: Span, padding: Padding) -> bool:
    """Returns whether another array, which moves, has vectors of unpromised alignment.

    Arrays lie one behind the other: a reinterpreted pointer to the next one is aligned by the size
    of those before it.
    """
    padded = next(a for a in kernel.arrays if a.span == declaration)
    return padding.added_bytes(padded) % WIDEST_ACCESS != 0 and any(
        a.array is not None
        and a.array.span != declaration
        and not a.array.is_dynamic
        and a.width_bytes > a.array.alignment
        for a in kernel.accesses
    )


def _static_bytes(kernel: KernelFacts) -> int:
    return sum(a.bytes or 0 for a in kernel.arrays if not a.is_dynamic)


def _is_right(
    old: Access, new: Access, declaration: Span, padding: Padding, *, is_typed: bool
) -> bool:
    """Returns whether an access reaches after the edit the elements that it reached before.

    Accesses whose addresses are all known are compared. Of the others the type has to tell; an
    index that runs over the end of its row would reach the padding.
    """
    if old.array is None or new.array is None or old.array.span != declaration:
        return True
    if new.array.dims != padding.dims(old.array):
        return False
    known = Usage((old, new)).is_complete
    if not known or old.width_bytes != new.width_bytes:  # else the compiler fuses other accesses
        return is_typed and all(
            padding.is_left_alone((p.addresses - new.array.base)[p.active], old.array)
            for p in new.patterns
            if p.exact
        )
    meant = {
        _lanes(p, padding.moved(p.addresses - old.array.base, old.array)) for p in old.patterns
    }
    return meant == {_lanes(p, p.addresses - new.array.base) for p in new.patterns}


def _lanes(pattern: WarpPattern, offsets: NDArray[np.int64]) -> Hashable:
    return pattern.width, pattern.active.tobytes(), offsets[pattern.active].tobytes()


def _objections(
    before: Sequence[KernelFacts], after: Sequence[KernelFacts], run: Run
) -> frozenset[int] | None:
    """Returns accesses that conflict or fault afterwards; None where a finding is worse.

    All rules are asked, also those that the user does not want to see.
    """
    known, found = (_by_place(kernels, run) for kernels in (before, after))
    for place, finding in found.items():
        if place not in known or finding.weight > known[place].weight:
            return None
    return frozenset(id(f.access) for f in found.values() if f.code in REPAIRED)


def _by_place(kernels: Sequence[KernelFacts], run: Run) -> dict[Hashable, Finding]:
    """Groups findings by their numbers, as columns move with an edit in front of them."""
    numbers = {
        id(access): (k, a)
        for k, kernel in enumerate(kernels)
        for a, access in enumerate(kernel.accesses)
    }
    return {
        (f.code, numbers[id(f.access)] if f.access is not None else (f.span.line, f.message)): f
        for f in run_rules(Facts(tuple(kernels)), run.settings_of)
    }


def _total(accesses: Sequence[Access]) -> float:
    return sum(a.wavefronts.mean * a.instructions for a in accesses if a.wavefronts is not None)
