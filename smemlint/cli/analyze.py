"""`smemlint analyze`: list every shared access with its figures."""

from __future__ import annotations

import argparse

from smemlint.cli.flags import add_flags
from smemlint.errors import CLEAN, FAILED, end_if_interrupted
from smemlint.visible import print_lines


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    add_flags(command, "analyze")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Analyses, lists, and returns the exit code."""
    from smemlint.cli.inputs import prepare
    from smemlint.cli.output import write
    from smemlint.cli.unmatched import unmatched_kernels
    from smemlint.driver.targets import analyze_targets
    from smemlint.facts import sites_of, verdicts
    from smemlint.report.phrases import accesses_text, plural

    inputs = prepare(arguments)
    if inputs.is_done:
        return CLEAN
    settings, sources = inputs.settings, inputs.sources
    results = analyze_targets(sources, inputs.configuration, settings)
    parts = {arch: result.facts for arch, result in results.items()}
    if any(s.path.endswith(".ipynb") for s in sources):
        from smemlint.report.notebooks import Notebooks

        notebooks = Notebooks.among(sources)
        parts = {arch: notebooks.facts(facts) for arch, facts in parts.items()}
    if arguments.output_format == "json":
        from smemlint.report.analysis_json import analysis_json

        write(analysis_json(parts), arguments.output_file, is_for_tools=True)
    elif arguments.output_format == "html":
        from smemlint.report.analysis_html import analysis_html

        write(analysis_html(parts), arguments.output_file, is_for_tools=True)
    else:
        from smemlint.report.table import table

        tables = [table(facts) for facts in parts.values()]
        if len(parts) > 1:
            tables = [f"{arch}\n\n{rows}" for arch, rows in zip(parts, tables, strict=True)]
        write("\n\n".join(tables), arguments.output_file)
    found = verdicts(s for facts in parts.values() for s in sites_of(facts.kernels)).values()
    counts = accesses_text(sum(found), len(found) - sum(found))
    if not settings.quiet:
        print_lines(*unmatched_kernels(settings, sources, arguments.paths))
        print_lines(f"analysed {plural(len(sources), 'file')}: {counts}")
    for result in results.values():
        end_if_interrupted(result.interruption)
    return FAILED if any(result.crashed for result in results.values()) else CLEAN
