"""`--baseline`, `--write-baseline` and `--add-ignore`: living with the findings there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.errors import CLEAN, FAILED, ConfigError, end_if_interrupted
from smemlint.finding import NOT_ANALYSED, Finding
from smemlint.lint.result import Result
from smemlint.report.phrases import plural
from smemlint.visible import print_lines


def without_known(
    result: Result, settings: Settings, paths: Sequence[str], text_of: Callable[[str], str]
) -> tuple[Result, list[str]]:
    """Returns the result without what the baseline holds, and what to say of stale entries."""
    if not settings.baseline:
        return result, []
    from smemlint.lint.baseline import Baseline, apply

    baseline = Baseline.read(settings.baseline)
    shown, notices = _parted(result.findings, with_gaps=True)
    applied = apply(baseline, shown, result.hidden, paths, text_of)
    findings = sorted((*applied.shown, *notices), key=lambda f: (f.span, f.code))
    remarks = []
    if applied.stale:
        entries = "1 entry" if applied.stale == 1 else f"{applied.stale} entries"
        remarks.append(f"{entries} of {settings.baseline} stale (--write-baseline prunes)")
    hidden = (*result.hidden, *applied.hidden)
    return replace(result, findings=tuple(findings), hidden=hidden), remarks


def write_baseline(
    result: Result, settings: Settings, paths: Sequence[str], text_of: Callable[[str], str]
) -> int:
    """Writes the findings to the baseline file; returns the exit code."""
    end_if_interrupted(result.interruption)
    from smemlint.lint.baseline import DEFAULT, write

    path = settings.baseline or DEFAULT
    shown, _ = _parted(result.findings, with_gaps=True)
    written = write(path, shown, result.hidden, paths, text_of)
    print_lines(
        f"wrote {plural(written.total, 'finding')} to {path}: "
        f"{written.added} new, {written.pruned} pruned"
    )
    if not settings.baseline:
        print_lines(f'  hint: `baseline = "{path}"` in the configuration uses it')
    return FAILED if result.crashed else CLEAN


def add_ignore_pragmas(result: Result, reason: str) -> int:
    """Writes the pragmas; returns the exit code.

    Raises:
        ConfigError: the reason would not stay in its comment.
    """
    end_if_interrupted(result.interruption)
    from smemlint.fix.add_ignores import add_ignores

    if any(part in reason for part in ("\n", "\r", "\\", '"""', "'''")):
        hint = "write one line without backslashes and triple quotes"
        raise ConfigError(
            f"{reason!r} does not fit into a comment", where="--add-ignore", hint=hint
        )
    shown, _ = _parted(result.findings)
    added, left = add_ignores(shown, reason)
    print_lines(f"added {plural(added, 'ignore pragma')}")
    for finding in left:
        place = f"{finding.span.path}:{finding.span.line}"
        print_lines(f"{place}: {finding.code} cannot have a pragma on this line")
    return FAILED if result.crashed else CLEAN


def _parted(
    findings: Sequence[Finding], *, with_gaps: bool = False
) -> tuple[list[Finding], list[Finding]]:
    """Parts findings on the code from notices of the tool.

    `with_gaps`: what was not analysed counts among the findings, as it can be known for now.
    """

    def is_finding(finding: Finding) -> bool:
        is_gap = with_gaps and finding.code == NOT_ANALYSED
        return is_gap or not finding.is_notice

    return [f for f in findings if is_finding(f)], [f for f in findings if not is_finding(f)]
