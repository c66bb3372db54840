"""Follows host code path by path: what an open condition decides holds to the function's end.

A condition that is asked again on a path has the answer it had, until a name in it is assigned.
Objects, lists and dictionaries hold, behind all paths, what all of them left there.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from smemlint.analysis.python.interpreter.constant_folding import forget
from smemlint.analysis.python.interpreter.objects import Instance
from smemlint.analysis.python.interpreter.statements import Follower
from smemlint.analysis.python.interpreter.values import UNKNOWN, Function, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_PATHS = 16
"""Open conditions of one call whose ways are followed to the end."""
_MOST_IN_ALL = 32
"""Those of a call and of the calls in it."""
_MOST_HELD = 2000
"""Objects and containers whose state is kept for the other path."""
Scopes = tuple[dict[str, Value], ...]


@dataclass(slots=True)
class _Way:
    """What is true on the path that is followed.

    Attributes:
        told: open conditions, as written, and what they are taken to be.
        left: how many more conditions may part it.
    """

    told: dict[str, bool]
    left: int


class PathFollower(Follower):
    """Runs the statements of functions once for each outcome of their open conditions."""

    _way = _Way({}, 0)
    _left_in_all = 0

    def call(
        self, function: Function, arguments: Sequence[Value], named: dict[str, Value]
    ) -> Value:
        """The value that a function returns."""
        if not self.is_busy:
            self._left_in_all = _MOST_IN_ALL
        before = self._way
        self._way = _Way({}, MOST_PATHS)
        try:
            return super().call(function, arguments, named)
        finally:
            self._way = before

    def truth(self, node: ast.expr, scopes: Scopes) -> bool | None:
        """Whether a condition holds; None where nothing says so."""
        held = super().truth(node, scopes)
        told = self._way.told
        return told.get(ast.unparse(node)) if held is None and told else held

    def run(self, body: Sequence[ast.stmt], scopes: Scopes) -> bool:
        """Runs statements in order; False where none of their ends is reached."""
        waiting = list(body)
        while waiting:
            node = waiting[0]
            if self._way.left and self._left_in_all:
                test, inner = self._taken(node, scopes)
                if test is not None:
                    return self._part(ast.unparse(test), waiting, scopes)
                if inner is not None:
                    waiting[:1] = inner
                    continue
            if not self._statement(node, scopes):
                return False
            del waiting[0]
        return True

    def assign(self, target: ast.expr, value: Value, scopes: Scopes) -> None:
        """See `Follower`; what was known of conditions that name the target is forgotten."""
        if self._way.told:
            name = ast.unparse(target)
            told = self._way.told
            self._way.told = {test: holds for test, holds in told.items() if name not in test}
        super().assign(target, value, scopes)

    def _taken(
        self, node: ast.stmt, scopes: Scopes
    ) -> tuple[ast.expr | None, list[ast.stmt] | None]:
        """The first condition of a statement that nothing tells, or what it is but a frame of."""
        match node:
            case ast.If():
                held = self.truth(node.test, scopes)
                if held is None:
                    return node.test, None
                return None, node.body if held else node.orelse
            case ast.With():
                for item in node.items:
                    value = self.value(item.context_expr, scopes)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, value, scopes)
                return None, node.body
            case ast.Try():
                return None, [*node.body, *node.orelse, *node.finalbody]
            case ast.Assign() | ast.Return():
                choices = (n.test for n in _choices(node))
                return next((t for t in choices if self.truth(t, scopes) is None), None), None
        return None, None

    def _part(self, test: str, body: Sequence[ast.stmt], scopes: Scopes) -> bool:
        """Runs statements as if a condition held, then as if it did not."""
        way = self._way
        way.left -= 1
        self._left_in_all -= 1
        told, before, held = dict(way.told), dict(scopes[-1]), _State(scopes[1:])
        way.told = {**told, test: True}
        reaches = self.run(body, scopes)
        first, left = dict(scopes[-1]), held.swapped()
        scopes[-1].clear()
        scopes[-1].update(before)
        way.told = {**told, test: False}
        otherwise = self.run(body, scopes)
        way.told = told
        if reaches and otherwise:
            self._join(scopes[-1], first)
        elif reaches:
            scopes[-1].clear()
            scopes[-1].update(first)
        left.join(self)
        return reaches or otherwise

    # ---- loops run their bodies as one

    def _loop(self, node: ast.For, scopes: Scopes) -> bool:
        left, self._way.left = self._way.left, 0
        goes_on = super()._loop(node, scopes)
        self._way.left = left
        return goes_on

    def _repeat(self, body: Sequence[ast.stmt], scopes: Scopes) -> None:
        left, self._way.left = self._way.left, 0
        super()._repeat(body, scopes)
        self._way.left = left


@lru_cache(maxsize=4096)
def _choices(node: ast.stmt) -> tuple[ast.IfExp, ...]:
    """The conditional expressions of a statement."""
    return tuple(n for n in ast.walk(node) if isinstance(n, ast.IfExp))


class _State:
    """What the objects and containers that scopes reach hold."""

    def __init__(self, scopes: Sequence[dict[str, Value]]) -> None:
        self._held: dict[int, tuple[Value, Value]] = {}
        waiting: list[Value] = [value for scope in scopes for value in scope.values()]
        while waiting and len(self._held) < _MOST_HELD:
            value = waiting.pop()
            if isinstance(value, tuple):
                waiting += value
            if not isinstance(value, list | dict | Instance) or id(value) in self._held:
                continue
            inside = value.attributes if isinstance(value, Instance) else value
            self._held[id(value)] = (value, inside.copy())
            waiting += inside.values() if isinstance(inside, dict) else inside

    def swapped(self) -> _State:
        """Gives everything what it held, and tells what it holds instead."""
        now = _State(())
        for key, (value, before) in self._held.items():
            inside = value.attributes if isinstance(value, Instance) else value
            now._held[key] = (value, inside.copy())
            _put(inside, before)
        return now

    def join(self, follower: PathFollower) -> None:
        """Leaves in everything what holds of what it has here and what it has now."""
        for value, other in self._held.values():
            if isinstance(value, Instance):
                held = value.attributes
                for name in held.keys() | other.keys():
                    ways = (held.get(name, UNKNOWN), other.get(name, UNKNOWN))
                    held[name] = follower.either(*ways)
            elif value != other:
                forget(value)


def _put(inside: list[Value] | dict[str, Value], held: list[Value] | dict[str, Value]) -> None:
    inside.clear()
    if isinstance(inside, list):
        inside.extend(held)
    else:
        inside.update(held)
