"""`smemlint analyze`: list every shared access with its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.cli.flags import add_flags
from smemlint.errors import CLEAN, FAILED
from smemlint.visible import print_lines

if TYPE_CHECKING:
    import argparse


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    add_flags(command, "analyze")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Analyses, lists, and returns the exit code."""
    from smemlint.cli.inputs import prepare
    from smemlint.cli.output import write
    from smemlint.driver.run import analyze_run
    from smemlint.facts import sites_of, verdicts
    from smemlint.report.phrases import plural, said_of_accesses

    inputs = prepare(arguments)
    if inputs.is_done:
        return CLEAN
    settings, sources = inputs.settings, inputs.sources
    facts, crashed = analyze_run(sources, inputs.configuration, settings)
    if any(s.path.endswith(".ipynb") for s in sources):
        from smemlint.report.notebooks import Notebooks

        facts = Notebooks.among(sources).facts(facts)
    if arguments.output_format == "json":
        from smemlint.report.analysis_json import analysis_json

        write(analysis_json(facts, settings.arch), arguments.output_file, is_for_tools=True)
    else:
        from smemlint.report.table import table

        write(table(facts), arguments.output_file)
    found = verdicts(sites_of(facts.kernels)).values()
    counts = said_of_accesses(sum(found), len(found) - sum(found))
    print_lines(f"analysed {plural(len(sources), 'file')}: {counts}")
    return FAILED if crashed else CLEAN
