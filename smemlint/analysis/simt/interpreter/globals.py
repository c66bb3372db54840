"""Names outside of functions: constants, static members, enumerators, functions."""

from __future__ import annotations

from smemlint.analysis.simt.calls.construction import with_extent
from smemlint.analysis.simt.cute.types import enumerator, member_value
from smemlint.analysis.simt.domain.ctypes import OpaqueType, RecordType, StaticType
from smemlint.analysis.simt.domain.environment import Binding, Variable
from smemlint.analysis.simt.domain.values import CallableValue, Object, Space, Unknown
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.interpreter.declarations import declare
from smemlint.analysis.simt.interpreter.initializers import initialize
from smemlint.analysis.simt.state import Frame
from smemlint.analysis.simt.types.enums import enumerators
from smemlint.analysis.simt.types.statics import static_member
from smemlint.analysis.simt.types.template_arguments import (
    closed_spelling,
    split_qualified,
    template_scope,
)
from smemlint.frontend import ir
from smemlint.frontend.program import Declaration
from smemlint.reasons import ReasonCode


def find_global(ev: Evaluator, name: str) -> Binding | None:
    """Returns a constant, enumerator, shared array or function of the unit."""
    state = ev.state
    if name in state.globals:
        return state.globals[name]
    prefix, last = split_qualified(name)
    found: Binding | None = _variable_template(ev, last)
    if found is not None:
        return found  # of these arguments, which the name does not tell
    if prefix:
        owner = ev.types.spelled(prefix)
        if isinstance(owner, RecordType):
            found = static_member(ev, owner, last)
        elif isinstance(owner, StaticType):
            found = member_value(owner.value, last)
        elif isinstance(owner, OpaqueType) and state.lookup(prefix) is owner:
            text = f"`{name}`: no launch gives `{prefix}`"
            return Unknown.because(ReasonCode.UNKNOWN_TYPE, text)
        else:
            found = enumerator(prefix, last)
    if found is None:
        found = find_declared(ev, last)
    if found is None:
        found = enumerators(ev).get(last)
    if found is None and any(True for _ in ev.policy.functions(ev, last.split("<", 1)[0])):
        closed = closed_spelling(ev, name)
        if closed != name:  # it means another function wherever its parameters have other values
            return CallableValue(closed)
        found = CallableValue(name)
    if found is not None and not prefix:
        state.globals[name] = found
    return found


def _variable_template(ev: Evaluator, spelling: str) -> Binding | None:
    """Returns the value of `is_decode_v<M>`, a template of the unit; None of all other names.

    One with specializations is not followed.
    """
    if not spelling.endswith(">"):
        return None
    name, arguments = ev.state.unit.template_arguments(spelling)
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
    scope = template_scope(ev, declaration.template, arguments)
    with ev.state.within(f"variable {name}", scope), resolution.working_out(declaration):
        return convert(ev, ev.evaluate(node.init), ev.types.resolve(node.type))


def find_declared(ev: Evaluator, name: str) -> Binding | None:
    """Returns a variable of the visible units; of several the first one with a value."""
    state = ev.state
    unit, found = state.unit, None
    try:
        for visible in ev.policy.units(ev):
            if visible is not state.unit:
                ev.types.enter(visible)
            candidate = _declared_in_unit(ev, name)
            found = found or candidate
            if isinstance(candidate, Variable) and candidate.object.cells:
                return candidate
    finally:
        if state.unit is not unit:
            ev.types.enter(unit)
    return found


def _declared_in_unit(ev: Evaluator, name: str) -> Binding | None:
    """Returns a variable of the unit; of several declarations the one with a value."""
    found: Binding | None = None
    resolution = ev.state.resolution
    for declaration in ev.state.unit.declarations.get(name, ()):
        if declaration.kind != "variable":
            continue
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
    scope = template_scope(ev, declaration.template, ())
    frames, state.frames = state.frames, [Frame("file", [scope])]
    mask, state.mask = state.mask, state.geometry.exists
    try:
        if "__shared__" in (node.storage or ()):
            declare(ev, node)
            bound = state.frame.scopes[-1].get(declaration.name)
            if bound is not None:
                return bound
        ctype = with_extent(ev.types.resolve(node.type), node.init)
        obj = Object(declaration.name, ctype, Space.GLOBAL, f"file:{declaration.name}")
        if node.init is not None and (
            _is_constant(node) or ev.policy.keeps_initial_value(ev, declaration.name, ctype)
        ):
            obj.space = Space.LOCAL
            state.globals[declaration.name] = Variable(obj, ctype)
            with state.memory.without_undo():  # it stays, whatever branch names it first
                initialize(ev, Variable(obj, ctype), node.init)
        return Variable(obj, ctype)
    finally:
        state.frames = frames
        state.mask = mask


def _is_constant(node: ir.Decl) -> bool:
    words = {*(node.storage or ()), *(node.quals or ())}
    return bool({"const", "constexpr"} & words) and not {"__constant__", "__device__"} & words
