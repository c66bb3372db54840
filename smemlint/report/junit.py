"""JUnit XML, which every CI server reads: a suite a file, a test case a finding.

Warnings and errors are failures. Notes pass and speak in their output; what is suppressed is
skipped with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from smemlint.finding import Finding, Severity
from smemlint.report.context import Run
from smemlint.report.full import full
from smemlint.report.terminal import Terminal

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run: Run) -> str:
    """Returns the run; one passing case when nothing was found."""
    findings = (*run.result.findings, *run.result.hidden)
    files: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: (f.span, f.code)):
        files.setdefault(finding.span.path, []).append(finding)
    suites = [_suite(run.relative(path), found, run) for path, found in files.items()]
    if not suites:
        case = '<testcase classname="smemlint" name="no findings"/>'
        suites = [f'<testsuite name="smemlint" tests="1">\n{case}\n</testsuite>']
    failures = sum(_is_failure(f) for f in findings)
    head = f'<testsuites name="smemlint" tests="{len(findings) or 1}" failures="{failures}">'
    return "\n".join(('<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"))


def _suite(path: str, findings: Sequence[Finding], run: Run) -> str:
    failures = sum(_is_failure(f) for f in findings)
    skipped = sum(f.suppression is not None for f in findings)
    counts = f'tests="{len(findings)}" failures="{failures}" skipped="{skipped}"'
    cases = (_case(path, finding, run) for finding in findings)
    return "\n".join((f"<testsuite name={_attribute(path)} {counts}>", *cases, "</testsuite>"))


def _case(path: str, finding: Finding, run: Run) -> str:
    span = finding.span
    name = f"{finding.code} {finding.name} at {span.line}:{span.column}"
    head = (
        f"<testcase classname={_attribute(path)} name={_attribute(name)} "
        f'file={_attribute(path)} line="{span.line}">'
    )
    if finding.suppression is not None:
        body = f"<skipped message={_attribute(finding.suppression.reason or 'suppressed')}/>"
    else:
        text = escape(_NOT_XML.sub("\ufffd", full(finding, run.text_of, Terminal())))
        body = f"<system-out>{text}</system-out>"
        if _is_failure(finding):
            kind = f'type="{finding.severity}"'
            body = f"<failure {kind} message={_attribute(finding.message)}>{text}</failure>"
    return f"{head}{body}</testcase>"


def _is_failure(finding: Finding) -> bool:
    return finding.severity >= Severity.WARNING and finding.suppression is None


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text))
