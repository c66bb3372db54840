"""Path-sensitive execution: what an open condition decides holds to the end of the function.

A condition that is evaluated again on a path has the outcome it had, until a name in it is
assigned. Objects, lists and dictionaries are joined behind all paths.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from smemlint.analysis.python.interpreter.assignments import assign
from smemlint.analysis.python.interpreter.constant_folding import forget
from smemlint.analysis.python.interpreter.interpreter import (
    Interpreter,
    Policy,
    join_scopes,
    replace_scope,
)
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Instance,
    Key,
    Scope,
    Scopes,
    Value,
    join,
)
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CONTAINERS, MAX_SPLITS, MAX_SPLITS_IN_ALL

_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


@dataclass(slots=True)
class Path:
    """What is known on the path that is executed.

    Attributes:
        conditions: open conditions, as written, and their outcomes here.
        splits: how many more conditions may split it.
    """

    conditions: dict[str, bool]
    splits: int


class PathSensitive(Policy):
    """Executes the statements of a function once for each outcome of its open conditions."""

    def __init__(self) -> None:
        self._path = Path({}, 0)
        self._splits_in_all = 0

    @contextmanager
    def inside_call(self, *, is_outermost: bool) -> Iterator[None]:
        """Starts a path of its own."""
        if is_outermost:
            self._splits_in_all = MAX_SPLITS_IN_ALL
        before = self._path
        self._path = Path({}, MAX_SPLITS)
        try:
            yield
        finally:
            self._path = before

    @contextmanager
    def inside_loop(self) -> Iterator[None]:
        """Keeps the path in one piece: iterations are executed as one."""
        path = self._path
        splits, path.splits = path.splits, 0
        try:
            yield
        finally:
            path.splits = splits

    def decide(self, condition: ast.expr, value: Value) -> bool | None:
        """Returns the outcome that the condition has on this path."""
        conditions = self._path.conditions
        return conditions.get(ast.unparse(condition)) if conditions else None

    def assigned(self, target: ast.expr) -> None:
        """Forgets the outcomes of conditions that name the target."""
        conditions = self._path.conditions
        if conditions:
            name = ast.unparse(target)
            self._path.conditions = {c: value for c, value in conditions.items() if name not in c}

    def run(self, interpreter: Interpreter, body: Sequence[ast.stmt], scopes: Scopes) -> bool:
        """Executes statements in order; returns whether one of their paths reaches the end."""
        worklist = list(body)
        while worklist:
            node = worklist[0]
            if self._path.splits and self._splits_in_all:
                test, inner = _first_open(interpreter, node, scopes)
                if test is not None:
                    return self._split(interpreter, ast.unparse(test), worklist, scopes)
                if inner is not None:
                    worklist[:1] = inner
                    continue
            if not interpreter.execute(node, scopes):
                return False
            del worklist[0]
        return True

    def _split(
        self, interpreter: Interpreter, test: str, body: Sequence[ast.stmt], scopes: Scopes
    ) -> bool:
        """Executes statements under a condition, then under its negation."""
        path, scope = self._path, scopes[-1]
        path.splits -= 1
        self._splits_in_all -= 1
        conditions, before = dict(path.conditions), dict(scope)
        contents = _Contents.reachable(scopes[1:])
        path.conditions = {**conditions, test: True}
        reaches_end = self.run(interpreter, body, scopes)
        first, first_contents = dict(scope), contents.swap()
        replace_scope(scope, before)
        path.conditions = {**conditions, test: False}
        otherwise_reaches_end = self.run(interpreter, body, scopes)
        path.conditions = conditions
        if reaches_end and otherwise_reaches_end:
            join_scopes(scope, first)
        elif reaches_end:
            replace_scope(scope, first)
        first_contents.join()
        return reaches_end or otherwise_reaches_end


def _first_open(
    interpreter: Interpreter, node: ast.stmt, scopes: Scopes
) -> tuple[ast.expr | None, list[ast.stmt] | None]:
    """Returns the first condition of a statement that is open here, else what it only frames."""
    match node:
        case ast.If():
            outcome = interpreter.truth(node.test, scopes)
            if outcome is None:
                return node.test, None
            return None, node.body if outcome else node.orelse
        case ast.With():
            enter_contexts(interpreter, node, scopes)
            return None, node.body
        case ast.Try():
            return None, [*node.body, *node.orelse, *node.finalbody]
        case ast.Assign() | ast.Return():
            tests = (n.test for n in _conditionals(node))
            return next((t for t in tests if interpreter.truth(t, scopes) is None), None), None
    return None, None


def enter_contexts(interpreter: Interpreter, node: ast.With, scopes: Scopes) -> None:
    """Evaluates the context managers of a `with`, and assigns them as if they were entered."""
    for item in node.items:
        value = interpreter.evaluate(item.context_expr, scopes)
        if item.optional_vars is not None:
            assign(interpreter, item.optional_vars, value, scopes)


@lru_cache(maxsize=4096)
def _conditionals(node: ast.stmt) -> tuple[ast.IfExp, ...]:
    """Returns the conditional expressions of a statement, but for those with names of their own."""
    worklist: list[ast.AST] = [node]
    for each in worklist:
        if not isinstance(each, _SCOPES):
            worklist += ast.iter_child_nodes(each)
    return tuple(n for n in worklist if isinstance(n, ast.IfExp))


@dataclass(frozen=True, slots=True)
class _Contents:
    """What the objects and containers that scopes reach contained at some time.

    Attributes:
        lists, dictionaries, instances: each with its items, entries or attributes then, by id.
    """

    lists: dict[int, tuple[list[Value], list[Value]]]
    dictionaries: dict[int, tuple[dict[Key, Value], dict[Key, Value]]]
    instances: dict[int, tuple[Instance, Scope]]

    @staticmethod
    def reachable(scopes: Sequence[Scope]) -> _Contents:
        """Takes down what scopes reach now."""
        found = _Contents({}, {}, {})
        seen: set[int] = set()
        worklist: list[Value] = [value for scope in scopes for value in scope.values()]
        while worklist and len(seen) < MAX_CONTAINERS:
            value = worklist.pop()
            if isinstance(value, tuple):
                worklist += value
            if not isinstance(value, list | dict | Instance) or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, list):
                found.lists[id(value)] = (value, value.copy())
                worklist += value
            elif isinstance(value, dict):
                found.dictionaries[id(value)] = (value, value.copy())
                worklist += value.values()
            else:
                found.instances[id(value)] = (value, value.attributes.copy())
                worklist += value.attributes.values()
        return found

    def swap(self) -> _Contents:
        """Puts everything back, and returns what it contained until now."""
        now = _Contents({}, {}, {})
        for key, (items, before) in self.lists.items():
            now.lists[key] = (items, items.copy())
            items[:] = before
        for key, (entries, entries_before) in self.dictionaries.items():
            now.dictionaries[key] = (entries, entries.copy())
            entries.clear()
            entries.update(entries_before)
        for key, (instance, attributes) in self.instances.items():
            now.instances[key] = (instance, instance.attributes.copy())
            replace_scope(instance.attributes, attributes)
        return now

    def join(self) -> None:
        """Leaves in everything what covers its contents then and now."""
        for instance, other in self.instances.values():
            attributes = instance.attributes
            for name in attributes.keys() | other.keys():
                attributes[name] = join(attributes.get(name, UNKNOWN), other.get(name, UNKNOWN))
        for items, other_items in self.lists.values():
            if items != other_items:
                forget(items)
        for entries, other_entries in self.dictionaries.values():
            if entries != other_entries:
                forget(entries)
