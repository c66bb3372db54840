"""Flags whose other value leads to copies that a program does not execute with its defaults."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Set

from smemlint.frontend.python.parameters import parameters_of
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_DSL_CALLERS_UP


@dataclass(frozen=True, slots=True, eq=False)
class _Guarded:
    """A call, the function around it, and what the conditions inside that lead to it name."""

    call: ast.Call
    function: str
    names: frozenset[str]


def switches_to(named: Set[str], functions: Collection[ast.FunctionDef]) -> dict[str, bool]:
    """Returns parameters that are flags with a default, each with its other value.

    Args:
        named: what conditions name whose outcomes may be others then.
        functions: whose parameters are looked at.
    """
    return {
        p.name: not p.default.value
        for function in functions
        for p in parameters_of(function.args)
        if p.name in named
        and isinstance(p.default, ast.Constant)
        and isinstance(p.default.value, bool)
    }


def names_on_the_way(tree: ast.Module, calls: Collection[ast.Call]) -> frozenset[str]:
    """Returns what conditions around calls name, and around calls of the functions with them."""
    if not calls:
        return frozenset()
    guarded = list(_guarded(tree))
    found = [g for g in guarded if g.call in calls]
    named = frozenset().union(*(g.names for g in found))
    seen: set[str] = set()
    for _ in range(MAX_DSL_CALLERS_UP):
        wanted = {g.function for g in found} - seen
        seen |= wanted
        found = [g for g in guarded if _name_of(g.call.func) in wanted]
        named = named.union(*(g.names for g in found))
    return named


def _guarded(tree: ast.Module) -> Iterator[_Guarded]:
    """Yields the calls of a file."""
    worklist: list[tuple[ast.AST, str, frozenset[str]]] = [(tree, "", frozenset())]
    while worklist:
        at, function, names = worklist.pop()
        if isinstance(at, ast.Call):
            yield _Guarded(at, function, names)
        elif isinstance(at, ast.FunctionDef):
            function, names = at.name, frozenset()
        elif isinstance(at, ast.If | ast.IfExp):
            names |= {_name_of(n) for n in ast.walk(at.test)}
        worklist += ((child, function, names) for child in ast.iter_child_nodes(at))


def _name_of(node: ast.AST) -> str:
    """Returns a name, or the last part of a dotted one."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
