"""Numbers that are not known and that a condition of the compilation settles: `n == 8`.

Inside such a branch a kernel does what it does for that number, which another execution shows.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import field

from smemlint.analysis.python.cute_dsl.execution.outside.switches import definitions_of
from smemlint.analysis.python.cute_dsl.execution.values import Number
from smemlint.analysis.python.interpreter.values import Value
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import Span
from smemlint.frontend.python.python_source import PythonText
from smemlint.lazy_dataclasses import dataclass

Settled = tuple[str, int]
"""The key of an unknown, and its value."""


@dataclass(slots=True, eq=False)
class Settling:
    """What an execution shows of the numbers that its conditions settle.

    Attributes:
        branches: of the compilation whose conditions are open, each with its file and function.
    """

    branches: dict[ast.If, tuple[PythonText, ast.FunctionDef]] = field(default_factory=dict)
    _compared: dict[ast.Compare, Settled | None] = field(default_factory=dict)

    def compare(self, node: ast.Compare, one: Value, other: Value) -> None:
        """Takes note that an unknown is compared with a constant; of several of them with none."""
        value = one.value if isinstance(one, Number) else None
        match value, other:
            case AffineInt(base=int(base), terms=((symbol, 1),)), int() if not base:
                found = symbol.key, int(other)
                if self._compared.setdefault(node, found) != found:
                    self._compared[node] = None

    def around(self, places: Collection[Span]) -> dict[tuple[Settled, ...], set[Span]]:
        """Returns the numbers that are settled around places, each time with these."""
        numbers: dict[Span, set[Settled]] = {}
        for node, (text, function) in self.branches.items():
            first, last = text.span(node.body[0]), text.span(node.body[-1])
            inside = [p for p in places if _is_within(p, first, last)]
            compared = _conjuncts(text, function, node.test) if inside else ()
            settled = set(filter(None, map(self._compared.get, compared)))
            for place in inside if settled else ():
                numbers.setdefault(place, set()).update(settled)
        found: dict[tuple[Settled, ...], set[Span]] = {}
        for place in places:
            if place in numbers:
                found.setdefault(tuple(sorted(numbers[place])), set()).add(place)
        return found


def _conjuncts(
    text: PythonText, function: ast.FunctionDef, test: ast.expr
) -> Iterator[ast.Compare]:
    """Yields equations that hold where a condition does, also one that a variable keeps."""
    worklist, kept = [test], set[str]()
    for part in worklist:
        match part:
            case ast.Call(args=[inner]):  # `const_expr(..)`, whose value is that of its argument
                worklist.append(inner)
            case ast.BoolOp(op=ast.And(), values=parts):
                worklist += parts
            case ast.Name(name) if name not in kept:
                kept.add(name)
                match definitions_of(text.tree).get((function, name), ()):
                    case [(_, ast.expr() as value)]:
                        worklist.append(value)
            case ast.Compare(ops=[ast.Eq()]):
                yield part


def _is_within(place: Span, first: Span, last: Span) -> bool:
    start, at = (first.line, first.column), (place.line, place.column)
    return place.path == first.path and start <= at < (last.end_line, last.end_column)
