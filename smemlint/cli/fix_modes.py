"""`smemlint check --fix` and `--diff`: fixes applied to files, to standard output, or shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from smemlint.cli.inputs import Inputs
from smemlint.config.settings import Settings
from smemlint.driver.invalidation import FixRounds
from smemlint.driver.run import check_run, open_cache
from smemlint.errors import CLEAN, FAILED, FOUND
from smemlint.fix.apply import Session, repaired, written
from smemlint.lint.result import Result
from smemlint.sources.source import Source
from smemlint.visible import print_lines


def applied(inputs: Inputs, name: str) -> Session:
    """Returns the sources with the fixes that the settings ask for; nothing is written."""
    configuration, settings = inputs.configuration, inputs.settings
    rounds = FixRounds(open_cache(inputs.sources, configuration, settings, name))

    def look(sources: Sequence[Source]) -> Result:
        return check_run(sources, configuration, settings, rounds=rounds)

    return repaired(inputs.sources, look, with_unsafe=settings.unsafe_fixes)


def write(session: Session, *, is_stdin: bool) -> None:
    """Writes the files that changed; standard input goes to standard output, changed or not."""
    if not is_stdin:
        written(session)
        return
    source = session.sources[0]
    data = source.given if isinstance(source.given, bytes) else source.text.encode()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def remarks(session: Session) -> list[str]:
    """Returns what the closing line says of the fixes that were applied."""
    from smemlint.report.phrases import plural

    found = [f"{plural(session.fixed, 'finding')} fixed"]
    if session.outdated:
        files = plural(len(session.outdated), "file")
        found.append(f"{files} of compiled code left aside: compile the fixed source again")
    return found


def show(session: Session, settings: Settings) -> int:
    """Prints the changes as a diff; returns the exit code, which tells whether there are any."""
    from smemlint.fix.diff import diff
    from smemlint.report.phrases import fixes_text, plural

    shown, hostile = diff(session)
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
    for path in hostile:
        why = "control characters or workflow commands are shown as signs: patch will refuse it"
        print_lines(f"smemlint: warning: {path}: {why}")
    files = plural(len(session.after), "file")
    more = fixes_text(session.result, is_fixing=True)
    message = f"would fix {plural(session.fixed, 'finding')} in {files}"
    print_lines(f"{message}; {more}" if more else message)
    if session.result.crashed:
        return FAILED
    return FOUND if session.after and not settings.exit_zero else CLEAN
