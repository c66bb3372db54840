"""`smemlint check`: report what is wrong."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from smemlint.cli.flags import add_flags
from smemlint.config.options import FOR_PEOPLE
from smemlint.config.settings import Settings
from smemlint.errors import CLEAN, FAILED, FOUND, ConfigError, end_if_interrupted
from smemlint.files.sandbox import Sandbox
from smemlint.lint.result import Result
from smemlint.sources.source import Source
from smemlint.visible import print_lines


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    known = add_flags(command, "check")["known findings"]
    one = known.add_mutually_exclusive_group()
    one.add_argument("--write-baseline", action="store_true",
                     help="write the findings to the baseline file and stop")  # fmt: skip
    one.add_argument("--add-ignore", nargs="?", const="", metavar="REASON",
                     help="write ignore pragmas, with =REASON, and stop")  # fmt: skip
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Checks, fixes where asked to, reports, and returns the exit code."""
    from smemlint.cli.inputs import prepare
    from smemlint.cli.output import write
    from smemlint.driver.run import check
    from smemlint.driver.targets import check_targets
    from smemlint.lint.causes import joined_by_cause

    inputs = prepare(arguments)
    if inputs.is_done:
        return CLEAN
    settings, sources = inputs.settings, inputs.sources
    is_fixed_stdin, closing = False, []
    verifies = bool(settings.verify_gpu) or settings.verify_all
    name = "\n".join(arguments.paths)
    if settings.further_archs and (settings.fix or settings.diff or verifies):
        raise ConfigError("fixes and measurements are for one architecture", where="--arch")
    if settings.fix or settings.diff:
        from smemlint.cli import fix_modes

        session = fix_modes.applied(inputs, name)
        if settings.diff:
            return fix_modes.show(session, settings)
        is_fixed_stdin = inputs.is_stdin
        fix_modes.write(session, is_stdin=is_fixed_stdin)
        result, sources = session.result, list(session.sources)
        closing += fix_modes.remarks(session)
    elif verifies:
        # What is kept between runs has no addresses: a replay needs them.
        result = check(sources, settings, inputs.configuration)
    else:
        result = check_targets(sources, inputs.configuration, settings, name)
    text_of = _reader(result, settings, sources)
    if settings.baseline or arguments.write_baseline or arguments.add_ignore is not None:
        from smemlint.cli import baseline_modes

        paths = [s.path for s in sources]
        if arguments.write_baseline:
            return baseline_modes.write_baseline(result, settings, paths, text_of)
        result, remarks = baseline_modes.without_known(result, settings, paths, text_of)
        closing += remarks
        if arguments.add_ignore is not None:
            return baseline_modes.add_ignore_pragmas(result, arguments.add_ignore)
    if verifies:
        result, verified = _verified(result, settings, sources)
        closing.append(verified)
    result = replace(result, findings=joined_by_cause(result.findings))
    exit_code = _exit_code(result, settings)
    report = _report(result, arguments, settings, sources, text_of, exit_code)
    is_for_tools = arguments.output_format not in FOR_PEOPLE
    stream = sys.stderr if is_fixed_stdin else sys.stdout
    write(report, arguments.output_file, stream, is_for_tools=is_for_tools)
    if not settings.quiet:
        _print_summary(result, settings, sources, arguments.paths, closing)
    if settings.statistics:
        print_lines(*_statistics(result).split("\n"))
    end_if_interrupted(result.interruption)
    return exit_code


def _reader(result: Result, settings: Settings, sources: Sequence[Source]) -> Callable[[str], str]:
    """Returns a function that reads the files that findings stand in."""
    texts = {s.path: s for s in sources}
    sandbox = Sandbox.joined((s.sandbox for s in sources), *settings.include_dir)
    compiled = {f.span.path for f in result.findings if f.access is not None and f.access.origin}

    def text_of(path: str) -> str:
        if path in compiled and path not in texts:
            return ""  # compiled code names it, the user does not
        source = texts.get(path)
        return source.text if source is not None else sandbox.text(path) or ""

    return text_of


def _print_summary(
    result: Result,
    settings: Settings,
    sources: Sequence[Source],
    paths: Sequence[str],
    closing: Sequence[str],
) -> None:
    from smemlint.cli.unmatched import triton_remark, unmatched_kernels
    from smemlint.report.phrases import fixes_text, run_text

    print_lines(*unmatched_kernels(settings, sources, paths))
    print_lines(*triton_remark(result, sources))
    left = fixes_text(result, is_fixing=settings.fix)
    print_lines("; ".join([run_text(result), *closing, *filter(None, [left])]))


def _verified(result: Result, settings: Settings, sources: Sequence[Source]) -> tuple[Result, str]:
    """Returns the result with what the GPU says of it, and a summary."""
    if settings.verify_gpu == "kernel":
        from smemlint.verify.kernels import verify_kernels

        return verify_kernels(result, settings, sources)
    from smemlint.verify.findings import verify

    measured, summary = verify(result, settings, sources)
    return measured, str(summary)


def _exit_code(result: Result, settings: Settings) -> int:
    from smemlint.finding import Severity

    if result.interruption:
        return result.interruption
    if result.crashed:
        return FAILED
    if settings.exit_zero or settings.fail_on == "never":
        return CLEAN
    least = Severity[settings.fail_on.upper()]
    if settings.strict and _has_gaps(result, settings):
        return FOUND
    is_failing = any(
        f.is_refuted or (f.severity >= least and not f.is_notice) for f in result.findings
    )
    return FOUND if is_failing else CLEAN


def _has_gaps(result: Result, settings: Settings) -> bool:
    """Returns whether something was not analysed, other than what the baseline knows."""
    from smemlint.finding import NOT_ANALYSED

    if any(f.code == NOT_ANALYSED for f in result.findings):
        return True
    return not settings.baseline and result.undecided > 0


def _report(
    result: Result,
    arguments: argparse.Namespace,
    settings: Settings,
    sources: Sequence[Source],
    text_of: Callable[[str], str],
    exit_code: int,
) -> str:
    if arguments.output_format in FOR_PEOPLE and not result.findings:
        return ""
    from smemlint.report.context import Run, repository_root
    from smemlint.report.formats import rendered
    from smemlint.report.terminal import Terminal, terminal

    term = terminal(settings.color)
    if arguments.output_file:
        term = Terminal(colour=settings.color == "always")
    root = repository_root(Path.cwd())
    run = Run(result, ",".join(settings.archs), text_of, exit_code, term, root)
    if any(s.path.endswith(".ipynb") for s in sources):
        from smemlint.report.notebooks import Notebooks

        shows_files = arguments.output_format in ("sarif", "github", "gitlab")
        run = run.at(Notebooks.among(sources, are_files=shows_files))
    lines: tuple[str, ...] = ()
    is_pedantic = settings.pedantic or settings.min_certainty == "sampled"
    lists_notes = settings.show_notes or settings.strict or is_pedantic
    if arguments.output_format in FOR_PEOPLE and not lists_notes:
        from smemlint.report.folded import folded

        run, lines = folded(run)
    report = rendered(arguments.output_format, run)
    gap = "\n\n" if arguments.output_format == "full" else "\n"
    return gap.join(filter(None, [report, "\n".join(map(term.visible, lines))]))


def _statistics(result: Result) -> str:
    counts = Counter((finding.code, finding.name) for finding in result.findings)
    return "\n".join(f"{n:6}  {code}  {name}" for (code, name), n in counts.most_common())
