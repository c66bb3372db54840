"""Arguments of a call that a model reads by position or name."""

from __future__ import annotations

import ast

from smemlint.analysis.python.interpreter.values import (
    REST,
    REST_OF_NAMES,
    UNKNOWN,
    Scope,
    Scopes,
    Value,
)
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class CallSite:
    """Where a call stands, and the variables that it sees."""

    node: ast.Call
    scopes: Scopes


LARGEST_INTEGER = (1 << 31) - 1
"""What libraries hold extents, strides and parameters of layouts in."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundArguments:
    """Arguments of a call."""

    positional: list[Value]
    named: Scope

    def values(self) -> tuple[Value, ...]:
        """Returns all of them."""
        return (*self.positional, *self.named.values())

    def behind(self, *first: Value) -> BoundArguments:
        """Returns them with others in front."""
        return BoundArguments([*first, *self.positional], self.named)

    def has(self, at: int, name: str) -> bool:
        """Returns whether the argument is given."""
        return at < len(self.positional) or name in self.named

    def get(self, at: int, name: str, default: Value = UNKNOWN) -> Value:
        """Returns an argument by position or name; its default only where it is known not given."""
        if at < len(self.positional):
            return self.positional[at]
        is_open = REST_OF_NAMES in self.named or (self.positional and self.positional[-1] is REST)
        return self.named.get(name, UNKNOWN if is_open else default)

    def shape(self, at: int, name: str) -> tuple[int, ...] | None:
        """Returns an argument that is a sequence of integers."""
        return integers(self.get(at, name))

    def shapes(self, *names: str) -> list[tuple[int, ...]] | None:
        """Returns leading arguments that are all sequences of integers."""
        shapes = [self.shape(i, name) for i, name in enumerate(names)]
        found = [shape for shape in shapes if shape is not None]
        return found if len(found) == len(shapes) else None


def integers(value: Value) -> tuple[int, ...] | None:
    """Returns a sequence of 32-bit integers; None where it is none or not known."""
    if not isinstance(value, list | tuple):
        return None
    found = tuple(v for v in value if isinstance(v, int) and abs(v) <= LARGEST_INTEGER)
    return found if len(found) == len(value) else None


def are_integers(values: list[Value] | tuple[Value, ...]) -> bool:
    """Returns whether all values are known integers."""
    return all(isinstance(v, int) for v in values)
