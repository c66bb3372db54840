"""Lambdas: closures that see the frame that made them."""

from __future__ import annotations

from smemlint.analysis.simt.calls.inlining import entered_frame, is_result_place, returned_value
from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.calls.passed_loads import passed_loads
from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.ctypes import CType, OpaqueType, PointerType
from smemlint.analysis.simt.domain.environment import LValue, Operand, Scope, Variable, type_of
from smemlint.analysis.simt.domain.values import CallableValue, Pointer, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.lvalues import variable_lvalue
from smemlint.analysis.simt.types.template_arguments import template_scope
from smemlint.frontend import ir
from smemlint.frontend.cuda.lexer.tokens import lex
from smemlint.frontend.cuda.scanner.template_heads import template_parameters
from smemlint.frontend.program import TemplateParameter
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CALL_RECURSION, MAX_CALLS
from smemlint.reasons import Reason, ReasonCode


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A variable that a lambda captures by copy.

    Attributes:
        place: what it names: of a reference, what that refers to.
        content: the values that lay there when the lambda was made, by bytes from its beginning.
        default: of the rest.
    """

    name: str
    place: LValue
    content: dict[int, Value]
    default: Value | None


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda with the scopes it sees.

    Attributes:
        scopes: of the frame that made it.
        frame: that made it.
        this: the object whose members it sees, or the copy of it that it captures.
        own: the objects that its captures declare; all its copies where it may change them.
        copies: variables that it captures by copy, and their values then.
    """

    node: ir.Lambda
    scopes: tuple[Scope, ...]
    frame: Frame
    this: Pointer | None
    own: Scope
    copies: tuple[Copy, ...]


@evaluates(ir.Lambda)
def evaluate_lambda(ev: Evaluator, node: ir.Lambda) -> Value:
    """Returns a closure over the scopes of the innermost frame, with copies of what it captures."""
    state = ev.state
    own: Scope = {}
    copied: set[str] = set()
    this = state.frame.this
    for capture in node.captures:
        name, _, init = (part.strip() for part in capture.partition("="))
        if name and init:
            own[name.removeprefix("&").strip()] = _initialized(ev, node, name, init)
        elif capture == "=":
            copied |= state.node_facts.names_in(node.body)
        elif name.removeprefix("*").strip() == "this":
            this = _copied_object(ev, node, this) if name != "this" else this
        elif not name.startswith("&"):
            copied.add(name)
    referred = {c.removeprefix("&").strip() for c in node.captures if c.startswith("&")}
    found = (_copy(ev, name) for name in sorted(copied - referred - own.keys()))
    copies = tuple(copy for copy in found if copy is not None)
    if node.is_mutable:
        own.update((copy.name, _restored(ev, node, copy)) for copy in copies)
        copies = ()
    closure = Closure(node, tuple(state.frame.scopes), state.frame, this, own, copies)
    made = CallableValue("lambda", closure)
    ev.policy.on_lambda(ev, node, made)
    return made


_NOT_READ = Unknown.because(ReasonCode.SYNTAX, "a capture could not be parsed")


def _initialized(ev: Evaluator, node: ir.Lambda, name: str, init: str) -> Variable:
    """Returns the variable of `n = a + b`; of `&n = a` one that refers to `a`."""
    parsed = ev.state.unit.parse_expression(init)
    if name.startswith("&"):
        place = ev.lvalue(parsed) if parsed is not None else _NOT_READ
        value: Value = place.pointer() if isinstance(place, LValue) else place
        target = place.type if isinstance(place, LValue) else OpaqueType("auto")
        ctype: CType = PointerType(target, is_reference=True)
    else:
        value = ev.evaluate(parsed) if parsed is not None else _NOT_READ
        ctype = type_of(value)
    name = name.removeprefix("&").strip()
    return Variable(ev.state.new_local(name, ctype, ev.state.key(node, name), value), ctype)


def _copied_object(ev: Evaluator, node: ir.Lambda, this: Pointer | None) -> Pointer | None:
    """Returns the copy that `[*this]` makes of an object; the object itself where it is shared."""
    if this is None or this.object.space is not Space.LOCAL:
        return this
    copy = _copy_of("this", LValue(this.object, this.offset, this.target))
    return this if copy is None else variable_lvalue(_restored(ev, node, copy)).pointer()


def _copy(ev: Evaluator, name: str) -> Copy | None:
    """Returns the copy of a variable; None of what is no variable or does not lie in registers."""
    variable = ev.state.lookup(name)
    return _copy_of(name, variable_lvalue(variable)) if isinstance(variable, Variable) else None


def _copy_of(name: str, place: LValue) -> Copy | None:
    if place.object.space is not Space.LOCAL or place.offset.constant is None:
        return None
    return Copy(name, place, _content(place), place.object.default)


def _content(place: LValue) -> dict[int, Value]:
    """Returns the values that lie in a place, by bytes from its beginning."""
    cells = place.object.cells
    if place.type is place.object.type:
        return dict(cells)
    begin = place.offset.constant or 0
    end = begin + max(place.type.size, 1)
    return {at - begin: value for at, value in cells.items() if begin <= at < end}


def _restored(ev: Evaluator, node: ir.Lambda, copy: Copy) -> Variable:
    """Returns a variable that holds what was copied."""
    ctype = copy.place.type
    obj = ev.state.new_local(copy.name, ctype, ev.state.key(node, copy.name))
    obj.cells.update(copy.content)
    obj.default = copy.default
    return Variable(obj, ctype)


def _has_changed(copy: Copy) -> bool:
    now = _content(copy.place)
    if len(now) != len(copy.content) or copy.place.object.default is not copy.default:
        return True
    return any(now.get(at) is not value for at, value in copy.content.items())


def closure_of(operand: Operand) -> Closure | None:
    """Returns the lambda that a call gives; None of other operands."""
    value, place = operand.value, operand.place
    if value is None and place is not None and place.offset.constant is not None:
        value = place.object.cells.get(place.offset.constant)
    payload = value.payload if isinstance(value, CallableValue) else None
    return payload if isinstance(payload, Closure) else None


def call_lambda(
    ev: Evaluator, closure: Closure, node: ir.FuncCall, arguments: tuple[str, ...] = ()
) -> Value:
    """Executes the body of a lambda, and returns its value.

    Template arguments are those that the call spells: `f.template operator()<8>()`.
    """
    return execute_closure(ev, closure, [operand_of(ev, a) for a in node.args], node, arguments)


def execute_closure(
    ev: Evaluator,
    closure: Closure,
    operands: list[Operand],
    node: ir.FuncCall,
    arguments: tuple[str, ...] = (),
) -> Value:
    """Executes the body of a lambda, and returns its value.

    Args:
        ev: the evaluator.
        closure: the lambda.
        operands: what its parameters are given.
        node: the call, or that of the function which calls it.
        arguments: template arguments that the call spells.
    """
    label = f"lambda:{node.at}"
    names = [f.name for f in ev.state.frames]
    if names.count(label) >= MAX_CALL_RECURSION or len(names) > MAX_CALLS:
        return ev.state.note_unfollowed(
            node, Reason(ReasonCode.TOO_LARGE, "a lambda calls itself too deeply")
        )
    ev.policy.on_lambda(ev, closure.node, None)
    if ev.policy.leaves(ev, closure.node, operands):
        return Unknown.because(ReasonCode.NOT_MODELLED, "a lambda that makes a text is not run")
    bound = template_scope(ev, _template_of(closure.node), arguments)
    made_in = closure.frame
    changed: Scope = {
        copy.name: _restored(ev, closure.node, copy)
        for copy in closure.copies
        if _has_changed(copy)
    }
    scopes = [*closure.scopes, closure.own, changed, bound]
    frame = Frame(label, scopes, closure.this, made_in.record, made_in.place)
    frame.result = closure.node.result
    ctype: CType = OpaqueType("auto")
    with entered_frame(ev, frame, closure.node.params, operands, node):
        if frame.result is not None:
            ctype = ev.types.resolve(frame.result)
        frame.returns_reference = is_result_place(ctype)
        frame.sunk = passed_loads(ev.state, node, closure.node.params, closure.node.body)
        ev.execute(closure.node.body)
    return returned_value(ev, frame, ctype, node)


def _template_of(node: ir.Lambda) -> tuple[TemplateParameter, ...]:
    return template_parameters(lex(node.template)) if node.template else ()
