"""Branches that only change variables: those that stay take the loads with them that they read.

Of `float v = s[8 * lane];` and a branch behind it that four threads take, SASS of nvcc 13.0.88,
-O3, sm_90; `q` is another array in shared memory, `r` one in registers:

| branch | threads that load `s` |
| --- | --- |
| `x += v;`, also in a loop that is unrolled; `x = 2 * v;`; `x = v > x ? v : x;` | all |
| `x += v; x *= 2; x += 1; x *= v;` | all |
| twice as much, `x = v * v * v + v * 3 - x * v * 2 + x * x * 7;` | the 4 |
| `r[2] = v * v * 3;`, also with `else r[2] = 0;` | all |
| `x = v;`, `lane < 4 ? v : x`, `r[2] = v;`, `r[i] = v; else r[i] = 0;` | the 4 |
| `x = v; else x = 0;` | all |
| `x += v * q[t];`, `x += v * in[t];`, also where the condition is `n > 4 && lane < 4` | the 4 |
| `x += v; else x -= q[t];`, `x = lane < 4 ? v * q[t] : x;` | the 4 |
| `x = x / v;`, `x = n / v;`, of integers `x += v / 7;` | the 4 |
| `lane < 4 ? sqrtf(v) : 0`, also fabsf, fmaxf, expf, __expf, logf | the 4 |

A load, a division and a call of a math function are nothing that LLVM computes for all threads, nor
is much arithmetic (arm_costs.py). What tells the copies apart is not modelled: who loads is
open there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from smemlint.analysis.simt.codegen.branches.branch_shapes import PLACES, statements
from smemlint.analysis.simt.codegen.loaded_values import MATH_FUNCTIONS, variable_of
from smemlint.analysis.simt.codegen.sinking import is_near, leave_out_loads
from smemlint.analysis.simt.codegen.sunk_loads import Sunk
from smemlint.analysis.simt.domain.ctypes import ArrayType, PointerType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Space
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_MAX_COST = 4
"""Operations that are surely computed for all threads; twice as many surely are not."""
_DIVISIONS = frozenset(("/", "%", "/=", "%="))
_PLACES_OF = frozenset(("*", "&"))
_JUMPS = (ir.Return, ir.Break, ir.Continue, ir.Goto)


def settled(ev: Evaluator, branch: ir.Node) -> list[Sunk]:
    """Returns what sinks at a branch, with what the variables in it tell of it."""
    sunk = ev.state.sunk_at(branch)
    if not sunk:
        return sunk
    found = [_settled(ev, each, branch) for each in sunk]
    return [replace(each, is_open=True) for each in found] if _are_one(ev, found, branch) else found


def _are_one(ev: Evaluator, sunk: Sequence[Sunk], branch: ir.Node) -> bool:
    """Returns whether both ways do the same with loads of their own.

    `if (c) o[t] = v; else o[t] = u;` is one store, of one load at the address that `c` picks.
    """
    if not isinstance(branch, ir.If) or branch.iffalse is None or branch.iftrue is None:
        return False
    going = [each for each in sunk if not each.is_in_front and is_near(ev.state.trace, each)]
    if len({each.way for each in going} & {branch.iftrue, branch.iffalse}) < 2:
        return False
    one, other = (list(map(type, statements(way))) for way in (branch.iftrue, branch.iffalse))
    return one == other


def leave_out_untaken(ev: Evaluator, branch: ir.If | ir.TernaryOp, condition: AffineInt) -> None:
    """Leaves out the loads that only the way reads that a condition never takes."""
    sunk = ev.state.sunk_at(branch)
    if sunk and not scev_of(condition).terms:
        untaken = branch.iffalse if condition.base else branch.iftrue
        leave_out_loads(ev.state.trace, sunk, untaken)


def _settled(ev: Evaluator, sunk: Sunk, branch: ir.Node) -> Sunk:
    if sunk.way is None or sunk.is_open or (sunk.is_in_front and not sunk.unless_kept):
        return sunk
    if sunk.unless_kept:
        stays = _stays(ev, _ways_of(branch) or [sunk.way])
        if stays is False and not _computes(sunk.way) and not _picks_constant(branch):
            stays = None
        return replace(sunk, is_in_front=stays is False, is_open=stays is None)
    is_select = _computes_elements(ev, sunk.way) and _stays(ev, [sunk.way]) is False
    return replace(sunk, is_in_front=True) if is_select else sunk


def _picks_constant(branch: ir.Node) -> bool:
    """Returns whether what a `?:` picks is a constant, which no load makes: a select does."""
    ways = _ways_of(branch) if isinstance(branch, ir.TernaryOp) else ()
    return any(isinstance(way, ir.Constant) for way in ways)


def _ways_of(branch: ir.Node) -> list[ir.Node]:
    match branch:
        case ir.If(iftrue=one, iffalse=other) | ir.TernaryOp(iftrue=one, iffalse=other):
            return [way for way in (one, other) if way is not None]
    return []


def _stays(ev: Evaluator, ways: Iterable[ir.Node]) -> bool | None:
    """Returns whether statements do what is not computed for all threads; None: perhaps."""
    is_open, count = False, 0
    for node in (node for way in ways for node in way.walk()):
        match node:
            case ir.BinaryOp(op=op, right=by) | ir.Assignment(op=op, rvalue=by):
                if op in _DIVISIONS:
                    if not isinstance(by, ir.Constant):
                        return True
                    is_open = True
                count += isinstance(node, ir.BinaryOp) or op != "="
            case ir.FuncCall(name=ir.ID(name=name)):
                if name in MATH_FUNCTIONS:
                    return True
                is_open = True
            case ir.ArrayRef() | ir.UnaryOp(op="*") | ir.StructRef(type="->"):
                is_memory = _is_memory(ev, node)
                if is_memory:
                    return True
                is_open |= is_memory is None
    if count > 2 * _MAX_COST:
        return True
    return None if is_open or count > _MAX_COST else False


def _computes(way: ir.Node) -> bool:
    """Returns whether statements do more than to copy."""
    return any(
        isinstance(node, ir.BinaryOp | ir.FuncCall | ir.TernaryOp)
        or (isinstance(node, ir.Assignment) and node.op != "=")
        or (isinstance(node, ir.UnaryOp) and node.op not in _PLACES_OF)
        for node in way.walk()
    )


def _is_memory(ev: Evaluator, place: ir.Node) -> bool | None:
    """Returns whether a place is one outside of registers; None where that is not known."""
    name = variable_of(place.expr if isinstance(place, ir.UnaryOp) else place)
    found = ev.state.lookup(name) if name else None
    if not isinstance(found, Variable):
        return None
    value = found.object.cells.get(0)
    if isinstance(found.type, PointerType):
        return value.object.space is not Space.LOCAL if isinstance(value, Pointer) else True
    return found.object.space is not Space.LOCAL if isinstance(found.type, ArrayType) else None


def _computes_elements(ev: Evaluator, way: ir.Node) -> bool:
    """Returns whether all that statements do is to compute what elements of arrays become.

    A function that takes a pointer to them keeps its branch: it is simplified before it is inlined.
    """
    is_computed = False
    for node in way.walk():
        if isinstance(node, (ir.FuncCall, *_JUMPS)):
            return False
        if isinstance(node, ir.Assignment) and isinstance(node.lvalue, PLACES):
            place = node.lvalue.expr if isinstance(node.lvalue, ir.UnaryOp) else node.lvalue
            found = ev.state.lookup(variable_of(place))
            is_pointer = isinstance(found, Variable) and isinstance(found.type, PointerType)
            if is_pointer and ev.state.frame.call is not None:
                return False
            is_computed |= node.op != "=" or isinstance(node.rvalue, ir.BinaryOp)
    return is_computed
