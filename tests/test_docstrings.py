"""Docstrings of functions say what is done, verb first; long parameter lists are explained."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from syntax_trees import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]

_VERBS = """
    Accepts Adds Advances Allocates Analyses Answers Appends Applies Asks Assigns Begins Binds Blanks Bounds
    Builds Calls Carries Checks Chooses Closes Coalesces Commits Compares Compiles Computes Converts
    Copies Counts Cuts Declares Defines Desugars Divides Does Draws Drops Edits Emits Ends Enters
    Escapes Evaluates Executes Expands Extends Finds Fits Follows Forgets Gathers Gives Goes Groups
    Guards Guesses Hides Initializes Inserts Intercepts Joins Keeps Lays Leaves Lets Lexes Limits
    Logs Looks Lowers Makes Maps Marks Measures Merges Moves Names Negates Notes Numbers Opens Orders
    Overwrites Pairs Parses Parts Passes Prefers Prepares Prices Prints Publishes Puts Raises Reads
    Records Reduces Registers Remembers Removes Renders Repairs Replaces Reports Returns Rounds Runs
    Says Searches Sees Sends Serves Sets Settles Shows Spells Splits Spreads Starts Stops Stores
    Takes Talks Tests Times Translates Undoes Updates Waits Works Writes Yields
"""
VERBS = frozenset(_VERBS.split())
"""What they may begin with; `See` begins that of a method which its base class describes."""
ATTRIBUTES = frozenset(("property", "cached_property"))
"""Decorators of what reads as an attribute: a noun describes it."""
MANY = 5
"""From so many parameters on each is explained."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of the package and of the rules, by path."""
    rules = (p for p in ROOT.glob("rules/**/*.py") if not p.name.startswith(("bad", "good")))
    return {
        str(path.relative_to(ROOT)): tree_of(path)
        for path in sorted((*ROOT.glob("smemlint/**/*.py"), *rules))
    }


def functions() -> Iterator[tuple[str, Function, str]]:
    """All functions with where they are and their docstrings; no attributes."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, Function) and not (
                ATTRIBUTES & {ast.unparse(d) for d in node.decorator_list}
            ):
                yield f"{path}:{node.lineno} {node.name}", node, ast.get_docstring(node) or ""


def public() -> set[Function]:
    """The functions and methods that other modules may call."""
    found: set[Function] = set()
    bodies = [tree.body for tree in modules().values()]
    while bodies:
        for node in bodies.pop():
            if getattr(node, "name", "_").startswith("_"):
                continue
            if isinstance(node, ast.ClassDef):
                bodies.append(node.body)
            elif isinstance(node, Function):
                found.add(node)
    return found


def test_docstrings_begin_with_a_verb():
    exported = public()
    found = [
        where
        for where, node, text in functions()
        if (text or node in exported) and not _begins_with_a_verb(text)
    ]
    assert not found


def _begins_with_a_verb(text: str) -> bool:
    first = text.partition(" ")[0].rstrip(",")
    return first in VERBS or text.startswith("See `")


def test_many_parameters_are_explained():
    """That the list is complete is checked by ruff."""
    exported = public()
    found = [
        where
        for where, node, text in functions()
        if node in exported and _parameters(node) >= MANY and "Args:" not in text
    ]
    assert not found


def _parameters(node: Function) -> int:
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return len([a for a in arguments if a.arg not in ("self", "cls")])


def test_yields_is_said_of_iterators():
    for where, node, text in functions():
        if node.returns is not None and text.startswith("Yields"):
            assert "Iterator" in ast.unparse(node.returns), where
