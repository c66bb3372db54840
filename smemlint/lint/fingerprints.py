"""Fingerprints: the identity of a finding that survives edits elsewhere in its file.

Baselines and code-scanning services compare runs by them, so no line number, figure or path goes
in: a finding keeps its fingerprint when code moves, and loses it when the access itself changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from smemlint.facts import Span
from smemlint.finding import Finding
from smemlint.sources.source import lines_of

VERSION = 1
"""Of the recipe: a change of it makes old baselines and alerts new."""


def fingerprints(findings: Sequence[Finding], text_of: Callable[[str], str]) -> tuple[str, ...]:
    """Returns one fingerprint a finding, 32 hexadecimal digits, in the order of the findings.

    It is made of the rule, the kernel, the array, the source text of the place without its layout,
    and a number that tells equal ones in one file apart, counted in order of place.
    """
    seen: dict[tuple[str, ...], int] = {}
    found: dict[int, str] = {}
    for index in sorted(range(len(findings)), key=lambda i: _order(findings[i])):
        finding = findings[index]
        path = finding.span.path
        identity = _identity(finding, lines_of(text_of(path)))
        number = seen[path, *identity] = seen.get((path, *identity), -1) + 1
        parts = (str(VERSION), *identity, str(number))
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass"))
        found[index] = digest.hexdigest()[:32]
    return tuple(found[i] for i in range(len(findings)))


def _order(finding: Finding) -> tuple[Span, str, str]:
    return finding.span, finding.code, finding.message


def _identity(finding: Finding, lines: Sequence[str]) -> tuple[str, ...]:
    access = finding.access
    kernel = access.instance.kernel if access is not None else ""
    array = access.array.name if access is not None and access.array is not None else ""
    text = "".join(_text(finding.span, lines).split()) or finding.message
    if finding.gaps:  # the same notice for another reason is a new one
        text = "\n".join((text, *sorted({gap.reason.code for gap in finding.gaps})))
    return finding.code, kernel, array, text


def _text(span: Span, lines: Sequence[str]) -> str:
    """Returns the source text of a span; empty where it lies outside the text."""
    rows = list(lines[span.line - 1 : span.end_line])
    if not rows:
        return ""
    if span.end_line - span.line < len(rows):
        rows[-1] = rows[-1][: span.end_column - 1]
    rows[0] = rows[0][span.column - 1 :]
    return "\n".join(rows)
