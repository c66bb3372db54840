"""`smemlint rule`: explain a rule, or list them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smemlint.commands import CLEAN

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> None:
    """Adds the command to the sub-parsers of the command line."""
    command = commands.add_parser("rule", help="explain a rule", description="explain a rule")
    command.add_argument("name", nargs="?", metavar="RULE", help="a code or a name")
    command.add_argument("--all", action="store_true", help="list all rules")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the page of the rule, or the list."""
    from smemlint.registry import entries, entry

    if arguments.all or not arguments.name:
        for found in entries():
            print(f"{found.rule.code}  {found.rule.name:20} {found.rule.summary}")
        return CLEAN
    print(entry(arguments.name).page.rstrip())
    return CLEAN
