"""Follows Python functions with values that are partly known; nothing of it is ever executed.

Branches on what is not known are taken both ways and joined, loops run once for any iteration.
What calls, attributes and subscripts of a library's values mean, the library says.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Protocol

from smemlint.frontend.python.abstract import (
    UNKNOWN,
    Bound,
    Function,
    Instance,
    Launch,
    Method,
    Symbol,
    Tensor,
    Unknown,
    Value,
    is_known,
    joined,
)

MAX_STEPS = 60_000
_MAX_DEPTH = 12
_MAX_UNROLLED = 32
_MAX_NUMBER = 1 << 64
_LARGEST_SEQUENCE = 4096

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class OverBudget(Exception):
    """Following took too many steps."""


class Library(Protocol):
    """What a domain-specific language's names mean."""

    def call(
        self, callee: Value, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        """The result of calling an imported name or a method."""

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """An attribute of a value."""

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """A subscript of a value that is no plain sequence."""

    def combined(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """The result of an operator where one side is no constant."""


class Follower:
    """Runs statements in scopes.

    Attributes:
        launches: kernels that were launched.
        loops: how many loops are around what is followed.
    """

    def __init__(self, library: Library, kernel_marks: Sequence[str]) -> None:
        self._library = library
        self._marks = tuple(kernel_marks)
        self.launches: list[Launch] = []
        self.steps = 0
        self.loops = 0
        self._stack: list[ast.FunctionDef] = []
        self._returns: list[list[Value]] = []
        self._open_paths = 0

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
                    self._assign(target, value, scopes)
            case ast.AnnAssign(value=ast.expr() as expression):
                self._assign(node.target, self.value(expression, scopes), scopes)
            case ast.AugAssign():
                held = self.value(node.target, scopes)
                self._assign(node.target, self._binary(node.op, held, node.value, scopes), scopes)
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
                self._assign(node.target, item, scopes)
                self.run(node.body, scopes)
        else:
            self._assign(node.target, UNKNOWN, scopes)
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

    def _assign(self, target: ast.expr, value: Value, scopes: tuple[dict[str, Value], ...]) -> None:
        match target:
            case ast.Name():
                scopes[-1][target.id] = self._named(value, target.id)
            case ast.Tuple() | ast.List():
                is_whole = isinstance(value, tuple | list) and len(value) == len(target.elts)
                for i, part in enumerate(target.elts):
                    self._assign(part, value[i] if is_whole else UNKNOWN, scopes)
            case ast.Subscript():
                held = self.value(target.value, scopes)
                key = self.value(target.slice, scopes)
                if isinstance(held, list | dict):
                    if isinstance(key, int | str) and not self._open_paths:
                        with suppress(IndexError, KeyError, TypeError):
                            held[key] = value  # type: ignore[index]
                    else:
                        _forget(held)
            case ast.Attribute():
                held = self.value(target.value, scopes)
                if isinstance(held, Instance) and target.attr in held.settled:
                    held.attributes[target.attr] = value if not self._open_paths else UNKNOWN

    def _named(self, value: Value, name: str) -> Value:
        naming = getattr(self._library, "named", None)
        return naming(value, name) if naming is not None else value

    # ---- expressions

    def truth(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> bool | None:
        """Whether a condition holds; None where it is not known."""
        value = self.value(node, scopes)
        return bool(value) if is_known(value) else None

    def value(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> Value:
        """The value of an expression."""
        self._step()
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, scopes)
            case ast.Attribute():
                owner = self.value(node.value, scopes)
                if isinstance(owner, Symbol):
                    return self._library.attribute(Symbol(f"{owner.path}.{node.attr}"), "", node)
                return self._library.attribute(owner, node.attr, node)
            case ast.Call():
                return self._call(node, scopes)
            case ast.Tuple():
                return tuple(self._items(node.elts, scopes))
            case ast.List():
                return list(self._items(node.elts, scopes))
            case ast.Dict():
                return self._dict(node, scopes)
            case ast.BinOp():
                return self._binary(node.op, self.value(node.left, scopes), node.right, scopes)
            case ast.UnaryOp():
                return self._unary(node, scopes)
            case ast.BoolOp():
                return self._bool(node, scopes)
            case ast.Compare():
                return self._compare(node, scopes)
            case ast.IfExp():
                test = self.truth(node.test, scopes)
                if test is not None:
                    return self.value(node.body if test else node.orelse, scopes)
                return joined(self.value(node.body, scopes), self.value(node.orelse, scopes))
            case ast.Subscript():
                return self._subscript(node, scopes)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, scopes)
            case ast.NamedExpr():
                value = self.value(node.value, scopes)
                self._assign(node.target, value, scopes)
                return value
        return UNKNOWN

    def _name(self, name: str, scopes: tuple[dict[str, Value], ...]) -> Value:
        for scope in reversed(scopes):
            if name in scope:
                return scope[name]
        return Symbol(f"builtins.{name}")

    def _items(
        self, nodes: Sequence[ast.expr], scopes: tuple[dict[str, Value], ...]
    ) -> Iterator[Value]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.value(node.value, scopes)
                if isinstance(value, tuple | list):
                    yield from value
                else:
                    yield UNKNOWN
            else:
                yield self.value(node, scopes)

    def _dict(self, node: ast.Dict, scopes: tuple[dict[str, Value], ...]) -> Value:
        found = {}
        for key, item in zip(node.keys, node.values, strict=True):
            name = self.value(key, scopes) if key is not None else UNKNOWN
            if not isinstance(name, str | int):
                return UNKNOWN
            found[name] = self.value(item, scopes)
        return found

    def _binary(
        self,
        operation: ast.operator,
        one: Value,
        right: ast.expr,
        scopes: tuple[dict[str, Value], ...],
    ) -> Value:
        return self._operated(operation, one, self.value(right, scopes))

    def _operated(self, operation: ast.AST, one: Value, other: Value) -> Value:
        if not (is_known(one) and is_known(other)):
            if isinstance(one, tuple | list) and isinstance(other, tuple | list):
                is_sum = isinstance(operation, ast.Add) and type(one) is type(other)
                return one + other if is_sum else UNKNOWN  # type: ignore[operator]
            return self._library.combined(operation, one, other)
        if not _is_small(operation, one, other):
            return UNKNOWN
        try:
            return _OPERATORS[type(operation)](one, other)
        except (ArithmeticError, KeyError, TypeError, ValueError):
            return UNKNOWN

    def _unary(self, node: ast.UnaryOp, scopes: tuple[dict[str, Value], ...]) -> Value:
        value = self.value(node.operand, scopes)
        if not is_known(value):
            return value if isinstance(value, Tensor) else UNKNOWN
        match node.op, value:
            case ast.Not(), _:
                return not value
            case ast.USub(), int() | float():
                return -value
            case ast.Invert(), int():
                return ~value
        return UNKNOWN

    def _bool(self, node: ast.BoolOp, scopes: tuple[dict[str, Value], ...]) -> Value:
        decides = isinstance(node.op, ast.Or)
        is_open = False
        value: Value = UNKNOWN
        for part in node.values:
            value = self.value(part, scopes)
            if not is_known(value):
                is_open = True
            elif bool(value) == decides:
                return UNKNOWN if is_open and not isinstance(value, bool) else value
        return UNKNOWN if is_open else value

    def _compare(self, node: ast.Compare, scopes: tuple[dict[str, Value], ...]) -> Value:
        values = [self.value(part, scopes) for part in (node.left, *node.comparators)]
        for (one, other), operation in zip(pairwise(values), node.ops, strict=True):
            match operation:
                case ast.Is() | ast.IsNot():
                    if other is not None or not (one is None or is_known(one)):
                        return UNKNOWN
                    holds: Value = (one is None) == isinstance(operation, ast.Is)
                case ast.In() | ast.NotIn():
                    if not (is_known(one) and is_known(other)):
                        return UNKNOWN
                    try:
                        holds = (one in other) == isinstance(operation, ast.In)
                    except TypeError:
                        return UNKNOWN
                case _:
                    holds = self._operated(operation, one, other)
            if not isinstance(holds, bool):
                return holds
            if not holds:
                return False
        return True

    def _subscript(self, node: ast.Subscript, scopes: tuple[dict[str, Value], ...]) -> Value:
        owner = self.value(node.value, scopes)
        if not isinstance(owner, tuple | list | dict | range | str):
            key = UNKNOWN if isinstance(node.slice, ast.Slice) else self.value(node.slice, scopes)
            return self._library.subscript(owner, node.slice, key)
        if isinstance(node.slice, ast.Slice):
            ends = [
                self.value(part, scopes) if part is not None else None
                for part in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            if isinstance(owner, dict) or not all(e is None or isinstance(e, int) for e in ends):
                return UNKNOWN
            return owner[slice(*ends)]
        key = self.value(node.slice, scopes)
        if not isinstance(key, int | str):
            return UNKNOWN
        try:
            return owner[key]  # type: ignore[index]
        except (IndexError, KeyError, TypeError):
            return UNKNOWN

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp, scopes: tuple[dict[str, Value], ...]
    ) -> Value:
        source = node.generators[0]
        items = self.value(source.iter, scopes)
        is_open = len(node.generators) > 1 or not isinstance(items, range | list | tuple)
        if is_open or len(items) > _LARGEST_SEQUENCE:
            return UNKNOWN
        inner = (*scopes, dict[str, Value]())
        found = []
        for item in items:
            self._assign(source.target, item, inner)
            tests = [self.truth(test, inner) for test in source.ifs]
            if None in tests:
                return UNKNOWN
            if all(tests):
                found.append(self.value(node.elt, inner))
        return found

    # ---- calls

    def _call(self, node: ast.Call, scopes: tuple[dict[str, Value], ...]) -> Value:
        if isinstance(node.func, ast.Subscript):
            kernel = self.value(node.func.value, scopes)
            if isinstance(kernel, Function) and kernel.is_kernel:
                return self._launch(kernel, node, scopes)
        callee = self.value(node.func, scopes)
        arguments = list(self._items(node.args, scopes))
        named = {k.arg: self.value(k.value, scopes) for k in node.keywords if k.arg is not None}
        if isinstance(callee, Function):
            return self.call(callee, arguments, named)
        if isinstance(callee, Bound):
            return self.call(callee.function, [callee.owner, *arguments], named)
        if isinstance(callee, Symbol) and callee.path.startswith("builtins."):
            return _builtin(callee.name, arguments)
        if isinstance(callee, Method) and isinstance(callee.owner, list):
            if callee.name == "append" and len(arguments) == 1 and not self._open_paths:
                callee.owner.append(arguments[0])
            else:
                _forget(callee.owner)
            return UNKNOWN
        if isinstance(callee, Unknown):
            return callee
        return self._library.call(callee, arguments, named, node)

    def _launch(
        self, kernel: Function, node: ast.Call, scopes: tuple[dict[str, Value], ...]
    ) -> Value:
        arguments = list(self._items(node.args, scopes))
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scopes)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif isinstance(value, dict):
                named |= value
        spec = kernel.node.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
        given = dict(zip(names, arguments, strict=False))
        given |= {k: v for k, v in named.items() if k in names}
        options = {k: v for k, v in named.items() if k not in names}
        self.launches.append(Launch(kernel, given, options, node.lineno))
        return UNKNOWN

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise OverBudget


def _is_small(operation: ast.AST, one: Value, other: Value) -> bool:
    """Whether the result of an operator on constants stays small."""
    numbers = [v for v in (one, other) if isinstance(v, int)]
    if any(abs(n) > _MAX_NUMBER for n in numbers):
        return False
    if isinstance(operation, ast.Mod) and isinstance(one, str):
        return False  # a width in the format makes it as long as it likes
    if isinstance(operation, ast.Pow | ast.LShift):
        return not numbers or (len(numbers) == 2 and abs(one) <= 1024 and 0 <= other <= 64)
    if isinstance(operation, ast.Mult) and len(numbers) == 1:
        sequence = other if isinstance(one, int) else one
        is_sequence = isinstance(sequence, tuple | list | str)
        return not is_sequence or len(sequence) * abs(numbers[0]) <= _LARGEST_SEQUENCE
    return True


def _builtin(name: str, arguments: list[Value]) -> Value:
    """A builtin function of constants."""
    if name in ("list", "tuple") and len(arguments) == 1:
        items = arguments[0]
        if isinstance(items, list | tuple | range) and len(items) <= _LARGEST_SEQUENCE:
            return list(items) if name == "list" else tuple(items)
        return UNKNOWN
    if name == "len" and len(arguments) == 1:
        held = arguments[0]
        is_sure = isinstance(held, tuple) or (isinstance(held, list) and UNKNOWN not in held)
        return len(held) if is_sure else UNKNOWN
    if not all(is_known(a) for a in arguments):
        return UNKNOWN
    if name == "str" and not isinstance(arguments[0] if arguments else "", str | int):
        return UNKNOWN
    known: dict[str, Callable[..., Any]] = {
        "range": range, "min": min, "max": max, "abs": abs, "int": int, "float": float,
        "bool": bool, "str": str, "sum": sum, "reversed": lambda x: list(reversed(x)),
        "sorted": sorted, "zip": lambda *x: list(zip(*x, strict=False)),
        "enumerate": lambda x: list(enumerate(x)),
    }  # fmt: skip
    if name not in known or any(
        isinstance(a, range | list | tuple) and len(a) > _LARGEST_SEQUENCE for a in arguments
    ):
        return UNKNOWN
    try:
        return known[name](*arguments)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN


def _forget(held: list[Value] | dict[Any, Value]) -> None:
    """What a container holds, and how much, is not known any more."""
    held.clear()
    if isinstance(held, list):
        held.append(UNKNOWN)
