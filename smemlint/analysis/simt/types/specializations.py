"""Which definition of a template its arguments choose: a specialization or the primary."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import cast

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
    StaticIntType,
    StaticType,
    TupleType,
    UnreadTemplate,
    VoidType,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.cache_keys import cache_key
from smemlint.analysis.simt.types.member_detection import detected
from smemlint.analysis.simt.types.overloads import conditions_in, signature_of, type_words
from smemlint.analysis.simt.types.patterns import (
    Argument,
    Match,
    patterns_of,
    same_argument,
    template_value,
)
from smemlint.analysis.simt.types.same_type import same_type
from smemlint.analysis.simt.types.template_arguments import value_argument
from smemlint.analysis.simt.types.template_packs import any_open
from smemlint.frontend import ir
from smemlint.frontend.cuda.parser.parse import template_arguments
from smemlint.frontend.program import Function, Record
from smemlint.lazy_dataclasses import dataclass

_ENDS_CONSTANT = re.compile(r"\bconst$")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Specialization:
    """A specialization that the arguments choose."""

    record: Record
    bound: dict[str, Argument]


def specialization_for(
    records: Sequence[Record],
    arguments: Sequence[Argument],
    spellings: Sequence[str],
    ev: Evaluator,
) -> Specialization | bool:
    """Returns the specialization that these arguments choose; False for the primary one.

    True says that a specialization may be meant: it hangs on an argument that is not known.
    """
    fitting: list[Specialization] = []
    primary = next((record for record in records if record.specialization is None), None)
    for record in records:
        if record.specialization is None:
            continue
        match = Match({p.name for p in record.template if p.name}, ev)
        patterns = _with_defaults(patterns_of(record), primary)
        if any(_differ(p, s, match) for p, s in zip(patterns, spellings, strict=False)):
            continue
        given = arguments
        if len(spellings) <= len(patterns) and not any_open(patterns):
            given = arguments[: len(patterns)]  # the others are defaults in both
        is_open = any_open(spellings)
        asked = [*map(_unqualified, patterns)]
        answer = None if is_open else _all_of(ev, match, asked, given)
        if answer is None:
            return True
        if answer:
            fitting.append(Specialization(record, match.bound))
    return min(fitting, key=lambda s: len(s.bound)) if fitting else False


def _all_of(
    ev: Evaluator, match: Match, patterns: Sequence[str], arguments: Sequence[Argument]
) -> bool | None:
    """Returns whether arguments fit; `std::void_t<..>` and `enable_if` are `void` or nothing."""
    asked = [_requirements(pattern, match) for pattern in patterns]
    if not any(asked) or len(patterns) != len(arguments):
        return match.all_of(patterns, arguments)
    rows = list(zip(asked, patterns, arguments, strict=True))
    answers = [match.all_of([p for a, p, _ in rows if not a], [g for a, _, g in rows if not a])]
    scope: Scope = {name: bound for name, bound in match.bound.items() if bound is not None}
    with ev.state.within("requirements", {**ev.state.frame.scopes[-1], **scope}):
        for requirement in (r for a in asked for r in a):
            if isinstance(requirement, str):
                value = value_argument(ev, requirement)
            else:
                value = ev.evaluate(requirement)
            known = value.constant if isinstance(value, AffineInt) else None
            answers.append(None if known is None else bool(known))
    answers += [isinstance(given, VoidType) or None for a, _, given in rows if a]
    return False if False in answers else None if None in answers else True


def _requirements(pattern: str, match: Match) -> list[str | ir.Requires]:
    """Returns what has to hold for a type to be one: conditions and names that classes have."""
    name, _ = template_arguments(pattern)
    is_detecting = name.rpartition("::")[2] == "void_t"
    return [
        *conditions_in([pattern]),
        *([detected(pattern, match.names_parameter)] if is_detecting else ()),
    ]


def _with_defaults(patterns: Sequence[str], primary: Record | None) -> Sequence[str]:
    """Returns patterns with the defaults of the primary template that name no parameter of it."""
    if primary is None or any_open(patterns):
        return patterns
    names = {parameter.name for parameter in primary.template}
    defaults = (parameter.default for parameter in primary.template[len(patterns) :])
    found = takewhile(lambda d: d is not None and names.isdisjoint(_WORD.findall(d)), defaults)
    return (*patterns, *(default for default in found if default is not None))


def _differ(pattern: str, spelling: str, match: Match) -> bool:
    """Returns whether one of a pattern and an argument is a constant type and the other is not."""
    is_constant = _unqualified(spelling) != spelling.strip()
    if match.names_parameter(pattern.removesuffix("...").strip()):
        return False
    return is_constant != (_unqualified(pattern) != pattern.strip())


def _unqualified(spelling: str) -> str:
    """Returns a type without the `const` in front of it or behind it."""
    text = spelling.strip()
    if _ENDS_CONSTANT.search(text):
        return text.removesuffix("const").strip()
    return text if text.endswith(("*", "&")) else text.removeprefix("const ").strip()


def definitions_for(
    ev: Evaluator,
    candidates: Sequence[Function],
    arguments: Sequence[str],
    types: Sequence[CType],
    bound: Callable[[Function], Scope],
) -> Sequence[Function] | None:
    """Returns the definitions of a function that its explicit specializations leave for a call.

    Those whose arguments are the call's are the only ones, the others are none. None where one may
    be meant and hangs on an argument that is not known.

    Args:
        ev: reads the arguments where the call stands.
        candidates: definitions of one name.
        arguments: spelling of the template arguments that the call gives.
        types: of the call's operands; they choose where no template argument does.
        bound: what the call binds the template parameters of a definition to.
    """
    if not any(f.specialization is not None for f in candidates):
        return candidates
    given = [template_value(ev, a) for a in arguments]
    chosen: list[Function] = []
    others: list[Function] = []
    is_open = False
    for function in candidates:
        if function.specialization is None:
            others.append(function)
            continue
        answer = _is_for(ev, function, arguments, given) if given else None
        if answer is not False and len(patterns_of(function)) > len(given):
            answer = _is_deduced(ev, function, candidates, bound)
        if answer is None and not given:
            answer = takes(ev, function, types)
        if answer:
            chosen.append(function)
        is_open |= answer is None
    return chosen or (None if is_open else others)


def _is_deduced(
    ev: Evaluator,
    function: Function,
    candidates: Sequence[Function],
    bound: Callable[[Function], Scope],
) -> bool | None:
    """Returns whether what a call deduces for the primary template is what one is written for.

    None where that is not known, or which template it specializes.
    """
    count = len(signature_of(function).parameters)
    primary = [
        f
        for f in candidates
        if f.specialization is None and f.template and len(signature_of(f).parameters) == count
    ]
    patterns = patterns_of(function)
    if len(primary) != 1 or len(primary[0].template) < len(patterns):
        return None
    template = primary[0].template
    scope = bound(primary[0])
    given = [scope.get(parameter.name) for parameter in template[: len(patterns)]]
    if any(parameter.is_pack for parameter in template) or None in given:
        return None
    return _is_for(ev, function, ("",) * len(patterns), cast("Sequence[Argument]", given))


def takes(ev: Evaluator, function: Function, types: Sequence[CType]) -> bool:
    """Returns whether the parameters have exactly the types of a call's operands."""
    parameters = signature_of(function).parameters
    if len(parameters) != len(types):
        return False
    return all(
        _is_same(ev.types.resolve(parameter.type), given)
        for parameter, given in zip(parameters, types, strict=True)
    )


def refuses(ev: Evaluator, function: Function, types: Sequence[CType]) -> bool:
    """Returns whether a parameter points to numbers or vectors, an operand to another known type.

    No pointer becomes one to them. What names a template parameter, also of a
    class around the function, is not asked.
    """
    if function.record is not None:
        return False
    free = {p.name for p in function.template}
    for parameter, given in zip(signature_of(function).parameters, types, strict=False):
        target = _element_of(given)
        if target is None or not isinstance(parameter.type, ir.ArrayDecl | ir.PtrDecl):
            continue
        if free.isdisjoint(_WORD.findall(" ".join(type_words(parameter.type)))):
            own = _element_of(ev.types.resolve(parameter.type))
            if own is not None and _excludes(own, target):
                return True
    return False


def _excludes(own: CType, target: CType) -> bool:
    """Returns whether no pointer to one type becomes one to the other: a number, a vector."""
    numbers = (IntType, FloatType)
    if isinstance(own, numbers) or (isinstance(own, RecordType) and isinstance(target, numbers)):
        return not same_type(own, target)
    vectors = [t for t in (own, target) if isinstance(t, RecordType) and t.record is None]
    return len(vectors) == 2 and vectors[0].members != vectors[1].members


def _element_of(ctype: CType) -> CType | None:
    """Returns what an array has or a pointer points to, of a known size; None of all others."""
    ctype = unreferenced(ctype)
    target = ctype.element if isinstance(ctype, ArrayType) else None
    if isinstance(ctype, PointerType):
        target = ctype.target
    return target if target is not None and target.size else None


def _is_same(parameter: CType, given: CType) -> bool:
    """Returns whether an operand has a parameter's type; an array becomes a pointer."""
    if isinstance(given, ArrayType) and same_type(parameter, PointerType(given.element)):
        return True
    return same_type(unreferenced(parameter), unreferenced(given))


def class_fit(ev: Evaluator, function: Function, types: Sequence[CType]) -> int | None:
    """Returns how closely the parameters name the classes of a call's operands.

    A class (`Int<0>`) counts more than a class template (`Int<N>`), and that more than `T`, as in
    the partial ordering of function templates; None where a parameter is of another class, or is
    `Pair<T, U>` and the operand is a number, of which nothing is deduced.

    Remembered for the bindings that the parameters name, unless a definition under way had a say.
    """
    state, classes = ev.state, signature_of(function).classes
    if not any(classes):
        return 0
    kinds = [unreferenced(given) for given in types]
    names = cache_key(" ".join(classes), state.frame, state.lookup, state.unit.is_scattered)
    key = None
    if names is not None and not any(isinstance(ctype, StaticType | TupleType) for ctype in kinds):
        key = (
            function,
            tuple(
                c if isinstance(c, RecordType | UnreadTemplate) else _is_number(c) for c in kinds
            ),
            names,
        )
    resolution = state.resolution
    fits = resolution.cache.class_fits
    return resolution.remembered(fits, key, lambda: _class_fit(ev, function, kinds))


def _class_fit(ev: Evaluator, function: Function, kinds: Sequence[CType]) -> int | None:
    match = Match({p.name for p in function.template if p.name}, ev)
    total = 0
    for spelling, ctype in zip(signature_of(function).classes, kinds, strict=False):
        is_unread = isinstance(ctype, UnreadTemplate) and not match.names_parameter(spelling)
        if not (spelling and is_unread) and not match.names_class(spelling):
            continue
        if _is_number(ctype) and spelling.endswith(">") and match.is_open(spelling):
            return None
        if not isinstance(ctype, RecordType | StaticType | TupleType | UnreadTemplate):
            continue
        answer = match.fits(spelling, ctype)
        if answer is False:
            return None
        if answer:
            total += 1 if match.is_open(spelling) else 2
    return total


def _is_number(ctype: CType) -> bool:
    return isinstance(ctype, IntType | FloatType) and not isinstance(ctype, StaticIntType)


def _is_for(
    ev: Evaluator, function: Function, spellings: Sequence[str], given: Sequence[Argument]
) -> bool | None:
    """Returns whether an explicit specialization is for these arguments; None where open."""
    patterns = patterns_of(function)
    answers = [
        spelling == pattern or same_argument(template_value(ev, pattern), argument)
        for pattern, spelling, argument in zip(patterns, spellings, given, strict=False)
    ]
    if False in answers or len(spellings) > len(patterns):
        return False
    return None if None in answers else True
