"""Executes a function's body for all threads of a block at once: dispatch by node type."""

from __future__ import annotations

from smemlint.analysis.simt.budget import Budget
from smemlint.analysis.simt.calls import calls
from smemlint.analysis.simt.dispatch import EXPRESSIONS, LVALUES, STATEMENTS
from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.environment import Geometry, LValue
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import Unknown, Value
from smemlint.analysis.simt.evaluator import Policy, TypeResolver
from smemlint.analysis.simt.interpreter import (
    assignments,
    bindings,
    conditional,
    conversions,
    declarations,
    elements,
    expressions,
    jumps,
    lvalues,
    names,
    operators,
    pack_expansions,
    requires_expressions,
    statements,
    unfollowed,
)
from smemlint.analysis.simt.interpreter.lvalues import lvalue_of_value
from smemlint.analysis.simt.loops.modified import may_skip
from smemlint.analysis.simt.state import State
from smemlint.analysis.simt.types.cache import Resolution
from smemlint.analysis.simt.types.resolve import Resolver
from smemlint.frontend import ir
from smemlint.frontend.program import Unit
from smemlint.limits.steps import spend
from smemlint.reasons import ReasonCode

HANDLERS = (
    assignments, bindings, calls, conditional, conversions, declarations, elements, expressions,
    jumps, lvalues, names, operators, pack_expansions, requires_expressions, statements, unfollowed,
)  # fmt: skip
"""The modules whose functions handle nodes; they register when they are imported.

Loops, branches and switches are loaded when the first of them is met (`dispatch.py`).
"""


class Interpreter:
    """Executes statements and evaluates expressions; see `evaluator.Evaluator`."""

    def __init__(
        self,
        unit: Unit,
        geometry: Geometry,
        trace: Trace,
        policy: Policy | None = None,
        *,
        domain: AffineDomain | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.state = State(
            unit=unit,
            geometry=geometry,
            trace=trace,
            domain=domain if domain is not None else AffineDomain(),
            budget=budget if budget is not None else Budget(),
            resolution=Resolution(),
            mask=geometry.exists,
        )
        self.policy = policy if policy is not None else Policy()
        self.types.enter(unit)

    @property
    def types(self) -> TypeResolver:
        """What resolves types; made anew, as one kept would hold what an evaluation leaves."""
        return Resolver(self)

    def evaluate(self, node: ir.Node) -> Value:
        """Returns the value of an expression; side effects happen for the active threads."""
        spend()
        handler = EXPRESSIONS.get(node.__class__)
        if handler is None:
            return Unknown.because(
                ReasonCode.NOT_MODELLED, f"a {node.__class__.__name__} is not evaluated"
            )
        return handler(self, node)

    def lvalue(self, node: ir.Node) -> LValue | Unknown:
        """Returns what an expression names in memory; `Unknown` where that is not followed."""
        handler = LVALUES.get(node.__class__, lvalue_of_value)
        return handler(self, node)

    def execute(self, node: ir.Node | None) -> None:
        """Executes a statement for the active threads."""
        state = self.state
        if node is None or not state.is_any_active():
            return
        if state.trace.is_muted and may_skip(self, node):
            return
        state.step()
        self.policy.on_step(self)
        handler = STATEMENTS.get(node.__class__)
        if handler is not None:
            handler(self, node)
        else:
            self.evaluate(node)
