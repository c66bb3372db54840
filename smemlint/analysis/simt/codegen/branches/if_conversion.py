"""Branches that LLVM converts into selects, and those that it never does.

A store of a value that a branch computes stands in a block of its own, and stores of different
blocks are not fused. nvcc 13.0.88, -O3, sm_90, four stores in an unrolled loop:

| what is stored | SASS |
| --- | --- |
| `t + i < n ? v[i] * 2.f : 1.f` | FSEL, one STS.128 |
| `if (t + i < n) w = w * 3.f + 1.f;` before the store | FSEL, one STS.128 |
| `t + i < n ? in[t + i] : 0.f`, also with `__ldg` | predicated LDG, four STS |
| `t + i < n ? expf(v[i]) : 1.f` | four STS |
| `t + i < n ? in[t + i] : other[t + i]` | the address is selected, one STS.128 |
| `n > 5 ? in[t + i] : 0.f`, also as an `if` | the loop is unswitched, STS.128 on both ways |
| `n > i ? in[t + i] : 0.f` | four STS |
"""

from __future__ import annotations

from smemlint.analysis.simt.codegen.branches.arm_costs import ArmCosts, Name, Names, stays
from smemlint.analysis.simt.codegen.branches.branch_shapes import are_equal, is_part
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import Pointer, Space
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_REGISTERS = (Space.LOCAL, Space.PARAMETER)


def keeps_blocks(ev: Evaluator, cond: ir.Node, *arms: ir.Node | None) -> bool | None:
    """Returns whether statements of a branch stay blocks of their own; None if that is not known.

    Those that are cheap arithmetic on variables become selects.
    """
    costs = arm_costs(ev)
    known = [costs.of_condition(cond)]
    for arm in arms:
        cost = costs.of_statement(arm)
        if cost is None:
            return True
        known.append(cost)
    return stays(*known)


def stays_a_branch(ev: Evaluator, node: ir.TernaryOp) -> bool | None:
    """Returns whether an operand of `?:` stays a block of its own; None if that is not known."""
    costs = arm_costs(ev)
    condition = costs.of_condition(node.cond)
    if _differ_by_address(costs, node.iftrue, node.iffalse):
        return stays(condition)  # the address is selected
    return stays(condition, *map(costs.of, (node.iftrue, node.iffalse)))


def _differ_by_address(costs: ArmCosts, one: ir.Node, other: ir.Node) -> bool:
    """Returns whether two expressions make the same of a load each."""
    match one, other:
        case ir.Cast(expr=first), ir.Cast(expr=second):
            return _differ_by_address(costs, first, second)
        case ir.BinaryOp(op=op), ir.BinaryOp() if op == other.op:
            pairs = ((one.left, other.left), (one.right, other.right))
            apart = [pair for pair in pairs if not are_equal(*pair)]
            return len(apart) == 1 and _differ_by_address(costs, *apart[0])
    loads = [costs.of(each) for each in (one, other) if is_part(each)]
    return len(loads) > 1 and all(load.loads == 1 and not load.is_open for load in loads)


def arm_costs(ev: Evaluator) -> ArmCosts:
    """Returns what counts the costs of arms where the evaluation stands."""
    return ArmCosts(ev.state.unit, _names(ev))


def _names(ev: Evaluator) -> Names:
    """Returns what names mean where the evaluation stands."""
    frame = ev.state.frame

    def names(name: str) -> Name | None:
        found = ev.state.lookup(name)
        if isinstance(found, Variable):
            value = found.object.cells.get(0)
            is_memory = found.object.space not in _REGISTERS
            points_to = value.object.space if isinstance(value, Pointer) else None
            return Name(found.type, is_memory, points_to not in _REGISTERS)
        record = frame.this.target if frame.this is not None else None
        member = record.member(name) if isinstance(record, RecordType) else None
        if member is None or frame.this is None:
            return None
        return Name(member.type, frame.this.object.space not in _REGISTERS)

    return names
