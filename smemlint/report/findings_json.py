"""Findings as JSON, version 1; README.md beside this module documents every key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from smemlint.facts import Caller, Fusion
from smemlint.finding import Cost, Finding, Fix, Measurement
from smemlint.report.analysis_json import access_record, span_record
from smemlint.report.context import Run

VERSION = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""


def render(run: Run) -> str:
    """Returns the run."""
    result = run.result
    found = zip(result.findings, run.fingerprints(), strict=False)
    document = {
        "version": VERSION,
        "arch": run.arch,
        "findings": [_record(finding, fingerprint) for finding, fingerprint in found],
        "summary": {
            "files": result.files,
            "accesses_decided": result.decided,
            "accesses_not_decided": result.undecided,
            "suppressed": result.suppressed,
            "exit_code": run.exit_code,
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _record(finding: Finding, fingerprint: str) -> dict[str, Any]:
    measured, access = finding.measurement, finding.access
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": str(finding.severity),
        "message": finding.message,
        **span_record(finding.span),
        "certainty": str(finding.certainty) if finding.certainty is not None else None,
        "notes": list(finding.notes),
        "help": finding.help or None,
        "kernels": [_kernel(f) for f in (finding, *finding.others) if f.access is not None],
        "related": [{**span_record(s), "message": message} for s, message in finding.related],
        "fingerprint": fingerprint,
        "fix": _fix(finding.fix) if finding.fix is not None else None,
        "measurement": measurement_record(measured) if measured is not None else None,
        "access": access_record(access) if access is not None else None,
        "cost": _cost(finding.cost) if finding.cost is not None else None,
        "places": [span_record(span) for span in finding.places],
        "calls": [_chain(chain) for chain in access.chains] if access is not None else [],
        "gaps": [
            {**span_record(g.span), "kernel": g.kernel or None, "reason": g.reason.text}
            for g in finding.gaps
        ],
        "fusion": _fusion(access.fusion) if access is not None and access.fusion else None,
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "wavefronts": cost.wavefronts,
        "ideal": cost.ideal,
        "wasted_share": round(cost.share, 6),
        "in_loop_of_unknown_length": cost.repeats,
        "executions_of_a_warp": cost.executions,
        "lanes": cost.lanes,
        "warps": cost.warps or None,
        "warps_of_block": cost.of_warps or None,
    }


def _chain(chain: Sequence[Caller]) -> list[dict[str, Any]]:
    return [{"caller": call.name, **span_record(call.span)} for call in chain]


def _fusion(fusion: Fusion) -> dict[str, Any]:
    places = [span_record(span) for span in fusion.spans]
    return {"count": fusion.count, "width_bytes": fusion.width_bytes, "places": places}


def _kernel(finding: Finding) -> dict[str, Any]:
    """Returns a kernel with the finding; one with several kinds of access stands twice."""
    assert finding.access is not None
    instance = finding.access.instance
    return {
        "kernel": instance.kernel,
        "template": dict(instance.template),
        "block": list(instance.block) if instance.block is not None else None,
        "arguments": dict(instance.passed),
        "message": finding.message,
        "certainty": str(finding.access.certainty),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safe": fix.is_safe,
        "why_unsafe": fix.why_unsafe or None,
        "edits": [{**span_record(e.span), "text": e.text} for e in fix.edits],
    }


def measurement_record(measurement: Measurement) -> dict[str, Any]:
    """Returns what the hardware measured, for JSON and SARIF."""
    after = measurement.after
    return {
        "verdict": str(measurement.verdict),
        "predicted": measurement.predicted,
        "measured": measurement.measured,
        "spread": measurement.spread,
        "device": measurement.device,
        "reason": measurement.reason or None,
        "patterns": measurement.patterns,
        "command": measurement.command or None,
        "after_fix": measurement_record(after) if after is not None else None,
    }
