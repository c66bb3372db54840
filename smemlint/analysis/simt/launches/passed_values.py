"""What a launch passes, as far as it is known: numbers, and the numbers in structs and the grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smemlint.analysis.simt.calls.operands import operand_value
from smemlint.analysis.simt.domain.copies import scalar_members
from smemlint.analysis.simt.domain.ctypes import CType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, Operand, Scope
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    Pointer,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

NumberOf = Callable[[Value], int | None]
"""Returns the number that a value is under what host code fixes."""
_POINTER_BYTES = 8


def numbers_passed(
    ev: Evaluator,
    parameters: Sequence[ir.Decl],
    operands: Sequence[Operand],
    scope: Scope,
    number_of: NumberOf,
) -> dict[str, AffineInt]:
    """Returns the known numbers that a launch passes, those of a struct as `p.stride`.

    Args:
        ev: of the host code.
        parameters: of the kernel.
        operands: that it is launched with.
        scope: the kernel's template arguments, by which the types of parameters are known.
        number_of: see `NumberOf`.
    """
    known: dict[str, AffineInt] = {}
    for parameter, operand in zip(parameters, operands, strict=False):
        value = operand_value(ev, operand)
        if not parameter.name:
            continue
        if isinstance(value, AffineInt):
            known |= _known({parameter.name: value}, number_of)
        elif isinstance(value, Aggregate) and isinstance(value.type, RecordType):
            ctype = _resolved(ev, parameter.type, scope)
            if isinstance(ctype, RecordType) and ctype.name == value.type.name:
                cells = {
                    name: cell
                    for name, at, _ in scalar_members(ctype, parameter.name)
                    if isinstance(cell := value.cells.get(at), AffineInt)
                }
                known |= _known(cells, number_of)
    return known


def grid_passed(grid: Value | None, number_of: NumberOf) -> dict[str, AffineInt]:
    """Returns the known extents of a grid, a number or a `dim3`, as `gridDim.x`."""
    sides: list[Value | None] = [number(1)] * 3
    if isinstance(grid, AffineInt):
        sides[0] = grid
    elif isinstance(grid, Aggregate):
        sides = [grid.cells.get(at, number(1)) for at in (0, 4, 8)]
    else:
        return {}
    both = zip("xyz", sides, strict=True)
    cells = {f"gridDim.{axis}": side for axis, side in both if isinstance(side, AffineInt)}
    return {name: side for name, side in _known(cells, number_of).items() if side.base != 0}


def extents_passed(scope: Scope, sides: Sequence[Value]) -> tuple[tuple[str, int], ...]:
    """Returns the template parameters that are an extent of the block that is not known: which."""
    axes = {side.identity(): k for k, side in enumerate(sides) if isinstance(side, AffineInt)}
    numbers = [(name, bound) for name, bound in scope.items() if isinstance(bound, AffineInt)]
    return tuple(
        (name, axes[number.identity()])
        for name, number in numbers
        if number.terms and number.identity() in axes
    )


def listed_operands(ev: Evaluator, items: ir.Node, count: int) -> list[Operand]:
    """Returns what the `void *args[]` of a launch point to; none where one of them is not known."""
    listed = ev.evaluate(items)
    if not isinstance(listed, Pointer):
        return []
    begin = listed.offset.constant
    found: list[Operand] = []
    for k in range(count):
        at = begin + k * _POINTER_BYTES if begin is not None else None
        given = listed.object.cells.get(at) if at is not None else None
        if not isinstance(given, Pointer) or given.offset.constant != 0:
            return []
        place = LValue(given.object, ORIGIN, given.object.type)
        found.append(Operand(items, place, None))
    return found


def _known(cells: dict[str, AffineInt], number_of: NumberOf) -> dict[str, AffineInt]:
    numbers = {name: number_of(cell) for name, cell in cells.items()}
    return {
        name: number(found, cells[name].type)
        for name, found in numbers.items()
        if found is not None
    }


def _resolved(ev: Evaluator, type: ir.Node, scope: Scope) -> CType:
    with ev.state.within("types", scope):
        return ev.types.resolve(type)
