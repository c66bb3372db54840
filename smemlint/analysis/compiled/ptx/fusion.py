"""What ptxas makes of neighbouring accesses: the rules of `simt.codegen`, on the text of PTX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.compiled.ptx.opcode import Opcode
from smemlint.analysis.simt.codegen.ptxas_fusion import fused
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.frontend.ptx.syntax import Label, Operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.analysis.compiled.ptx.linear import LinearForms
    from smemlint.frontend.ptx.syntax import Statement

_FENCES = frozenset(
    ("bar", "barrier", "membar", "fence", "call", "mbarrier", "atom", "red", "wgmma", "tcgen05")
)
_BRANCHES = frozenset(("bra", "brx", "ret", "exit", "trap"))
_VOLATILE = ("volatile", "relaxed", "acquire", "release", "mmio")


@dataclass(frozen=True, slots=True)
class Fused:
    """What an access becomes.

    Attributes:
        width: bytes of a lane.
        shift: bytes that the instruction begins away from the access.
        is_issued: an instruction is counted here; else it is at another access.
    """

    width: int
    shift: int = 0
    is_issued: bool = True


def fusion_of(statements: Sequence[Statement], forms: LinearForms) -> dict[int, Fused]:
    """What ptxas makes of each access that it changes, by the identity of the operation."""
    found: dict[int, Fused] = {}
    items = list(_items(statements, forms))
    before = {id(e.node): e for e in items if isinstance(e, Event)}
    for event in fused(items, {}):
        old = before[id(event.node)]
        assert isinstance(event.offset, AffineInt) and isinstance(old.offset, AffineInt)
        shift = int(event.offset.base) - int(old.offset.base)
        made = Fused(event.width, shift, bool(event.issued))
        known = found.get(id(event.node))
        if known is None or not known.is_issued:
            found[id(event.node)] = made
    for identity, old in before.items():
        found.setdefault(identity, Fused(old.width, is_issued=False))
    return found


def _items(statements: Sequence[Statement], forms: LinearForms) -> Iterator[Event | Fence]:
    guards: dict[tuple[str, bool], int] = {("", False): 0}
    count = 0
    for statement in statements:
        if isinstance(statement, Label):
            yield Fence("block")
        if not isinstance(statement, Operation):
            continue
        head = statement.opcode[0]
        if head in _BRANCHES:
            yield Fence("block")
        elif head in _FENCES:
            yield Fence("barrier")
        elif head in ("ld", "st"):
            opcode = Opcode(head, statement.opcode[1:])
            if opcode.space == "shared":
                guard = guards.setdefault((statement.guard, statement.is_negated), len(guards))
                yield _event(statement, opcode, forms, guard, count)
                count += 1


def _event(
    operation: Operation, opcode: Opcode, forms: LinearForms, guard: int, number: int
) -> Event:
    is_load = opcode.name == "ld"
    address = forms.of(operation.operands[1 if is_load else 0])
    mask = np.arange(guard + 1) == guard  # accesses under one predicate have one mask
    return Event(
        operation,
        None,
        AccessKind.LOAD if is_load else AccessKind.STORE,
        opcode.bytes * opcode.elements,
        AffineInt(address.constant, form=address.form),
        mask,
        volatile=opcode.has(*_VOLATILE),
        sequence=number,
    )
