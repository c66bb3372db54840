"""Loops of the compiled code that LLVM fully unrolls before it looks for neighbours.

A short loop over `range` becomes straight-line code, in which neighbours merge as everywhere, but
in a kernel without another loop, a branch and, in front of it, a load of global memory or an access
of shared memory sums with the loop's number stay as they were computed (nvidia-cutlass-dsl 4.8.1
and its ptxas, sm_90a, some 350 kernels of our own):

- `s[4 * tx + i]`, `t[tx, i]` and, in `t[i, 4 * tx + j]`, the j of a loop inside are no neighbours:
  LDS and STS by element, though a `range_constexpr` in its place gives LDS.128.
- `row[i]` of `row = t[tx, None]` is one LDS.128, of `t[tx % 64, None]` it is not: that is open.
  `t[i, tx, j]` for j = 0 to 3 of a `range_constexpr` is one: j is added last.
- What does not depend on i merges. With 32 accesses in all the loop is unrolled so, from about 48
  on after the search: neighbours are found then. They are with another loop, an `if`, or loads of
  global memory in the loop, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace

import numpy as np

from smemlint.analysis.simt.cute.run_time import from_engine
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import Scev, atom, power_of_two, sum_of
from smemlint.analysis.simt.domain.trace import Event, Trace
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass

_FEW_ACCESSES = 32
"""Up to which LLVM unrolls a loop early."""
_MANY_ACCESSES = 48
"""From which on it does that late."""
_MARK = "(iteration "
_ALIGNED = 1 << 10
_Form = tuple[AffineInt, "Scev | None"]


@dataclass(slots=True)
class CompiledLoops:
    """The loops and branches of a kernel, as far as they tell which neighbours LLVM finds.

    Attributes:
        depth: how many loops that are executed iteration by iteration are around the statement.
        count: of the loops so far.
        is_large: there is a branch on a number of run time, a load of global memory in a loop or in
            front of all, or an access of shared memory in front of one.
        hidden: offsets of accesses whose neighbours LLVM finds as it does in straight-line code
            only, with their form there.
        open: those of which it may.
    """

    depth: int = 0
    count: int = 0
    is_large: bool = False
    hidden: list[_Form] = field(default_factory=list)
    open: list[_Form] = field(default_factory=list)

    @contextmanager
    def unrolled(self, trace: Trace) -> Iterator[None]:
        """Executes the iterations of a loop."""
        begin, hidden = len(trace.items), len(self.hidden)
        self.is_large |= not self.depth and trace.events > 0
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            count = sum(isinstance(item, Event) for item in trace.items[begin:])
            if count >= _MANY_ACCESSES:
                _restore(self.hidden[hidden:])
            elif count > _FEW_ACCESSES:
                self.open += self.hidden[hidden:]
            if count > _FEW_ACCESSES:
                del self.hidden[hidden:]

    def leave_open(self, offset: AffineInt) -> None:
        """Takes note of an access of which it is open whether LLVM finds its neighbours."""
        self.open.append((offset, offset.form))

    def hide(self, offset: AffineInt, rest: AffineInt) -> None:
        """Hides the neighbours of an access but those that differ in static coordinates."""
        lanes = np.asarray(rest.base)
        alignment = power_of_two(int(np.gcd.reduce(lanes - lanes.flat[0], axis=None)))
        self.hidden.append((offset, offset.form))
        offset.form = atom(f"(unrolled {rest.identity()})", alignment, is_divergent=True)

    def settle(self) -> None:
        """Settles at the end of a kernel which neighbours LLVM does not find."""
        if self.count > 1 or self.is_large:
            _restore((*self.hidden, *self.open))
        else:
            _restore(self.open, is_open=True)


def _restore(forms: Iterable[_Form], *, is_open: bool = False) -> None:
    for offset, form in forms:
        offset.form = form
        if is_open:
            offset.form = replace(scev_of(offset), ptxas_alignment=1, is_open=True)


def iteration_number(number: int, depth: int, iteration: int) -> AffineInt:
    """Returns a number that an iteration has, which its results remember to be made of."""
    return AffineInt(number, I32, (), atom(f"{_MARK}{depth}: {iteration})", _ALIGNED))


def remember_iterations(result: AffineInt, *operands: AffineInt) -> None:
    """Makes a result remember the iterations that its operands are made of."""
    if _has_mark(result.form):
        return
    for operand in operands:
        for key, _ in operand.form.terms if operand.form is not None else ():
            if key.startswith(_MARK):
                of_iteration = atom(key, _ALIGNED)
                result.form = sum_of(result.form, of_iteration) if result.form else of_iteration
                return


def is_of_iteration(number: cute.Integer) -> bool:
    """Returns whether a number of the engine is made of the number of an iteration."""
    value = from_engine(number)
    return isinstance(value, AffineInt) and _has_mark(value.form)


def _has_mark(form: Scev | None) -> bool:
    return form is not None and any(key.startswith(_MARK) for key, _ in form.terms)


def without_iterations(number: AffineInt) -> AffineInt:
    """Returns the same number, whose iterations are constants."""
    form = number.form
    if form is None or not _has_mark(form):
        return number
    terms = tuple((k, f) for k, f in form.terms if not k.startswith(_MARK))
    return AffineInt(
        number.base, number.type, number.terms, replace(form, terms=terms) if terms else None
    )


def at_static_zero(coordinate: cute.Coordinate) -> cute.Coordinate:
    """Returns a coordinate with 0 in place of what is static."""
    if isinstance(coordinate, tuple):
        return tuple(map(at_static_zero, coordinate))
    return 0 if isinstance(coordinate, int) else coordinate


def is_divergent(coordinate: cute.Coordinate) -> bool:
    """Returns whether threads differ in a part of a coordinate."""
    if isinstance(coordinate, tuple):
        return any(map(is_divergent, coordinate))
    if not isinstance(coordinate, cute.DynamicInt):
        return False
    value = from_engine(coordinate)
    return not isinstance(value, AffineInt) or not value.is_uniform
