"""What the text of a loop tells of how it counts and how it is left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from smemlint.analysis.simt.codegen.unroll import MOST_OF_A_TRIANGLE, MOST_OF_REGISTERS
from smemlint.analysis.simt.domain.ctypes import ArrayType, IntType
from smemlint.analysis.simt.domain.environment import Mask, Variable, content_of
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.masking import number_of
from smemlint.analysis.simt.domain.values import AffineInt, Space, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_arguments import value_argument
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_FACTOR = re.compile(r"\s*unroll\s*(\S.*)")


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """What a cell holds at the head of a block of iterations: its name in sums, and for whom."""

    atom: str
    number: AffineInt
    threads: Mask


@dataclass(frozen=True, slots=True, eq=False)
class LoopParts:
    """The parts of a loop; `first`: the body is executed before the condition."""

    node: ir.Loop
    cond: ir.Expression | None
    step: ir.Expression | None
    body: ir.BlockItem
    first: bool = False


def pragma_of(ev: Evaluator, node: ir.Loop) -> str:
    """Returns the `#pragma` before a loop, with the number that `N` of `unroll N` stands for."""
    asked = _FACTOR.fullmatch(node.pragma)
    if asked is None or asked[1].isdecimal():
        return node.pragma
    with ev.state.trace.muted():
        factor = number_of(value_argument(ev, asked[1]))
    return f"unroll {factor.constant}" if factor is not None and factor.constant else node.pragma


@lru_cache(1024)
def with_pragma(node: ir.Loop, pragma: str) -> ir.Loop:
    """Returns a loop behind another `#pragma`, one and the same whenever it is asked for."""
    return node if pragma == node.pragma else replace(node, pragma=pragma)


def tests_indices(node: ir.Node) -> bool:
    """Returns whether the program tests the indices in a loop: see `ir.For`."""
    return isinstance(node, ir.For) and node.tests_indices


def may_be_left(body: ir.Node) -> bool:
    """Returns whether control may come from a loop's body to behind the loop."""
    match body:
        case ir.Break() | ir.Goto() | ir.Unparsed():
            return True
        case ir.Lambda():
            return False
        case ir.For() | ir.RangeFor() | ir.While() | ir.DoWhile() | ir.Switch():
            return any(map(_jumps_anywhere, body.children()))
    return any(map(may_be_left, body.children()))


def _jumps_anywhere(node: ir.Node) -> bool:
    """Returns whether a statement jumps to a label, or could not be parsed."""
    return isinstance(node, ir.Goto | ir.Unparsed) or any(map(_jumps_anywhere, node.children()))


def is_geometric(step: ir.Node | None) -> bool:
    """Returns whether the counter halves, say, or is loaded: no division gives the trip count."""
    if not isinstance(step, ir.Assignment):
        return False
    if step.op in ("<<=", ">>=", "*=", "/="):
        return True
    value = step.rvalue if step.op == "=" else None
    if isinstance(value, ir.ArrayRef | ir.StructRef):
        return True
    return isinstance(value, ir.BinaryOp) and value.op in ("<<", ">>", "*", "/")


def step_of(node: ir.Node, step: ir.Node | None) -> ir.Expression | None:
    """Returns the step of a loop, which the body of a `while` or `do` may end with."""
    if isinstance(step, ir.Expression):
        return step
    match node:
        case (
            ir.While(stmt=ir.Compound(block_items=(*_, last)) as body)
            | ir.DoWhile(stmt=ir.Compound(block_items=(*_, last)) as body)
        ) if isinstance(last, ir.Assignment | ir.UnaryOp):
            is_passed = any(isinstance(part, ir.Continue) for part in body.walk())
            return None if is_passed else last
    return None


def is_countable(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether the compiler could compute in front of a loop how often it runs."""
    return not is_uncountable(parts) and not _may_wrap(ev, parts)


def is_uncountable(parts: LoopParts) -> bool:
    """Returns whether no sum of constants brings a loop to its end."""
    cond = parts.cond
    match advance := step_of(parts.node, parts.step):
        case ir.Assignment(lvalue=ir.ID(name=name)) | ir.UnaryOp(expr=ir.ID(name=name)):
            if cond is not None and not _names(cond, name):
                return False
            return is_geometric(advance) or (cond is not None and not _is_even(cond, name))
    return False


def _names(part: ir.Node, name: str) -> bool:
    return any(isinstance(inner, ir.ID) and inner.name == name for inner in part.walk())


_EVEN = frozenset(("+", "-", "&&", "<", "<=", ">", ">=", "==", "!="))


def _is_even(part: ir.Node, counter: str) -> bool:
    """Returns whether a counter stands in a condition in sums and multiples only.

    Copies of `for (u = 0; C; u++)` are made for C = `u < n`, `3 * u + 1 < n`, `u << 2 < n`,
    `u < n && u < k` and `n - u > 0`, not for `1 << u < n`, `n >> u`, `u * u < n`, `u * k < n`,
    `u / 2 < n`, `u & 63`, `u ^ 1 < n` and `u < g[u]` (nvcc 13.5.37, sm_90).
    """
    match part:
        case ir.ID():
            return True
        case ir.BinaryOp(op="*", left=ir.Constant(), right=factor):
            return _is_even(factor, counter)
        case ir.BinaryOp(op="*" | "<<", left=factor, right=ir.Constant()):
            return _is_even(factor, counter)
        case ir.BinaryOp(op=op) if op in _EVEN:
            return _is_even(part.left, counter) and _is_even(part.right, counter)
        case ir.UnaryOp(op="-" | "+" | "!") | ir.Cast():
            return _is_even(part.expr, counter)
    return not _names(part, counter)


def _may_wrap(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether an unsigned counter may step over its end: no division gives the trip count.

    Of `for (unsigned i = t; i < 640; i += 128)` each iteration stays one of a loop.
    """
    match step_of(parts.node, parts.step):
        case ir.Assignment("+=" | "-=", ir.ID(name=name), ir.Constant(value=by)) if by != "1":
            counter = ev.state.lookup(name)
            is_tested = parts.cond is None or _names(parts.cond, name)
            ctype = counter.type if isinstance(counter, Variable) else None
            return is_tested and isinstance(ctype, IntType) and not ctype.signed
    return False


def counter_of(node: ir.Node) -> str:
    """Returns the name of the variable that a loop declares or sets first; empty without one."""
    if isinstance(node, ir.RangeFor):
        return node.decl.name
    init = node.init if isinstance(node, ir.For) else None
    if isinstance(init, ir.DeclList) and init.decls and isinstance(init.decls[0], ir.Decl):
        return init.decls[0].name
    if isinstance(init, ir.Assignment) and isinstance(init.lvalue, ir.ID):
        return init.lvalue.name
    return ""


def numbers_tested(ev: Evaluator, cond: ir.Node | None) -> list[AffineInt]:
    """Returns what the variables in a condition hold; nothing of one that reads other memory."""
    names = ev.state.node_facts.told(_variables_tested, cond) if cond is not None else ()
    bindings = [ev.state.lookup(name) for name in names]
    values = [content_of(b) if isinstance(b, Variable) else b for b in bindings if b is not None]
    numbers = [value for value in values if isinstance(value, AffineInt)]
    return numbers if len(numbers) == len(values) else []


def _variables_tested(cond: ir.Node) -> list[str]:
    """Returns the names in a condition; of one that reads other memory, none."""
    parts = list(cond.walk())
    if not all(isinstance(part, ir.ID | ir.Constant | ir.BinaryOp) for part in parts):
        return []
    return [part.name for part in parts if isinstance(part, ir.ID)]


def begin_of(ev: Evaluator, parts: LoopParts) -> AffineInt | None:
    """Returns what the counter of a loop that is about to run holds."""
    match step_of(parts.node, parts.step):
        case ir.Assignment(lvalue=ir.ID(name=name)) | ir.UnaryOp(expr=ir.ID(name=name)):
            return number_of(content_of(ev.state.lookup(name)))
    return None


def is_constant(value: Value | None) -> bool:
    """Returns whether the compiler knows an integer."""
    return isinstance(value, AffineInt) and not scev_of(value).terms


def atoms_of(cells: Iterable[Iterable[Head]]) -> frozenset[str]:
    """Returns the names that sums have for what cells hold."""
    return frozenset(head.atom for heads in cells for head in heads)


def are_leaps(heads: Sequence[Head]) -> bool:
    """Returns whether blocks of iterations are known to add different numbers to a cell."""
    return any(map(_is_leap, heads, heads[1:], heads[2:]))


def _is_leap(first: Head, second: Head, third: Head) -> bool:
    numbers = [head.number for head in (first, second, third)]
    tables = [{"": number.base, **{s.key: by for s, by in number.terms}} for number in numbers]
    for symbol in dict.fromkeys(key for table in tables for key in table):
        a, b, c = (np.asarray(table.get(symbol, 0)) for table in tables)
        if (third.threads & ((b - a) != (c - b))).any():
            return True
    return False


def most_of_triangle(ev: Evaluator, parts: LoopParts) -> int | None:
    """Returns how many iterations are unrolled of a loop whose counter an inner one hangs on."""
    if parts.node.pragma or not _is_triangle(ev, parts):
        return None
    return MOST_OF_REGISTERS if _holds_registers(ev, parts.body) else MOST_OF_A_TRIANGLE


def is_open_triangle(ev: Evaluator, parts: LoopParts, trips: int) -> bool:
    """Returns whether so many iterations of such a loop may be unrolled or not."""
    most = most_of_triangle(ev, parts)
    return most is not None and most < trips <= 2 * most


def _holds_registers(ev: Evaluator, body: ir.Node) -> bool:
    """Returns whether an array of a thread's own is indexed, which unrolling makes registers of."""
    arrays = (part.name for part in body.walk() if isinstance(part, ir.ArrayRef))
    names = {name.name for name in arrays if isinstance(name, ir.ID)}
    found = [ev.state.lookup(name) for name in names]
    return any(
        isinstance(local, Variable)
        and local.object.space is Space.LOCAL
        and isinstance(local.object.type, ArrayType)
        for local in found
    )


def _is_triangle(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether how often an inner loop runs hangs on the counter of this one.

    One that halves its counter is not unrolled at run time: it stays small, and this one is.
    """
    heads = ev.state.node_facts.told(_heads_inside, parts.body)
    counter = counter_of(parts.node) if heads else ""
    return any(counter in ev.state.node_facts.names_in(head) for head in heads)


def _heads_inside(body: ir.Node) -> tuple[ir.Node, ...]:
    """Returns where the counted loops in a body begin and what they test."""
    inner = (part for part in body.walk() if isinstance(part, ir.For))
    counted = (loop for loop in inner if not is_geometric(loop.next))
    return tuple(head for loop in counted for head in (loop.init, loop.cond) if head is not None)
