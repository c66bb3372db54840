"""Lambdas: closures that see the frame that made them."""

from __future__ import annotations

from smemlint.analysis.simt.calls.inlining import entered_frame, returned_value
from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.ctypes import CType, IntType, OpaqueType
from smemlint.analysis.simt.domain.environment import Scope, Variable, type_of
from smemlint.analysis.simt.domain.values import AffineInt, CallableValue, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.state import Frame
from smemlint.analysis.simt.types.template_arguments import template_scope
from smemlint.frontend import ir
from smemlint.frontend.cuda.lexer.tokens import lex
from smemlint.frontend.cuda.scanner.template_heads import template_parameters
from smemlint.frontend.program import TemplateParameter
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CALL_RECURSION, MAX_CALLS
from smemlint.reasons import Reason, ReasonCode


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda with the scopes it sees.

    Attributes:
        node: the expression.
        scopes: of the frame that made it.
        frame: that made it.
        own: the objects that its captures declare; all its copies where it may change them.
        copies: variables that it captures by copy, and their values then.
    """

    node: ir.Lambda
    scopes: tuple[Scope, ...]
    frame: Frame
    own: Scope
    copies: tuple[tuple[str, Variable, Value], ...]


@evaluates(ir.Lambda)
def evaluate_lambda(ev: Evaluator, node: ir.Lambda) -> Value:
    """Returns a closure over the scopes of the innermost frame, with copies of what it captures."""
    state = ev.state
    own: Scope = {}
    copied: set[str] = set()
    for capture in node.captures:
        name, _, init = (part.strip() for part in capture.partition("="))
        if name and init and not name.startswith("&"):
            parsed = state.unit.parse_expression(init)
            value = ev.evaluate(parsed) if parsed is not None else _NOT_READ
            own[name] = _new_variable(ev, node, name, type_of(value), value)
        elif capture == "=":
            copied |= state.node_facts.names_in(node.body)
        elif not capture.startswith("&"):
            copied.add(capture)
    referred = {c.removeprefix("&").strip() for c in node.captures if c.startswith("&")}
    copies = []
    for name in sorted(copied - referred - own.keys()):
        variable = state.lookup(name)
        if isinstance(variable, Variable) and isinstance(variable.type, IntType):
            content = variable.object.cells.get(0)
            if isinstance(content, AffineInt) and variable.object.space is Space.LOCAL:
                copies.append((name, variable, content))
    if node.is_mutable:
        own.update((n, _new_variable(ev, node, n, v.type, value)) for n, v, value in copies)
        copies = []
    closure = Closure(node, tuple(state.frame.scopes), state.frame, own, tuple(copies))
    return CallableValue("lambda", closure)


_NOT_READ = Unknown.because(ReasonCode.SYNTAX, "a capture could not be parsed")


def _new_variable(
    ev: Evaluator, node: ir.Lambda, name: str, ctype: CType, value: Value
) -> Variable:
    """Returns a variable of a closure."""
    return Variable(ev.state.new_local(name, ctype, ev.state.key(node, name), value), ctype)


def call_lambda(
    ev: Evaluator, closure: Closure, node: ir.FuncCall, arguments: tuple[str, ...] = ()
) -> Value:
    """Executes the body of a lambda, and returns its value.

    Template arguments are those that the call spells: `f.template operator()<8>()`.
    """
    operands = [operand_of(ev, a) for a in node.args]
    label = f"lambda:{node.at}"
    names = [f.name for f in ev.state.frames]
    if names.count(label) >= MAX_CALL_RECURSION or len(names) > MAX_CALLS:
        return ev.state.note_unfollowed(
            node, Reason(ReasonCode.TOO_LARGE, "a lambda calls itself too deeply")
        )
    bound = template_scope(ev, _template_of(closure.node), arguments)
    made_in = closure.frame
    changed: Scope = {
        name: _new_variable(ev, closure.node, name, variable.type, value)
        for name, variable, value in closure.copies
        if variable.object.cells.get(0) is not value
    }
    scopes = [*closure.scopes, closure.own, changed, bound]
    frame = Frame(label, scopes, made_in.this, made_in.record, made_in.place)
    frame.returns_reference = closure.node.returns_reference
    with entered_frame(ev, frame, closure.node.params, operands, node):
        ev.execute(closure.node.body)
    return returned_value(ev, frame, OpaqueType("auto"), node)


def _template_of(node: ir.Lambda) -> tuple[TemplateParameter, ...]:
    return template_parameters(lex(node.template)) if node.template else ()
