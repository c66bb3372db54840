"""Which bytes of a variable a place is, in one iteration of the loops around after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from smemlint.analysis.simt.codegen.places import Counter, Index, Place, Step
from smemlint.analysis.simt.domain.ctypes import BOOL, ArrayType, CType, IntType, RecordType
from smemlint.analysis.simt.domain.environment import Binding, Variable, content_of
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.records import has_constructor
from smemlint.limits.budgets import MAX_PARTS_READ

Part: TypeAlias = "tuple[int, int, CType]"
"""Of a variable: the first byte, the one behind the last, and the type."""
Counts: TypeAlias = "dict[str, int]"
"""What loops count with in an iteration."""


def parts_in_iterations(ev: Evaluator, whole: CType, place: Place) -> list[Part]:
    """Returns what a place means in one iteration after the other; none for not known."""
    found = [part_of(ev, whole, place, counts) for counts in counts_of(ev, place.counters) or ()]
    known = [each for each in found if each is not None]
    return list(dict.fromkeys(known)) if len(known) == len(found) else []


def counts_of(ev: Evaluator, counters: Iterable[Counter]) -> list[Counts] | None:
    """Returns what loops count with in each iteration; None where the compiler does not know."""
    found: list[Counts] = [{}]
    for counter in dict.fromkeys(counters):
        grown: list[Counts] = []
        for outer in found:
            first, end, step = (
                number_of(ev, i, outer) for i in (counter.first, counter.end, counter.step)
            )
            if first is None or end is None or not step or step < 0:
                return None
            if (end - first) // step + len(grown) > MAX_PARTS_READ:
                return None
            grown += [outer | {counter.name: number} for number in range(first, end, step)]
        found = grown
    return found


def counts_now(ev: Evaluator, counters: Iterable[Counter]) -> Counts:
    """Returns what loops count with in the iteration that is executed, where that is known."""
    found = ((each.name, _known(ev.state.lookup(each.name))) for each in counters)
    return {name: number for name, number in found if number is not None}


def _known(binding: Binding | None) -> int | None:
    """Returns the number that a name stands for, which the compiler knows, too."""
    value = content_of(binding) if isinstance(binding, Variable) else binding
    return value.constant if isinstance(value, AffineInt) and not scev_of(value).terms else None


def number_of(ev: Evaluator, index: Index | None, counts: Counts) -> int | None:
    """Returns the constant that an index is; None where the compiler knows none."""
    match index:
        case (op, left, right):
            a, b = number_of(ev, left, counts), number_of(ev, right, counts)
            if a is None or b is None or (op == "/" and b <= 0):
                return None
            return a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a // b
        case str() if index not in counts:
            binding = ev.state.lookup(index)
            is_constant = not isinstance(binding, Variable) or binding.is_constant
            return _known(binding) if is_constant else None
        case str():
            return counts[index]
    return index


def part_of(ev: Evaluator, whole: CType, place: Place, counts: Counts) -> Part | None:
    """Returns the part that a place is of a variable; None where that is not known."""
    begin, ctype, size = 0, whole, whole.size
    for step in place.steps:
        if step.is_number:
            is_last = step is place.steps[-1]  # other arithmetic may undo a shift
            at, left = (0, size) if is_last and step.shift else _of_number(ev, ctype, size, step)
            ctype = ev.types.resolve(step.ctype) if step.ctype is not None else ctype
        else:
            moved = _step(ev, ctype, step, counts)
            if moved is None:
                return None
            at, ctype = moved
            left = ctype.size
        begin, size = begin + at, left
        if size <= 0 or begin < 0 or begin + size > whole.size:
            return None
    return begin, begin + size, ctype


def _of_number(ev: Evaluator, ctype: CType, size: int, step: Step) -> tuple[int, int]:
    """Returns where the bytes begin that another number is made of, and how many they are."""
    if not isinstance(ctype, IntType):
        return 0, size
    if step.ctype is None:
        return step.shift, size - step.shift
    other = ev.types.resolve(step.ctype)
    return 0, min(size, other.size) if isinstance(other, IntType) and other != BOOL else size


def _step(ev: Evaluator, ctype: CType, step: Step, counts: Counts) -> tuple[int, CType] | None:
    """Returns where the part begins that a step leads to, and its type."""
    members = ctype.members if isinstance(ctype, RecordType) else ()
    if step.member:
        member = next((m for m in members if m.name == step.member and not m.behind), None)
        return (member.offset, member.type) if member is not None else None
    index = number_of(ev, step.index, counts)
    if index is None:
        return None
    if step.ctype is not None:
        element = ev.types.resolve(step.ctype)
    elif isinstance(ctype, ArrayType):
        element = ctype.element
    else:  # what braces initialize
        is_known = 0 <= index < len(members) and not has_constructor(ev, ctype)
        return (members[index].offset, members[index].type) if is_known else None
    return index * element.size, element
