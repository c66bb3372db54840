"""Shapes of blocks: what launches say, and what is tried where they do not say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isqrt, prod
from typing import NamedTuple

from smemlint.analysis.simt.domain.environment import MAX_THREADS
from smemlint.analysis.simt.domain.intervals import upper
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, Value, number
from smemlint.analysis.simt.launches.passed_values import NumberOf
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Unit
from smemlint.limits.budgets import MAX_CALLED

Block = tuple[int, int, int]
Extents = tuple[int | None, int | None, int | None]
UNKNOWN: Extents = (None, None, None)
_THREAD_WORDS = frozenset(("threadIdx", "blockDim"))
_GROUP_METHODS = frozenset(("thread_index", "group_dim", "dim_threads"))
"""Of cooperative groups: they give `threadIdx` and `blockDim`."""
FLAT_SHAPES = ((256, 1, 1), (128, 1, 1), (512, 1, 1))
PLANE_SHAPES = ((32, 8, 1), (16, 16, 1), (32, 32, 1))
CUBE_SHAPES = (*PLANE_SHAPES, (8, 8, 4))
SHORT_ROWS = (8, 32, 1)
"""Of launches that compute their rows: `dim3(512 / y, y)`."""


class BlockShape(NamedTuple):
    """Extents of a block, as far as they are known, and what they are not above.

    It is constant where no variable tells it; the sides are what is not known as a number.
    """

    extents: Extents
    limits: Extents
    is_constant: bool = False
    sides: Sequence[Value] = ()

    @property
    def block(self) -> Block | None:
        """The shape of the block; None for one that is not known, or is none."""
        x, y, z = self.extents
        if x is None or y is None or z is None or min(x, y, z) <= 0 or x * y * z > MAX_THREADS:
            return None
        return x, y, z


def block_shape(value: Value, number_of: NumberOf) -> BlockShape:
    """Returns the shape that a number or a `dim3` means, under what host code fixes."""
    if isinstance(value, AffineInt):
        sides: list[Value] = [value, number(1), number(1)]
    elif isinstance(value, Aggregate):
        sides = [value.cells.get(at, number(1)) for at in (0, 4, 8)]
    else:
        return BlockShape(UNKNOWN, UNKNOWN)
    x, y, z = map(number_of, sides)
    limits = [None if number_of(side) is not None else _limit(side) for side in sides]
    return BlockShape((x, y, z), (limits[0], limits[1], limits[2]), sides=sides)


def _limit(extent: Value) -> int | None:
    """Returns what an extent is not above; None where that is no less than a block may have."""
    limit = upper(extent) if isinstance(extent, AffineInt) else MAX_THREADS + 1
    return limit if 0 < limit <= MAX_THREADS else None


def within(shapes: Iterable[Block], limits: Extents) -> list[Block]:
    """Returns the shapes that are within the limits of a launch."""
    return [s for s in shapes if all(m is None or n <= m for n, m in zip(s, limits, strict=True))]


def filled(extents: Extents, threads: int) -> Block | None:
    """Returns the block of so many threads with some extents; None where those leave it open."""
    x, y, z = extents
    if x is not None and y is None and z is None:
        z = 1
    known = [n for n in (x, y, z) if n is not None]
    left, rest = divmod(threads, max(prod(known), 1))
    if len(known) != 2 or min(known) < 1 or max(known) == 1 or rest:
        return None
    return x or left, y or left, z or left


def at_limits(extents: Extents, limits: Extents) -> list[Block]:
    """Returns shapes of a launch whose limits are below all common ones: `min(16, n)` threads.

    What is open is no more than the rest of the block leaves of the most threads.
    """
    left = MAX_THREADS // prod(n or 1 for n in extents)
    x, y, z = (n or min(limit or 1, left) for n, limit in zip(extents, limits, strict=True))
    return within(FLAT_SHAPES, limits) or ([(x, y, z)] if 0 < x * y * z <= MAX_THREADS else [])


def blocks_of(threads: int, axes: frozenset[str]) -> list[Block]:
    """Returns the blocks of so many threads that a kernel with rows of threads may have.

    The first has rows of a warp; then half warps, a square, and planes of a kernel that names `z`.
    """
    rows = dict.fromkeys(n for n in (32, 16, isqrt(threads)) if threads % n == 0)
    found = [(row, threads // row, 1) for row in rows] or [(threads, 1, 1)]
    return found + [(8, 8, threads // 64)] * ("z" in axes and threads > 64 and threads % 64 == 0)


def axes_named(unit: Unit, kernel: Function) -> frozenset[str]:
    """Returns which of `y` and `z` a kernel and what it calls name of its threads."""
    return frozenset().union(*map(_axes_of, _called(unit, kernel)))


def _called(unit: Unit, kernel: Function) -> list[Function]:
    """Returns a kernel and the device functions that it may call, nearest first."""
    found = {id(kernel): kernel}
    worklist = [kernel]
    for function in worklist:
        for name in sorted(function.words):
            for callee in unit.functions_named(name):
                if callee.is_device and id(callee) not in found and len(worklist) < MAX_CALLED:
                    found[id(callee)] = callee
                    worklist.append(callee)
    return worklist


def _axes_of(function: Function) -> frozenset[str]:
    """Returns which of `y` and `z` the function names of its threads or of their block."""
    words = function.words
    if not words & (_THREAD_WORDS | _GROUP_METHODS) or not words & {"y", "z"}:
        return frozenset()
    tree = function.parse().tree
    nodes = list(tree.walk()) if tree is not None else []
    given = (n for n in nodes if isinstance(n, ir.Decl) and _is_of_group(n.init))
    names = _THREAD_WORDS.union(n.name for n in given if n.name)
    return frozenset(
        n.field.name
        for n in nodes
        if isinstance(n, ir.StructRef)
        and n.field.name in ("y", "z")
        and (_is_of_group(n.name) or (isinstance(n.name, ir.ID) and n.name.name in names))
    )


def _is_of_group(node: ir.Node | None) -> bool:
    """Returns whether a node is a call such as `block.thread_index()`."""
    callee = node.name if isinstance(node, ir.FuncCall) else None
    return isinstance(callee, ir.StructRef) and callee.field.name in _GROUP_METHODS
