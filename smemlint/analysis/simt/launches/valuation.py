"""What the unknowns of host code stand for: the case around, a default, or a result of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.environment import CTYPES, Variable
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    Pointer,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.limits.budgets import MAX_SWITCHED
from smemlint.reasons import Assumption

_BY_CONSTANT = frozenset(("/", "%", ">>", "&", "|", "^"))
"""Operators whose result by a constant hangs on residues."""
_EXTREMES = frozenset(("min", "max"))
_MadeOf: TypeAlias = Mapping[str, tuple[str, AffineInt, AffineInt]]
"""Operator and operands by the key of the symbol that is their result."""


class OpenDefaults:
    """The defaults of one run of host code that stay open, each as the symbol that stands for it.

    The default path of `int which = 0, width = 16; if (argc > 1) which = atoi(argv[1]);` comes to
    one case of a switch over `which`. Here each case is reached, and the block of each is of the
    default `width`, unless a condition on the way asked for that number.
    """

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


class Results(AffineDomain):
    """Remembers what the unknowns that it makes are the results of; the forms of none are asked.

    Attributes:
        made_of: key of a symbol -> operator and operands.
    """

    tracks_forms = False

    def __init__(self) -> None:
        super().__init__()
        self.made_of: dict[str, tuple[str, AffineInt, AffineInt]] = {}

    def _fresh(
        self, op: str, a: AffineInt, b: AffineInt, type: IntType, **known: Any
    ) -> AffineInt | Unknown:
        result = super()._fresh(op, a, b, type, **known)
        if isinstance(result, AffineInt) and len(result.terms) == 1:
            self.made_of[result.terms[0][0].key] = op, a, b
        return result


class Valuation:
    """The numbers that unknowns of host code are, where it is run.

    Args:
        domain: remembers what they are the results of.
        open_defaults: those that some stand for; None where these are taken as numbers.
        defaults: a default that is taken is noted there.

    Attributes:
        given: keys of the numbers that the function executed first is given, which are not known.
    """

    def __init__(
        self, domain: Results, open_defaults: OpenDefaults | None, defaults: dict[Assumption, None]
    ) -> None:
        self._domain = domain
        self._open_defaults = open_defaults
        self._defaults = defaults
        self._known: dict[str, int] = {}
        self.given: set[str] = set()

    def __len__(self) -> int:
        return len(self._known)

    def refine(self, value: Value, known: Value | None) -> None:
        """Takes the switched symbol as 16 inside `case 512:` of a switch over 32 of it."""
        if not isinstance(value, AffineInt) or len(value.terms) != 1:
            return
        symbol, factor = value.terms[0]
        self._known.pop(symbol.key, None)
        if not isinstance(known, AffineInt) or not isinstance(known.constant, int):
            return
        if isinstance(value.base, int) and isinstance(factor, int):
            times, rest = divmod(known.constant - value.base, factor)
            if not rest:
                self._known[symbol.key] = times

    def number_of(self, value: Value, depth: int = 0) -> int | None:
        """Returns the number that a value is inside of the cases around it.

        None where it hangs on more.
        """
        if not isinstance(value, AffineInt) or not isinstance(value.base, int):
            return None
        if value.terms and not self._known and self._open_defaults is None:
            return None  # no case tells one of them
        total = value.base
        for symbol, factor in value.terms:
            found = self._known.get(symbol.key)
            if found is None:
                found = self._open_default(symbol.key)
            if found is None:
                found = self._computed(symbol.key, depth + 1)
            if found is None or not isinstance(factor, int):
                return None
            total += factor * found
        return total

    def hangs_on_choices(self, value: object, depth: int = 0) -> bool:
        """Returns whether ways through open choices may give more of a number; types are known.

        They do not where all that is open in it are numbers that callers pass.
        """
        if not isinstance(value, AffineInt):
            return not isinstance(value, CTYPES)
        return not all(self._is_given(symbol.key, depth + 1) for symbol, _ in value.terms)

    def _is_given(self, key: str, depth: int) -> bool:
        """Returns whether a number is one that a caller passes, or computed of such alone."""
        _, *operands = self._domain.made_of.get(key, ("",))
        if not operands or depth > MAX_SWITCHED:
            return key in self.given
        return not any(self.hangs_on_choices(operand, depth) for operand in operands)

    def _open_default(self, key: str) -> int | None:
        """Returns the default that a symbol stands for, and notes that it is assumed."""
        found = None if self._open_defaults is None else self._open_defaults.number(key)
        if found is None:
            return None
        self._defaults.setdefault(found[1])
        return found[0]

    def _computed(self, key: str, depth: int) -> int | None:
        """Returns the value of `H / 4` or `min(H, 256)` inside `case 512:` of a switch over H."""
        op, *operands = self._domain.made_of.get(key, ("",))
        if op not in _BY_CONSTANT | _EXTREMES or depth > MAX_SWITCHED:
            return None
        numbers = [self.number_of(operand, depth) for operand in operands]
        if None in numbers:
            return None
        a, b = (number(n) for n in numbers if n is not None)
        if op in _EXTREMES:
            return getattr(self._domain.extreme(op == "max", a, b), "constant", None)
        return getattr(self._domain.operate(op, a, b), "constant", None)


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
