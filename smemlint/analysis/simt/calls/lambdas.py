"""Lambdas: closures that see the frame that made them."""

from __future__ import annotations

from smemlint.analysis.simt.calls.inlining import entered_frame, returned_value
from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.ctypes import OpaqueType
from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.domain.values import CallableValue, Value
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
    """A lambda with the scopes it sees."""

    node: ir.Lambda
    scopes: tuple[Scope, ...]
    frame: Frame


@evaluates(ir.Lambda)
def evaluate_lambda(ev: Evaluator, node: ir.Lambda) -> Value:
    """Returns a closure over the scopes of the innermost frame."""
    return CallableValue("lambda", Closure(node, tuple(ev.state.frame.scopes), ev.state.frame))


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
    scopes = [*closure.scopes, bound]
    frame = Frame(label, scopes, made_in.this, made_in.record, made_in.place)
    frame.returns_reference = closure.node.returns_reference
    with entered_frame(ev, frame, closure.node.params, operands, node):
        ev.execute(closure.node.body)
    return returned_value(ev, frame, OpaqueType("auto"), node)


def _template_of(node: ir.Lambda) -> tuple[TemplateParameter, ...]:
    return template_parameters(lex(node.template)) if node.template else ()
