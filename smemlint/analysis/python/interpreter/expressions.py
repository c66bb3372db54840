"""Follows Python expressions with values that are partly known; nothing of it is ever executed.

What calls, attributes and subscripts of a library's values mean, the library says.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from smemlint.analysis.python.interpreter.constant_folding import (
    LARGEST_SEQUENCE,
    builtin,
    concatenated,
    forget,
    operated,
)
from smemlint.analysis.python.interpreter.objects import Bound, Class, Instance, Super, kind_of
from smemlint.analysis.python.interpreter.values import (
    REST,
    UNKNOWN,
    Function,
    Launch,
    Method,
    Symbol,
    Tensor,
    Unknown,
    Value,
    is_known,
    joined,
)
from smemlint.limits.errors import TooLarge
from smemlint.limits.sizes import require_tree
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_STEPS = 60_000


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


def placed(names: Sequence[str], arguments: Sequence[Value]) -> dict[str, Value]:
    """Positional arguments by the names of parameters; those behind `REST` are not known."""
    found = dict(zip(names, arguments, strict=False))
    if arguments and arguments[-1] is REST:
        found.update(dict.fromkeys(names[len(arguments) - 1 :], UNKNOWN))
    return found


class ValueFollower(ABC):
    """Finds the values of expressions in scopes.

    Attributes:
        launches: kernels that were launched.
        steps: statements and expressions so far.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self.launches: list[Launch] = []
        self.steps = 0
        self._open_paths = 0

    @abstractmethod
    def call(
        self, function: Function, arguments: Sequence[Value], named: dict[str, Value]
    ) -> Value:
        """The value that a function of the file returns."""

    @abstractmethod
    def made(self, kind: Class, arguments: Sequence[Value], named: dict[str, Value]) -> Value:
        """A new object of a class of the file."""

    @property
    @abstractmethod
    def inner(self) -> Function | None:
        """The function whose statements are followed."""

    def either(self, one: Value, other: Value) -> Value:
        """What holds of a value that is one or the other."""
        return joined(one, other)

    @abstractmethod
    def assign(self, target: ast.expr, value: Value, scopes: tuple[dict[str, Value], ...]) -> None:
        """Gives a target its value."""

    # ---- expressions

    def truth(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> bool | None:
        """Whether a condition holds; None where it is not known."""
        value = self.value(node, scopes)
        return bool(value) if is_known(value) else None

    def value(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> Value:
        """The value of an expression; what is larger than what is followed is not known."""
        self._step()
        try:
            return self._value_of(node, scopes)
        except TooLarge:
            return UNKNOWN

    def _value_of(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> Value:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, scopes)
            case ast.Attribute():
                owner = self.value(node.value, scopes)
                if isinstance(owner, Symbol):
                    return self._library.attribute(Symbol(f"{owner.path}.{node.attr}"), "", node)
                if isinstance(owner, Instance | Class | Super):
                    found = self._member(owner, node.attr)
                    if found is not UNKNOWN:
                        return found
                return self._library.attribute(owner, node.attr, node)
            case ast.Call():
                return self._call(node, scopes)
            case ast.Tuple() | ast.List():
                items = list(self._items(node.elts, scopes))
                if REST in items:
                    return UNKNOWN
                require_tree(items)
                return tuple(items) if isinstance(node, ast.Tuple) else items
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
                return self.either(self.value(node.body, scopes), self.value(node.orelse, scopes))
            case ast.Subscript():
                return self._subscript(node, scopes)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, scopes)
            case ast.NamedExpr():
                value = self.value(node.value, scopes)
                self.assign(node.target, value, scopes)
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
        """The values; `REST` ends them where the length of an unpacked one is not known."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.value(node.value, scopes)
                if not isinstance(value, tuple | list):
                    yield REST
                    return
                yield from value
            else:
                yield self.value(node, scopes)

    def _dict(self, node: ast.Dict, scopes: tuple[dict[str, Value], ...]) -> Value:
        found = {}
        for key, item in zip(node.keys, node.values, strict=True):
            name = self.value(key, scopes) if key is not None else UNKNOWN
            if not isinstance(name, str | int):
                return UNKNOWN
            found[name] = self.value(item, scopes)
        require_tree(found.values())
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
                return concatenated(one, other) if is_sum else UNKNOWN
            return self._library.combined(operation, one, other)
        return operated(operation, one, other)

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
        found: list[Value] = []
        inner = (*scopes, dict[str, Value]())
        return found if self._generated(node, list(node.generators), inner, found) else UNKNOWN

    def _generated(
        self,
        node: ast.ListComp | ast.GeneratorExp,
        sources: list[ast.comprehension],
        scopes: tuple[dict[str, Value], ...],
        found: list[Value],
    ) -> bool:
        """Appends what the sources make, the first of them outermost; False where one is open."""
        if not sources:
            found.append(self.value(node.elt, scopes))
            return len(found) <= LARGEST_SEQUENCE
        source, *others = sources
        items = self.value(source.iter, scopes)
        if not isinstance(items, range | list | tuple) or len(items) > LARGEST_SEQUENCE:
            return False
        for item in items:
            self.assign(source.target, item, scopes)
            tests = [self.truth(test, scopes) for test in source.ifs]
            if None in tests:
                return False
            if all(tests) and not self._generated(node, others, scopes, found):
                return False
        return True

    # ---- objects

    def _member(self, owner: Instance | Class | Super, name: str) -> Value:
        """What a name means on an object, on a class or behind `super()`."""
        held = owner.attribute(name) if isinstance(owner, Instance | Super) else owner.member(name)
        if not isinstance(held, Function) or held.owner is None:
            return held
        on = owner.owner if isinstance(owner, Super) else owner
        match kind_of(held):
            case "static":
                return held
            case "class":
                return Bound(held, on.type if isinstance(on, Instance) else on)
            case "property" if isinstance(on, Instance):
                return self.call(held, (on,), {})
        return Bound(held, on) if isinstance(on, Instance) else held

    def _super(self, arguments: Sequence[Value], scopes: tuple[dict[str, Value], ...]) -> Value:
        """`super()`, or `super(Class, self)`."""
        if len(arguments) == 2:
            behind, owner = arguments
        else:
            function = self.inner
            behind = function.owner if function is not None else None
            named = function.node.args.args if function is not None else []
            owner = scopes[-1].get(named[0].arg) if named else None
        is_known_one = isinstance(behind, Class) and isinstance(owner, Instance | Class)
        return Super(owner, behind) if is_known_one else UNKNOWN

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
        if isinstance(callee, Class):
            return self.made(callee, arguments, named)
        if isinstance(callee, Instance):
            callee = self._member(callee, "__call__")
            if not isinstance(callee, Bound):
                return UNKNOWN
            return self.call(callee.function, [callee.owner, *arguments], named)
        if callee == Symbol("builtins.super"):
            return self._super(arguments, scopes)
        if isinstance(callee, Symbol) and callee.path.startswith("builtins."):
            return builtin(callee.name, arguments)
        if isinstance(callee, Method) and isinstance(callee.owner, list):
            if callee.name == "append" and len(arguments) == 1 and not self._open_paths:
                require_tree((callee.owner, *arguments))
                callee.owner.append(arguments[0])
            else:
                forget(callee.owner)
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
        given = placed(names, arguments)
        given |= {k: v for k, v in named.items() if k in names}
        options = {k: v for k, v in named.items() if k not in names}
        self.launches.append(Launch(kernel, given, options, node.lineno))
        return UNKNOWN

    def _step(self) -> None:
        self.steps += 1
        spend()
        if self.steps > MAX_STEPS:
            raise OverBudget
