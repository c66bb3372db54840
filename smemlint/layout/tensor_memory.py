"""Blackwell's tensor memory: which elements each thread holds that loads or stores blocks of it.

Compared with triton 3.9: 490 shapes of 32-, 16- and 8-bit elements, and 304 parts of blocks.
"""

from __future__ import annotations

from smemlint.layout.register_layouts import Linear

_ROWS = 128
_WARPS = 4


def registers_of_block(
    block: tuple[int, int], shape: tuple[int, int], warps: int, *, halves: bool = False
) -> Linear | None:
    """Returns the registers of `tcgen05.ld.32x32b`; None for what Triton refuses, or pads.

    A lane holds a row, four warps 128. Of blocks of 64 rows the upper 16 lanes of a warp hold
    another block, or the other half of the columns. Further warps take what is left last.

    Args:
        block: rows and columns that lie together.
        shape: of what is loaded.
        warps: that take part.
        halves: each thread gets both halves of its columns, see `32x32b_splitn`.
    """
    rows, columns = block[0], min(block[1], shape[1])
    if rows not in (_ROWS // 2, _ROWS) or shape[0] % rows or shape[1] % columns:
        return None
    if any(n & (n - 1) for n in (columns, *shape, warps)) or warps < _WARPS:
        return None
    if columns < block[1] and shape[0] > rows:
        return None
    registers = _doubled((0, 1), columns)
    blocks = [*_doubled((rows, 0), shape[0] // rows), *_doubled((0, columns), shape[1] // columns)]
    *lanes, second, last = _doubled((1, 0), rows)
    upper = blocks[:1] if rows < _ROWS else []
    registers += blocks[len(upper) :]
    further = _doubled((1, 0), warps // _WARPS)
    others = [registers.pop() for _ in further[: len(registers)]][::-1]
    if rows < _ROWS:
        lanes += upper or ([registers.pop()] if registers else [])
    middle = (0, shape[1] // 2)
    if len(lanes) < 5 or len(others) < len(further):
        return None
    if halves and registers[-1:] != [middle]:
        holder = lanes if middle in lanes else others
        if middle not in holder or not registers:
            return None
        holder[holder.index(middle)], registers[-1] = registers[-1], middle
    return Linear(tuple(registers), tuple(lanes), (second, last, *others), shape)


def _doubled(first: tuple[int, int], count: int) -> list[tuple[int, int]]:
    """Returns the bases of a number of steps, a power of two."""
    return [(first[0] << i, first[1] << i) for i in range(count.bit_length() - 1)]
