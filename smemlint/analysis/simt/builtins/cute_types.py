"""CuTe's types in the evaluator: what `Int<8>`, `Layout<..>`, `Copy_Atom<..>` stand for."""

from __future__ import annotations

import re

from smemlint.analysis.simt.cute.names import is_enumeration
from smemlint.analysis.simt.domain.ctypes import I32, CType, StaticType, is_opaque
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.launches.bindings import type_text
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument

_WORD = re.compile(r"[A-Za-z_]\w*")
_CUTE = ("cute",)


def uses_cute(ev: Evaluator) -> bool:
    """Returns whether some file of the unit mentions CuTe."""
    cache = ev.state.resolution.cache
    if cache.uses_cute is None:
        cache.uses_cute = ev.state.unit.mentions("cute")
    return cache.uses_cute


def is_cute_name(ev: Evaluator, name: str) -> bool:
    """Returns whether a name can be CuTe's.

    It says so, or the unit has no class or function of its own that it means where it stands.
    """
    if not uses_cute(ev):
        return False
    qualifier, _, last = name.rpartition("::")
    if qualifier.rpartition("::")[2] == "cute":
        return True
    scopes = [record.scope for record in ev.state.unit.records.get(last, ())]
    scopes += [function.scope for function in ev.state.unit.functions_named(last)]
    own = frozenset(scope for scope in scopes if scope[:1] != _CUTE)
    if not own or qualifier:
        return not own
    return ev.state.unit.scopes_meant(own | {_CUTE}, (last,), ev.state.place) == {_CUTE}


def cute_type(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> CType | None:
    """Returns the type that CuTe gives the name; None when it gives none."""
    if not uses_cute(ev):
        return None
    last = name.rsplit("::", 1)[-1]
    if is_enumeration(last) and is_cute_name(ev, name):
        return I32
    from smemlint.analysis.simt.cute.types import tuple_type, typed_value, unsigned_type

    value = typed_value(ev, last, arguments)
    if value is None:
        if not is_cute_name(ev, name):
            return None
        return tuple_type(ev, last, arguments) or unsigned_type(ev, last, arguments)
    if not is_cute_name(ev, name):
        return None
    if not arguments:
        return StaticType(last, value=value)
    words = _WORD.findall(" ".join(arguments))
    if any(ev.state.lookup(word) is not None for word in words):
        # Names in the text mean something else elsewhere: instances differ by it.
        arguments = tuple(_closed(ev, argument) for argument in arguments)
    return StaticType(f"{last}<{', '.join(arguments)}>", value=value)


def _closed(ev: Evaluator, argument: str) -> str:
    """Returns what a template argument is, without names that are bound where it stands."""
    ctype = type_argument(ev, argument)
    if isinstance(ctype, StaticType):
        return ctype.spelling
    if ctype is not None and not is_opaque(ctype):
        return type_text(ctype)
    value = value_argument(ev, argument)
    constant = value.constant if isinstance(value, AffineInt) else None
    return argument if constant is None else str(constant)
