"""`smemlint check`: report what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smemlint.commands import CLEAN, FAILED, FOUND
from smemlint.commands.flags import add_flags

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from smemlint.config import Settings
    from smemlint.engine import Result


def add_parser(commands: Any) -> None:
    """Adds the command to the sub-parsers of the command line."""
    said = "report what is wrong"
    command = commands.add_parser("check", help=said, description=said)
    add_flags(command, "check")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Checks, reports, and returns the exit code."""
    from smemlint.commands.inputs import prepare
    from smemlint.commands.output import write
    from smemlint.engine import check

    settings, sources, done = prepare(arguments)
    if done:
        return CLEAN
    result = check(sources, settings)
    texts = {s.path: s for s in sources}

    def text_of(path: str) -> str:
        source = texts.get(path)
        return source.text if source is not None else _read(path)

    report = _report(result, arguments.output_format, settings, text_of)
    write(report, arguments.output_file)
    print(_closing(result), file=sys.stderr)
    if settings.statistics:
        print(_statistics(result), file=sys.stderr)
    return _exit_code(result, settings)


def _exit_code(result: Result, settings: Settings) -> int:
    from smemlint.finding import Severity

    if result.crashed:
        return FAILED
    if settings.exit_zero or settings.fail_on == "never":
        return CLEAN
    least = Severity[settings.fail_on.upper()]
    is_failing = any(f.severity >= least and not f.code.startswith("SML9") for f in result.findings)
    return FOUND if is_failing else CLEAN


def _report(
    result: Result, output_format: str, settings: Settings, text_of: Callable[[str], str]
) -> str:
    if output_format == "json":
        from smemlint.report.findings_json import findings_json

        return findings_json(result)
    if output_format == "concise":
        from smemlint.report.concise import concise

        return "\n".join(concise(f) for f in result.findings)
    from smemlint.report.full import full
    from smemlint.report.terminal import terminal

    term = terminal(settings.color)
    return "\n\n".join(full(f, text_of, term) for f in result.findings)


def _closing(result: Result) -> str:
    from smemlint.finding import Severity

    def plural(count: int, word: str) -> str:
        return f"{count} {word}" + ("" if count == 1 else "s")

    counts = [(result.count(s), str(s)) for s in reversed(Severity)]
    found = ", ".join(plural(n, word) for n, word in counts if n) or "no findings"
    return (
        f"checked {plural(result.files, 'file')}: "
        f"{result.decided} shared accesses decided, {result.undecided} not; "
        f"{found} ({result.suppressed} suppressed)"
    )


def _statistics(result: Result) -> str:
    counts: dict[tuple[str, str], int] = {}
    for finding in result.findings:
        key = (finding.code, finding.name)
        counts[key] = counts.get(key, 0) + 1
    rows = sorted(counts.items(), key=lambda item: -item[1])
    return "\n".join(f"{n:6}  {code}  {name}" for (code, name), n in rows)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
