"""Follows Python functions with values that are partly known; nothing of it is ever executed.

Branches on what is not known are taken both ways and joined, loops run once for any iteration.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from smemlint.analysis.python.interpreter.constant_folding import forget
from smemlint.analysis.python.interpreter.expressions import (
    Library,
    OverBudget,
    ValueFollower,
    placed,
)
from smemlint.analysis.python.interpreter.objects import Class, Instance, any_of, filled, kind_of
from smemlint.analysis.python.interpreter.values import UNKNOWN, Function, Symbol, Value
from smemlint.limits.errors import TooLarge
from smemlint.limits.sizes import require_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Follower", "Library", "OverBudget"]

_MAX_DEPTH = 12
_MAX_UNROLLED = 32


@dataclass(slots=True)
class _Loop:
    """What scopes held where a loop was left, and where its last iteration was cut short."""

    left: list[dict[str, Value]] = field(default_factory=list)
    cut_short: list[dict[str, Value]] = field(default_factory=list)


class Follower(ValueFollower):
    """Runs statements in scopes.

    Attributes:
        loops: how many loops are around what is followed.
    """

    def __init__(self, library: Library, kernel_marks: Sequence[str]) -> None:
        super().__init__(library)
        self._marks = tuple(kernel_marks)
        self.loops = 0
        self._stack: list[Function] = []
        self._returns: list[list[Value]] = []
        self._objects: dict[Class, Instance] = {}
        self._around: list[_Loop] = []

    @property
    def is_busy(self) -> bool:
        """Whether it is inside a function."""
        return bool(self._stack)

    # ---- functions

    def call(
        self, function: Function, arguments: Sequence[Value], named: dict[str, Value]
    ) -> Value:
        """The value that a function of the file returns."""
        is_recursive = any(outer.node is function.node for outer in self._stack)
        if is_recursive or len(self._stack) >= _MAX_DEPTH:
            return UNKNOWN
        scope = self.bound(function, arguments, named)
        self._stack.append(function)
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
            value = self.either(value, other)
        return value

    @property
    def inner(self) -> Function | None:
        """The function whose statements are followed."""
        return self._stack[-1] if self._stack else None

    # ---- objects

    def made(self, kind: Class, arguments: Sequence[Value], named: dict[str, Value]) -> Value:
        """A new object of a class of the file, behind its `__init__`."""
        return self._initialized(Instance(kind, born=self._open_paths), arguments, named)

    def enter(self, function: Function, named: dict[str, Value]) -> Value:
        """Calls a function as somebody does: a method on any object of its class."""
        return self.call(function, self._called_on(function), named)

    def any_of(self, kind: Class) -> Instance:
        """An object of a class that somebody made; see `objects.any_of`."""
        init = kind.member("__init__")
        given = switches(init.node) if isinstance(init, Function) else {}
        return self._initialized(any_of(kind), (), given)

    def _called_on(self, function: Function) -> tuple[Value, ...]:
        kind = function.owner
        if kind is None or kind_of(function) == "static":
            return ()
        if kind_of(function) == "class":
            return (kind,)
        if kind not in self._objects:
            self._objects[kind] = self.any_of(kind)
        held = self._objects[kind]
        return (replace(held, attributes=dict(held.attributes)),)

    def _initialized(
        self, held: Instance, arguments: Sequence[Value], named: dict[str, Value]
    ) -> Instance:
        init = held.type.member("__init__")
        if isinstance(init, Function):
            self.call(init, (held, *arguments), named)
        else:
            filled(held, placed(held.type.fields, arguments) | named)
        return held

    def _class(self, node: ast.ClassDef, scopes: tuple[dict[str, Value], ...]) -> Class:
        bases = (self.value(base, scopes) for base in node.bases)
        kind = Class(node, {}, tuple(b for b in bases if isinstance(b, Class)))
        self.run(node.body, (*scopes, kind.members))
        for name, held in kind.members.items():
            if isinstance(held, Function) and held.node in node.body:
                kind.members[name] = replace(held, scopes=scopes, owner=kind)
        return kind

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
        scope.update(placed(names, arguments))
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
                return self._loop(node, scopes)
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
            case ast.Raise():
                return False
            case ast.Break() | ast.Continue():
                if self._around:
                    around = self._around[-1]
                    held = around.left if isinstance(node, ast.Break) else around.cut_short
                    held.append(dict(scopes[-1]))
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
                scopes[-1][node.name] = self._class(node, scopes)
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

    def _loop(self, node: ast.For, scopes: tuple[dict[str, Value], ...]) -> bool:
        items = self.value(node.iter, scopes)
        self.loops += 1
        around = _Loop()
        self._around.append(around)
        goes_on = True
        if isinstance(items, range | list | tuple) and len(items) <= _MAX_UNROLLED:
            for item in items:
                self.assign(node.target, item, scopes)
                goes_on = self._iteration(node.body, scopes)
                if not goes_on:
                    break
        else:
            self.assign(node.target, UNKNOWN, scopes)
            self._repeat(node.body, scopes)
        self.loops -= 1
        self._around.pop()
        goes_on = goes_on and self.run(node.orelse, scopes)
        return self._meet(scopes[-1], around.left, is_one=goes_on)

    def _iteration(self, body: Sequence[ast.stmt], scopes: tuple[dict[str, Value], ...]) -> bool:
        """Runs a loop's body once; False where no way leads to the next time."""
        around = self._around[-1]
        around.cut_short.clear()
        reaches = self.run(body, scopes)
        return self._meet(scopes[-1], around.cut_short, is_one=reaches)

    def _meet(
        self, scope: dict[str, Value], others: Sequence[dict[str, Value]], *, is_one: bool
    ) -> bool:
        """Leaves in a scope what holds of others, and of itself if it `is_one`; False: of none."""
        for other in others:
            if is_one:
                self._join(scope, other)
            else:
                scope.clear()
                scope.update(other)
            is_one = True
        return is_one

    def _repeat(self, body: Sequence[ast.stmt], scopes: tuple[dict[str, Value], ...]) -> None:
        """Any number of iterations: what the first changes is not known in the next."""
        self._open_paths += 1
        around = _Loop()
        self._around.append(around)
        before = dict(scopes[-1])
        self._library_pauses(lambda: self._iteration(body, scopes))
        self._join(scopes[-1], before)
        before = dict(scopes[-1])
        self._iteration(body, scopes)
        self._around.pop()
        self._meet(scopes[-1], (before, *around.left), is_one=True)
        self._open_paths -= 1

    def _library_pauses(self, action: Callable[[], object]) -> None:
        """Runs something whose accesses are found again later."""
        pause = getattr(self._library, "paused", None)
        if pause is None:
            action()
            return
        with pause():
            action()

    def _join(self, scope: dict[str, Value], other: dict[str, Value]) -> None:
        for name in scope.keys() | other.keys():
            if name in scope and name in other:
                scope[name] = self.either(scope[name], other[name])
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
                        with suppress(IndexError, KeyError, TypeError, TooLarge):
                            require_tree((held, value))
                            held[key] = value  # type: ignore[index]
                    else:
                        forget(held)
            case ast.Attribute():
                held = self.value(target.value, scopes)
                if isinstance(held, Instance):
                    is_sure = self._open_paths <= held.born
                    held.assign(
                        target.attr, self._named(value, target.attr) if is_sure else UNKNOWN
                    )

    def _named(self, value: Value, name: str) -> Value:
        naming = getattr(self._library, "named", None)
        return naming(value, name) if naming is not None else value


def functions_of(scope: dict[str, Value]) -> Iterator[Function]:
    """The functions that a module binds, and those of its classes but `__init__`."""
    for held in list(scope.values()):
        if isinstance(held, Function):
            yield held
        elif isinstance(held, Class):
            for member in held.members.values():
                is_own = isinstance(member, Function) and member.owner is held
                if is_own and member.node.name != "__init__":
                    yield member


def switches(node: ast.FunctionDef) -> dict[str, Value]:
    """Parameters whose defaults are one choice of few: callers give others, too."""
    spec = node.args
    plain = [*spec.posonlyargs, *spec.args]
    defaults = [*zip(plain[::-1], spec.defaults[::-1], strict=False)]
    defaults += [(p, d) for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d]
    return {
        parameter.arg: UNKNOWN
        for parameter, default in defaults
        if isinstance(default, ast.Constant) and isinstance(default.value, bool | str | None)
    }
