"""What formats say in the same words: of fixes, measurements, and the run as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.finding import Severity

if TYPE_CHECKING:
    from smemlint.finding import Finding, Fix, Measurement
    from smemlint.lint.result import Result


def said_of_measurement(measurement: Measurement) -> str:
    """One line on what the hardware said.

    E.g. `predicted 32, measured 32.0 (NVIDIA H200, sm_90): confirmed`.
    """
    if measurement.measured is None:
        where = f" on {measurement.device}" if measurement.device else ""
        return f"not replayable{where}: {measurement.reason}"
    spread = f" +/- {measurement.spread:.2g}" if measurement.spread >= 0.05 else ""
    after = measurement.after
    fixed = ""
    if after is not None and after.measured is not None:
        fixed = f"; after the fix predicted {after.predicted:g}, measured {after.measured:.1f}"
    return (
        f"predicted {measurement.predicted:g}, measured {measurement.measured:.1f}{spread} "
        f"({measurement.device}): {measurement.verdict}{fixed}"
    )


def said_of_fix(fix: Fix) -> str:
    """One line on a fix and on what it takes to apply it."""
    if fix.is_safe:
        return f"{fix.title} (--fix applies it)"
    why = f": {fix.why_unsafe}" if fix.why_unsafe else ""
    return f"{fix.title} (--fix --unsafe-fixes applies it{why})"


def labelled_notes(finding: Finding) -> list[tuple[str, str]]:
    """The notes, each as `proof` (what the rule saw of an access) or `note` (what was assumed)."""
    access = finding.access
    is_proved = access is not None and not set(finding.notes[:1]) & set(access.assumptions)
    return [
        ("proof" if i == 0 and is_proved else "note", note) for i, note in enumerate(finding.notes)
    ]


def advice(finding: Finding) -> str:
    """What to write instead, in one line; empty when nothing was verified."""
    if finding.fix is not None:
        return said_of_fix(finding.fix)
    return finding.help


def plural(count: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {word}" + ("" if count == 1 else "s")


def said_of_run(result: Result) -> str:
    """The closing line."""
    counts = [(result.count(s), str(s)) for s in reversed(Severity)]
    found = ", ".join(plural(n, word) for n, word in counts if n) or "no findings"
    return (
        f"checked {plural(result.files, 'file')}: "
        f"{result.decided} shared accesses decided, {result.undecided} not; "
        f"{found} ({result.suppressed} suppressed)"
    )


def said_of_fixes(result: Result, *, is_fixing: bool) -> str:
    """How many findings have fixes that were not applied; empty when none has."""
    fixes = [f.fix for f in result.findings if f.fix is not None]
    safe = sum(f.is_safe for f in fixes)
    unsafe = len(fixes) - safe
    said = [f"{safe} fixable with --fix"] if safe else []
    if unsafe:
        more = " more" if safe or is_fixing else " fixable"
        said.append(f"{unsafe}{more} with " + ("" if is_fixing else "--fix ") + "--unsafe-fixes")
    return ", ".join(said)
