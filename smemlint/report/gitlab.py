"""GitLab's Code Quality report, a subset of Code Climate's.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from smemlint.finding import Finding, Severity
from smemlint.report.context import Run

_SEVERITIES = {Severity.NOTE: "info", Severity.WARNING: "major", Severity.ERROR: "critical"}


def render(run: Run) -> str:
    """Returns all findings as one array."""
    found = zip(run.result.findings, run.fingerprints(), strict=False)
    issues = [_issue(finding, fingerprint, run) for finding, fingerprint in found]
    return json.dumps(issues, indent=1, ensure_ascii=False)


def _issue(finding: Finding, fingerprint: str, run: Run) -> dict[str, Any]:
    span, path = finding.span, run.relative(finding.span.path)
    place = f"{path}\0{fingerprint}"  # fingerprints have no path, and GitLab wants them unique
    return {
        "description": f"{finding.code}: {finding.message}",
        "check_name": finding.name,
        "fingerprint": hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": path,
            "positions": {
                "begin": {"line": span.line, "column": span.column},
                "end": {"line": span.end_line, "column": span.end_column},
            },
        },
    }
