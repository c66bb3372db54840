"""Findings as JSON, version 1."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from smemlint.report.analysis_json import access_record, span_record

if TYPE_CHECKING:
    from smemlint.engine import Result
    from smemlint.finding import Finding

VERSION = 1


def findings_json(result: Result) -> str:
    """The whole run."""
    document = {
        "version": VERSION,
        "findings": [_record(f) for f in result.findings],
        "summary": {
            "files": result.files,
            "accesses_decided": result.decided,
            "accesses_not_decided": result.undecided,
            "suppressed": result.suppressed,
        },
    }
    return json.dumps(document, indent=1)


def _record(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": str(finding.severity),
        "message": finding.message,
        **span_record(finding.span),
        "certainty": str(finding.certainty) if finding.certainty is not None else None,
        "notes": list(finding.notes),
        "help": finding.help or None,
        "related": [{**span_record(s), "message": said} for s, said in finding.related],
        "access": access_record(finding.access) if finding.access is not None else None,
    }
