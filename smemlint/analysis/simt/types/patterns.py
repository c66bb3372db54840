"""Template arguments matched with patterns: `T*`, `Tag<L>`, `Int<0>`.

Partial specializations are chosen so, overloads of a function that differ in class templates, and
template parameters that stand in the class template of a function's parameter are deduced so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import TypeAlias, cast

from smemlint.analysis.simt.cute.names import CLASS_TEMPLATES, STATIC_INTEGERS
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
    StaticType,
    TupleType,
    UnreadTemplate,
    is_opaque,
)
from smemlint.analysis.simt.domain.environment import CTYPES
from smemlint.analysis.simt.domain.values import AffineInt, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import type_words
from smemlint.analysis.simt.types.same_type import same_type
from smemlint.analysis.simt.types.statics import scope_of
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument
from smemlint.analysis.simt.types.template_packs import (
    any_open,
    expanded_arguments,
    pack_element,
    pack_size,
)
from smemlint.frontend import ir
from smemlint.frontend.cuda.parser.parse import template_arguments
from smemlint.frontend.program import Function, Record

Argument: TypeAlias = CType | Value | None
_NO_FUNCTIONS = (IntType, FloatType, RecordType, ArrayType, PointerType)
_WORD = re.compile(r"[A-Za-z_]\w*")


def template_value(ev: Evaluator, spelling: str) -> Argument:
    """Returns what a template argument is: a type if it names one, else a value."""
    ctype = type_argument(ev, spelling)
    if ctype is not None and not is_opaque(ctype):
        return ctype
    value = value_argument(ev, spelling)
    return value if isinstance(value, AffineInt) else ctype


def patterns_of(template: Record | Function) -> tuple[str, ...]:
    """Returns the template arguments that a specialization is written for."""
    return template_arguments(f"_<{template.specialization}>")[1]


def same_argument(one: Argument, other: Argument) -> bool | None:
    """Returns whether two template arguments are one; None where that is not known."""
    if isinstance(one, AffineInt) and isinstance(other, AffineInt):
        if one.constant is None or other.constant is None:
            return None
        return one.constant == other.constant
    if isinstance(one, Value) or isinstance(other, Value):
        return None
    if isinstance(one, StaticType) and isinstance(other, StaticType):
        return same_argument(one.value, other.value)  # type: ignore[arg-type]
    if isinstance(one, CTYPES) and isinstance(other, CTYPES):
        return same_type(one, other)  # one that was not read is none of those that were
    return one == other


def class_arguments(ev: Evaluator, ctype: RecordType) -> list[Argument] | None:
    """Returns the template arguments of a class; None where its template was not read."""
    record = cast("Record | None", ctype.record)
    if record is None and ctype.name in ("tuple", "pair"):
        return [member.type for member in ctype.members]
    if record is None or not all(p.name for p in record.template):
        return None
    names: tuple[str, ...] = tuple(f"{p.name}..." if p.is_pack else p.name for p in record.template)
    with ev.state.within(f"arguments of {ctype.name}", scope_of(ctype), record.scope):
        if record.specialization is not None:
            names = expanded_arguments(ev, patterns_of(record))
            return None if any_open(names) else [template_value(ev, name) for name in names]
        names = expanded_arguments(ev, names)
    if any_open(names):
        return None
    return [cast("Argument", ctype.statics.get(name)) for name in names]


class Match:
    """Patterns matched with arguments.

    Args:
        free: names of the template parameters that the patterns may name.
        ev: reads what else they name, where the frame stands.

    Attributes:
        bound: what the arguments say of the free names.
    """

    def __init__(self, free: Set[str], ev: Evaluator) -> None:
        self._free = free
        self._ev = ev
        self._aliases: set[str] = set()  # under way
        self.bound: dict[str, Argument] = {}

    def all_of(self, patterns: Sequence[str], arguments: Sequence[Argument]) -> bool | None:
        """Returns whether the arguments fit; None where that is not known."""
        pack = patterns[-1].removesuffix("...").strip() if patterns else ""
        if pack in self._free and pack != patterns[-1] and len(arguments) >= len(patterns) - 1:
            *patterns, _ = patterns
            rest = arguments[len(patterns) :]
            self.bound[pack_size(pack)] = number(len(rest))
            self.bound.update((pack_element(pack, k), a) for k, a in enumerate(rest))
            arguments = arguments[: len(patterns)]
        if len(patterns) != len(arguments):
            return False
        answers = [self.fits(p, a) for p, a in zip(patterns, arguments, strict=True)]
        if False in answers:
            return False
        return None if None in answers else True

    def fits(self, pattern: str, argument: Argument) -> bool | None:
        """Returns whether one argument fits its pattern; None where that is not known."""
        pattern = pattern.removeprefix("typename ").strip()
        if pattern in self._free:
            if pattern in self.bound:
                return same_argument(self.bound[pattern], argument)
            self.bound[pattern] = argument
            return True
        is_open = self.is_open(pattern)
        if isinstance(argument, UnreadTemplate):
            return self._fits_unread(pattern, argument)
        if argument is None or (is_opaque(argument) and not isinstance(argument, TupleType)):
            return None
        if isinstance(argument, Value):
            return None if is_open else same_argument(value_argument(self._ev, pattern), argument)
        if pattern.endswith("*"):
            is_pointer = isinstance(argument, PointerType) and not argument.is_reference
            return is_pointer and self.fits(pattern[:-1], argument.target)  # type: ignore[union-attr]
        if pattern.endswith("&"):
            if not isinstance(argument, PointerType) or not argument.is_reference:
                return False
            return None if pattern.endswith("&&") else self.fits(pattern[:-1], argument.target)
        if pattern.endswith("]"):
            return self._fits_array(pattern, argument)
        if pattern.endswith(")"):
            target = argument.target if isinstance(argument, PointerType) else argument
            return False if isinstance(target, _NO_FUNCTIONS) else None
        if is_open:
            return self._fits_class(pattern, argument)
        return same_argument(type_argument(self._ev, pattern), argument)

    def _fits_array(self, pattern: str, argument: CType) -> bool | None:
        """Returns whether a type is an array like `T[N]`."""
        element, _, extent = pattern[:-1].partition("[")
        if not isinstance(argument, ArrayType) or "[" in extent:
            return None if isinstance(argument, ArrayType) else False
        if not extent:
            return self.fits(element, argument.element) if argument.count is None else False
        count = None if argument.count is None else number(argument.count)
        return self.all_of((element, extent), (argument.element, count))

    def _fits_unread(self, pattern: str, argument: UnreadTemplate) -> bool | None:
        """Returns whether a class that was not read is of a template: `std::vector<T>`.

        Arguments that were not read either, as `wmma::row_major`, are one if their names are.
        """
        name, patterns = _class_name(pattern), template_arguments(pattern)[1]
        if name != argument.template or not patterns:
            return None
        given = [number(a) if isinstance(a, int) else a for a in argument.arguments]
        if any_open(patterns):
            return self.all_of(patterns, given)
        spelled = template_arguments(argument.spelling)[1]
        rows = [
            (own, value)
            for own, value, text in zip(patterns, given, spelled, strict=False)
            if value is not None or own in self._free or _class_name(own) != _class_name(text)
        ]
        return self.all_of([own for own, _ in rows], [value for _, value in rows])

    def names_parameter(self, pattern: str) -> bool:
        """Returns whether a pattern is a free parameter and nothing more."""
        return pattern in self._free

    def is_open(self, pattern: str) -> bool:
        """Returns whether a pattern names a free parameter."""
        return not self._free.isdisjoint(_WORD.findall(pattern))

    def names_class(self, pattern: str) -> bool:
        """Returns whether a pattern is a class or class template that was read."""
        if not pattern or pattern in self._free:
            return False
        if self.is_open(pattern):
            name = _class_name(pattern)
            return name in self._ev.state.unit.records or name in STATIC_INTEGERS
        return isinstance(type_argument(self._ev, pattern), RecordType | StaticType | TupleType)

    def _behind_alias(self, name: str, arguments: Sequence[str]) -> str:
        """Returns the pattern that an alias template stands for; empty where it is none."""
        for declaration in self._ev.state.unit.declarations.get(name, ()):
            template = declaration.template
            if declaration.kind != "alias" or len(template) != len(arguments):
                continue
            parsed, stars = declaration.parse(), ""
            node = parsed.type if isinstance(parsed, ir.Typedef) else None
            while isinstance(node, ir.PtrDecl) and not {"&", "&&"} & set(node.quals):
                node, stars = node.type, stars + "*"
            words = type_words(node) if isinstance(node, ir.TypeDecl) else []
            given = {p.name: text for p, text in zip(template, arguments, strict=True)}
            if len(words) == 1 and given:
                return _substituted(words[0], given) + stars
        return ""

    def _fits_class(self, pattern: str, argument: CType) -> bool | None:
        """Returns whether a type is of a class template, as `Tag<L>`; an alias may be anything."""
        name, patterns = _class_name(pattern), template_arguments(pattern)[1]
        is_read = name in self._ev.state.unit.records
        meant = "" if is_read or name in self._aliases else self._behind_alias(name, patterns)
        if meant:
            self._aliases.add(name)
            answer = self.fits(meant, argument)
            self._aliases.discard(name)
            return answer
        if isinstance(argument, StaticType) and name in STATIC_INTEGERS and not is_read:
            value = argument.value
            return self.fits(patterns[-1], value) if isinstance(value, AffineInt) else None
        if isinstance(argument, StaticType) and name in CLASS_TEMPLATES and not is_read:
            members = _given_to(argument, name)
            return self.all_of(patterns, members) if members else None
        if name != getattr(argument, "name", ""):
            is_users = isinstance(argument, RecordType) and argument.record is not None
            return False if is_read or (is_users and name in CLASS_TEMPLATES) else None
        given = class_arguments(self._ev, argument) if isinstance(argument, RecordType) else None
        if given is None or not isinstance(argument, RecordType):
            return None
        record = cast("Record | None", argument.record)
        is_whole = record is None or any(p.is_pack for p in record.template)
        return self.all_of(patterns, given if is_whole else given[: len(patterns)])


def _given_to(owner: StaticType, template: str) -> list[CType]:
    """Returns the template arguments of a class of CuTe's; none where it is of another template."""
    from smemlint.analysis.simt.cute.types import arguments_of

    values = arguments_of(owner.value, template)
    return [StaticType(f"{owner}::{k}", value=value) for k, value in enumerate(values)]


def _substituted(spelling: str, given: Mapping[str, str]) -> str:
    return _WORD.sub(lambda word: given.get(word[0], word[0]), spelling)


def _class_name(pattern: str) -> str:
    return template_arguments(pattern)[0].rsplit("::", 1)[-1]
