"""Where the wavefronts of a long report go, kernel by kernel: its end is what a terminal shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from smemlint.finding import Finding
from smemlint.report.phrases import plural

_FEWEST = 6
"""Findings with a cost that no window shows at once."""
_MOST_KERNELS = 8


def kernels_summary(findings: Sequence[Finding]) -> list[str]:
    """Returns lines that name the kernels that waste most, and the costliest place of each.

    A kernel's share is that of its worst instance. Empty for few findings, or one kernel.
    """
    by_kernel: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.cost is not None and finding.access is not None and finding.cost.wasted > 0:
            instance = finding.access.instance
            by_kernel[instance.span.path, instance.kernel].append(finding)
    count = sum(map(len, by_kernel.values()))
    if count < _FEWEST or len(by_kernel) < 2:
        return []
    rows = sorted(map(_row, by_kernel.values()), key=lambda row: (-row[0], row[1:]))
    shown = rows[:_MOST_KERNELS]
    names = max(len(name) for _, name, _, _ in shown)
    numbers = max(len(number) for _, _, number, _ in shown)
    kernels = plural(len(rows), "kernel")
    head = f"{plural(count, 'finding')} in {kernels}; the share of its wavefronts that each wastes:"
    lines = [
        f"  {share:4.0%}  {name:{names}}  {number:{numbers}}  {place}"
        for share, name, number, place in shown
    ]
    left = len(rows) - len(shown)
    return [head, *lines, *([f"        and {plural(left, 'more kernel')}"] if left else [])]


def _row(findings: Sequence[Finding]) -> tuple[float, str, str, str]:
    """Returns share, name, number of findings and costliest place of one kernel."""
    shares: dict[object, float] = defaultdict(float)
    for finding in findings:
        assert finding.access is not None and finding.cost is not None
        shares[finding.access.instance.key] += finding.cost.share
    worst = max(findings, key=lambda f: f.cost.wasted if f.cost is not None else 0.0)
    assert worst.access is not None
    name, span = worst.access.instance.kernel, worst.span
    return (
        min(max(shares.values()), 1.0),
        name,
        plural(len(findings), "finding"),
        f"{span.path}:{span.line}",
    )
