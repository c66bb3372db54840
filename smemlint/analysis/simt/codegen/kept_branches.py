"""Branches that only change variables: those that stay take the loads with them that they read.

Of `float v = s[8 * lane];` and a branch behind it that four threads take, SASS of nvcc 13.0.88,
-O3, sm_90; `q` is another array in shared memory, `r` one in registers:

| branch | threads that load `s` |
| --- | --- |
| `x += v;`, also in a loop that is unrolled | all |
| `r[2] = v * v * 3; else r[2] = 0;` | all |
| `r[2] = v;`, `r[i] = v; else r[i] = 0;` | the 4 |
| `x += v * q[t];`, `x += v * in[t];`, also where the condition is `n > 4 && lane < 4` | the 4 |
| `x = x / v;`, `x += v * q[t]; x *= q[t + 1]; x = x / v;` | the 4 |

A load and a division are nothing that LLVM computes for all threads.
"""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.codegen.branch_shapes import PLACES
from smemlint.analysis.simt.codegen.loaded_values import variable_of
from smemlint.analysis.simt.codegen.sunk_loads import Sunk
from smemlint.analysis.simt.domain.ctypes import ArrayType, PointerType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import Pointer, Space
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_DIVISIONS = frozenset(("/", "%", "/=", "%="))
_JUMPS = (ir.Return, ir.Break, ir.Continue, ir.Goto)


def settled(ev: Evaluator, branch: ir.Node) -> list[Sunk]:
    """Returns what sinks at a branch, with what the variables in it tell of it."""
    return [_settled(ev, each) for each in ev.state.node_facts.sunk.get(branch, ())]


def _settled(ev: Evaluator, sunk: Sunk) -> Sunk:
    if sunk.way is None or sunk.is_open or (sunk.is_in_front and not sunk.unless_kept):
        return sunk
    stays = _stays(ev, sunk.way)
    if sunk.unless_kept:
        return replace(sunk, is_in_front=stays is False, is_open=stays is None)
    is_select = stays is False and _computes_elements(sunk.way)
    return replace(sunk, is_in_front=True) if is_select else sunk


def _stays(ev: Evaluator, way: ir.Node) -> bool | None:
    """Returns whether statements access memory or divide; None where that is not known."""
    is_open = False
    for node in way.walk():
        match node:
            case ir.BinaryOp(op=op, right=by) | ir.Assignment(op=op, rvalue=by):
                if op in _DIVISIONS and not isinstance(by, ir.Constant):
                    return True
            case ir.ArrayRef() | ir.UnaryOp(op="*") | ir.StructRef(type="->"):
                is_memory = _is_memory(ev, node)
                if is_memory:
                    return True
                is_open |= is_memory is None
    return None if is_open else False


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


def _computes_elements(way: ir.Node) -> bool:
    """Returns whether all that statements do is to compute what elements of arrays become."""
    is_computed = False
    for node in way.walk():
        if isinstance(node, (ir.FuncCall, *_JUMPS)):
            return False
        if isinstance(node, ir.Assignment) and isinstance(node.lvalue, PLACES):
            is_computed |= node.op != "=" or isinstance(node.rvalue, ir.BinaryOp)
    return is_computed
