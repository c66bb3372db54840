"""Findings as diagnostics."""

from __future__ import annotations

from lsprotocol import types

from smemlint.errors import SmemlintError
from smemlint.finding import Finding, Severity
from smemlint.lint.places import declaration
from smemlint.lint.registry import page_url
from smemlint.lsp.analysis import Analysis
from smemlint.lsp.positions import Places
from smemlint.report.phrases import headline

SOURCE = "smemlint"
_SEVERITIES = {
    Severity.NOTE: types.DiagnosticSeverity.Information,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.ERROR: types.DiagnosticSeverity.Error,
}


def diagnostics(analysis: Analysis, places: Places) -> list[types.Diagnostic]:
    """Returns the findings of a document."""
    return [diagnostic(finding, places) for finding in analysis.findings]


def diagnostic(finding: Finding, places: Places) -> types.Diagnostic:
    """Returns a finding in one line; proof, cost and what to write instead are in the hover."""
    return types.Diagnostic(
        range=places.range(finding.span),
        message=headline(finding),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(page_url(finding.code)),
        source=SOURCE,
        related_information=_related(finding, places),
    )


def failure(error: Exception) -> types.Diagnostic:
    """Returns why a document was not analysed, at its top."""
    what = str(error)
    if not isinstance(error, SmemlintError):
        what = f"internal error: {type(error).__name__}: {error}"
    return types.Diagnostic(
        range=types.Range(types.Position(0, 0), types.Position(0, 0)),
        message=f"not analysed: {what}",
        severity=types.DiagnosticSeverity.Error,
        source=SOURCE,
    )


def _related(finding: Finding, places: Places) -> list[types.DiagnosticRelatedInformation]:
    """Returns where the array is declared, and the places that the rule names."""
    declared = declaration(finding.access) if finding.access is not None else ()
    related = {**dict(declared), **dict(finding.related)}
    return [
        types.DiagnosticRelatedInformation(places.location(span), message)
        for span, message in related.items()
    ]
