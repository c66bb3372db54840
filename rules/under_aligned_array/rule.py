"""SML303: an array that begins where its vector accesses fault."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Access, AccessKind, Facts, KernelFacts, SharedArray, Span
from smemlint.finding import Finding, Severity
from smemlint.frontend.heuristics import may_test_alignment
from smemlint.lint.rule import Rule

_READS = (AccessKind.LOAD, AccessKind.LDMATRIX, AccessKind.ATOMIC)


class UnderAlignedArray(Rule):
    """Lays the static arrays of a kernel out as the compiler does and checks the addresses."""

    code = "SML303"
    name = "under-aligned-array"
    summary = "an array begins at an address that is no multiple of its vector accesses"
    severity = Severity.ERROR

    def check(self, facts: Facts, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for each access that is aligned in its array and not in memory."""
        for kernel in facts.kernels:
            places = _places(kernel)
            for access in kernel.accesses:
                at = places.get(access.array.span) if access.array is not None else None
                if at is not None and access.certainty.is_decided:
                    yield from self._judged(access, *at)

    def _judged(self, access: Access, base: int, before: SharedArray | None) -> Iterator[Finding]:
        array = access.array
        if array is None or before is None or _is_guarded(access):
            return
        for pattern in access.patterns:
            if not pattern.exact or pattern.reach <= array.alignment or base % pattern.width == 0:
                continue
            if (pattern.addresses[pattern.active] % pattern.width).any():
                continue  # SML301 says it
            yield self.finding(
                f"{pattern.width}-byte access of `{array.name}`, which begins at byte {base}",
                access.span,
                access=access,
                pattern=pattern,
                notes=(
                    f"static arrays lie in the order of their declarations: `{before.name}` ends "
                    f"in front of it, and `{array.name}` is aligned to {array.alignment} only; "
                    "every lane faults",
                ),
                help=f"declare it `__align__({pattern.width})`",
                weight=float(pattern.width),
            )
            return


def _places(kernel: KernelFacts) -> dict[Span, tuple[int, SharedArray | None]]:
    """Returns the byte where each static array begins, what precedes it; empty when unsure.

    The order is that of declarations inside the kernel. Arrays that nothing reads may be left out
    by the compiler, and arrays of one element are placed elsewhere: what lies behind is not judged.
    """
    read = {a.array.span for a in kernel.accesses if a.array is not None and a.kind in _READS}
    arrays = [a for a in kernel.arrays if not a.is_dynamic]
    spans = [a.span for a in arrays]
    start = kernel.instance.span
    if spans != sorted(spans) or any(s.path != start.path or s < start for s in spans):
        return {}
    found: dict[Span, tuple[int, SharedArray | None]] = {}
    end, before = 0, None
    for array in arrays:
        base = -(-end // array.alignment) * array.alignment
        found[array.span] = base, before
        if array.bytes is None or array.dims in ((), (1,)) or array.span not in read:
            break
        end, before = base + array.bytes, array
    return found


def _is_guarded(access: Access) -> bool:
    """Returns whether a condition that could test the alignment was assumed."""
    return any(may_test_alignment(taken.subject) for taken in access.conditions)


RULE = UnderAlignedArray()
