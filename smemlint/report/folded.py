"""Notices of what was not analysed, folded into a few lines for people.

A large program has more of them than findings. `--show-notes` lists them one by one, and so do
`--strict`, `--pedantic` and the formats for tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from smemlint.finding import NOT_ANALYSED, Finding
from smemlint.report.context import Run
from smemlint.report.phrases import plural

FEW = 3
"""Notices that are shown as they are."""
_MOST_REASONS = 5


def folded(run: Run) -> tuple[Run, tuple[str, ...]]:
    """Returns the run without notices that are too many to show, and lines that stand for them."""
    findings = run.result.findings
    notices = [f for f in findings if f.code == NOT_ANALYSED]
    if len(notices) <= FEW:
        return run, ()
    others = tuple(f for f in findings if f.code != NOT_ANALYSED)
    return replace(run, result=replace(run.result, findings=others)), _lines(notices)


def _lines(notices: Sequence[Finding]) -> tuple[str, ...]:
    """Returns how much was not analysed, then the commonest reasons with their counts."""
    gaps = [gap for notice in notices for gap in notice.gaps]
    kernels = {(n.span, gap.kernel) for n in notices for gap in n.gaps if gap.kernel}
    others = sum(not any(gap.kernel for gap in n.gaps) for n in notices)
    where = [plural(len(kernels), "kernel")] if kernels else []
    where += [f"{others} {'files or places' if others > 1 else 'file or place'}"] if others else []
    count = plural(len(notices), "note")
    name = notices[0].name
    head = f"{NOT_ANALYSED} {name}: {count} on {' and '.join(where)}; --show-notes lists them"
    reasons = Counter(gap.reason for gap in gaps).most_common()
    width = len(str(reasons[0][1]))
    rows = [f"  {times:{width}}  {reason}" for reason, times in reasons[:_MOST_REASONS]]
    if len(reasons) > _MOST_REASONS:
        left = sum(times for _, times in reasons[_MOST_REASONS:])
        rows.append(f"  {left:{width}}  for {plural(len(reasons) - _MOST_REASONS, 'other reason')}")
    return (head, *rows)
