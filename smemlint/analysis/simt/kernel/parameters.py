"""Parameters of a kernel: what is known, assumed or guessed of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import lcm
from typing import Any

from smemlint.analysis.simt.domain.copies import scalar_members
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    is_opaque,
)
from smemlint.analysis.simt.domain.environment import (
    Binding,
    Scope,
    Variable,
    content_of,
)
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    TEMPLATE_KEY,
    AffineInt,
    Object,
    Pointer,
    Space,
    Symbol,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import unknown_argument
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.types.template_arguments import assumed_default, default_scope
from smemlint.config.preconditions import Precondition
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.reasons import Assumption


class NotedScope(dict[str, Binding]):
    """A scope that notes which names are looked up in it."""

    __slots__ = ("asked",)

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        """Returns what a name is bound to."""
        self.asked.add(name)
        return super().get(name, default)


def takes_numbers(binding: Binding) -> bool:
    """Returns whether a parameter is an integer or a class, of which a launch may tell numbers."""
    is_class = isinstance(binding, Variable) and isinstance(binding.type, RecordType)
    return is_class or isinstance(content_of(binding), AffineInt)


def parameter_binding(
    ev: Evaluator,
    param: ir.Decl,
    arguments: Mapping[str, Value],
    given: Sequence[Precondition] = (),
) -> Binding:
    """Returns a parameter as a variable, with what is known or assumed of its argument."""
    ctype = ev.types.resolve(param.type)
    if isinstance(ctype, ArrayType):
        ctype = PointerType(ctype.element)
    key = f"param:{param.name}"
    if isinstance(ctype, RecordType):
        obj = Object(param.name, ctype, Space.PARAMETER, key)
        for name, at, _ in scalar_members(ctype, param.name or "") if arguments else ():
            known = arguments.get(name)
            if isinstance(known, AffineInt):
                obj.cells[at] = _of_launch(known, f"{key}+{at}")
        return Variable(obj, ctype)
    if isinstance(ctype, PointerType) and ctype.is_reference:
        target = Object(param.name, ctype.target, Space.PARAMETER, key)
        content = Pointer(target, ORIGIN, ctype.target)
        return Variable(Object(param.name, ctype, Space.LOCAL, key, {0: content}), ctype)
    value = unknown_argument(ev, ctype, key, param.name)
    if param.name in arguments and isinstance(value, AffineInt):
        value = convert(ev, arguments[param.name], ctype)
        if isinstance(value, AffineInt):
            value = _of_launch(value, key)
    elif given and isinstance(ctype, IntType):
        value = _assumed(ev, ctype, param.name, given)
        value = AffineInt(value.base, value.type, value.terms, atom(key))
    return Variable(ev.state.new_local(param.name, ctype, key, value), ctype)


def _of_launch(value: AffineInt, key: str) -> AffineInt:
    """Returns a number that is known to us, not to the compiler."""
    return AffineInt(value.base, value.type, value.terms, atom(key))


def _assumed(ev: Evaluator, ctype: IntType, name: str, given: Sequence[Precondition]) -> AffineInt:
    """Returns an argument of which a divisor or bounds are assumed."""
    multiple = lcm(*(a.multiple for a in given))
    least = max((a.least for a in given if a.least is not None), default=None)
    most = min((a.most for a in given if a.most is not None), default=None)
    if least is not None and least == most:
        return AffineInt(least, ctype)
    is_positive = least is not None and least >= 0
    shown = name if multiple == 1 else f"{name}/{multiple}"
    part = ev.state.domain.symbol(f"param:{shown}", shown, ctype, nonnegative=is_positive)
    if most is not None and most >= 0 and is_positive:
        terms = tuple((replace(s, most=most // multiple // abs(int(c))), c) for s, c in part.terms)
        part = AffineInt(part.base, part.type, terms)
    whole = ev.state.domain.multiply(part, AffineInt(multiple, ctype))
    return whole if isinstance(whole, AffineInt) else part


def guessed_scope(ev: Evaluator, function: Function) -> tuple[Scope, tuple[Assumption, ...]]:
    """Binds template parameters that no launch gives: to defaults, all others to unknowns."""
    scope = default_scope(ev, function)
    assumptions: list[Assumption] = []
    for parameter in function.template:
        if not parameter.name or parameter.is_pack:
            continue
        bound = scope.get(parameter.name)
        if bound is not None and not is_opaque(bound):
            if parameter.default is not None:
                assumptions.append(assumed_default(parameter))
            continue
        if parameter.kind == "type":
            scope[parameter.name] = OpaqueType(parameter.name)
        elif parameter.kind == "value":
            scope[parameter.name] = _value_guess(parameter.name)
    return scope, tuple(assumptions)


def _value_guess(name: str) -> Value:
    symbol = Symbol(f"{TEMPLATE_KEY}{name}", name, nonnegative=True)
    return AffineInt(0, terms=((symbol, 1),))
