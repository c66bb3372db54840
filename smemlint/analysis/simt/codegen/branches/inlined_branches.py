"""Branches of inlined functions that stay: they part the stores before a call from those behind.

Of `s[4 * t + i] = f(..)` in a loop that is unrolled by four, nvcc 13.0.88, -O3, sm_90:

| what `f` does | SASS |
| --- | --- |
| `return l < n ? p[l] : 0.f;`, also `if (l < n) return p[l]; return 0.f;` | four STS |
| `return x > 20.f ? x : __logf(1.f + __expf(x));`, `return x > 0 ? x : expf(x) - 1;` | four STS |
| `return x > 0 ? x : 0;`, `if (x > 0) return x; return 0.1f * x;` | one STS.128 |
"""

from __future__ import annotations

from smemlint.analysis.simt.codegen.branches.arm_costs import ArmCosts, names_of, stays
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Unit

_LOOPS = (ir.While, ir.DoWhile, ir.RangeFor, ir.Switch, ir.Goto)


def keeps_branch(unit: Unit, function: Function) -> bool | None:
    """Returns whether a function, or one that it calls, has a branch that stays; None: perhaps."""
    known: dict[Function, bool | None] = unit.memory.setdefault("kept branches", {})  # type: ignore[assignment]
    if function not in known:
        known[function] = None  # of one that calls itself
        known[function] = _keeps_branch(unit, function)
    return known[function]


def _keeps_branch(unit: Unit, function: Function) -> bool | None:
    tree = function.parse().tree
    if tree is None:
        return None
    costs = ArmCosts(unit, names_of(function))
    is_open = False
    for node in tree.body.walk():
        found: bool | None = False
        match node:
            case ir.If(is_constexpr=False, iftrue=one, iffalse=other):
                found = stays(costs.of_body(one), costs.of_body(other))
            case ir.TernaryOp(iftrue=one, iffalse=other):
                found = stays(costs.of(one), costs.of(other))
            case ir.BinaryOp(op="&&" | "||", right=right):
                found = stays(costs.of(right))
            case ir.FuncCall(name=ir.ID(name=name)):
                called = [f for f in unit.functions_named(name) if f.record is None]
                answers = {keeps_branch(unit, each) for each in called}
                found = answers.pop() if len(answers) == 1 else None if answers else False
        if found:
            return True
        is_open |= found is None or isinstance(node, _LOOPS)
    return None if is_open else False
