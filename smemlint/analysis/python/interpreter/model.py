"""What the interpreter asks about a library: the model of its functions, values and operators."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field

from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Instance,
    Key,
    Symbol,
    Value,
    join,
)
from smemlint.lazy_dataclasses import dataclass


class LibraryModel:
    """The model of a library of which no name is known: the base of all others."""

    def symbol(self, symbol: Symbol, node: ast.expr) -> Value:
        """Returns the value of a dotted name, e.g. `tl.float16`."""
        return symbol

    def call(self, callee: Value, given: BoundArguments, node: ast.Call) -> Value:
        """Returns the result of calling an imported name, a method or a value of the model."""
        return UNKNOWN

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """Returns an attribute of a value that is no module."""
        return UNKNOWN

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Returns `owner[key]` where the owner is no container of Python; `value` is the key's."""
        return UNKNOWN

    def binary(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Returns the result of an operator or a comparison of which one side is no constant."""
        return UNKNOWN

    def unary(self, operation: ast.unaryop, operand: Value) -> Value:
        """Returns the result of an operator whose operand is no constant."""
        return UNKNOWN

    def joined(self, before: Value, after: Value) -> Value:
        """Returns what covers an attribute before and after an assignment that may be executed."""
        return UNKNOWN

    def assign_attribute(
        self, owner: Instance, name: str, value: Value, *, may_be_skipped: bool
    ) -> None:
        """Gives an attribute its value, or what covers both where that `may_be_skipped`."""
        if may_be_skipped:
            owner.assign(name, self.joined(owner.attribute(name), value))
        else:
            owner.assign(name, self.named(value, name))

    def changes(self, owner: list[Value] | dict[Key, Value], *, may_be_skipped: bool) -> bool:
        """Returns whether a container has other items behind a change of it.

        Where that `may_be_skipped`, it is not known which.
        """
        return not may_be_skipped

    def named(self, value: Value, name: str) -> Value:
        """Returns the value that a variable or attribute of this name is assigned."""
        return value

    def join_returned(self, values: Sequence[Value]) -> Value:
        """Returns what covers the values of all `return` statements of one call."""
        result = values[0]
        for value in values[1:]:
            result = join(result, value)
        return result

    def paused(self) -> AbstractContextManager[None]:
        """Opens a speculative run, in which the model records nothing."""
        return nullcontext()


@dataclass(eq=False)
class RecordingModel(LibraryModel):
    """A model that records what kernels do.

    Attributes:
        is_paused: the run is speculative: nothing is recorded.
    """

    is_paused: bool = field(default=False, init=False)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Opens a speculative run, in which the model records nothing."""
        before = self.is_paused
        self.is_paused = True
        try:
            yield
        finally:
            self.is_paused = before
