"""One line a finding: `path:line:column: CODE message`."""

from __future__ import annotations

from smemlint.finding import Finding


def concise(finding: Finding) -> str:
    """A finding that editors and logs can jump to."""
    span = finding.span
    sure = f" [{finding.certainty}]" if finding.certainty is not None else ""
    place = f"{span.path}:{span.line}:{span.column}"
    return f"{place}: {finding.code} {finding.severity}: {finding.message}{sure}"
