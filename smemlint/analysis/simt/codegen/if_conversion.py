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
| `n > 5 ? in[t + i] : 0.f` | the loop is unswitched, STS.128 on both ways |
"""

from __future__ import annotations

from collections.abc import Iterable

from smemlint.analysis.simt.domain.ctypes import ArrayType, PointerType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import Space
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

MAX_COST = 4
"""Instructions that are computed on both ways (LLVM's `-two-entry-phi-node-folding-threshold`)."""
_CHEAP = frozenset(["+", "-", "*", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!="])
_SIGNS = frozenset(("-", "+", "~", "!"))
_STEPS = frozenset(("++", "--", "p++", "p--"))
_COSTLY_CALLS = frozenset(
    f"{prefix}{name}{suffix}"
    for name in ("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "pow")
    for prefix, suffix in (("", ""), ("", "f"), ("__", "f"))
) | {"erf", "erff", "__fdividef", "__ldg", "__ldcs", "__ldca", "__ldcg"}


def is_converted(ev: Evaluator, *arms: ir.Node | None) -> bool:
    """Returns whether a branch surely becomes selects: its sides are cheap arithmetic on locals."""
    costs = [_statement_cost(ev, arm) for arm in arms]
    known = [cost for cost in costs if cost is not None]
    return len(known) == len(costs) and sum(known) <= MAX_COST


def stays_a_branch(ev: Evaluator, first: ir.Node, second: ir.Node) -> bool:
    """Returns whether an operand of `?:` surely stays a block: it loads, or calls for long."""
    loads = [_is_load(ev, arm) for arm in (first, second)]
    return not all(loads) and any(_is_costly(ev, arm) for arm in (first, second))


def _statement_cost(ev: Evaluator, node: ir.Node | None) -> int | None:
    """Counts instructions that a statement computes; None where it may do more."""
    match node:
        case None | ir.EmptyStatement() | ir.Using():
            return 0
        case ir.Compound():
            return _total(_statement_cost(ev, item) for item in node.block_items or ())
        case ir.Assignment():
            if not isinstance(node.lvalue, ir.ID) or not _is_local_scalar(ev, node.lvalue.name):
                return None
            return _total((_cost(ev, node.rvalue), int(node.op != "=")))
        case ir.UnaryOp() if node.op in _STEPS:
            is_local = isinstance(node.expr, ir.ID) and _is_local_scalar(ev, node.expr.name)
            return 1 if is_local else None
    return None


def _cost(ev: Evaluator, node: ir.Node) -> int | None:
    """Counts instructions of an expression; None where not plain arithmetic on locals."""
    match node:
        case ir.Constant():
            return 0
        case ir.ID():
            return 0 if _is_local_scalar(ev, node.name) else None
        case ir.StructRef(name=ir.ID(name="threadIdx" | "blockIdx" | "blockDim")):
            return 0
        case ir.BinaryOp() if node.op in _CHEAP:
            return _total((_cost(ev, node.left), _cost(ev, node.right), 1))
        case ir.UnaryOp() if node.op in _SIGNS:
            return _total((_cost(ev, node.expr), 1))
        case ir.Cast():
            return _total((_cost(ev, node.expr), 1))
    return None


def _total(costs: Iterable[int | None]) -> int | None:
    total = 0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def _is_local_scalar(ev: Evaluator, name: str) -> bool:
    found = ev.state.lookup(name)
    if isinstance(found, Variable):
        is_here = found.object.space in (Space.LOCAL, Space.PARAMETER)
        return is_here and not isinstance(found.type, (ArrayType, PointerType))
    return found is not None


def _is_load(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether an expression is one load through a pointer."""
    while isinstance(node, ir.Cast):
        node = node.expr
    if isinstance(node, ir.UnaryOp) and node.op == "*":
        return True
    if not isinstance(node, ir.ArrayRef) or not isinstance(node.name, ir.ID):
        return False
    found = ev.state.lookup(node.name.name)
    return isinstance(found, Variable) and isinstance(found.type, PointerType)


def _is_costly(ev: Evaluator, node: ir.Node) -> bool:
    is_call = isinstance(node, ir.FuncCall) and getattr(node.name, "name", "") in _COSTLY_CALLS
    return is_call or _is_load(ev, node) or any(_is_costly(ev, c) for c in node.children())
