"""Follows Python functions with values that are partly known; nothing of it is ever executed.

Branches on what is not known are taken both ways and joined, loops run once for any iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress

from smemlint.frontend.python.abstract import UNKNOWN, Function, Instance, Symbol, Value, joined
from smemlint.frontend.python.constants import forget
from smemlint.frontend.python.follow_values import Library, OverBudget, ValueFollower

__all__ = ["Follower", "Library", "OverBudget"]

_MAX_DEPTH = 12
_MAX_UNROLLED = 32


class Follower(ValueFollower):
    """Runs statements in scopes.

    Attributes:
        loops: how many loops are around what is followed.
    """

    def __init__(self, library: Library, kernel_marks: Sequence[str]) -> None:
        super().__init__(library)
        self._marks = tuple(kernel_marks)
        self.loops = 0
        self._stack: list[ast.FunctionDef] = []
        self._returns: list[list[Value]] = []

    @property
    def is_busy(self) -> bool:
        """Whether it is inside a function."""
        return bool(self._stack)

    # ---- functions

    def call(
        self, function: Function, arguments: Sequence[Value], named: dict[str, Value]
    ) -> Value:
        """The value that a function of the file returns."""
        if len(self._stack) >= _MAX_DEPTH or function.node in self._stack:
            return UNKNOWN
        scope = self.bound(function, arguments, named)
        self._stack.append(function.node)
        self._returns.append([])
        try:
            falls_through = self.run(function.node.body, (*function.scopes, scope))
        finally:
            self._stack.pop()
            returned = self._returns.pop()
        if falls_through or not returned:  # or it always raises
            returned.append(None)
        return self.returned(returned)

    def returned(self, values: Sequence[Value]) -> Value:
        """What is known of a call that may return any of several values."""
        value = values[0]
        for other in values[1:]:
            value = joined(value, other)
        return value

    def bound(
        self, function: Function, arguments: Sequence[Value], named: dict[str, Value]
    ) -> dict[str, Value]:
        """The parameters of a call: given, else their defaults, else not known."""
        spec = function.node.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        scope: dict[str, Value] = dict.fromkeys(
            (*names, *(a.arg for a in spec.kwonlyargs)), UNKNOWN
        )
        for name, default in zip(names[::-1], spec.defaults[::-1], strict=False):
            scope[name] = self.value(default, function.scopes)
        for arg, given in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if given is not None:
                scope[arg.arg] = self.value(given, function.scopes)
        for extra in (spec.vararg, spec.kwarg):
            if extra is not None:
                scope[extra.arg] = UNKNOWN
        scope.update(zip(names, arguments, strict=False))
        scope.update((k, v) for k, v in named.items() if k in scope)
        return scope

    # ---- statements

    def run(self, body: Sequence[ast.stmt], scopes: tuple[dict[str, Value], ...]) -> bool:
        """Runs statements in order; False where none of their ends is reached."""
        return all(self._statement(statement, scopes) for statement in body)

    def _statement(self, node: ast.stmt, scopes: tuple[dict[str, Value], ...]) -> bool:
        self._step()
        match node:
            case ast.Assign():
                value = self.value(node.value, scopes)
                for target in node.targets:
                    self.assign(target, value, scopes)
            case ast.AnnAssign(value=ast.expr() as expression):
                self.assign(node.target, self.value(expression, scopes), scopes)
            case ast.AugAssign():
                held = self.value(node.target, scopes)
                self.assign(node.target, self._binary(node.op, held, node.value, scopes), scopes)
            case ast.Expr():
                self.value(node.value, scopes)
            case ast.If():
                return self._branch(node, scopes)
            case ast.For():
                self._loop(node, scopes)
            case ast.While():
                self._repeat(node.body, scopes)
            case ast.With() | ast.AsyncWith():
                return self.run(node.body, scopes)
            case ast.Try():
                return self.run([*node.body, *node.orelse, *node.finalbody], scopes)
            case ast.Return():
                value = self.value(node.value, scopes) if node.value is not None else None
                if self._returns:
                    self._returns[-1].append(value)
                return False
            case ast.Raise() | ast.Break() | ast.Continue():
                return False
            case ast.FunctionDef():
                scopes[-1][node.name] = Function(node, scopes, self.is_kernel(node))
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    scopes[-1][name] = Symbol(alias.name if alias.asname else name)
            case ast.ImportFrom():
                for alias in node.names:
                    path = f"{node.module or ''}.{alias.name}"
                    scopes[-1][alias.asname or alias.name] = Symbol(path)
            case ast.ClassDef():
                scopes[-1][node.name] = UNKNOWN
            case ast.Delete() | ast.Global() | ast.Nonlocal() | ast.Pass() | ast.Assert():
                pass
        return True

    def is_kernel(self, node: ast.FunctionDef) -> bool:
        """Whether one of its decorators compiles it for the GPU."""
        return any(
            ast.unparse(d.func if isinstance(d, ast.Call) else d) in self._marks
            for d in node.decorator_list
        )

    def _branch(self, node: ast.If, scopes: tuple[dict[str, Value], ...]) -> bool:
        test = self.truth(node.test, scopes)
        if test is not None:
            return self.run(node.body if test else node.orelse, scopes)
        before = dict(scopes[-1])
        self._open_paths += 1
        reaches = self.run(node.body, scopes)
        first = dict(scopes[-1])
        scopes[-1].clear()
        scopes[-1].update(before)
        otherwise = self.run(node.orelse, scopes)
        self._open_paths -= 1
        if reaches and otherwise:
            self._join(scopes[-1], first)
        elif reaches:
            scopes[-1].clear()
            scopes[-1].update(first)
        return reaches or otherwise

    def _loop(self, node: ast.For, scopes: tuple[dict[str, Value], ...]) -> None:
        items = self.value(node.iter, scopes)
        self.loops += 1
        if isinstance(items, range | list | tuple) and len(items) <= _MAX_UNROLLED:
            for item in items:
                self.assign(node.target, item, scopes)
                self.run(node.body, scopes)
        else:
            self.assign(node.target, UNKNOWN, scopes)
            self._repeat(node.body, scopes)
        self.loops -= 1
        self.run(node.orelse, scopes)

    def _repeat(self, body: Sequence[ast.stmt], scopes: tuple[dict[str, Value], ...]) -> None:
        """Any number of iterations: what the first changes is not known in the next."""
        self._open_paths += 1
        before = dict(scopes[-1])
        self._library_pauses(lambda: self.run(body, scopes))
        self._join(scopes[-1], before)
        before = dict(scopes[-1])
        self.run(body, scopes)
        self._join(scopes[-1], before)
        self._open_paths -= 1

    def _library_pauses(self, action: Callable[[], object]) -> None:
        """Runs something whose accesses are found again later."""
        pause = getattr(self._library, "paused", None)
        if pause is None:
            action()
            return
        with pause():
            action()

    @staticmethod
    def _join(scope: dict[str, Value], other: dict[str, Value]) -> None:
        for name in scope.keys() | other.keys():
            if name in scope and name in other:
                scope[name] = joined(scope[name], other[name])
            else:
                scope.setdefault(name, other.get(name, UNKNOWN))

    def assign(self, target: ast.expr, value: Value, scopes: tuple[dict[str, Value], ...]) -> None:
        """Gives names, items and attributes their value."""
        match target:
            case ast.Name():
                scopes[-1][target.id] = self._named(value, target.id)
            case ast.Tuple() | ast.List():
                is_whole = isinstance(value, tuple | list) and len(value) == len(target.elts)
                for i, part in enumerate(target.elts):
                    self.assign(part, value[i] if is_whole else UNKNOWN, scopes)
            case ast.Subscript():
                held = self.value(target.value, scopes)
                key = self.value(target.slice, scopes)
                if isinstance(held, list | dict):
                    if isinstance(key, int | str) and not self._open_paths:
                        with suppress(IndexError, KeyError, TypeError):
                            held[key] = value  # type: ignore[index]
                    else:
                        forget(held)
            case ast.Attribute():
                held = self.value(target.value, scopes)
                if isinstance(held, Instance) and target.attr in held.settled:
                    held.attributes[target.attr] = value if not self._open_paths else UNKNOWN

    def _named(self, value: Value, name: str) -> Value:
        naming = getattr(self._library, "named", None)
        return naming(value, name) if naming is not None else value
