"""Resolves declarators and names to types, each in the scopes of the innermost frame."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import (
    FUNCTION,
    ArrayType,
    CType,
    OpaqueType,
    PointerType,
    UnreadTemplate,
    is_opaque,
)
from smemlint.analysis.simt.domain.environment import CTYPES, Lazy
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.node_facts import node_facts
from smemlint.analysis.simt.types.builtin_types import KEYWORDS, builtin_type
from smemlint.analysis.simt.types.cache import type_cache
from smemlint.analysis.simt.types.cache_keys import cache_key
from smemlint.analysis.simt.types.enums import bind_enumerators
from smemlint.analysis.simt.types.keyword_types import is_volatile, keyword_type
from smemlint.analysis.simt.types.named_types import resolve_spelling
from smemlint.analysis.simt.types.patterns import Argument, template_value
from smemlint.analysis.simt.types.records import local_record, record_named
from smemlint.analysis.simt.types.statics import forced
from smemlint.frontend import ir
from smemlint.frontend.program import Unit
from smemlint.reasons import ReasonCode

_WRAPPERS = (ir.TypeDecl, ir.Typename, ir.Decl, ir.Typedef)
_AUTO = OpaqueType("auto")
_REFERENCES = frozenset(("&", "&&"))
_SMART_POINTERS = frozenset(("shared_ptr", "unique_ptr"))


class Resolver:
    """Resolves types; see `evaluator.TypeResolver`."""

    __slots__ = ("_ev",)

    def __init__(self, ev: Evaluator) -> None:
        self._ev = ev

    def enter(self, unit: Unit) -> None:
        """Makes names mean what they mean in this unit."""
        state = self._ev.state
        state.unit, state.node_facts = unit, node_facts(unit)
        state.resolution.cache = type_cache(unit, (type(self._ev.policy), state.geometry.block))

    def resolve(self, node: ir.Node) -> CType:
        """Returns the type that a declarator, type-id or specifier node names."""
        spelled = self._ev.state.node_facts.told(keyword_type, node)
        if spelled is not None:
            return spelled
        while isinstance(node, _WRAPPERS):
            node = node.type
        if isinstance(node, ir.IdentifierType):
            return self.named(tuple(node.names))
        if isinstance(node, ir.UnparsedType):
            return OpaqueType("a type that could not be parsed")
        if isinstance(node, ir.PtrDecl):
            reference = bool(node.quals) and not _REFERENCES.isdisjoint(node.quals)
            target = self.resolve(node.type)
            if reference and isinstance(target, PointerType) and target.is_reference:
                return target
            if not reference and target == _AUTO and _is_placeholder(node.type):
                return _AUTO  # `auto*` takes the pointer that it is given
            return PointerType(target, reference, is_volatile=is_volatile(node.type))
        if isinstance(node, ir.ArrayDecl):
            return self._array(node)
        if isinstance(node, ir.Struct | ir.Union):
            if node.decls is None:
                return self.named((node.name or "",))
            return local_record(self._ev, node)
        if isinstance(node, ir.Enum):
            return bind_enumerators(self._ev, node)
        return FUNCTION if isinstance(node, ir.FuncDecl) else OpaqueType(type(node).__name__)

    def _array(self, node: ir.ArrayDecl) -> ArrayType:
        """Returns an array type; of an extent that names nothing it holds that name's reason."""
        extent = None if node.dim is None else self._ev.evaluate(node.dim)
        element = self.resolve(node.type)
        if isinstance(extent, Unknown) and extent.reason.code is ReasonCode.NOT_DECLARED:
            return ArrayType(element, None, undecided=extent.reason)
        return ArrayType(element, extent.constant if isinstance(extent, AffineInt) else None)

    def named(self, words: tuple[str, ...]) -> CType:
        """Returns the type of words like `unsigned int`, `T`, `float4` or `Traits<3>::Element`."""
        if len(words) == 1 and words[0] in KEYWORDS:
            return KEYWORDS[words[0]]
        if len(words) > 1:
            words = tuple(w for w in words if w not in ("const", "volatile"))
        if len(words) == 1:
            found = self.spelled(words[0])
            if found is not None:
                return found
        return builtin_type(words) or self._unread(" ".join(words))

    def _unread(self, spelling: str) -> CType:
        """Returns the type of a name that was not read, with what its template arguments are."""
        name, arguments = self._ev.state.unit.template_arguments(spelling)
        if not arguments:
            return OpaqueType(spelling)
        name = name.rsplit("::", 1)[-1]
        found = tuple(_known_argument(template_value(self._ev, a)) for a in arguments)
        held = found[0] if name in _SMART_POINTERS else None
        if held is not None and not isinstance(held, int):
            return PointerType(held.element if isinstance(held, ArrayType) else held)
        return UnreadTemplate(spelling, template=name, arguments=found)

    def record(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        """Returns the class of the unit that a name with template arguments means."""
        return record_named(self._ev, name, arguments)

    def spelled(self, spelling: str) -> CType | None:
        """Returns the type that one (qualified, templated) word names; None where it names none.

        What it found is cached under the bindings that the spelling names, unless a definition
        under way had a say.
        """
        spelling = spelling.removeprefix("typename ").removeprefix("struct ")
        state = self._ev.state
        frame = state.frames[-1] if state.frames else None
        lookup = state.lookup if frame is None else frame.lookup
        bound = lookup(spelling) if frame is not None else None
        if isinstance(bound, Lazy) and bound.is_type:
            bound = forced(self._ev, spelling, bound)
        if isinstance(bound, CTYPES):
            return bound
        resolution = state.resolution
        names = cache_key(spelling, frame, lookup, state.unit.is_scattered)
        key = None if names is None else (spelling, names)
        known = resolution.cache.spelled
        return resolution.remembered(known, key, lambda: resolve_spelling(self._ev, spelling))


def _known_argument(argument: Argument) -> CType | int | None:
    if isinstance(argument, AffineInt):
        return argument.constant
    if argument is None or isinstance(argument, Value):
        return None
    return None if is_opaque(argument) and not argument.size else argument


def _is_placeholder(node: ir.Node) -> bool:
    """Returns whether it is spelled `auto`: what is deduced of an unknown value has that name."""
    while isinstance(node, (*_WRAPPERS, ir.PtrDecl)):
        node = node.type
    return isinstance(node, ir.IdentifierType) and "auto" in node.names
