"""Branches of unrolled loops that no iteration decides otherwise: LLVM makes one of all copies.

Nothing may stand between two copies: the loop consists of the branch. nvcc 13.0.88, -O3, sm_90, of
`s[4 * t + i]` in a loop that is unrolled by four, `c` an order of the thread and an argument:

| loop | SASS |
| --- | --- |
| `if (c) s[..] = x;`, `= in[t + 256 * i]`, `if (c) o[..] = s[..];`, two with one `c` | 128 |
| the same behind `if (!c) break;` or `continue`, in a loop of 64, in loops of such | 128 |
| c with `&&`, `min`, a function, loads of what the loop does not store | 128 |
| `float w = in[t + 256 * i]; if (c) s[..] = w;`, `int j = t + 16 * i;` used once, `++p;` | 128 |
| `if (c) r[i] = s[..];`, `if (c) if (d) s[..] = x;` | 128 |
| `if (c) v += s[..];`, `if (c) { v = in[i]; s[..] = v; }`, `++count` in it | 32 |
| an `else` with effects, a second condition, one of `i`, a shuffle in it, a branch in it | 32 |
| `out[i] = x;`, `o += n;`, `w = sinf(x)` outside of it | 32 |
| `float w = in[i]; if (c) s[..] = w * w;`, which nothing sinks | 32 |
| `int j = t + 256 * i; if (c) s[..] = in[j] + j;` | 128, of `j = 4 * t + i` 32 |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from smemlint.analysis.simt.codegen.branches.branch_shapes import are_equal, is_element, statements
from smemlint.analysis.simt.codegen.loaded_values import MATH_FUNCTIONS
from smemlint.analysis.simt.loops.mod_ref import ModRef, root_of
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_COUNTED = (ir.For, ir.While, ir.DoWhile)
_PARTING = (ir.If, ir.Switch, ir.While, ir.DoWhile, ir.RangeFor, ir.Goto, ir.Return)
_OF_WARPS = ("sync", "shfl", "atomic", "clock")
_LOADS = frozenset(("__ldg", "__ldca", "__ldcg", "__ldcs"))
BY_VALUE = MATH_FUNCTIONS | frozenset(("min", "max", "abs"))
"""Functions that change no argument and make another number of another one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A branch that all iterations of loops around it take alike.

    Attributes:
        loops: how many of the innermost ones.
        is_open: what stands beside it may part their copies.
        is_next: it goes on with another branch of its iteration.
    """

    loops: int
    is_open: bool = False
    is_next: bool = False


ModRefs: TypeAlias = Callable[[ir.Node], ModRef | None]
_Verdict: TypeAlias = bool | None
"""Whether it is open that copies become one; None where they surely do not."""


@dataclass(slots=True)
class Iterations:
    """What the loops of a block tell of their branches.

    Attributes:
        kept: the branches.
        bodies: of loops that leave an iteration by a branch, their statements with what follows as
            the way of one.
    """

    kept: dict[ir.Node, Kept] = field(default_factory=dict)
    bodies: dict[ir.Node, tuple[ir.BlockItem, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Body:
    """What a loop consists of: declarations, branches on one condition, or one loop."""

    given: dict[str, ir.Expression | None] = field(default_factory=dict)
    stepped: set[str] = field(default_factory=set)
    branches: list[ir.If] = field(default_factory=list)
    inner: ir.Node | None = None


def branches_of_iterations(block: ir.Compound, mod_ref: ModRefs) -> Iterations:
    """Returns what loops that stand in a block do on conditions that they do not change."""
    found = Iterations()
    for item in block.block_items:
        if isinstance(item, _COUNTED):
            _read_loop(item, mod_ref, found)
    return found


def _read_loop(loop: ir.Node, mod_ref: ModRefs, found: Iterations) -> list[ir.If]:
    """Takes in the branches of a loop; returns those that loops around it may keep, too."""
    assert isinstance(loop, _COUNTED)
    items = _without_jump(loop)
    body = _read_body(items or statements(loop.stmt))
    effects = mod_ref(loop)
    if body is None or effects is None:
        return []
    inner = body.inner
    branches = _read_loop(inner, mod_ref, found) if inner is not None else body.branches
    is_open = _is_open(loop, body, branches, effects, mod_ref) if branches else None
    if is_open is None:
        return []
    for branch in branches:
        inside = found.kept.get(branch, Kept(0, is_next=branch in branches[1:]))
        found.kept[branch] = Kept(inside.loops + 1, is_open or inside.is_open, inside.is_next)
        for nested in _nested(branch.iftrue):
            found.kept[nested] = Kept(0, is_open=True)
    if items:
        found.bodies[loop.stmt] = items
    return branches


def _without_jump(loop: ir.Node) -> tuple[ir.BlockItem, ...]:
    """Returns an iteration that begins with a jump out of it as a branch; else nothing."""
    assert isinstance(loop, _COUNTED)
    can_end = isinstance(loop, ir.For) and loop.cond is not None
    match loop.stmt:
        case ir.Compound(
            block_items=(ir.If(cond=cond, iftrue=ir.Node() as way, iffalse=None) as jump, *rest)
        ) if rest and _jumps(way, can_end):
            goes_on = ir.UnaryOp("!", cond, at=cond.at)
            behind = ir.Compound(tuple(rest), at=jump.at)
            return (ir.If(goes_on, behind, None, at=jump.at),)
    return ()


def _jumps(way: ir.Node, can_end: bool) -> bool:
    """Returns whether a way does nothing but go to the next iteration, or behind a loop that ends.

    On a condition that no iteration changes both leave out what follows in all of them.
    """
    match statements(way):
        case [ir.Continue()]:
            return True
        case [ir.Break()]:
            return can_end
    return False


def _read_body(items: Sequence[ir.Node]) -> _Body | None:
    """Returns the parts of a loop; None where more than them stands in it."""
    body = _Body()
    for item in _flattened(items):
        match item:
            case ir.Decl(storage=(), name=str(name)) if name:
                body.given[name] = item.init
            case ir.UnaryOp(op=op, expr=ir.ID(name=name)) if op in ir.STEPS:
                body.stepped.add(name)
            case ir.Assignment(op="+=" | "-=", lvalue=ir.ID(name=name), rvalue=ir.Constant()):
                body.stepped.add(name)
            case ir.If(iffalse=None, is_constexpr=False):
                body.branches.append(item)
            case ir.For() | ir.While() | ir.DoWhile() if body.inner is None:
                body.inner = item
            case _:
                return None
    return body if bool(body.branches) != (body.inner is not None) else None


def _flattened(items: Sequence[ir.Node]) -> Iterator[ir.Node]:
    for item in items:
        if isinstance(item, ir.Compound):
            yield from _flattened(item.block_items)
        elif isinstance(item, ir.DeclList):
            yield from item.decls
        elif not isinstance(item, ir.EmptyStatement):
            yield item


def _is_open(
    loop: ir.Node, body: _Body, branches: Sequence[ir.If], effects: ModRef, mod_ref: ModRefs
) -> _Verdict:
    """Returns whether it is open that the copies of a loop's branches become one."""
    varying = set(effects.modified) | body.stepped | _declared(loop)
    cond = branches[0].cond
    if any(not are_equal(cond, other.cond) for other in branches[1:]):
        return None
    verdicts = [_is_condition_open(cond, effects)]
    for name, init in body.given.items():
        is_varying = init is None or not varying.isdisjoint(_names(init))
        if is_varying:
            varying.add(name)
            verdicts.append(_is_variable_open(name, init, body, varying))
    if not varying.isdisjoint(_names_outside_calls(cond)):
        return None
    verdicts.append(not varying.isdisjoint(_names(cond)))
    escapes = (e for e in effects.escapes if e.callee not in BY_VALUE)
    passed = {e.name for e in escapes if e.is_lvalue or e.is_address}
    verdicts.append(not passed.isdisjoint(_names(cond)))
    verdicts += (_is_way_open(branch.iftrue, body, varying, mod_ref) for branch in branches)
    return None if None in verdicts else any(verdicts)


def _declared(loop: ir.Node) -> set[str]:
    """Returns the variables that the head of a loop declares."""
    init = loop.init if isinstance(loop, ir.For) else None
    decls = init.decls if isinstance(init, ir.DeclList) else ()
    return {decl.name for decl in decls if isinstance(decl, ir.Decl)}


def _names(node: ir.Node) -> Counter[str]:
    """Returns the variables of an expression or a statement, as often as it names them."""
    parts = list(node.walk())
    fields = {part.field for part in parts if isinstance(part, ir.StructRef)}
    return Counter(part.name for part in parts if isinstance(part, ir.ID) and part not in fields)


def _names_outside_calls(node: ir.Node) -> set[str]:
    """Returns the variables of a condition but those that a call may make nothing of.

    `get<0>(I(n, m, k)) < rows` is the same for all n where a row has them.
    """
    match node:
        case ir.ID(name=name):
            return {name}
        case ir.FuncCall(name=ir.ID(name=callee)) if callee not in BY_VALUE:
            return set()
    return set().union(*map(_names_outside_calls, node.children()))


def _is_condition_open(cond: ir.Node, effects: ModRef) -> _Verdict:
    """Returns whether a condition may be computed anew for each copy; None if it surely is."""
    loads = [part for part in cond.walk() if is_element(part)]
    for part in cond.walk():
        match part:
            case ir.FuncCall(name=ir.ID(name=name)) if name in effects.modified:
                return None
            case ir.FuncCall(name=ir.ID(name=name)) if any(word in name for word in _OF_WARPS):
                return None
            case ir.Assignment() | ir.Assembly() | ir.Lambda():
                return None
            case ir.UnaryOp(op=op) if op in ir.STEPS:
                return None
    if any(root_of(load) in effects.modified for load in loads):
        return None
    return bool(loads) and len(effects.modified) > 1


def _is_variable_open(
    name: str, init: ir.Expression | None, body: _Body, varying: set[str]
) -> _Verdict:
    """Returns whether what an iteration computes may stay outside of the branch that reads it."""
    if init is None:
        return False
    readers = [other for other in body.given.values() if other is not None]
    ways = [branch.iftrue for branch in body.branches if branch.iftrue is not None]
    is_open = sum(_names(each)[name] for each in (*readers, *ways)) > 1
    for part in init.walk():
        match part:
            case ir.FuncCall(name=ir.ID(name=callee)):
                if any(word in callee for word in _OF_WARPS):
                    return None
                is_open |= callee not in _LOADS
            case ir.BinaryOp(op="/" | "%", right=by):
                if not isinstance(by, ir.Constant):
                    return None
                is_open = True
            case ir.BinaryOp(op="*", left=left, right=right):
                factors = (left, right)
                is_open |= not any(isinstance(each, ir.Constant) for each in factors) and any(
                    not varying.isdisjoint(_names(each)) for each in factors
                )
            case ir.TernaryOp():
                is_open = True
    return is_open


def _is_way_open(way: ir.Node | None, body: _Body, varying: set[str], mod_ref: ModRefs) -> _Verdict:
    """Returns whether a way may be more than one block, or give what the next copy takes."""
    effects = mod_ref(way) if way is not None else None
    if way is None or effects is None or effects.rebound - body.given.keys():
        return None
    is_open = False
    for nested in _nested(way):
        way, is_open = nested.iftrue or nested, True
    for part in way.walk():
        match part:
            case (
                ir.Assignment(lvalue=place) | ir.UnaryOp(op="++" | "--" | "p++" | "p--", expr=place)
            ):
                is_open |= _may_be_register(place, effects, body, varying)
            case ir.For(cond=ir.BinaryOp(right=ir.Constant())):
                pass
            case ir.For():
                is_open = True
            case ir.TernaryOp():
                is_open |= any(map(is_element, part.walk()))
            case _ if isinstance(part, _PARTING):
                return None
    return is_open


def _nested(way: ir.Node | None) -> Iterator[ir.If]:
    """Yields the branches in branches that a way consists of."""
    while way is not None:
        match list(_flattened(statements(way))):
            case [ir.If(iffalse=None) as inner]:
                yield inner
                way = inner.iftrue
            case _:
                return


def _may_be_register(place: ir.Node, effects: ModRef, body: _Body, varying: set[str]) -> bool:
    """Returns whether the next copy may take what a way gives a variable."""
    root = root_of(place.name if isinstance(place, ir.FuncCall) else place)
    is_own = root not in effects.modified - body.given.keys()
    if is_own or (isinstance(place, ir.UnaryOp) and place.op == "*"):
        return False
    subscripts = [part.subscript for part in place.walk() if isinstance(part, ir.ArrayRef)]
    subscripts += place.args if isinstance(place, ir.FuncCall) else ()
    return all(varying.isdisjoint(_names(subscript)) for subscript in subscripts)
