"""The command line: `smemlint check`, `analyze`, `rule` and `swizzle`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smemlint import __version__
from smemlint.config import Settings, load_settings
from smemlint.errors import SmemlintError
from smemlint.options import FORMATS, OPTIONS
from smemlint.swizzle_command import add_swizzle_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from smemlint.engine import Result
    from smemlint.source import Source

CLEAN, FOUND, FAILED = 0, 1, 2
"""Exit codes: nothing found; something at or above --fail-on; the job could not be done."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code and never shows a traceback."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except SmemlintError as error:
        print(f"smemlint: error: {error}", file=sys.stderr)
    except BrokenPipeError:
        sys.stderr.close()
    except KeyboardInterrupt:
        print("smemlint: interrupted", file=sys.stderr)
    except Exception as error:
        if getattr(arguments, "debug", False):
            raise
        what = f"{type(error).__name__}: {error}"
        print(f"smemlint: internal error: {what}", file=sys.stderr)
        print("  hint: run again with --debug and report what it prints", file=sys.stderr)
    return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smemlint", description="What shared-memory accesses of GPU kernels cost, from source."
    )
    parser.add_argument("--version", action="version", version=f"smemlint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run, said in (
        ("check", _check, "report what is wrong"),
        ("analyze", _analyze, "list every shared access with its figures"),
    ):
        command = commands.add_parser(name, help=said, description=said)
        command.add_argument("paths", nargs="*", default=["."], metavar="PATH",
                             help="files and directories; - reads standard input")  # fmt: skip
        _add_options(command, name)
        command.set_defaults(run=run)
    rule = commands.add_parser("rule", help="explain a rule", description="explain a rule")
    rule.add_argument("name", nargs="?", metavar="RULE", help="a code or a name")
    rule.add_argument("--all", action="store_true", help="list all rules")
    rule.set_defaults(run=_rule)
    add_swizzle_parser(commands)
    return parser


def _add_options(command: argparse.ArgumentParser, name: str) -> None:
    for option in OPTIONS:
        if name not in option.commands:
            continue
        flags = [f"-{option.short}"] if option.short else []
        flags.append(f"--{option.name}")
        extra: dict[str, Any] = {"dest": option.attribute, "default": None, "help": option.help}
        if not option.metavar and option.default is False:
            extra.update(action="store_const", const=True)
        elif option.repeated:
            extra.update(action="append", metavar=option.metavar)
        else:
            extra.update(metavar=option.metavar or None, choices=option.choices or None)
        command.add_argument(*flags, **extra)
    formats = FORMATS[name]
    command.add_argument("--output-format", choices=formats, default=formats[0], help="the report")
    command.add_argument("--output-file", metavar="FILE", help="write the report there")
    command.add_argument("--stdin-filename", default="stdin.cu", metavar="PATH",
                         help="what to call standard input")  # fmt: skip
    command.add_argument("--isolated", action="store_true", help="read no configuration file")
    command.add_argument("--show-settings", action="store_true", help="print the settings and stop")
    command.add_argument("--show-files", action="store_true", help="print the files and stop")
    command.add_argument("--debug", action="store_true", help="show tracebacks")


# ---- commands


def _check(arguments: argparse.Namespace) -> int:
    from smemlint.engine import check
    from smemlint.finding import Severity

    settings, sources, done = _prepare(arguments)
    if done:
        return CLEAN
    result = check(sources, settings)
    texts = {s.path: s for s in sources}

    def text_of(path: str) -> str:
        source = texts.get(path)
        return source.text if source is not None else _read(path)

    _write(arguments, _findings(result, arguments.output_format, settings, text_of))
    print(_closing(result), file=sys.stderr)
    if settings.statistics:
        print(_statistics(result), file=sys.stderr)
    if result.crashed:
        return FAILED
    if settings.exit_zero or settings.fail_on == "never":
        return CLEAN
    least = Severity[settings.fail_on.upper()]
    is_failing = any(f.severity >= least and not f.code.startswith("SML9") for f in result.findings)
    return FOUND if is_failing else CLEAN


def _analyze(arguments: argparse.Namespace) -> int:
    from smemlint.engine import analyze

    settings, sources, done = _prepare(arguments)
    if done:
        return CLEAN
    facts, crashed = analyze(sources, settings)
    if arguments.output_format == "json":
        from smemlint.report.analysis_json import analysis_json

        _write(arguments, analysis_json(facts, settings.arch))
    else:
        from smemlint.report.table import table

        _write(arguments, table(facts))
    return FAILED if crashed else CLEAN


def _rule(arguments: argparse.Namespace) -> int:
    from smemlint.registry import entries, entry

    if arguments.all or not arguments.name:
        for found in entries():
            print(f"{found.rule.code}  {found.rule.name:20} {found.rule.summary}")
        return CLEAN
    print(entry(arguments.name).page.rstrip())
    return CLEAN


# ---- parts


def _prepare(arguments: argparse.Namespace) -> tuple[Settings, list[Source], bool]:
    from smemlint.files import find_sources
    from smemlint.source import Source

    overrides = {o.name: getattr(arguments, o.attribute, None) for o in OPTIONS}
    first = Path(arguments.paths[0]) if arguments.paths else Path()
    start = first if first.is_dir() else first.parent
    settings = load_settings(start, overrides, isolated=arguments.isolated)
    if arguments.show_settings:
        for option in OPTIONS:
            print(f"{option.name} = {getattr(settings, option.attribute)!r}")
        print(f"origin = {settings.origin!r}")
        return settings, [], True
    if arguments.paths == ["-"]:
        sources = [
            Source(arguments.stdin_filename, sys.stdin.buffer.read().decode("utf-8", "replace"))
        ]
    else:
        sources = find_sources(
            arguments.paths, settings.exclude, force_exclude=settings.force_exclude
        )
        _require_readable(arguments.paths, sources)
    if arguments.show_files:
        for source in sources:
            print(source.path)
        return settings, sources, True
    if not sources:
        print("smemlint: warning: no files to check", file=sys.stderr)
    return settings, sources, False


def _require_readable(paths: Sequence[str], sources: Sequence[Source]) -> None:
    """A file that was named must be readable; one that was met while walking is only noted."""
    from smemlint.errors import SourceError

    named = {p.replace("\\", "/") for p in paths}
    for source in sources:
        if source.path in named:
            source.text  # noqa: B018 - reading finds the problem
            if source.problem.startswith("cannot be read"):
                raise SourceError(source.problem, where=source.path)


def _findings(
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


def _write(arguments: argparse.Namespace, text: str) -> None:
    if arguments.output_file:
        try:
            Path(arguments.output_file).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise SmemlintError(
                f"cannot be written: {error.strerror}", where=arguments.output_file
            ) from error
    elif text:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
