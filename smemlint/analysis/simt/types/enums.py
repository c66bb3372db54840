"""Enumerators: those of the unit, and of local enums."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from smemlint.analysis.simt.domain.ctypes import I32, CType, IntType, RecordType
from smemlint.analysis.simt.domain.values import AffineInt, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.patterns import same_argument
from smemlint.analysis.simt.types.statics import static_member
from smemlint.analysis.simt.types.template_arguments import names_of, open_scope, split_qualified
from smemlint.frontend import ir
from smemlint.frontend.program import Declaration


def enumerator_named(ev: Evaluator, prefix: str, name: str) -> Value | None:
    """Returns the enumerator of a name that namespaces, a class or its enum may qualify."""
    state = ev.state
    outer, enum = split_qualified(prefix)
    if outer and isinstance(owner := ev.types.spelled(outer), RecordType):
        found = static_member(ev, owner, f"{enum}::{name}")
        if isinstance(found, Value):
            return found
    qualifier = names_of(prefix)
    is_enum = bool(prefix) and isinstance(ev.types.spelled(prefix), IntType)
    for path in filter(None, (qualifier, () if is_enum else (*qualifier, name))):
        named = state.unit.declarations.get(path[-1], ())
        for declaration in state.unit.visible(named, path, state.place):
            value = _values(ev, declaration).get(name)
            if value is not None:
                return value
    return _of_any(ev, name) if prefix else None


def _of_any(ev: Evaluator, name: str) -> Value | None:
    """Returns an enumerator that is equal in all enums of the unit: `Alias::X` hides its enum."""
    cache = ev.state.resolution.cache
    if name not in cache.any_enumerators:
        values = [_values(ev, declaration).get(name) for declaration in _enums_with(ev, name)]
        found = [value for value in values if value is not None]
        are_equal = all(same_argument(found[0], value) for value in found[1:])
        cache.any_enumerators[name] = found[0] if found and are_equal else None
    return cache.any_enumerators[name]


def _enums_with(ev: Evaluator, name: str) -> Sequence[Declaration]:
    """Returns the enums of the unit that have an enumerator of a name."""
    cache = ev.state.resolution.cache
    if cache.enums is None:
        found: dict[str, dict[Declaration, None]] = {}
        for declaration in chain.from_iterable(ev.state.unit.declarations.values()):
            enum = _enum_of(declaration)
            for item in (enum.enumerators or ()) if enum is not None else ():
                found.setdefault(item.name, {})[declaration] = None
        cache.enums = {name: tuple(declarations) for name, declarations in found.items()}
    return cache.enums.get(name, ())


def _enum_of(declaration: Declaration) -> ir.Enum | None:
    node = declaration.parse() if declaration.kind == "enum" else None
    enum = getattr(node, "type", node)
    return enum if isinstance(enum, ir.Enum) else None


def _values(ev: Evaluator, declaration: Declaration) -> dict[str, Value]:
    """Returns the enumerators of a declaration, read outside of functions."""
    state = ev.state
    known = state.resolution.cache.enumerators
    if declaration not in known:
        enum = _enum_of(declaration)
        if enum is None:
            return {}
        frames, state.frames = state.frames, []
        known[declaration] = {}  # what defines them sees none of them here
        try:
            working_out = state.resolution.working_out(declaration)
            with (
                working_out,
                state.within("file", open_scope(declaration.outer), declaration.scope),
            ):
                known[declaration] = enumerator_values(ev, enum)
        except BaseException:
            del known[declaration]
            raise
        finally:
            state.frames = frames
    return known[declaration]


def enumerator_values(ev: Evaluator, node: ir.Enum) -> dict[str, Value]:
    """Returns name -> value of one enum."""
    state = ev.state
    values: dict[str, Value] = {}
    following: Value = AffineInt(0)
    with state.frame.scoped():
        for item in node.enumerators or ():
            value = ev.evaluate(item.value) if item.value is not None else following
            values[item.name] = value
            state.bind(item.name, value)
            if isinstance(value, AffineInt):
                following = state.domain.add(value, AffineInt(1))
    return values


def bind_enumerators(ev: Evaluator, node: ir.Enum) -> CType:
    """Declares a local enum's names, with and without that of the enum, and the enum itself."""
    ctype = underlying_type(ev, node)
    values = enumerator_values(ev, node)
    for name, value in values.items():
        ev.state.bind(name, value)
    if node.name:
        ev.state.bind(node.name, ctype)
        for name, value in values.items():
            ev.state.bind(f"{node.name}::{name}", value)
    return ctype


def underlying_type(ev: Evaluator, node: ir.Node | None) -> CType:
    """Returns the type whose values an enum has: the one that it names, `int` otherwise."""
    enum = getattr(node, "type", node)
    written = enum.underlying if isinstance(enum, ir.Enum) else None
    return I32 if written is None else ev.types.resolve(written)
