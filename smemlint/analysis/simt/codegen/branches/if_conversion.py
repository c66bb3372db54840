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

Loads of the condition are free to its ways, and a constant element of a static shared array is
loaded whatever the condition holds. nvcc 13.5.37, loops of 8 that are unrolled, `v` and `a` arrays:

| branch | SASS |
| --- | --- |
| `if (s[8 * t + i] < x) x = s[8 * t + i];`, `{ ..; k = i; }`, `> 0) x += s[..];` | two LDS.128 |
| `if (v[i] < x) { x = v[i]; k = a[i]; }`, `if (i < n) x += v[i] * a[i];`, as `?:` | four LDS.128 |
| `if (v[i] < x) { x = v[i]; k = a[t + i]; }` | two LDS.128 of v, eight LDS of a |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from smemlint.analysis.simt.codegen.branches.arm_costs import ArmCosts, Name, Names, stays
from smemlint.analysis.simt.codegen.branches.branch_shapes import are_equal, assigned, is_part
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import Pointer, Space, Unknown
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_REGISTERS = (Space.LOCAL, Space.PARAMETER)


def keeps_blocks(ev: Evaluator, cond: ir.Node, *arms: ir.Node | None) -> bool | None:
    """Returns whether statements of a branch stay blocks of their own; None if that is not known.

    Those that are cheap arithmetic on variables become selects.
    """
    costs = _costs_behind(ev, cond, arms)
    known = [costs.of_condition(cond)]
    for arm in arms:
        cost = costs.of_statement(arm)
        if cost is None:
            return True
        known.append(cost)
    return stays(*known)


def stays_a_branch(ev: Evaluator, node: ir.TernaryOp, *, is_statement: bool = False) -> bool | None:
    """Returns whether an operand of `?:` stays a block of its own; None if that is not known.

    Args:
        ev: where the evaluation stands.
        node: the choice.
        is_statement: it is a branch of the source, whose ways load again what its condition loads.
    """
    arms, plain = (node.iftrue, node.iffalse), arm_costs(ev)
    costs = plain if is_statement else _costs_behind(ev, node.cond, arms)
    condition = costs.of_condition(node.cond)
    if _differ_by_address(plain, *arms):
        return stays(condition)  # the address is selected
    return stays(condition, *map(costs.of, arms))


def _costs_behind(ev: Evaluator, cond: ir.Node, arms: Sequence[ir.Node | None]) -> ArmCosts:
    """Returns what counts the costs of arms to which the loads of their condition are free."""

    def is_loaded(place: ir.Node) -> bool:
        if any(are_equal(place, part) for part in _always_loaded(cond)):
            nodes = chain.from_iterable(arm.walk() for arm in arms if arm is not None)
            changed = chain.from_iterable(map(assigned, nodes))
            return ev.state.node_facts.names_in(place).isdisjoint(changed)
        return _is_safe_to_load(ev, place)

    return replace(arm_costs(ev), is_loaded=is_loaded)


def _always_loaded(cond: ir.Node) -> Iterator[ir.Node]:
    """Yields what a condition loads, whatever it holds."""
    match cond:
        case ir.BinaryOp(op="&&" | "||", left=left):
            yield from _always_loaded(left)
        case ir.TernaryOp(cond=first):
            yield from _always_loaded(first)
        case _:
            if is_part(cond):
                yield cond
            for child in cond.children():
                yield from _always_loaded(child)


def _is_safe_to_load(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether a place is one constant element of a static array in shared memory."""
    if not isinstance(node, ir.ArrayRef):
        return False
    with ev.state.dry():
        place = ev.lvalue(node)
    if isinstance(place, Unknown) or place.volatile or place.object.shared is None:
        return False
    offset, last = place.offset, place.object.type.size - place.type.size
    is_within = isinstance(offset.base, int) and 0 <= offset.base <= last
    return is_within and not scev_of(offset).terms and not place.object.shared.is_dynamic


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
