"""`smemlint rule`: explain a rule, or list them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from smemlint.errors import CLEAN
from smemlint.lint.registry import Entry


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    command.add_argument(
        "name", nargs="?", metavar="RULE", help="a code, a prefix of codes, or a name"
    )
    command.add_argument("--all", action="store_true", help="list all rules")
    command.add_argument("--output-format", choices=("text", "markdown", "json"), default="text",
                         help="the list as lines, as a table, or all pages as JSON")  # fmt: skip
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the page of the rule, or the list."""
    from smemlint.cli.output import write
    from smemlint.lint.registry import entries, entries_of

    is_list = arguments.all or not arguments.name
    shown = entries() if is_list else entries_of(arguments.name)
    if arguments.output_format == "json":
        write(_json(shown), None)
    elif len(shown) == 1 and not is_list:
        write(shown[0].page.rstrip(), None)
    elif arguments.output_format == "markdown":
        write(markdown(shown), None)
    else:
        width = max(len(e.rule.name) for e in shown)
        rows = (f"{e.rule.code}  {e.rule.name:{width}}  {e.rule.summary}" for e in shown)
        write("\n".join(rows), None)
    return CLEAN


def markdown(shown: Sequence[Entry]) -> str:
    """Returns the rules as the table that the project's README has."""
    rows = (
        f"| [{e.rule.code}](rules/{e.folder.name}/README.md) | {e.rule.name} "
        f"| {e.rule.severity} | {e.rule.summary} |"
        for e in shown
    )
    return "\n".join(("| code | name | severity | what |", "| --- | --- | --- | --- |", *rows))


def _json(shown: Sequence[Entry]) -> str:
    import json

    records = [
        {
            "code": e.rule.code,
            "name": e.rule.name,
            "severity": str(e.rule.severity),
            "summary": e.rule.summary,
            "page": e.page,
        }
        for e in shown
    ]
    return json.dumps({"version": 1, "rules": records}, indent=1)
