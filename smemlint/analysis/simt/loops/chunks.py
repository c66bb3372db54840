"""Loops over a chunk of each thread: what LLVM sees of `for (b = 4 * t; b < e; ++b)`.

It takes for an int that `b + 4` does not wrap around; of `(t + 1) * 4` and of unsigned sums it may,
and the trip count is 4 or 1: the first iteration stands in front of a test of all others. By the
end, of `s[b] = g[b]` (nvcc 13.5.37, sm_90, -O3):

| end | SASS |
| --- | --- |
| `b + 4`, `4 * t + 4` of an int; any of size_t; any behind `!=` or `<=` | STS.128 |
| `(t + 1) * 4` of an int, any of unsigned | STS; STS and STS.64 behind a test |
| the same, from `4 * t + 1` or `4 * (t + 1)` on | all behind one test |

So it is of 2 to 8 iterations (LLVM's `unroll-max-upperbound`), and of any number under `#pragma
unroll`. Loads are one LDS.128 in all of these if no iteration stores. Of more iterations LLVM sees
no end, but of `int b = t * 16` those up to 16: STS, STS.64 or STS.128 by types and numbers, open.
Loops that count down are never fused, but of `long` as if they counted up.

Of two ends, `b < 256 && b < e`, LLVM makes no copies itself where one is a constant and both are
orders, `<`, `<=`, `>` or `>=`: one STS or LDS (int, unsigned, size_t; e of the first two rows; 2 to
16 iterations; also with `__launch_bounds__`, as `256 > b` and by `&`). Of `b != 256`, `n > 3` and
`b < blockDim.x * 4` in front they are one STS.128, and of `#pragma unroll` some: open. Of
`i < 8 && 8 * t + i < 256` it makes none either, without a `#pragma unroll`.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto

from smemlint.analysis.simt.codegen.unroll import asks_for_all
from smemlint.analysis.simt.domain.integer_scev import begins_whole, may_wrap, scev_of
from smemlint.analysis.simt.domain.masking import number_of
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.loops.heads import LoopParts, is_constant, step_of
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_BOUND = 8
"""Iterations up to which LLVM fully unrolls a loop of which it knows no more than that bound."""
_WIDE = 64
_EXTREMES = ("(min ", "(max ")
"""Begins the atoms of ends of which LLVM may take the most: `k < min(K, 16)`."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


class Layout(Enum):
    """What LLVM makes of the iterations of a loop."""

    WHOLE = auto()
    """As of one between constants."""
    FIRST = auto()
    """The first stands alone if they store."""
    OPEN = auto()
    APART = auto()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Both ends of a loop that differ by a constant, of which neither is one.

    Attributes:
        op: compares what counts with the end.
        is_alone: nothing else ends it; LLVM takes the least of several ends, which is open.
        is_cut_short: it has one other end, a constant.
    """

    op: str
    begin: AffineInt
    end: AffineInt
    is_alone: bool = True
    is_cut_short: bool = False

    def layout(self, trips: int, pragma: str) -> Layout:
        """Returns what becomes of so many iterations."""
        if not self.is_alone:
            return Layout.APART if self.is_cut_short and not pragma else Layout.OPEN
        is_signed = self.begin.type.signed and self.end.type.signed
        if self.op in (">", ">="):
            is_exact = is_signed and max(self.begin.type.bits, self.end.type.bits) >= _WIDE
            return Layout.WHOLE if is_exact else Layout.APART
        wraps = self.op == "<" and may_wrap(self.end) and begins_whole(self.begin)
        form = scev_of(self.begin)
        is_shift = is_signed and not wraps and len(form.terms) == 1 and form.alignment >= trips
        is_extended = not is_signed and self.begin.type.bits >= _WIDE and may_wrap(self.begin)
        is_unsure = (wraps and pragma) or (trips > _BOUND and not is_shift) or is_extended
        if is_unsure and not asks_for_all(pragma):
            return Layout.OPEN
        return Layout.FIRST if wraps else Layout.WHOLE


def chunk_of(ev: Evaluator, parts: LoopParts) -> Chunk | None:
    """Returns the ends of a loop that is about to run; None of one over something else."""
    cond, advance = parts.cond, step_of(parts.node, parts.step)
    if not isinstance(cond, ir.BinaryOp) or advance is None:
        return None
    if cond.op in ("&&", "&"):
        for part, other in ((cond.left, cond.right), (cond.right, cond.left)):
            found = chunk_of(ev, replace(parts, cond=part))
            if found is not None:
                is_cut_short = found.is_alone and _ends_at_constant(ev, other, found.begin)
                return replace(found, is_alone=False, is_cut_short=is_cut_short)
        return None if parts.node.pragma else _cut_short(ev, cond, advance)
    if cond.op not in _TURNED:
        return None
    facts = ev.state.node_facts
    changes, moved = facts.mod_ref(cond), facts.mod_ref(advance)
    if changes is None or moved is None or changes.modified:
        return None
    op, sides = cond.op, (cond.left, cond.right)
    if moved.modified & facts.names_in(cond.right):
        op, sides = _TURNED[op], (cond.right, cond.left)
    with ev.state.dry():
        begin, end = (number_of(ev.evaluate(side)) for side in sides)
    if begin is None or end is None:
        return None
    terms, last = scev_of(begin).terms, scev_of(end)
    if terms != last.terms:
        is_unsure = last.is_divergent or any(k.startswith(_EXTREMES) for k, _ in last.terms)
        return Chunk(op, begin, end, is_alone=False) if is_unsure else None
    return Chunk(op, begin, end) if terms else None


def _ends_at_constant(ev: Evaluator, cond: ir.Node, begin: AffineInt) -> bool:
    """Returns whether a condition orders what begins there and a constant."""
    if not isinstance(cond, ir.BinaryOp) or _TURNED.get(cond.op, "!=") == "!=":
        return False
    with ev.state.dry():
        sides = [number_of(ev.evaluate(side)) for side in (cond.left, cond.right)]
    ends = [side for side in sides if side is not None and scev_of(side) != scev_of(begin)]
    return None not in sides and len(ends) == 1 and is_constant(ends[0])


def _cut_short(ev: Evaluator, cond: ir.BinaryOp, advance: ir.Expression) -> Chunk | None:
    """Returns the ends of a loop between constants that threads may leave before."""
    facts = ev.state.node_facts
    moved, ends = facts.mod_ref(advance), list[Chunk]()
    for part in (cond.left, cond.right):
        if not isinstance(part, ir.BinaryOp) or part.op not in ("<", "<="):
            return None
        if moved is None or not moved.modified & facts.names_in(part.left):
            return None
        with ev.state.dry():
            begin, end = (number_of(ev.evaluate(side)) for side in (part.left, part.right))
        if begin is None or not is_constant(end):
            return None
        assert end is not None
        ends.append(Chunk(part.op, begin, end, is_alone=False, is_cut_short=True))
    own = [each for each in ends if not is_constant(each.begin)]
    return own[0] if len(own) == 1 and scev_of(own[0].begin).is_divergent else None
