"""Sums that LLVM makes of an earlier sum: straight-line strength reduction.

Of `b + 4 * s`, with `b + s` computed before, LLVM makes `(b + s) + 3 * s`, of which ptxas proves no
alignment where it had proved that of `b` and 4. Stores and loads that would fuse stay apart:

    int v = in[64 * ty + tx];
    for (int j = 0; j < 4; ++j) s[64 * ty + 4 * tx + j] = v;  // four STS, each a 4-way conflict

Read off the SASS of 110 kernels of our own (nvcc 13.0.88, sm_90, -O3), and of a segmented sort:

- What counts is the latest sum of the same `b` and another multiple of the same `s`, of the same
  width, on every path to here, a barrier or loop between or not: after `b + 2 * s` two STS.64.
- `4 * b + 4 * s` is `(b + s) * 4`, in which `b + s` may be made of another sum.
- `b + s` and `b - s` are never rewritten, `|` and differences are no sums. A sum that was computed
  before stays as it was.
- So is `p + 4 * s` behind `p + s`, of one pointer p that was computed: with `p = a + 64 * w`, after
  `p[s]` two LDS of `p[2 * s]` and the word behind it. It stays one LDS.64 where p is a row of an
  array of two dimensions, where the other pointer is of another array or lies a constant away, and
  behind `p[31 - s]` or `p[s + 32]` alone (each with s = threadIdx.x % 32, of data, or less n).
- Rows of arrays of two dimensions that are indexed are seldom rewritten; LLVM looks
  back over 50 candidates; sums of three parts are put in another order; behind a branch in which
  the other sum stands it may be computed in front of it; sums of integers and of pointers may
  be made of each other; and a constant that is added to the other
  sum may leave none. What becomes of these is open.
- An array of classes, half and __nv_bfloat16 among them, is such a `b` where an int multiplies: of
  half, `s[128 * t + i]` behind `s[t]` are LDS.U16. Behind `s[t + 1]`, in 64 bits or unsigned it is
  not; nor are numbers. `s[128 * t]` behind `s[t]` and `s[8 * t]` is or is not by their order,
  `s[t << 7]` is not: they are open.
- Built-in vectors that are copied are classes where what is copied at a time is a member (see
  `is_copied_by_first_member`): of an int2, float1, double1 and float3, `s[2 * t]` and the one
  behind it stay apart after `s[t]`, those of a float2, short4 and char4 do not (nvcc 13.5.37).
- Built-in vectors of which members are accessed are classes, too: of a float2 behind `s[t] =
  make_float2(..)` what reads `s[2 * t].x` and the three words behind it is LDS.64, behind a copy
  `s[t] = in[t]` and with `s[t << 1]` LDS.128: open (nvcc 13.5.37).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from math import gcd

from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.scev import (
    CONSTANT,
    Scev,
    Terms,
    divided_by,
    power_of_two,
    scaled,
)
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SUMS

_REACH = 5
"""New sums that LLVM looks back over: six of `v += in[k * y + x]` are more than 50 candidates."""
_FEW = 5
"""Parts of a sum that are compared one by one."""
_Key = tuple["Terms", "Terms", int, Hashable]
_Part = tuple[str, tuple[str, int], int]


@dataclass(slots=True, eq=False)
class _Sum:
    """A sum that was computed.

    Attributes:
        form: its form, as it was rewritten.
        factor: of the value that is looked at.
        number: its place among the new sums, from 1 on.
        is_open: whether it is computed on every path to here, and so, is not known.
    """

    form: Scev
    factor: int
    number: int
    is_open: bool


class Sums:
    """The sums of two values, neither a constant, that were computed so far.

    Attributes:
        rows: pointers to rows of arrays of two dimensions: their array, constant and terms.
        questions: how often a form was asked for that hangs on the sums before.
        awaiting: those that take the next addition of a constant; nobody after it.
    """

    def __init__(self) -> None:
        self.rows: set[tuple[tuple[str, int], Terms]] = set()
        self.questions = 0
        self.awaiting: list[Callable[[Scev, int], None]] = []
        self._bits: dict[str, tuple[str, str]] = {}
        self._known: dict[_Key, list[_Sum]] = {}
        self._parts: dict[_Part, dict[int, int]] = {}
        self._log: list[tuple[_Key, _Sum]] = []
        self._count = 0
        self._latest: tuple[Terms, list[_Sum]] = ((), [])

    def rewritten(
        self,
        a: Scev,
        b: Scev,
        total: Scev,
        bits: int,
        pointer: Hashable = None,
        *,
        is_open: bool = False,
    ) -> Scev:
        """Returns the form of `a + b` as the compiler computes it, and remembers it.

        Args:
            a: what is added.
            b: to what.
            total: the form of their sum, which is its own.
            bits: of the type.
            pointer: what else distinguishes a pointer that `b` moves on, in elements; None for
                integers.
            is_open: whether others are made of it is not known.
        """
        if not a.terms or not b.terms or not total.terms:
            return total
        self.questions += 1
        factor = _shared_factor(a, b) if pointer is None else 1
        if factor > 1:
            x, y, whole = (divided_by(form, factor) or form for form in (a, b, total))
            inner = self.rewritten(x, y, whole, bits, is_open=is_open)
            return total if inner is whole else scaled(inner, factor)
        self._latest = (), []
        either = list(_keys(a, b, bits))
        keys = either
        if pointer is not None:
            keys = [_key_of(a, b, bits, gcd(*(f for _, f in b.terms)), pointer)]
        for key, factor, _ in keys:
            for same in reversed(self._known.get(key, ())):
                is_sure = not same.is_open and same.form.is_open >= total.is_open
                if same.factor == factor and is_sure:
                    return replace(same.form, shifted=total.shifted)
        form = self._made_of_another(keys, total)
        if form is total and pointer is not None:
            form = self._made_of_another(either, total, is_open=True)
        if form is total:
            form = _lowered(total, self._least_alignment(total, bits), True)
        self._remember(keys, form, bits, is_open=is_open)
        if pointer is not None:
            self._remember(either, form, bits, is_open=True)
        return form

    def shares_bits(self, of: str | None, operation: tuple[str, str]) -> bool:
        """Returns whether another operation took bits of a sum before, and remembers the first."""
        if of is None or (len(self._bits) >= MAX_SUMS and of not in self._bits):
            return False
        return self._bits.setdefault(of, operation) != operation

    def of_index(self, index: Scev, array: Hashable, *, is_first: bool, may_be_made: bool) -> Scev:
        """Returns the form of an index into an array of classes, in bytes, and remembers it.

        Args:
            index: its form.
            array: what distinguishes it.
            is_first: it has no constant part; those with one are computed as those without.
            may_be_made: it is a product of signed integers of 32 bits.
        """
        if not index.terms:
            return index
        self.questions += 1
        key, factor, divisor = _key_of_index(index, array)
        before = [s for s in reversed(self._known.get(key, ())) if not s.is_open]
        same = next((s for s in before if s.factor == factor), None)
        if same is not None or not is_first:
            return same.form if same is not None else index
        form = index
        if before and may_be_made:
            step = power_of_two(factor - before[0].factor) * divisor
            form = _lowered(index, min(before[0].form.ptxas_alignment, step), is_open=True)
        if len(self._log) < MAX_SUMS:
            computed = _Sum(form, factor, self._count + 1, is_open=False)
            self._known.setdefault(key, []).append(computed)
            self._log.append((key, computed))
        return form

    def of_member(self, index: Scev, array: Hashable) -> Scev:
        """Returns the form of an index into an array of vectors, of one whose member is accessed.

        Args:
            index: its form, in bytes, which `of_index` was asked for.
            array: what distinguishes it.
        """
        if not index.terms:
            return index
        self.questions += 1
        key, factor, divisor = _key_of_index(index, array)
        form = index
        for before in self._known.get(key, ()):
            if before.factor == factor:
                break
            step = power_of_two(factor - before.factor) * divisor
            if not before.is_open:
                form = _lowered(form, min(before.form.ptxas_alignment, step), is_open=True)
        return form

    def _made_of_another(
        self, keys: Sequence[tuple[_Key, int, int]], total: Scev, *, is_open: bool = False
    ) -> Scev:
        """Returns the form of a sum that is made of the latest one with another factor."""
        form = total
        for key, factor, divisor in keys:
            if abs(factor) == 1:
                continue
            found = next(
                (s for s in reversed(self._known.get(key, ())) if s.factor != factor), None
            )
            if found is None:
                continue
            alignment = min(
                found.form.ptxas_alignment, power_of_two(factor - found.factor) * divisor
            )
            is_far = self._count - found.number > _REACH
            form = _lowered(form, alignment, is_open or found.is_open or is_far)
        return form

    def moved(self, form: Scev, by: int) -> None:
        """Takes the addition of a constant to a sum.

        Of an index `b + s + 1` that no other use of `b + s` came before, LLVM extracts the
        constant, and computes what is left anew in 64 bits.
        """
        if self.awaiting:
            for take in self.awaiting:
                take(form, by)
            self.awaiting.clear()
        terms, computed = self._latest
        if by and terms == form.terms:
            for each in computed:
                each.is_open = True
        self._latest = (), []

    def mark(self) -> int:
        """Returns a point in the program, for the two methods below."""
        return len(self._log)

    def leave(self, mark: int) -> None:
        """Leaves code since a point that need not run: what it computed may not be at hand."""
        for _, computed in self._log[mark:]:
            computed.is_open = True

    def forget(self, mark: int) -> None:
        """Forgets what was computed since a point: it is run once more."""
        while len(self._log) > mark:
            key, computed = self._log.pop()
            self._known[key].pop()
            self._count = computed.number - 1

    def _least_alignment(self, total: Scev, bits: int) -> int:
        """Computes what is left of a sum made of another one with a part exchanged."""
        if len(total.terms) > _FEW:
            return total.ptxas_alignment
        return min(
            (
                min(alignment, power_of_two(factor - before))
                for atom, factor in total.terms
                if abs(factor) != 1
                for other in total.terms
                if other[0] != atom and other[1] != factor
                for before, alignment in self._parts.get((atom, other, bits), {}).items()
                if before != factor
            ),
            default=total.ptxas_alignment,
        )

    def _remember(
        self, keys: Sequence[tuple[_Key, int, int]], form: Scev, bits: int, *, is_open: bool
    ) -> None:
        if len(self._log) >= MAX_SUMS:
            return
        self._count += 1
        self._latest = form.terms, []
        for key, factor, _ in keys:
            computed = _Sum(form, factor, self._count, is_open)
            self._known.setdefault(key, []).append(computed)
            self._log.append((key, computed))
            self._latest[1].append(computed)
        if len(form.terms) <= _FEW:
            for atom, factor in form.terms:
                for other in form.terms:
                    if other[0] != atom:
                        known = self._parts.setdefault((atom, other, bits), {})
                        least = known.get(factor, form.ptxas_alignment)
                        known[factor] = min(least, form.ptxas_alignment)


def _shared_factor(a: Scev, b: Scev) -> int:
    """Returns what every part of both is multiplied by, if that is one number; 1 if not."""
    factors = {factor for _, factor in (*a.terms, *b.terms)}
    return factors.pop() if len(factors) == 1 else 1


def _keys(a: Scev, b: Scev, bits: int) -> Iterator[tuple[_Key, int, int]]:
    """Yields both readings of a sum as `rest + factor * value`, and what divides the value."""
    for rest, multiple in ((a, b), (b, a)):
        factor = gcd(*(f for _, f in multiple.terms))
        if multiple.terms[0][1] < 0:
            factor = -factor
        yield _key_of(rest, multiple, bits, factor)


def _key_of_index(index: Scev, array: Hashable) -> tuple[_Key, int, int]:
    """Returns the reading of an index in bytes as `factor * value`, and what divides the value."""
    return _key_of(CONSTANT, index, I32.bits, gcd(*(f for _, f in index.terms)), array)


def _key_of(
    rest: Scev, multiple: Scev, bits: int, factor: int, pointer: Hashable = None
) -> tuple[_Key, int, int]:
    value = tuple((atom, f // factor) for atom, f in multiple.terms)
    divisor = max(multiple.ptxas_alignment // power_of_two(factor), 1)
    return (rest.terms, value, bits, pointer), factor, divisor


def _lowered(form: Scev, alignment: int, is_open: bool) -> Scev:
    """Returns the form of a sum of which ptxas proves less, if it is rewritten."""
    if alignment >= form.ptxas_alignment:
        return form
    return replace(
        form, ptxas_alignment=alignment, is_rewritten=True, is_open=form.is_open or is_open
    )
