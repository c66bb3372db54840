"""Stores on a condition to the place that was just stored: LLVM selects what the first one stores.

nvcc 13.0.88, -O3, sm_90, of `s[t] = x;` and what follows it; four such in an unrolled loop are one
STS.128:

| what follows | SASS |
| --- | --- |
| `if (c) s[t] = y;`, `s[t] += y;`, `s[t]++;`, `if (c) if (d) ..`, c known, `c && d` | one STS |
| two such branches | one STS |
| `if (c) s[t] = in[t];`, `= q[t]`, `y / z`, `sqrtf(y)`, another statement in the way | two STS |
| a load, a store or __syncthreads between, c that loads, `else if`, other types | two STS |
"""

from __future__ import annotations

from smemlint.analysis.simt.codegen.branches.arm_costs import Cost, stays, total
from smemlint.analysis.simt.codegen.branches.branch_shapes import (
    are_equal,
    place_changed,
    statements,
)
from smemlint.analysis.simt.codegen.branches.if_conversion import arm_costs
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.facts import AccessKind
from smemlint.frontend import ir


def is_selected(ev: Evaluator, branch: ir.If) -> bool:
    """Returns whether the store in front of such a branch stores what the branch picks."""
    trace, place = ev.state.trace, place_changed(branch)
    last = trace.items[-1] if trace.items else None
    return (
        isinstance(last, Event)
        and last.kind is AccessKind.STORE
        and last.scope == trace.scope
        and not last.volatile
        and place is not None
        and are_equal(last.node, place)
        and stays(_cost(ev, branch)) is False
    )


def _cost(ev: Evaluator, branch: ir.If) -> Cost:
    """Returns what is computed for all threads: the value, and conditions behind the first one."""
    costs = arm_costs(ev)
    first = costs.of(branch.cond)
    found = [costs.of_condition(branch.cond), Cost(is_block=first.loads > 0, is_open=first.is_open)]
    (node,) = statements(branch.iftrue or branch)
    while isinstance(node, ir.If):
        found += [costs.of(node.cond), costs.of_condition(node.cond)]
        (node,) = statements(node.iftrue or node)
    if isinstance(node, ir.Assignment):
        found.append(costs.of(node.rvalue))
        if node.op != "=":
            one = ir.Constant("int", "1")
            found.append(costs.of(ir.BinaryOp(node.op[:-1], one, node.rvalue)))
    return total(found)
