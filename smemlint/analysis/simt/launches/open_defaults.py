"""Defaults of host code that stay open: conditions on them go both ways, shapes have the number.

The default path of `int which = 0, width = 16; if (argc > 1) which = atoi(argv[1]);` reaches one
case of a switch over `which`. Here each case is reached, and the block of each is of the default
`width`, unless a condition on the way asked for that number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, Pointer, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.reasons import Assumption

_MadeOf: TypeAlias = Mapping[str, tuple[str, AffineInt, AffineInt]]
"""Operator and operands by the key of the symbol that is their result."""


class OpenDefaults:
    """The defaults of one run of host code, each as the symbol that stands for it."""

    def __init__(self) -> None:
        self._numbers: dict[str, tuple[int, Assumption]] = {}

    def symbol(
        self, domain: AffineDomain, default: AffineInt, node: ir.Node, why: Assumption
    ) -> AffineInt:
        """Returns the symbol of a default behind a join; of such a symbol itself."""
        if default.constant is None:
            return default
        name = f"default {default.constant} at {node.at}"
        symbol = domain.symbol(name, "a default of the host code", default.type)
        self._numbers[symbol.terms[0][0].key] = default.constant, why
        return symbol

    def holds(self, value: AffineInt) -> bool:
        """Returns whether a value is the symbol of a default."""
        return len(value.terms) == 1 and value.terms[0][0].key in self._numbers

    def number(self, key: str) -> tuple[int, Assumption] | None:
        """Returns the default that a symbol stands for, and that it is assumed."""
        return self._numbers.get(key)

    def release(self, ev: Evaluator, node: ir.Node, made_of: _MadeOf) -> None:
        """Forgets the defaults that an open condition asks for: one way is not of that number."""
        if not self._numbers:
            return
        condition = getattr(node, "cond", node)
        bindings = [ev.state.lookup(name) for name in ev.state.node_facts.names_in(condition)]
        objects = [b.object for b in bindings if isinstance(b, Variable)]
        if ev.state.frame.this is not None:
            objects.append(ev.state.frame.this.object)
        for each in objects:
            for key in _keys(each.cells.values(), made_of):
                self._numbers.pop(key, None)


def _keys(values: Iterable[Value], made_of: _MadeOf) -> Iterator[str]:
    """Yields the keys of all symbols that values are computed of."""
    left, seen = [*values], set[str]()
    while left:
        value = left.pop()
        if isinstance(value, Aggregate):
            left += value.cells.values()
        elif isinstance(value, Pointer):
            left += () if value.object.key in seen else value.object.cells.values()
            seen.add(value.object.key)
        elif isinstance(value, AffineInt):
            for symbol, _ in value.terms:
                if symbol.key not in seen:
                    seen.add(symbol.key)
                    left += made_of.get(symbol.key, ())[1:]
                    yield symbol.key
