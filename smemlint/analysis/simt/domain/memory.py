"""Objects: what pointers point into. Local ones hold values at byte offsets, others do not.

Every variable is an object, so references, pointers to locals, arrays of indices and struct members
need no cases of their own. Writes go through a `Store`, which can undo them: a branch on an unknown
condition is run, rolled back and joined with its alternative.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, pairwise
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    is_function_pointer,
    is_opaque,
)
from smemlint.analysis.simt.domain.lanes import identity
from smemlint.analysis.simt.domain.linear_forms import added, with_form
from smemlint.analysis.simt.domain.masking import masked_update, select, under_mask
from smemlint.analysis.simt.domain.scev import atom, power_of_two
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    CallableValue,
    Object,
    Pointer,
    Unknown,
    Value,
    one_of,
)
from smemlint.limits.budgets import MAX_SCATTER
from smemlint.reasons import ReasonCode

_PARTED = frozenset((RecordType, ArrayType))
"""Types of values that lie in more cells than one."""
UndoLog = dict[tuple[int, int], tuple[Object, int, Value | None]]


class Memory:
    """Reads and writes of local objects, with undo."""

    def __init__(self) -> None:
        self._journals: list[UndoLog] = []

    # ---- journals

    def begin(self) -> None:
        """Starts to remember what is overwritten."""
        self._journals.append({})

    def rollback(self) -> UndoLog:
        """Undoes everything since `begin` and returns the values that were there at the end."""
        journal = self._journals.pop()
        ends: UndoLog = {}
        for key, (obj, offset, old) in journal.items():
            ends[key] = (obj, offset, obj.cells.get(offset))
            _put(obj, offset, old)
        return ends

    def replay(self, cells: Iterable[tuple[Object, int, Value | None]]) -> None:
        """Gives cells values that they had, see `rollback`."""
        for obj, offset, value in cells:
            self.set_cell(obj, offset, value)

    def commit(self, ended: Collection[int] = ()) -> UndoLog:
        """Keeps everything since `begin`; returns the values from before.

        Args:
            ended: ids of objects whose lifetime ends here: what is open around need not undo them.
        """
        journal = self._journals.pop()
        if self._journals:
            outer = self._journals[-1]
            for key, entry in journal.items():
                if key[0] not in ended:
                    outer.setdefault(key, entry)
        return journal

    @contextmanager
    def without_undo(self) -> Iterator[None]:
        """Writes in it are not undone by a `rollback` of what is open around it."""
        journals, self._journals = self._journals, []
        try:
            yield
        finally:
            self._journals = journals

    def since(self, depth: int) -> UndoLog:
        """Returns what the journals beyond the first `depth` have seen written, as it is now."""
        cells: UndoLog = {}
        for journal in self._journals[depth:]:
            for key, (obj, offset, _) in journal.items():
                cells[key] = obj, offset, obj.cells.get(offset)
        return cells

    @property
    def depth(self) -> int:
        """How many `begin`s are open."""
        return len(self._journals)

    def commit_to(self, depth: int) -> None:
        """Commits what an abandoned evaluation left open."""
        while len(self._journals) > depth:
            self.commit()

    def set_cell(self, obj: Object, offset: int, value: Value | None) -> None:
        """Overwrites one cell; None makes it uninitialized."""
        if self._journals:
            key = (id(obj), offset)
            if key not in self._journals[-1]:
                self._journals[-1][key] = (obj, offset, obj.cells.get(offset))
        _put(obj, offset, value)

    # ---- typed access

    def read(
        self, obj: Object, offset: AffineInt, type: CType, mask: NDArray[np.bool_] | None = None
    ) -> Value:
        """Reads a value of `type` at a byte offset of a local object, as those threads see it."""
        if type.__class__ in _PARTED:
            return self._read_aggregate(obj, offset, type)  # type: ignore[arg-type]
        at = offset.constant
        if at is not None:
            value = obj.cells.get(at)
            return under_mask(mask, _unwritten(obj) if value is None else value)
        if not offset.is_concrete or isinstance(offset.base, int):
            return _anything(obj, offset, type, "is indexed by a value that is not known")
        distinct = np.unique(offset.base)
        if len(distinct) > MAX_SCATTER:
            return _anything(obj, offset, type, "is indexed by too many different values")
        unwritten = _unwritten(obj)
        result = obj.cells.get(int(distinct[0]), unwritten)
        for d in distinct[1:]:
            result = select(offset.base == d, obj.cells.get(int(d), unwritten), result)
        return result

    def write(
        self, obj: Object, offset: AffineInt, type: CType, value: Value, mask: NDArray[np.bool_]
    ) -> None:
        """Stores a value of `type` at a byte offset for the threads of `mask`.

        Args:
            obj: the object.
            offset: bytes from its beginning.
            type: of the value.
            value: what is stored.
            mask: the threads that store.
        """
        at = offset.constant
        if at is not None:
            if isinstance(value, Aggregate | Unknown):
                for cell, part in _cells_written(obj, at, type, value).items():
                    self._write_cell(obj, cell, part, mask)
            else:
                self._write_cell(obj, at, value, mask)
            return
        if isinstance(value, Aggregate) or not offset.is_concrete or isinstance(offset.base, int):
            self.forget(obj, "was written at an index that is not known")
            return
        distinct = np.unique(offset.base[mask])
        if len(distinct) > MAX_SCATTER:
            self.forget(obj, "was written at too many different indices")
            return
        for d in distinct:
            self._write_cell(obj, int(d), value, mask & (offset.base == d))

    def forget(self, obj: Object, why: str) -> None:
        """Makes everything in a local object unknown."""
        unknown = Unknown.because(ReasonCode.UNKNOWN_ADDRESS, f"`{obj.name}` {why}")
        for offset in list(obj.cells):
            self.set_cell(obj, offset, unknown)
        obj.default = unknown

    def _read_aggregate(
        self, obj: Object, offset: AffineInt, type: RecordType | ArrayType
    ) -> Value:
        at = offset.constant
        if at is None:
            return _anything(obj, offset, type, "is indexed by a value that is not known")
        whole = obj.cells.get(at)
        if isinstance(whole, Aggregate):
            return whole
        size = type.size or 1 << 30
        cells = {o - at: v for o, v in obj.cells.items() if at <= o < at + size}
        if not cells and obj.default is not None:
            return obj.default
        if isinstance(obj.default, Unknown) and isinstance(type, RecordType):
            cells = dict.fromkeys(_scalars(type), obj.default) | cells
        return Aggregate(type, cells)

    def _write_cell(self, obj: Object, at: int, value: Value, mask: NDArray[np.bool_]) -> None:
        old = obj.cells.get(at)
        if old is not None and mask is not obj.born:
            value = masked_update(mask, value, old, obj.born)
        self.set_cell(obj, at, value)


def _unwritten(obj: Object) -> Value:
    """Returns what a cell holds that was never written."""
    if obj.default is not None:
        return obj.default
    if isinstance(obj.type, OpaqueType) and is_opaque(obj.type):
        text = f"`{obj.type.spelling}` is not known"
        return Unknown.because(ReasonCode.UNKNOWN_TYPE, text)
    return Unknown.because(ReasonCode.NO_VALUE, f"`{obj.name}` is read before it is written")


def _cells_written(
    obj: Object, at: int, type: CType, value: Aggregate | Unknown
) -> dict[int, Value]:
    """Returns what a write leaves in cells; none of its bytes keeps a value from before."""
    if isinstance(value, Aggregate):
        written = {at + inner: cell for inner, cell in value.cells.items()} or {at: value}
        if not _has_inner_parts(type):
            return written
        text = f"`{obj.name}` was overwritten by an object whose arrays are not followed"
        rest = Unknown.because(ReasonCode.NOT_MODELLED, text)
    else:
        if type.__class__ not in _PARTED:
            return {at: value}
        written = {at + inner: value for inner in islice(_scalars(type), MAX_SCATTER)}
        rest = value
    end = at + max(type.size, 1)
    older = (cell for cell in obj.cells if at <= cell < end and cell not in written)
    return {**written, **dict.fromkeys(older, rest)}


def _has_inner_parts(type: CType) -> bool:
    """Returns whether a part of a type lies in more cells than one itself."""
    if isinstance(type, ArrayType):
        return type.element.__class__ in _PARTED
    return isinstance(type, RecordType) and any(m.type.__class__ in _PARTED for m in type.members)


def _scalars(type: CType) -> Iterator[int]:
    """Yields where the scalars of a type lie, in bytes from its beginning."""
    match type:
        case RecordType():
            for member in type.members:
                yield from (member.offset + at for at in _scalars(member.type))
        case ArrayType() if type.element.size:
            for begin in range(0, type.size or 0, type.element.size):
                yield from (begin + at for at in _scalars(type.element))
        case _:
            yield 0


def _put(obj: Object, offset: int, value: Value | None) -> None:
    if value is None:
        obj.cells.pop(offset, None)
    else:
        obj.cells[offset] = value


def _anything(obj: Object, offset: AffineInt, type: CType, why: str) -> Value:
    """Returns what may be read at an offset that is not known: of functions, one of several."""
    values = list(obj.cells.values())
    if values and all(v is values[0] for v in values):
        return values[0]
    found: Value | None = None
    if is_function_pointer(type):
        found = one_of(v for v in values if isinstance(v, CallableValue))
    elif isinstance(type, IntType) and obj.default is None:
        found = _common_constant(obj, offset)
    elif isinstance(type, PointerType):
        found = _spaced_pointer(obj, offset)
    if found is not None:
        return found
    data = any(isinstance(v, Unknown) and v.is_data for v in values)
    return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, f"`{obj.name}` {why}", is_data=data)


def _spaced_pointer(obj: Object, offset: AffineInt) -> Pointer | None:
    """Returns the pointer `first + index * step` of pointers that lie that far apart.

    As the two of `float *tiles[2] = {s, s + 2048}` do, whichever is picked. Unrolling may make it
    one of them, whose alignment the compiler knows, or it is loaded from memory (SASS of nvcc
    13.0.88, sm_90): which neighbours become one instruction is open.
    """
    cells = sorted(obj.cells.items())
    pointers = [value for _, value in cells if isinstance(value, Pointer)]
    if len(pointers) < max(len(cells), 2) or not isinstance(offset.base, int):
        return None
    (start, _), first = cells[0], pointers[0]
    steps = {b - a for (a, _), (b, _) in pairwise(cells)}
    moves = {_distance(a, b) for a, b in pairwise(pointers)}
    step, move = steps.pop(), moves.pop()
    if steps or moves or move is None:
        return None
    factors = [(s, c) for s, c in offset.terms if isinstance(c, int) and c % step == 0]
    if len(factors) < len(offset.terms) or (offset.base - start) % step:
        return None
    terms = tuple((s, c // step * move) for s, c in factors)
    by = AffineInt((offset.base - start) // step * move, terms=terms)
    alignment = power_of_two(gcd(int(np.gcd.reduce(np.atleast_1d(first.offset.base))), move))
    picked = atom(f"{obj.key}[{offset.identity()}]", alignment)
    form = replace(picked, ptxas_alignment=1, is_open=True)
    moved = with_form(added(first.offset, by, 1, first.offset.type), form)
    return Pointer(first.object, moved, first.target, first.is_volatile)


def _distance(a: Pointer, b: Pointer) -> int | None:
    """Returns the bytes between two pointers into one array; None where they are not known."""
    same_terms = [(s.key, identity(c)) for s, c in a.offset.terms] == [
        (s.key, identity(c)) for s, c in b.offset.terms
    ]
    if a.object is not b.object or not same_terms:
        return None
    apart = np.unique(np.asarray(b.offset.base) - np.asarray(a.offset.base))
    return int(apart[0]) if len(apart) == 1 else None


def _common_constant(obj: Object, offset: AffineInt) -> AffineInt | None:
    """Returns the number that every place holds which a sum can reach: `entries[i].threads`."""
    if not isinstance(offset.base, int) or not offset.terms:
        return None
    step = gcd(*(factor if isinstance(factor, int) else 1 for _, factor in offset.terms))
    common: AffineInt | None = None
    for at, value in obj.cells.items():
        if (at - offset.base) % (step or 1):
            continue
        if not isinstance(value, AffineInt) or value.constant is None:
            return None
        if common is not None and common.constant != value.constant:
            return None
        common = value
    return common
