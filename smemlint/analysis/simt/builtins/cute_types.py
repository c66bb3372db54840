"""CuTe's types: what `Int<8>`, `Shape<_8, _64>`, `Layout<..>`, `Swizzle<..>`, atoms stand for."""

from __future__ import annotations

import re
from functools import cached_property

from smemlint.analysis.simt.domain.ctypes import CType, StaticType
from smemlint.analysis.simt.domain.cute import Swizzled, int_tuple, layout_of, made_layout, mma_atom
from smemlint.analysis.simt.domain.values import Cute, Int, Unknown, Value, number
from smemlint.analysis.simt.interpreter.expressions import Expressions
from smemlint.facts import LayoutUse, Span
from smemlint.layout.swizzle import Swizzle

_NUMBER = re.compile(r"_(\d+)")
_TUPLES = frozenset(("Shape", "Stride", "Step", "Coord", "Tile", "IntTuple", "tuple"))
_INTEGERS = frozenset(("Int", "C", "constant", "integral_constant"))
_ORDERS = {
    "LayoutLeft": "LayoutLeft",
    "GenColMajor": "LayoutLeft",
    "LayoutRight": "LayoutRight",
    "GenRowMajor": "LayoutRight",
    "Underscore": "_",
    "X": "X",
}


class CuteTypes(Expressions):
    """Resolves the types of a unit that uses CuTe; names that the unit defines itself go first."""

    @cached_property
    def uses_cute(self) -> bool:
        """Whether some file of the unit speaks of CuTe."""
        return self.unit.mentions("cute")

    def is_of_cute(self, name: str) -> bool:
        """Whether a name can be CuTe's: the unit has no class, alias or function of its own."""
        if not self.uses_cute:
            return False
        last = name.rsplit("::", 1)[-1]
        scopes = [record.scope for record in self.unit.records.get(last, ())]
        scopes += [function.scope for function in self.unit.functions_named(last)]
        return all(scope[:1] == ("cute",) for scope in scopes)

    def cute_type(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        """The type that CuTe gives the name; None when it gives none."""
        if not self.uses_cute:
            return None
        value = self._typed_value(name.rsplit("::", 1)[-1], arguments)
        if value is None or not self.is_of_cute(name):
            return None
        spelling = f"{name}<{', '.join(arguments)}>" if arguments else name
        return StaticType(spelling, value=value)

    def _typed_value(self, name: str, arguments: tuple[str, ...]) -> Value | None:
        if not arguments:
            found = _NUMBER.fullmatch(name)
            if found is not None:
                return number(int(found[1]))
            return Cute(_ORDERS[name]) if name in _ORDERS else None
        if name in _INTEGERS:
            return self._static_number(arguments[-1])
        if name in _TUPLES:
            items = [self._item(a) for a in arguments]
            return Cute(tuple(v for v in items if v is not None)) if None not in items else None
        if name == "Swizzle":
            return self._swizzle(arguments)
        if name == "Layout":
            parts = [self._item(a) for a in arguments]
            known = [p for p in parts if p is not None]
            return _known(made_layout(known)) if len(known) == len(parts) else None
        if name == "ComposedLayout" and len(arguments) == 3:
            return self._composed(arguments)
        if name.endswith("_Atom"):
            element = self.type_argument(arguments[0])
            atom = mma_atom(name, element.size if element is not None else 0)
            return Cute(atom) if atom is not None else None
        return None

    def _composed(self, arguments: tuple[str, ...]) -> Value | None:
        function, offset, inner = (self._item(a) for a in arguments)
        layout = layout_of(inner) if inner is not None else None
        if not isinstance(function, Cute) or not isinstance(function.payload, Swizzle):
            return None
        if layout is None or isinstance(layout, Swizzled) or offset is None:
            return None
        if int_tuple(offset) != 0:
            return None
        return Cute(Swizzled(function.payload, layout))

    def _static_number(self, spelling: str) -> Value | None:
        value = self.value_argument(spelling)
        return value if isinstance(value, Int) and value.constant is not None else None

    def _item(self, spelling: str) -> Value | None:
        """The value of a type that is a template argument."""
        kind = self.type_argument(spelling)
        held = kind.value if isinstance(kind, StaticType) else None
        return held if isinstance(held, Cute | Int) else None

    def _swizzle(self, arguments: tuple[str, ...]) -> Value | None:
        values = [self._static_number(a) for a in arguments]
        numbers = [v.constant for v in values if isinstance(v, Int) and v.constant is not None]
        if len(numbers) != len(values) or len(numbers) not in (2, 3):
            return None
        b, m, s = (*numbers, numbers[0])[:3]
        if Swizzle.why_invalid(b, m, s) is None:
            return Cute(Swizzle(b, m, s))
        self._rejected(arguments, (b, m, s))
        return None

    def _rejected(self, arguments: tuple[str, ...], swizzle: tuple[int, int, int]) -> None:
        """Notes parameters that CuTe rejects, where their text stands."""
        spelled = f"Swizzle<{','.join(arguments)}>".replace(" ", "")
        for found in self.unit.template_ids("Swizzle"):
            if found.spelled.replace(" ", "") == spelled:
                first, last = self.unit.token_span(found.first), self.unit.token_span(found.last)
                span = Span(first.path, first.line, first.column, last.end_line, last.end_column)
                named = ", ".join(f"`{a}`" for a in arguments if not a.strip().isdigit())
                said = (f"as this instance has {named}",) if named else ()
                use = LayoutUse(
                    span, "cute", found.spelled, self.frames[0].name, swizzle, assumptions=said
                )
                self.layouts.setdefault(f"rejected {spelled} {swizzle}", use)
                return


def _known(value: Value) -> Value | None:
    return None if isinstance(value, Unknown) else value
