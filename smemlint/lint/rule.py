"""What a rule is: a small class that judges facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from smemlint.config.settings import Settings
from smemlint.facts import (
    Access,
    Certainty,
    DotUse,
    Facts,
    KernelFacts,
    LayoutUse,
    Span,
    WarpPattern,
)
from smemlint.finding import Finding, Fix, Severity
from smemlint.lint.cost import cost_of
from smemlint.lint.places import assumption_notes, related_places
from smemlint.reasons import Assumption


class Rule:
    """A rule; its folder holds README.md, bad and good kernels beside it.

    All rules are imported to print the page of one: they import numpy where they use it.

    Attributes:
        code, name: never reused.
        summary: one line, lower case, no full stop.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    severity: ClassVar[Severity] = Severity.WARNING

    def check(self, facts: Facts, settings: Settings) -> Iterator[Finding]:
        """Yields findings on all facts of a run."""
        for kernel in facts.kernels:
            for access in kernel.accesses:
                if settings.is_sure_enough(self.certainty_of(access)):
                    yield from self.check_access(access, kernel, settings)
        for layout in facts.layouts:
            if settings.is_sure_enough(layout.certainty):
                yield from self.check_layout(layout, settings)
        for dot in facts.dots:
            if settings.is_sure_enough(dot.certainty):
                yield from self.check_dot(dot, settings)

    def certainty_of(self, access: Access) -> Certainty:
        """Returns how sure what the rule says of an access is."""
        return access.certainty

    def check_access(
        self, access: Access, kernel: KernelFacts, settings: Settings
    ) -> Iterator[Finding]:
        """Yields findings on one access of one kernel instance."""
        yield from ()

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields findings on one swizzle or layout that the source writes down."""
        yield from ()

    def check_dot(self, dot: DotUse, settings: Settings) -> Iterator[Finding]:
        """Yields findings on one matrix product of tiles."""
        yield from ()

    def finding(
        self,
        message: str,
        span: Span,
        *,
        access: Access | None = None,
        pattern: WarpPattern | None = None,
        kernel: KernelFacts | None = None,
        notes: tuple[str | Assumption, ...] = (),
        help: str = "",
        weight: float = 0.0,
        fix: Fix | None = None,
    ) -> Finding:
        """Returns a finding of this rule.

        An access brings its array, the calls that it is reached through and its assumptions along;
        the calls are those of `pattern`, where that is given. With the `kernel`, the finding has
        its cost, and a warning on what costs next to nothing is a note.

        Args:
            message: lower case, no full stop, code in backticks.
            span: where it is shown.
            access: that it is about; None for a finding on something else.
            pattern: of the access, the one that the message has its figures of.
            kernel: that the access belongs to.
            notes: why; assumptions are shown behind all others.
            help: what to write instead; empty where the fix or nothing helps.
            weight: of several findings of a rule at one place the heaviest is shown.
            fix: the repair.
        """
        related: tuple[tuple[Span, str], ...] = ()
        has_proof = access is not None and bool(notes)
        if access is not None:
            notes = (*notes, *assumption_notes(access), *_remarks(access))
            related = related_places(access, pattern)
        cost = cost_of(access, kernel) if access is not None and kernel is not None else None
        is_minor = cost is not None and cost.is_minor
        return Finding(
            self.code,
            self.name,
            min(self.severity, Severity.NOTE) if is_minor else self.severity,
            message,
            span,
            self.certainty_of(access) if access is not None else None,
            tuple(map(str, notes)),
            help,
            related,
            access,
            weight,
            fix,
            has_proof=has_proof,
            cost=cost,
        )


def _remarks(access: Access) -> Iterator[str]:
    """Yields what compiled code says of an access."""
    if access.operation:
        yield f"operation: {access.operation}"
    if access.remark:
        yield access.remark
