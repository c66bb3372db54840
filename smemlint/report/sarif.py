"""SARIF 2.1.0, with what GitHub code scanning asks for besides.

The schema: https://docs.oasis-open.org/sarif/sarif/v2.1.0; GitHub's demands: its documentation,
"SARIF support for code scanning". Regions are in Unicode code points, from 1, the end exclusive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from smemlint import __version__
from smemlint.facts import Span
from smemlint.finding import Finding, Fix
from smemlint.lint.fingerprints import VERSION
from smemlint.lint.registry import Entry, entries, page_url
from smemlint.report.context import Run
from smemlint.report.findings_json import measurement_record
from smemlint.report.phrases import (
    fix_text,
    headline,
    labelled_notes,
    measurement_text,
    safety_text,
)

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
HOME = "https://github.com/smemlint/smemlint"
BASE = "%SRCROOT%"
"""The name that code-scanning services know for the root of the repository."""


def render(run: Run) -> str:
    """Returns the run as one SARIF log; what is suppressed is in it, with its justification."""
    shown = (*run.result.findings, *run.result.hidden)
    rules = _rules(shown)
    index = {rule["id"]: i for i, rule in enumerate(rules)}
    found = zip(shown, run.fingerprints(), strict=True)
    results = [_result(f, fingerprint, index[f.code], run) for f, fingerprint in found]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "smemlint",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "informationUri": HOME,
                        "rules": rules,
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {BASE: {"uri": run.root.as_uri().rstrip("/") + "/"}},
                "invocations": [
                    {
                        "executionSuccessful": not (run.result.crashed or run.result.interruption),
                        "exitCode": run.exit_code,
                    }
                ],
                "properties": {"arch": run.arch},
                "results": results,
            }
        ],
    }
    return json.dumps(log, indent=1, ensure_ascii=False)


# ---- rules


def _rules(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Returns every rule there is, and notices of the tool itself that were given."""
    described = {e.rule.code: _rule(e) for e in entries()}
    for finding in findings:
        described.setdefault(finding.code, _notice(finding))
    return [described[code] for code in sorted(described)]


def _rule(entry: Entry) -> dict[str, Any]:
    rule = entry.rule
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": _sentence(rule.summary)},
        "fullDescription": {"text": _plain(_section(entry.page, "What it does"))},
        "help": {"text": _plain(entry.page), "markdown": entry.page},
        "helpUri": page_url(rule.code),
        "defaultConfiguration": {"level": str(rule.severity)},
        "properties": {
            "tags": ["gpu", "shared-memory"],
            "precision": "very-high",
            "problem.severity": _github_severity(str(rule.severity)),
        },
    }


def _notice(finding: Finding) -> dict[str, Any]:
    text = _sentence(finding.name.replace("-", " "))
    return {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {"text": text},
        "defaultConfiguration": {"level": str(finding.severity)},
    }


def _github_severity(level: str) -> str:
    return "recommendation" if level == "note" else level


def _section(page: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return found[1].strip() if found is not None else ""


def _plain(markdown: str) -> str:
    """Returns Markdown as plain text: no marks, paragraphs in one line each, code as it is."""
    pieces = re.split(r"^```\w*\n(.*?)^```\n?", markdown, flags=re.M | re.S)
    for i in range(0, len(pieces), 2):
        text = re.sub(r"^#+ (.*)$", r"\1\n", pieces[i], flags=re.M)
        text = re.sub(r"(?<=\S)\n(?=[^\s\-|#])", " ", text)
        pieces[i] = _without_marks(text)
    return re.sub(r"\n{3,}", "\n\n", "".join(pieces)).strip()


def _without_marks(text: str) -> str:
    """Returns the text without the marks of emphasis and of code; what is code stays as it is."""
    parts = re.split(r"(`+)(.+?)\1", text, flags=re.S)  # text, mark, code, text, ...
    kept = (part.replace("*", "") if i % 3 == 0 else part for i, part in enumerate(parts))
    return "".join(part for i, part in enumerate(kept) if i % 3 != 1)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# ---- results


def _result(finding: Finding, fingerprint: str, rule: int, run: Run) -> dict[str, Any]:
    record: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": str(finding.severity),
        "message": {"text": _message(finding)},
        "locations": [_location(finding.span, run)],
        "partialFingerprints": {
            "primaryLocationLineHash": f"{fingerprint}:1",
            f"smemlint/v{VERSION}": fingerprint,
        },
    }
    related = (*finding.related, *((span, "the same cause") for span in finding.places))
    if related:
        record["relatedLocations"] = [
            {"id": i, **_location(span, run), "message": {"text": _sentence(message)}}
            for i, (span, message) in enumerate(related, 1)
        ]
    if finding.fix is not None:
        record["fixes"] = [_fix(finding.fix, run)]
    if finding.suppression is not None:
        suppression = {"kind": finding.suppression.kind, "status": "accepted"}
        if finding.suppression.reason:
            suppression["justification"] = finding.suppression.reason
        record["suppressions"] = [suppression]
    properties = _properties(finding)
    if properties:
        record["properties"] = properties
    return record


def _message(finding: Finding) -> str:
    parts = [headline(finding), *(text for _, text in labelled_notes(finding))]
    if finding.fix is not None:
        parts.append(fix_text(finding.fix))
    elif finding.help:
        parts.append(finding.help)
    if finding.measurement is not None:
        parts.append(f"measured: {measurement_text(finding.measurement)}")
    return "\n".join(_sentence(p) for p in parts)


def _properties(finding: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if finding.certainty is not None:
        found["certainty"] = str(finding.certainty)
    if finding.access is not None and finding.access.worst is not None:
        worst = finding.access.worst
        found["wavefronts"] = worst.wavefronts
        found["ideal"] = max(worst.ideal, worst.profiler_ideal)
    if finding.measurement is not None:
        found["measurement"] = measurement_record(finding.measurement)
    return found


def _fix(fix: Fix, run: Run) -> dict[str, Any]:
    paths = dict.fromkeys(e.span.path for e in fix.edits)
    return {
        "description": {"text": _sentence(safety_text(fix))},
        "properties": {"safe": fix.is_safe},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path, run),
                "replacements": [
                    {"deletedRegion": _region(e.span), "insertedContent": {"text": e.text}}
                    for e in fix.edits
                    if e.span.path == path
                ],
            }
            for path in paths
        ],
    }


# ---- places


def _location(span: Span, run: Run) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": _artifact(span.path, run), "region": _region(span)}
    }


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _artifact(path: str, run: Run) -> dict[str, str]:
    relative = run.relative(path)
    quoted = quote(relative, errors="surrogateescape")
    if relative.startswith("/"):
        return {"uri": f"file://{quoted}"}
    return {"uri": quoted, "uriBaseId": BASE}
