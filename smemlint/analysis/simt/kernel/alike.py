"""Instances that differ in nothing but which 8- or 16-bit floating-point types they have.

One is evaluated for all, with types that stand for any of their size (`AnonymousFloat`). What asks
for more than their size ends that evaluation, and each instance gets one of its own: an overload, a
specialization, a trait, a comparison with a type that the source names, a rule of the compiler for
`__nv_bfloat16` alone. What nothing asked about holds for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, fields, replace
from itertools import combinations
from typing import TypeAlias

from smemlint.analysis.simt.domain.ctypes import (
    BF16,
    E4M3,
    E5M2,
    E8M0,
    HALF,
    AnonymousFloat,
    ArrayType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
    TupleType,
    TypeObserved,
    UnreadTemplate,
    VoidType,
)
from smemlint.analysis.simt.domain.environment import CTYPES, Binding, Lazy, Scope, Variable
from smemlint.analysis.simt.domain.values import AffineInt, CallableValue, Unknown
from smemlint.analysis.simt.types.cache import TypeCache
from smemlint.facts import (
    Access,
    Caller,
    CallLine,
    Fusion,
    Instance,
    KernelFacts,
    LayoutUse,
    NotAnalysed,
    SharedArray,
)
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Reason, Topic

Found: TypeAlias = "tuple[KernelFacts, frozenset[str]]"
"""Facts, and the extents of the grid that were read for them."""

_STAND_INS = (HALF, BF16, E4M3, E5M2, E8M0)
"""What anonymous types stand for."""
_INSTANCE = Assumption(Topic.BLOCK, "\0instance\0")
"""What stands in facts for the assumptions of their instance."""
_TREES = (
    Access, Assumption, Caller, CallLine, Fusion, KernelFacts, LayoutUse, NotAnalysed, Reason,
    SharedArray,
)  # fmt: skip
_MARK = "\0"
_NAMED = re.compile(r"\0float\d+:(\d+)\0|FloatType\(name='[^']*', size=(\d+)\)")


class _Told(Exception):
    """Facts say more of an anonymous type than its place."""


@dataclass(slots=True, eq=False)
class Trials:
    """What came of evaluating a kernel with anonymous types.

    Attributes:
        have_failed: something asked which types they are; no further evaluation is tried.
    """

    have_failed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Anonymous:
    """Template arguments with anonymous types.

    Attributes:
        key: equal for arguments that differ in nothing else.
        names: of the types that the anonymous ones stand for, by their texts.
    """

    key: Hashable
    scope: Scope
    names: Mapping[str, str]


def anonymous(scope: Mapping[str, Binding]) -> Anonymous | None:
    """Returns template arguments with anonymous types; None where none of them can be.

    A class of one of these types is made of its name, and another one for each.
    """
    if not all(map(_is_plain, scope.values())):
        return None
    types: dict[FloatType, AnonymousFloat] = {}
    found: Scope = {name: _without_name(bound, types) for name, bound in scope.items()}
    if not types:
        return None
    key = tuple((name, _key_of(bound)) for name, bound in found.items())
    return Anonymous(key, found, {repr(kind): real.name for real, kind in types.items()})


def _is_plain(bound: object) -> bool:
    """Returns whether no small floating-point type is a part of a binding, but itself."""
    if isinstance(bound, PointerType):
        return _is_plain(bound.target)
    if isinstance(bound, RecordType):
        return not any(map(_holds_small_float, bound.with_bases()))
    return type(bound) not in (StaticType, TupleType, UnreadTemplate, ArrayType, Lazy, Variable)


def _holds_small_float(ctype: RecordType) -> bool:
    """Returns whether a class names a type that may be, or hold, a small floating-point type."""
    named = (*ctype.statics.values(), *ctype.inherited.values(), *(m.type for m in ctype.members))
    return any(_may_hold_small_float(bound) for bound in named)


def _may_hold_small_float(bound: object) -> bool:
    if isinstance(bound, PointerType | ArrayType):
        element = bound.target if isinstance(bound, PointerType) else bound.element
        return _may_hold_small_float(element)
    if isinstance(bound, FloatType):
        return bound in _STAND_INS
    is_number = isinstance(bound, IntType | VoidType | AffineInt | Unknown)
    is_constant = isinstance(bound, Lazy) and not bound.is_type
    return not (is_number or is_constant or type(bound) is OpaqueType)


def _without_name(bound: Binding, types: dict[FloatType, AnonymousFloat]) -> Binding:
    """Returns a type with anonymous types in it; all else as it is."""
    if isinstance(bound, PointerType):
        target = _without_name(bound.target, types)
        return replace(bound, target=target) if isinstance(target, CTYPES) else bound
    if not isinstance(bound, FloatType) or bound not in _STAND_INS:
        return bound
    return types.setdefault(bound, AnonymousFloat(len(types), bound.size))


def _key_of(bound: Binding) -> Hashable:
    """Returns what is equal for bindings of which one may stand for the other."""
    match bound:
        case AffineInt() if bound.form is None:
            return "number", bound.type, bound.identity()
        case CallableValue(payload=None) | CallableValue(payload=tuple()):
            return "function", bound.name, bound.payload
        case Unknown() if type(bound) is Unknown and bound.split is None:
            return "unknown", bound.reason, bound.is_data, bound.is_uniform, bound.condition
    return bound if isinstance(bound, CTYPES) else ("object", id(bound))


class Alike:
    """Instances that are alike but for the names of floating-point types.

    Attributes:
        types: what was worked out with these types; no other evaluation sees them.
    """

    def __init__(self, scope: Scope, trials: Trials) -> None:
        self.scope = scope
        self.types = TypeCache()
        self._trials = trials
        self._known: dict[Hashable, Found] = {}

    def found(
        self,
        key: Hashable,
        assumptions: tuple[Assumption, ...],
        evaluate: Callable[[tuple[Assumption, ...]], Found],
    ) -> Found | None:
        """Returns what holds for all instances, evaluated once; None where that is not known.

        No statement is counted for it but where it is evaluated.

        Args:
            key: what else it depends on.
            assumptions: of the instance that is asked for.
            evaluate: gives the facts of an instance with the anonymous types, under assumptions.
        """
        if key in self._known or self._trials.have_failed:
            return self._known.get(key)
        found: Found | None = None
        with suppress(TypeObserved):
            found = evaluate((_INSTANCE,) if assumptions else ())
        if found is None or _are_ambiguous(self.types):
            self._trials.have_failed = True
            return None
        self._known[key] = replace(found[0], steps=0), found[1]
        return found

    @property
    def is_known(self) -> bool:
        """Whether one of the instances was evaluated for all."""
        return bool(self._known)

    def fail(self) -> None:
        """Sees that the facts of an instance name its types in a text."""
        self._trials.have_failed = True
        self._known.clear()


def _are_ambiguous(types: TypeCache) -> bool:
    """Returns whether a class was made of an anonymous type and of one that it may stand for.

    They are one class in some instances, and two in others.
    """
    texts: dict[tuple[object, str], list[list[str]]] = {}
    for record, text in types.records:
        spelled = [found[0] for found in _NAMED.finditer(text)]
        if spelled:
            sized = _NAMED.sub(lambda found: found[1] or found[2], text)
            texts.setdefault((record, sized), []).append(spelled)
    return any(
        any(a != b and (a[0] == _MARK) != (b[0] == _MARK) for a, b in zip(one, other, strict=True))
        for group in texts.values()
        for one, other in combinations(group, 2)
    )


def relabelled(
    facts: KernelFacts,
    instance: Instance,
    assumptions: tuple[Assumption, ...],
    names: Mapping[str, str],
) -> KernelFacts | None:
    """Returns facts as those of an instance; None where a text holds more than a type's name."""
    try:
        return _Labels(instance, assumptions, names).facts(facts)
    except _Told:
        return None


@dataclass(slots=True, eq=False)
class _Labels:
    """What an instance is called in facts; what two of them share stays shared."""

    instance: Instance
    assumptions: tuple[Assumption, ...]
    names: Mapping[str, str]
    done: dict[int, tuple[object, object]] = field(default_factory=dict)

    def facts(self, facts: KernelFacts) -> KernelFacts:
        """Returns facts of the instance.

        Raises:
            _Told: a text of them holds the text of an anonymous type.
        """
        found = self._of(facts)
        assert isinstance(found, KernelFacts)
        return found

    def _of(self, value: object) -> object:
        if isinstance(value, str):
            if _MARK in value:
                raise _Told
            return value
        if isinstance(value, Instance):
            return self.instance
        if not isinstance(value, tuple) and not isinstance(value, _TREES):
            return value
        known = self.done.get(id(value))
        if known is None:
            known = self.done[id(value)] = value, self._made(value)
        return known[1]

    def _made(self, value: object) -> object:
        if isinstance(value, tuple):
            return tuple([self._of(item) for item in self._assumed(value)])
        changes: dict[str, object] = {}
        for name in (f.name for f in fields(value)):  # type: ignore[arg-type]
            had = getattr(value, name)
            is_type = name == "element" and had in self.names
            now = self.names[had] if is_type else had if name == "patterns" else self._of(had)
            if now is not had:
                changes[name] = now
        return replace(value, **changes) if changes else value  # type: ignore[type-var]

    def _assumed(self, items: tuple[object, ...]) -> Iterable[object]:
        """Returns what a tuple holds, with the assumptions of the instance where they belong."""
        if not items or items[0] is not _INSTANCE:
            return items
        return (*self.assumptions, *items[1:])
