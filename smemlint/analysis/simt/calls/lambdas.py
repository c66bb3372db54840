"""Lambdas: closures that see the frame that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.calls.inlining import (
    MAX_DEPTH,
    MAX_RECURSION,
    entered_frame,
    returned_value,
)
from smemlint.analysis.simt.calls.operands import arguments_of, operand_of
from smemlint.analysis.simt.domain.ctypes import (
    OpaqueType,
)
from smemlint.analysis.simt.domain.values import (
    CallableValue,
    Unknown,
    Value,
)
from smemlint.analysis.simt.state import Frame
from smemlint.frontend import ir

if TYPE_CHECKING:
    from smemlint.analysis.simt.domain.environment import Scope
    from smemlint.analysis.simt.evaluator import Evaluator


class Lambda:
    """A lambda's parameters and body, with the scopes it sees."""

    __slots__ = ("body", "count", "frame", "scopes")

    def __init__(
        self, count: int, body: ir.Compound, scopes: tuple[Scope, ...], frame: Frame
    ) -> None:
        self.count = count
        self.body = body
        self.scopes = scopes
        self.frame = frame


def make_lambda(ev: Evaluator, node: ir.FuncCall) -> Value:
    """Returns a closure over the scopes of the innermost frame."""
    items = arguments_of(node)
    count = 0
    body = items[-1] if items else None
    if len(items) == 2 and isinstance(items[0], ir.Constant):
        count = int(items[0].value, 0)
    if not isinstance(body, ir.StatementExpression):
        return Unknown("a lambda that could not be parsed")
    return CallableValue(
        "lambda", Lambda(count, body.body, tuple(ev.state.frame.scopes), ev.state.frame)
    )


def call_lambda(ev: Evaluator, made: Lambda, node: ir.FuncCall) -> Value:
    """Executes the body of a lambda, and returns its value."""
    operands = [operand_of(ev, a) for a in arguments_of(node)]
    items = made.body.block_items
    params = tuple(item for item in items[: made.count] if isinstance(item, ir.Decl))
    label = f"lambda:{node.at}"
    names = [f.name for f in ev.state.frames]
    if names.count(label) >= MAX_RECURSION or len(names) > MAX_DEPTH:
        return ev.state.note_unfollowed(node, "a lambda calls itself too deeply")
    frame = Frame(
        label,
        [*made.scopes, {}],
        made.frame.this,
        made.frame.record,
    )
    with entered_frame(ev, frame, params, operands, node):
        ev.execute(ir.Compound(items[made.count :], at=made.body.at))
    return returned_value(ev, frame, OpaqueType("auto"), node)
