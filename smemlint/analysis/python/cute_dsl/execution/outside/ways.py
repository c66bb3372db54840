"""Ways to accesses that no execution reached: the conditions around them, up through callers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache

from smemlint.frontend.python.imports import last_name
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_DSL_CALLERS_UP, MAX_WAYS_TO_A_CALL

Access = ast.Call | ast.Subscript
_STEPS = Access | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.Assert


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A call, a subscript, an assignment, an assertion or a function, with what is around it.

    Attributes:
        node: the expression, or the statement.
        function: around it, or itself; None in the module.
        owner: the class around that.
        guards: conditions inside that function with the outcomes that lead to the node.
    """

    node: ast.AST
    function: ast.FunctionDef | None
    owner: ast.ClassDef | None
    guards: tuple[tuple[ast.expr, bool], ...] = ()


class Ways:
    """The accesses and assignments of a file, each with the conditions around it.

    Attributes:
        steps: all of them.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.steps = list(_steps(tree))
        self._by_node = {step.node: step for step in self.steps}

    @cached_property
    def _by_name(self) -> dict[str, list[Step]]:
        found: dict[str, list[Step]] = {}
        for node, step in self._by_node.items():
            if isinstance(node, ast.Call):
                found.setdefault(last_name(node.func), []).append(step)
        return found

    def calls_named(self, name: str) -> Sequence[Step]:
        """Returns the calls of a function or class by its name."""
        return self._by_name.get(name, ())

    def ways_to(self, access: Access | ast.Assert) -> Iterator[tuple[Step, ...]]:
        """Yields ways to an access: itself, then a call of the function around it, and so on."""
        if access not in self._by_node:
            return
        worklist: list[tuple[Step, ...]] = [(self._by_node[access],)]
        for way in worklist:
            function, owner = way[-1].function, way[-1].owner
            called: ast.FunctionDef | ast.ClassDef | None = function
            if function is not None and function.name == "__init__":
                called = owner
            callers = self.calls_named(called.name) if called is not None else ()
            known = {step.function for step in way}
            further = [(*way, c) for c in callers if c.function not in known]
            if not further or len(way) > MAX_DSL_CALLERS_UP:
                yield way
            worklist += further[: MAX_WAYS_TO_A_CALL - len(worklist)]

    def names_on_the_way(self, accesses: Collection[Access]) -> frozenset[str]:
        """Returns what the conditions on the ways to accesses name."""
        ways = (way for access in accesses for way in self.ways_to(access))
        tests = {test for way in ways for step in way for test, _ in step.guards}
        return frozenset(last_name(node) for test in tests for node in ast.walk(test))


@lru_cache(maxsize=1)
def ways_of(tree: ast.Module) -> Ways:
    """Returns the ways of a file, those of the last one kept."""
    return Ways(tree)


def _steps(tree: ast.Module) -> Iterator[Step]:
    worklist = [Step(tree, None, None)]
    while worklist:
        at = worklist.pop()
        node, inside = at.node, at
        if isinstance(node, _STEPS):
            yield at
        elif isinstance(node, ast.FunctionDef):
            inside = Step(node, node, at.owner)
            yield inside
        elif isinstance(node, ast.ClassDef):
            inside = Step(node, at.function, node, at.guards)
        sides = _sides(node)
        for child in ast.iter_child_nodes(node):
            guards = (*inside.guards, sides[child]) if child in sides else inside.guards
            worklist.append(Step(child, inside.function, inside.owner, guards))


def _sides(node: ast.AST) -> dict[ast.AST, tuple[ast.expr, bool]]:
    """Returns the parts of a branch with the outcome of its condition that leads to them."""
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            return {**dict.fromkeys(body, (test, True)), **dict.fromkeys(orelse, (test, False))}
        case ast.IfExp(test=test, body=one, orelse=other):
            return {one: (test, True), other: (test, False)}
    return {}
