"""CuTe's types: what `Int<8>`, `Shape<_8, _64>`, `Layout<..>`, `Swizzle<..>`, atoms stand for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.ctypes import CType, StaticType
from smemlint.analysis.simt.domain.cute import Swizzled, int_tuple, layout_of, made_layout, mma_atom
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Unknown, Value, number
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument
from smemlint.facts import LayoutUse, Span
from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    from smemlint.analysis.simt.evaluator import Evaluator

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


def uses_cute(ev: Evaluator) -> bool:
    """Returns whether some file of the unit mentions CuTe."""
    cache = ev.state.resolution.cache
    if cache.uses_cute is None:
        cache.uses_cute = ev.state.unit.mentions("cute")
    return cache.uses_cute


def is_cute_name(ev: Evaluator, name: str) -> bool:
    """Returns whether a name can be CuTe's: the unit has no class, alias or function of its own."""
    if not uses_cute(ev):
        return False
    last = name.rsplit("::", 1)[-1]
    scopes = [record.scope for record in ev.state.unit.records.get(last, ())]
    scopes += [function.scope for function in ev.state.unit.functions_named(last)]
    return all(scope[:1] == ("cute",) for scope in scopes)


def cute_type(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> CType | None:
    """Returns the type that CuTe gives the name; None when it gives none."""
    if not uses_cute(ev):
        return None
    value = _static_value_of(ev, name.rsplit("::", 1)[-1], arguments)
    if value is None or not is_cute_name(ev, name):
        return None
    spelling = f"{name}<{', '.join(arguments)}>" if arguments else name
    return StaticType(spelling, value=value)


def _static_value_of(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> Value | None:
    if not arguments:
        found = _NUMBER.fullmatch(name)
        if found is not None:
            return number(int(found[1]))
        return Cute(_ORDERS[name]) if name in _ORDERS else None
    if name in _INTEGERS:
        return _static_number(ev, arguments[-1])
    if name in _TUPLES:
        items = [_static_item(ev, a) for a in arguments]
        return Cute(tuple(v for v in items if v is not None)) if None not in items else None
    if name == "Swizzle":
        return _static_swizzle(ev, arguments)
    if name == "Layout":
        parts = [_static_item(ev, a) for a in arguments]
        known = [p for p in parts if p is not None]
        return _known(made_layout(known)) if len(known) == len(parts) else None
    if name == "ComposedLayout" and len(arguments) == 3:
        return _composed_layout(ev, arguments)
    if name.endswith("_Atom"):
        element = type_argument(ev, arguments[0])
        atom = mma_atom(name, element.size if element is not None else 0)
        return Cute(atom) if atom is not None else None
    return None


def _composed_layout(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    function, offset, inner = (_static_item(ev, a) for a in arguments)
    layout = layout_of(inner) if inner is not None else None
    if not isinstance(function, Cute) or not isinstance(function.payload, Swizzle):
        return None
    if layout is None or isinstance(layout, Swizzled) or offset is None:
        return None
    if int_tuple(offset) != 0:
        return None
    return Cute(Swizzled(function.payload, layout))


def _static_number(ev: Evaluator, spelling: str) -> Value | None:
    value = value_argument(ev, spelling)
    return value if isinstance(value, AffineInt) and value.constant is not None else None


def _static_item(ev: Evaluator, spelling: str) -> Value | None:
    """Returns the value of a type that is a template argument."""
    kind = type_argument(ev, spelling)
    held = kind.value if isinstance(kind, StaticType) else None
    return held if isinstance(held, Cute | AffineInt) else None


def _static_swizzle(ev: Evaluator, arguments: tuple[str, ...]) -> Value | None:
    values = [_static_number(ev, a) for a in arguments]
    numbers = [v.constant for v in values if isinstance(v, AffineInt) and v.constant is not None]
    if len(numbers) != len(values) or len(numbers) not in (2, 3):
        return None
    b, m, s = (*numbers, numbers[0])[:3]
    if Swizzle.why_invalid(b, m, s) is None:
        return Cute(Swizzle(b, m, s))
    _note_rejected(ev, arguments, (b, m, s))
    return None


def _note_rejected(
    ev: Evaluator, arguments: tuple[str, ...], swizzle: tuple[int, int, int]
) -> None:
    """Notes parameters that CuTe rejects, where their text stands."""
    state = ev.state
    spelled = f"Swizzle<{','.join(arguments)}>".replace(" ", "")
    for found in state.unit.template_ids("Swizzle"):
        if found.spelled.replace(" ", "") == spelled:
            first, last = (
                state.unit.token_span(found.first),
                state.unit.token_span(found.last),
            )
            span = Span(first.path, first.line, first.column, last.end_line, last.end_column)
            named = ", ".join(f"`{a}`" for a in arguments if not a.strip().isdigit())
            said = (f"as this instance has {named}",) if named else ()
            use = LayoutUse(
                span, "cute", found.spelled, state.frames[0].name, swizzle, assumptions=said
            )
            state.layouts.setdefault(f"rejected {spelled} {swizzle}", use)
            return


def _known(value: Value) -> Value | None:
    return None if isinstance(value, Unknown) else value
