"""Numbers that are not known and that a condition of the compilation settles: `n == 8`.

Inside such a branch a kernel does what it does for that number, which another execution shows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
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
        blocks: places of blocks -> numbers that have their values there.
    """

    blocks: dict[Span, dict[Settled, None]] = field(default_factory=dict)
    _compared: dict[ast.Compare, Settled | None] = field(default_factory=dict)

    def compare(self, node: ast.Compare, one: Value, other: Value) -> None:
        """Takes note that an unknown is compared with a constant; of several of them with none."""
        value = one.value if isinstance(one, Number) else None
        match value, other:
            case AffineInt(base=int(base), terms=((symbol, 1),)), int() if not base:
                found = symbol.key, int(other)
                if self._compared.setdefault(node, found) != found:
                    self._compared[node] = None

    def enter(self, text: PythonText, function: ast.FunctionDef, node: ast.If) -> None:
        """Takes note of the numbers that are settled in the body of a branch."""
        first, last = text.span(node.body[0]), text.span(node.body[-1])
        body = Span(first.path, first.line, first.column, last.end_line, last.end_column)
        for compared in _conjuncts(text, function, node.test):
            found = self._compared.get(compared)
            if found is not None:
                self.blocks.setdefault(body, {})[found] = None


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


def needed(
    blocks: Mapping[Span, Iterable[Settled]], open_places: Iterable[Span]
) -> dict[tuple[Settled, ...], set[Span]]:
    """Returns the numbers that are settled around places, each time with these."""
    found: dict[tuple[Settled, ...], set[Span]] = {}
    for place in open_places:
        around = [
            s for block, settled in blocks.items() if _is_within(place, block) for s in settled
        ]
        if around:
            found.setdefault(tuple(sorted(set(around))), set()).add(place)
    return found


def _is_within(place: Span, block: Span) -> bool:
    start, at = (block.line, block.column), (place.line, place.column)
    return place.path == block.path and start <= at < (block.end_line, block.end_column)
