"""Docstrings of public functions say what is done: they begin with a verb."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]

_VERBS = """
    Accepts Adds Allocates Analyses Answers Applies Asks Assigns Begins Binds Blanks Bounds Builds
    Calls Checks Coalesces Commits Compares Compiles Computes Converts Copies Counts Cuts Declares
    Desugars Divides Does Drops Edits Ends Enters Evaluates Executes Extends Finds Follows Forgets
    Gathers Gives Groups Guards Hides Initializes Inserts Intercepts Joins Keeps Lays Leaves Lets
    Lexes Logs Looks Lowers Makes Marks Measures Merges Moves Names Notes Numbers Opens Overwrites
    Pairs Parses Prefers Prepares Prices Prints Puts Raises Reads Records Reduces Registers
    Remembers Renders Repairs Returns Rounds Runs Says Searches Sees Serves Settles Shows Spells
    Splits Starts Stops Stores Takes Talks Tests Times Translates Undoes Works Writes Yields
"""
VERBS = frozenset(_VERBS.split())
"""What they may begin with; `See` begins that of a method which its base class describes."""
ATTRIBUTES = frozenset(("property", "cached_property"))
"""Decorators of what reads as an attribute: a noun describes it."""


def documented() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Public functions and methods with where they are and their docstrings; no attributes."""
    rules = (p for p in ROOT.glob("rules/**/*.py") if not p.name.startswith(("bad", "good")))
    for path in sorted((*ROOT.glob("smemlint/**/*.py"), *rules)):
        bodies = [ast.parse(path.read_text(encoding="utf-8")).body]
        while bodies:
            for node in bodies.pop():
                if getattr(node, "name", "_").startswith("_"):
                    continue
                if isinstance(node, ast.ClassDef):
                    bodies.append(node.body)
                elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not (
                    ATTRIBUTES & {ast.unparse(d) for d in node.decorator_list}
                ):
                    where = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                    yield where, node, ast.get_docstring(node) or ""


def test_docstrings_begin_with_a_verb():
    found = [where for where, _, text in documented() if not _begins_with_a_verb(text)]
    assert not found


def _begins_with_a_verb(text: str) -> bool:
    first = text.partition(" ")[0].rstrip(",")
    return first in VERBS or text.startswith("See `")


def test_yields_is_said_of_iterators():
    for where, node, text in documented():
        if node.returns is not None and text.startswith("Yields"):
            assert "Iterator" in ast.unparse(node.returns), where
