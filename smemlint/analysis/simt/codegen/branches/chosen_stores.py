"""Stores to one place on both ways of a branch: LLVM makes one store of the value that is chosen.

Stores of `if (c) s[4 * t + i] = A; else s[4 * t + i] = B;` in a loop that is unrolled by four, and
without a loop, nvcc 13.0.88, -O3, sm_90:

| A, B | SASS |
| --- | --- |
| `x`, `0.f` | one STS.128; one STS behind the branch |
| `p[i]`, `q[i]` of global memory | the address is chosen, one STS behind the branch |
| `p[i]`, `0.f` | four STS; two STS, one on each way |

Of ways that end with several such, the last ones are, as far as nothing is computed between them:
of `s[4 * t] = A; s[4 * t + 1] = 1;` and the same of B and 2 one STS.64, and of `= 1`, `= 2` with
`x * y`, `x + y` behind them an STS on each way and an STS behind the branch (nvcc 13.5.37).

A load and a constant are one store, too, where the address is no part of the ways: LLVM merges
stores through one pointer. Of such with a barrier behind the branch, in a loop that runs n times
(nvcc 13.5.37, numba-cuda 0.30.4; an iteration of the four that it is unrolled to):

| place | STS an iteration |
| --- | --- |
| `s[t]`, `s[p + 5]`, `w[threadIdx.y][t]`, `*r`; `*r` outside of loops | one |
| `s[t + i]`, of the counter i; `int p = t + i; s[p]` | two |
| the same in a branch that ends the body of `for`; of Numba's `range` | one; two |
| `s[t]`, `r[4]`, `int p = 3 * t; s[p]` outside of loops | two |

On a way of another branch, as in `else if`, each way keeps its store, whatever it stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.analysis.simt.codegen.branches.branch_shapes import (
    PLACES,
    are_equal,
    is_element,
    statements,
)
from smemlint.analysis.simt.codegen.branches.if_conversion import stays_a_branch
from smemlint.analysis.simt.codegen.sinking import is_near
from smemlint.analysis.simt.domain.ctypes import PointerType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import Pointer
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.shared_functions import leads_to_shared
from smemlint.frontend import ir


def chosen_stores(ev: Evaluator, branch: ir.If) -> Sequence[ir.BlockItem]:
    """Returns what a branch with stores becomes; nothing where it stays as it is."""
    known = ev.state.node_facts.chosen_stores
    if branch not in known:
        known[branch] = list(_choices(branch))
    is_free = ev.policy.tracks_scev and not ev.state.trace.scope
    if not known[branch] or not is_free:
        return ()
    if any(is_near(ev.state.trace, each) for each in ev.state.sunk_at(branch)):
        return ()
    chosen: Sequence[ir.BlockItem] = ()
    for store, instead in known[branch]:
        if not _is_chosen(ev, branch, store) or (
            len(instead) > 1 and not _is_plain(ev, branch.cond)
        ):
            break
        chosen = instead
    return chosen


def _is_chosen(ev: Evaluator, branch: ir.If, store: ir.Assignment) -> bool:
    assert isinstance(store.rvalue, ir.TernaryOp)
    return (
        leads_to_shared(ev, store.lvalue)
        and not _is_volatile(ev, store.lvalue)
        and (
            stays_a_branch(ev, store.rvalue, is_statement=True) is False
            or _has_address(ev, branch, store.lvalue)
        )
    )


def _has_address(ev: Evaluator, branch: ir.If, place: ir.Node) -> bool:
    """Returns whether both ways of a branch store through one pointer, whatever they compute."""
    match place:
        case ir.UnaryOp(op="*", expr=ir.ID(name=name)):
            found = ev.state.lookup(name)
            return isinstance(found, Variable) and isinstance(found.type, PointerType)
    facts = ev.state.node_facts
    loop = facts.loops_around.get(branch)
    if loop is None or isinstance(loop, ir.DoWhile):
        return False
    if isinstance(loop, ir.For) and not loop.tests_indices and statements(loop.stmt)[-1] is branch:
        return True
    changed = facts.mod_ref(loop)
    root, indices = _parts(place)
    names = frozenset[str]().union(*map(facts.names_in, indices))
    is_loaded = any(is_element(node) for index in indices for node in index.walk())
    if changed is None or is_loaded or not root:
        return False
    own = {each.name for each in loop.walk() if isinstance(each, ir.Decl)}
    given = {each.name for each in changed.escapes if each.is_lvalue or each.is_address}
    return not names & (own | given | changed.modified) and root not in own | changed.rebound


def _parts(place: ir.Node) -> tuple[str, list[ir.Node]]:
    """Returns the variable that an element belongs to, and its indices."""
    indices: list[ir.Node] = []
    while isinstance(place, ir.ArrayRef):
        indices.append(place.subscript)
        place = place.name
    return (place.name if isinstance(place, ir.ID) else ""), indices


def _choices(branch: ir.If) -> Iterator[tuple[ir.Assignment, Sequence[ir.BlockItem]]]:
    """Yields the stores that both ways end with, last first, and the branch with them behind it."""
    if branch.is_constexpr or branch.iftrue is None or branch.iffalse is None:
        return
    ways = [_items(way) for way in (branch.iftrue, branch.iffalse)]
    behind: tuple[ir.Assignment, ...] = ()
    after: list[ir.Expression] = []
    for pair in zip(*map(reversed, ways), strict=False):
        stores = [each for each in pair if isinstance(each, ir.Assignment) and each.op == "="]
        if len(stores) < len(ways) or not are_equal(stores[0].lvalue, stores[1].lvalue):
            return
        values = [store.rvalue for store in stores]
        if not isinstance(stores[0].lvalue, PLACES) or not all(map(_is_at_hand, after, values)):
            return
        after = values
        value = ir.TernaryOp(branch.cond, values[0], values[1], at=branch.at)
        behind = (ir.Assignment("=", stores[0].lvalue, value, at=stores[0].at), *behind)
        left = [ir.Compound(way[: -len(behind)]) for way in ways]
        rest = ir.If(branch.cond, left[0], left[1], at=branch.at)
        yield behind[0], (rest, *behind) if any(way.block_items for way in left) else behind


def _is_at_hand(value: ir.Node, before: ir.Node) -> bool:
    """Returns whether nothing computes a value between its store and the one before it."""
    return isinstance(value, ir.ID | ir.Constant) or are_equal(value, before)


def _items(way: ir.BlockItem) -> tuple[ir.BlockItem, ...]:
    return way.block_items if isinstance(way, ir.Compound) else (way,)


def _is_plain(ev: Evaluator, cond: ir.Node) -> bool:
    """Returns whether a condition may be evaluated again: it changes nothing, nor loads a word."""
    return not any(
        isinstance(node, ir.FuncCall | ir.Assignment | ir.Lambda)
        or (isinstance(node, ir.UnaryOp) and node.op in ir.STEPS)
        or (isinstance(node, PLACES) and leads_to_shared(ev, node))
        for node in cond.walk()
    )


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
