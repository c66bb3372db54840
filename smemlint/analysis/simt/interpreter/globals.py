"""Names outside of functions: constants, static members, enumerators, functions."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import cast

from smemlint.analysis.simt.calls.candidates import functions_meant
from smemlint.analysis.simt.calls.construction import with_extent
from smemlint.analysis.simt.cute.names import enumerator
from smemlint.analysis.simt.domain.ctypes import OpaqueType, RecordType, StaticType
from smemlint.analysis.simt.domain.environment import Binding, Scope, Variable
from smemlint.analysis.simt.domain.values import AffineInt, CallableValue, Object, Space, Unknown
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.interpreter.declarations import declare
from smemlint.analysis.simt.interpreter.initializers import initialize
from smemlint.analysis.simt.types.enums import enumerator_named
from smemlint.analysis.simt.types.patterns import same_argument
from smemlint.analysis.simt.types.statics import scope_of, static_member
from smemlint.analysis.simt.types.template_arguments import (
    ROOT,
    closed_spelling,
    names_of,
    split_qualified,
    template_scope,
)
from smemlint.analysis.simt.types.template_packs import expanded_arguments
from smemlint.frontend import ir
from smemlint.frontend.program import Declaration, Function, Record, TemplateParameter, Unit
from smemlint.reasons import ReasonCode


def find_global(ev: Evaluator, name: str) -> Binding | None:
    """Returns a constant, enumerator, shared array or function of the unit."""
    prefix, last = split_qualified(name)
    frames = ev.state.frames
    around = frames[-1].record if frames and not prefix else None
    member = _defined_outside(ev, around, last) if around is not None else None
    return member or _find_global(ev, name, prefix, last)


def _find_global(ev: Evaluator, name: str, prefix: str, last: str) -> Binding | None:
    state = ev.state
    key = (name, state.place) if state.unit.is_scattered(last) else name
    if key in state.globals:
        return state.globals[key]
    absent = state.unit, key
    if absent in state.absent:
        return None
    found: Binding | None = _variable_template(ev, last)
    if found is not None:
        return found  # of these arguments, which the name does not tell
    classes: frozenset[str] | None = None
    if prefix not in ("", ROOT):
        owner = ev.types.spelled(prefix)
        if isinstance(owner, RecordType):
            found = static_member(ev, owner, last) or _defined_outside(ev, owner, last)
            classes = frozenset(record.name for record in owner.with_bases())
        elif isinstance(owner, StaticType):
            from smemlint.analysis.simt.cute.types import member_value

            found = member_value(owner.value, last)
        elif isinstance(owner, OpaqueType) and state.lookup(prefix) is owner:
            text = f"`{name}`: no launch gives `{prefix}`"
            return Unknown.because(ReasonCode.UNKNOWN_TYPE, text)
        elif isinstance(owner, OpaqueType) and _class_named(ev, prefix) in state.unit.records:
            text = f"`{name}`: which specialization is meant is not known"
            return Unknown.because(ReasonCode.UNKNOWN_TYPE, text, is_uniform=True)
        else:
            found = enumerator(prefix, last)
    if found is None:
        found = find_declared(ev, prefix, last, classes)
    if found is None:
        found = enumerator_named(ev, prefix, last)
    functions = () if found is not None else tuple(ev.policy.functions(ev, last.split("<", 1)[0]))
    if functions:
        closed = closed_spelling(ev, _qualified(ev, functions, name))
        if closed != name:  # it means another function wherever its parameters have other values
            return CallableValue(closed)
        found = CallableValue(name)
    if found is not None and not prefix:
        state.globals[key] = found
    if found is None and not prefix and "<" not in last and not state.resolution.declarations:
        state.absent.add(absent)  # nothing is under way that may define it
    return found


def _defined_outside(ev: Evaluator, owner: RecordType, name: str) -> Binding | None:
    """Returns a constant that a class template declares and a definition outside of it gives.

    `template <int N> const int A<N>::size = 2 * N;` has another value in each class.
    """
    record = cast("Record | None", owner.record)
    if record is None or not record.template:
        return None
    for declaration in ev.state.unit.declarations.get(name, ()):
        node = declaration.parse()
        init = node.init if isinstance(node, ir.Decl) and _is_constant(node) else None
        if declaration.scope != (*record.scope, record.name) or init is None:
            continue
        outer = declaration.outer or declaration.template
        both = zip(outer, record.template, strict=False)
        bound = {o.name: owner.statics.get(p.name) for o, p in both}
        scope: Scope = {n: cast("Binding", b) for n, b in bound.items() if b is not None}
        with ev.state.within(f"static {owner.name}", scope_of(owner) | scope, declaration.scope):
            return convert(ev, ev.evaluate(init), ev.types.resolve(cast("ir.Decl", node).type))
    return None


def _class_named(ev: Evaluator, spelling: str) -> str:
    return ev.state.unit.template_arguments(split_qualified(spelling)[1])[0]


def _qualified(ev: Evaluator, functions: Sequence[Function], name: str) -> str:
    """Returns a function's name with its scope, where other scopes have functions of the name."""
    meant = {f.scope for f in functions_meant(ev, functions, name)}
    is_clear = len(meant) == 1 < len({f.scope for f in functions})
    return "::".join((*meant.pop(), split_qualified(name)[1])) if is_clear else name


def _variable_template(ev: Evaluator, spelling: str) -> Binding | None:
    """Returns the value of `is_decode_v<M>`, a template of the unit; None of all other names.

    One with specializations is not followed.
    """
    if not spelling.endswith(">"):
        return None
    name, spelled = ev.state.unit.template_arguments(spelling)
    arguments = expanded_arguments(ev, spelled)
    declared = ev.state.unit.declarations.get(name, ()) if arguments else ()
    if len(declared) != 1 or declared[0].kind != "variable" or not declared[0].template:
        return None
    (declaration,) = declared
    node = declaration.parse()
    resolution = ev.state.resolution
    if (
        not isinstance(node, ir.Decl)
        or node.init is None
        or id(declaration) in resolution.declarations
    ):
        return None
    scope = template_scope(ev, declaration.template, arguments, declaration.scope)
    place = declaration.scope
    with ev.state.within(f"variable {name}", scope, place), resolution.working_out(declaration):
        return convert(ev, ev.evaluate(node.init), ev.types.resolve(node.type))


def find_declared(
    ev: Evaluator, prefix: str, name: str, classes: Set[str] | None = None
) -> Binding | None:
    """Returns a variable of the visible units; of several the first one with a value."""
    state = ev.state
    unit, found = state.unit, None
    try:
        for visible in ev.policy.units(ev):
            if name not in visible.declarations:
                continue
            if visible is not state.unit:
                ev.types.enter(visible)
            candidate = _declared_in_unit(ev, prefix, name, classes)
            found = found or candidate
            if isinstance(candidate, Variable) and candidate.object.cells:
                return candidate
    finally:
        if state.unit is not unit:
            ev.types.enter(unit)
    return found


def _declared_in_unit(
    ev: Evaluator, prefix: str, name: str, classes: Set[str] | None
) -> Binding | None:
    """Returns a variable of the unit; of several declarations the one with a value.

    It is unknown where variables of several scopes may be meant and differ. A member of a class
    that was not read is no member of another one.
    """
    unit = ev.state.unit
    path = (*names_of(prefix), name)
    visible = unit.visible(unit.declarations.get(name, ()), path, ev.state.place)
    variables = [d for d in visible if d.kind == "variable"]
    if prefix and not _is_declared(unit, _class_named(ev, prefix)):
        classes = frozenset()
    if classes is not None:
        variables = [d for d in variables if not _is_member(unit, d) or d.scope[-1] in classes]
    scopes = dict.fromkeys(d.scope for d in variables)
    found = [_of_scope(ev, [d for d in variables if d.scope == scope]) for scope in scopes]
    meant = [binding for binding in found if binding is not None]
    if any(_is_other(meant[0], binding) for binding in meant[1:]):
        text = f"which `{name}` is meant is not known"
        return Unknown.because(ReasonCode.NOT_DECLARED, text, is_uniform=True)
    return meant[0] if meant else None


def _is_declared(unit: Unit, name: str) -> bool:
    return name in unit.records or name in unit.declarations


def _is_member(unit: Unit, declaration: Declaration) -> bool:
    classes = unit.records.get(declaration.scope[-1], ()) if declaration.scope else ()
    return any((*c.scope, c.name) == declaration.scope for c in classes)


def _is_other(one: Binding, other: Binding) -> bool:
    """Returns whether two variables need not have one value."""
    a, b = (v.object.cells.get(0) if isinstance(v, Variable) else None for v in (one, other))
    return not (isinstance(a, AffineInt) and isinstance(b, AffineInt) and same_argument(a, b))


def _of_scope(ev: Evaluator, declarations: Sequence[Declaration]) -> Binding | None:
    """Returns the variable of one scope; of several declarations the one with a value."""
    found: Binding | None = None
    resolution = ev.state.resolution
    for declaration in declarations:
        if declaration in ev.state.globals:
            return ev.state.globals[declaration]
        if id(declaration) in resolution.declarations:
            resolution.unfinished.add(id(declaration))
            continue  # `A::n` in what defines `n` is another one
        node = declaration.parse()
        if isinstance(node, ir.Decl) and (found is None or node.init is not None):
            with resolution.working_out(declaration):
                found = ev.policy.bind_global(
                    ev, declaration, _global_variable(ev, declaration, node)
                )
            if node.init is not None:
                break
    return found


def _global_variable(ev: Evaluator, declaration: Declaration, node: ir.Decl) -> Binding:
    state = ev.state
    scope = {p.name: _open_parameter(p) for p in declaration.outer}
    scope |= template_scope(ev, declaration.template, (), declaration.scope)
    frames, state.frames = state.frames, [Frame("file", [scope], place=declaration.scope)]
    mask, state.mask = state.mask, state.geometry.exists
    try:
        if "__shared__" in (node.storage or ()):
            declare(ev, node)
            bound = state.frame.scopes[-1].get(declaration.name)
            if bound is not None:
                return bound
        ctype = with_extent(ev.types.resolve(node.type), node.init)
        key = f"file:{'::'.join((*declaration.scope, declaration.name))}"
        obj = Object(declaration.name, ctype, Space.GLOBAL, key)
        if node.init is not None and (
            _is_constant(node) or ev.policy.keeps_initial_value(ev, declaration.name, ctype)
        ):
            obj.space = Space.LOCAL
            state.globals[declaration] = Variable(obj, ctype)
            with state.memory.without_undo():  # it stays, whatever branch names it first
                initialize(ev, Variable(obj, ctype), node.init)
        return Variable(obj, ctype)
    finally:
        state.frames = frames
        state.mask = mask


def _open_parameter(parameter: TemplateParameter) -> Binding:
    """Returns what a template parameter of a class stands for whose arguments are not known."""
    if parameter.kind == "type":
        return OpaqueType(parameter.name)
    text = f"`{parameter.name}` is a template parameter of a class"
    return Unknown.because(ReasonCode.NO_VALUE, text, is_uniform=True)


def _is_constant(node: ir.Decl) -> bool:
    words = {*(node.storage or ()), *(node.quals or ())}
    return bool({"const", "constexpr"} & words) and not {"__constant__", "__device__"} & words
