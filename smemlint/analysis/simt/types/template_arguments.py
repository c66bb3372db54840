"""Template arguments: what their spellings stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    ClosureType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    UnreadTemplate,
    is_opaque,
)
from smemlint.analysis.simt.domain.environment import Binding, Lazy, Scope, Variable
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    CallableValue,
    Pointer,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.launches.bindings import type_text
from smemlint.analysis.simt.types.builtin_types import builtin_type
from smemlint.analysis.simt.types.template_packs import (
    any_open,
    expanded_arguments,
    is_pack_element,
    pack_element,
    pack_size,
)
from smemlint.frontend.program import Function, TemplateParameter
from smemlint.hardware.arch import WIDEST_ACCESS
from smemlint.limits.budgets import MAX_PACK_ELEMENTS
from smemlint.reasons import Assumption, Topic

ROOT = "::"
"""The qualifier of `::name`."""


def template_scope(
    ev: Evaluator,
    parameters: tuple[TemplateParameter, ...],
    arguments: tuple[str, ...],
    place: tuple[str, ...] | None = None,
) -> Scope:
    """Binds parameters to argument spellings, then defaults; what is missing stays out.

    Defaults are looked up from `place`, the scope of the template.
    """
    scope: Scope = {}
    arguments = expanded_arguments(ev, arguments)
    for i, parameter in enumerate(parameters):
        if parameter.is_pack:
            _bind_pack(ev, parameter, arguments[i:], scope)
            break
        if any_open(arguments[: i + 1]):
            break  # a pack that is not known: which parameters it gives is open
        if i < len(arguments):
            bound = template_argument(ev, arguments[i], parameter)
        elif parameter.default is not None:
            with ev.state.within("default", scope, place):
                bound = template_argument(ev, parameter.default, parameter)
        else:
            continue
        if bound is not None and parameter.name:
            scope[parameter.name] = bound
    return scope


def open_scope(parameters: Iterable[TemplateParameter]) -> Scope:
    """Binds type parameters that nothing gives to unknown types: they hide all of their names."""
    named = (p.name for p in parameters if p.kind == "type" and p.name and not p.is_pack)
    return {name: OpaqueType(name) for name in named}


def default_scope(ev: Evaluator, function: Function) -> Scope:
    """Binds the parameters of a template that nothing gives to their defaults; packs stay open."""
    scope = template_scope(ev, function.template, (), function.scope)
    for pack in (p for p in function.template if p.is_pack):
        scope.pop(pack_size(pack.name), None)
    return scope


def open_types(template: Sequence[TemplateParameter], scope: Scope) -> Scope:
    """Binds type parameters that nothing gives to themselves: they hide classes of their names."""
    names = (p.name for p in template if p.kind == "type" and not p.is_pack)
    return {name: OpaqueType(name) for name in names if name and name not in scope}


def assumed_default(parameter: TemplateParameter) -> Assumption:
    """Returns the assumption that nothing gives a template parameter another argument."""
    text = f"`{parameter.name}` has its default `{parameter.default}`"
    return Assumption(Topic.TEMPLATE, text, parameter.name)


def _bind_pack(
    ev: Evaluator, parameter: TemplateParameter, arguments: tuple[str, ...], scope: Scope
) -> None:
    """Binds the arguments that a pack takes, and their number; none where one is a pack itself."""
    if len(arguments) > MAX_PACK_ELEMENTS or any_open(arguments):
        return
    bound = [template_argument(ev, argument, parameter) for argument in arguments]
    for k, value in enumerate(bound):
        if value is not None:
            scope[pack_element(parameter.name, k)] = value
    scope[pack_size(parameter.name)] = number(len(arguments))


def template_argument(ev: Evaluator, spelling: str, parameter: TemplateParameter) -> Binding | None:
    """Returns what one template argument's spelling, or an element of a pack, stands for."""
    if is_pack_element(spelling):
        return ev.state.lookup(spelling)
    if parameter.kind == "type":
        return type_argument(ev, spelling) or OpaqueType(spelling)
    if parameter.kind == "template":
        return _class_template(ev, spelling)
    return value_argument(ev, spelling)


def _class_template(ev: Evaluator, spelling: str) -> CallableValue | None:
    """Returns the class template that a name means; None for a parameter that nothing binds."""
    bound = ev.state.lookup(spelling)
    if isinstance(bound, CallableValue):
        return bound
    unit = ev.state.unit
    is_defined = spelling in unit.records or spelling in unit.declarations or "::" in spelling
    return CallableValue(spelling) if is_defined or _is_copy_of_cute(spelling) else None


def _is_copy_of_cute(name: str) -> bool:
    """Returns whether a name is that of a copy operation of CuTe's."""
    from smemlint.layout import cute

    return cute.copy_op(name, 8 * WIDEST_ACCESS) is not None


def type_argument(ev: Evaluator, spelling: str) -> CType | None:
    """Returns the type a template argument names."""
    if is_pack_element(spelling):
        element = ev.state.lookup(spelling)
        return element if isinstance(element, CType) else None
    found = ev.types.spelled(spelling)
    if found is not None:
        return found
    node = ev.state.unit.parse_type(spelling)
    return None if node is None else ev.types.resolve(node)


def value_argument(ev: Evaluator, spelling: str) -> Value | None:
    """Returns the value of a template argument."""
    if is_pack_element(spelling):
        element = ev.state.lookup(spelling)
        return element if isinstance(element, Value) else None
    node = ev.state.unit.parse_expression(spelling)
    return None if node is None else ev.evaluate(node)


def closed_spelling(ev: Evaluator, name: str) -> str:
    """Returns a function's name with numbers, classes and built-in types as its arguments.

    `load<T, D>` is called where `T` and `D` may mean something else, if they mean anything.
    """
    plain, arguments = ev.state.unit.template_arguments(name)
    if not arguments:
        return name
    return f"{plain}<{', '.join(_closed_argument(ev, a) for a in arguments)}>"


def _closed_argument(ev: Evaluator, spelling: str) -> str:
    ctype = type_argument(ev, spelling)
    if ctype is None or is_opaque(ctype):
        value = value_argument(ev, spelling)
        constant = value.constant if isinstance(value, AffineInt) else None
        return spelling if constant is None else str(constant)
    text = type_text(ctype)
    is_closed = builtin_type((text,)) is ctype or isinstance(ctype, (IntType, FloatType))
    if isinstance(ctype, RecordType):
        is_closed = type_argument(ev, text) is ctype
    return text if is_closed else spelling


@lru_cache(4096)
def split_qualified(spelling: str) -> tuple[str, str]:
    """Returns `A<x::y>::B` as `("A<x::y>", "B")`, `::B` as `("::", "B")`.

    The last `::` outside brackets is the one that counts. Angles without a partner between the same
    brackets are operators: `A<(N < 4)>`.
    """
    closing: list[str] = []
    for i in range(len(spelling) - 1, 0 if spelling != ROOT else 1, -1):
        c = spelling[i]
        if c in "<>" and (spelling.startswith("=", i + 1) or spelling.startswith("->", i - 1)):
            continue  # an operator: `N <= 4`, `p->q`
        if c == "<" and "<<" in spelling[i - 1 : i + 2]:
            continue  # `N << 1`
        if c in ">)]":
            closing.append(c)
        elif c in "([":
            while closing and closing.pop() == ">":
                pass
        elif c == "<" and closing[-1:] == [">"]:
            closing.pop()
        elif not closing and spelling.startswith("::", i - 1):
            return spelling[: i - 1] or ROOT, spelling[i + 1 :]
    return "", spelling


def names_of(prefix: str) -> tuple[str, ...]:
    """Returns the namespaces and classes of `a::b`, outermost first; none of an empty text.

    The first one of `::a` is empty.
    """
    return ("",) if prefix == ROOT else tuple(prefix.split("::")) if prefix else ()


def bindings_text(scope: Scope) -> str:
    """Returns a text that tells the bindings of template parameters apart."""
    return ",".join(f"{k}={_binding_text(v)}" for k, v in scope.items())


def _binding_text(binding: Binding) -> str:
    """Returns a text that tells bindings apart; a record goes by its identity."""
    match binding:
        case RecordType():
            return f"{binding.name}#{id(binding):x}"
        case PointerType():
            return f"{_binding_text(binding.target)}{'&' if binding.is_reference else '*'}"
        case ArrayType():
            return f"{_binding_text(binding.element)}[{binding.count}]"
        case UnreadTemplate():
            types = (
                a if isinstance(a, int | None) else _binding_text(a) for a in binding.arguments
            )
            return f"{binding.spelling}({','.join(map(str, types))})"
        case Aggregate() | Pointer() | Lazy() | CallableValue() | Variable():
            return f"{type(binding).__name__}#{id(binding):x}"
        case ClosureType():
            return f"lambda#{id(binding.closure):x}"
    return binding.identity() if isinstance(binding, AffineInt) else repr(binding)
