"""Suppressions: `// smemlint: ignore[bank-conflict] reason` on the line or the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from smemlint.facts import Span
from smemlint.finding import Finding, Severity, Suppression
from smemlint.pragmas import Pragma, pragmas_in

UNUSED = ("SML902", "unused-ignore")


@dataclass(frozen=True, slots=True)
class Kept:
    """Findings after suppression.

    Attributes:
        findings: those that are shown, with notes on unused and malformed pragmas.
        hidden: those that are not, each with its `suppression`.
    """

    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...] = field(default=())


def suppress(
    findings: Sequence[Finding], paths: Iterable[str], text_of: Callable[[str], str]
) -> Kept:
    """Drops what an `ignore` pragma covers; says which pragmas cover nothing.

    Args:
        findings: of all files.
        paths: of the files whose pragmas are looked at.
        text_of: the text of a file.
    """
    shown: list[Finding] = []
    hidden: list[Finding] = []
    used: set[tuple[str, int]] = set()
    table = {path: pragmas_in(text_of(path)) for path in dict.fromkeys(paths)}
    for finding in findings:
        covering = [p for p in table.get(finding.span.path, ()) if _covers(p, finding)]
        if covering:
            suppression = Suppression("inSource", covering[0].reason)
            hidden.append(replace(finding, suppression=suppression))
            used.update((finding.span.path, p.line) for p in covering)
        else:
            shown.append(finding)
    for path, pragmas in table.items():
        for pragma in pragmas:
            shown += _complaint(path, pragma, (path, pragma.line) in used)
    return Kept(tuple(shown), tuple(hidden))


def _covers(pragma: Pragma, finding: Finding) -> bool:
    if pragma.name != "ignore" or pragma.problem:
        return False
    line = pragma.line + 1 if pragma.stands_alone else pragma.line
    if not finding.span.line <= line <= max(finding.span.line, finding.span.end_line):
        return False
    return any(word in (finding.code, finding.name) for word in pragma.arguments)


def _complaint(path: str, pragma: Pragma, is_used: bool) -> list[Finding]:
    message = pragma.problem
    if not message and pragma.name == "ignore" and not is_used:
        message = f"`ignore[{', '.join(pragma.arguments)}]` suppresses nothing"
    if not message:
        return []
    span = Span(path, pragma.line, pragma.column, pragma.line, pragma.column + 2)
    return [Finding(*UNUSED, Severity.NOTE, message, span)]
