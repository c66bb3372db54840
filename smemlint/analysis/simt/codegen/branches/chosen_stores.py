"""Stores to one place on both ways of a branch: LLVM makes one store of the value that is chosen.

Stores of `if (c) s[4 * t + i] = A; else s[4 * t + i] = B;` in a loop that is unrolled by four, and
without a loop, nvcc 13.0.88, -O3, sm_90:

| A, B | SASS |
| --- | --- |
| `x`, `0.f` | one STS.128; one STS behind the branch |
| `p[i]`, `q[i]` of global memory | the address is chosen, one STS behind the branch |
| `p[i]`, `0.f` | four STS; two STS, one on each way |

On a way of another branch, as in `else if`, each way keeps its store, whatever it stores.
"""

from __future__ import annotations

from smemlint.analysis.simt.codegen.branches.branch_shapes import PLACES, are_equal
from smemlint.analysis.simt.codegen.branches.if_conversion import stays_a_branch
from smemlint.analysis.simt.codegen.sunk_loads import is_near
from smemlint.analysis.simt.domain.ctypes import PointerType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import Pointer
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.shared_functions import leads_to_shared
from smemlint.frontend import ir


def chosen_store(ev: Evaluator, branch: ir.If) -> ir.Assignment | None:
    """Returns the store that a branch becomes; None where it stays a branch, or stores more."""
    known = ev.state.node_facts.chosen_stores
    if branch not in known:
        known[branch] = _as_choice(branch)
    store = known[branch]
    return store if store is not None and _is_chosen(ev, branch, store) else None


def _is_chosen(ev: Evaluator, branch: ir.If, store: ir.Assignment) -> bool:
    assert isinstance(store.rvalue, ir.TernaryOp)
    return (
        ev.policy.tracks_scev
        and not ev.state.trace.scope
        and leads_to_shared(ev, store.lvalue)
        and not _is_volatile(ev, store.lvalue)
        and not any(is_near(ev.state.trace, each) for each in ev.state.sunk_at(branch))
        and stays_a_branch(ev, store.rvalue) is False
    )


def _as_choice(branch: ir.If) -> ir.Assignment | None:
    """Returns an assignment of what the ways of a branch assign; None if they do anything else."""
    one, other = _only(branch.iftrue), _only(branch.iffalse)
    if branch.is_constexpr or one is None or other is None:
        return None
    if not isinstance(one.lvalue, PLACES) or not are_equal(one.lvalue, other.lvalue):
        return None
    value = ir.TernaryOp(branch.cond, one.rvalue, other.rvalue, at=branch.at)
    return ir.Assignment("=", one.lvalue, value, at=one.at)


def _only(way: ir.Node | None) -> ir.Assignment | None:
    """Returns the assignment that a way of a branch consists of."""
    match way:
        case ir.Compound(block_items=(only,)):
            return _only(only)
        case ir.Assignment(op="="):
            return way
    return None


def _is_volatile(ev: Evaluator, place: ir.Node) -> bool:
    while not isinstance(place, ir.ID):
        below = place.children()
        if not below:
            return False
        place = below[0]
    found = ev.state.lookup(place.name)
    if not isinstance(found, Variable):
        return False
    value = found.object.cells.get(0)
    is_pointer = isinstance(found.type, PointerType) and found.type.is_volatile
    points = isinstance(value, Pointer) and value.is_volatile
    return found.object.is_volatile or is_pointer or points
