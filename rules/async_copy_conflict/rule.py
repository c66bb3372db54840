"""SML103: an asynchronous copy takes more wavefronts than its bytes need."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Access, AccessKind, KernelFacts
from smemlint.finding import Finding
from smemlint.lint.rule import Rule
from smemlint.reasons import Topic

from .fault import fault_of


class AsyncCopyConflict(Rule):
    """Judges the wavefronts of `cp.async` against what its bytes would take."""

    code = "SML103"
    name = "async-copy-conflict"
    summary = "an asynchronous copy takes more wavefronts than its bytes need"

    def check_access(
        self, access: Access, kernel: KernelFacts, settings: Settings
    ) -> Iterator[Finding]:
        """Yields one finding for a copy that takes more wavefronts than its ideal."""
        if access.kind is not AccessKind.ASYNC_COPY or access.array is None:
            return
        pattern = access.worst
        if pattern is None or pattern.source is None:
            return
        ways = pattern.ways
        if ways <= settings.most_ways(self.code, self.name):
            return
        fault = fault_of(access, pattern, kernel)
        is_bound = any(a.topic is Topic.SOURCE for a in access.assumptions)
        times = f"{'at least ' if is_bound else ''}{ways:g} times"
        where = "".join(f", {name} = {value}" for name, value in pattern.values)
        yield self.finding(
            f"copy to {access.array.shown} takes {times} its ideal: {fault.reason}",
            access.span,
            access=access,
            pattern=pattern,
            kernel=kernel,
            notes=(
                f"warp {pattern.warp}{where}: {pattern.wavefronts} wavefronts "
                f"instead of {pattern.ideal}",
                *fault.notes,
            ),
            help=fault.help,
            weight=ways,
        )


RULE = AsyncCopyConflict()
