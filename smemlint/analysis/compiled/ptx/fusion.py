"""What ptxas makes of neighbouring accesses: the rules of `simt.codegen`, on the text of PTX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from smemlint.analysis.compiled.ptx.linear import LinearForms
from smemlint.analysis.simt.codegen.ptxas_fusion import fused
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind, SharedArray
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import (
    Address,
    Label,
    Operand,
    Operation,
    Statement,
    Vector,
    names_in,
)
from smemlint.lazy_dataclasses import dataclass

_FENCES = frozenset(
    ("bar", "barrier", "membar", "fence", "call", "mbarrier", "atom", "red", "wgmma", "tcgen05")
)
_BRANCHES = frozenset(("bra", "brx", "ret", "exit", "trap"))
_VOLATILE = ("volatile", "relaxed", "acquire", "release", "mmio")


@dataclass(frozen=True, slots=True)
class Fused:
    """An instruction that is counted at an access.

    Attributes:
        width: bytes of a lane.
        shift: bytes that the instruction begins away from the access.
    """

    width: int
    shift: int = 0


def fusion_of(
    statements: Sequence[Statement], forms: LinearForms, arrays: Mapping[str, SharedArray]
) -> dict[int, list[Fused]]:
    """Returns what ptxas makes of each load and store, by the identity of the operation."""
    reader = _Reader(forms, arrays, _read_registers(statements))
    items = list(reader.items(statements))
    bases = {id(a): a.base for a in arrays.values() if not a.is_dynamic}
    before = {e.sequence: e for e in items if isinstance(e, Event)}
    found: dict[int, list[Fused]] = {id(e.node): [] for e in before.values()}
    for event in fused(items, bases):
        if event.issued:
            assert isinstance(event.offset, AffineInt)
            address = reader.address(cast("Operation", event.node))
            result = Fused(event.width, int(event.offset.base) - address)
            found[id(event.node)].append(result)
    return found


def _read_registers(statements: Sequence[Statement]) -> frozenset[str]:
    """Returns the registers that some instruction reads."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, Operation):
            first = statement.operands[:1]
            is_target = first and not isinstance(first[0], Address)
            is_target = is_target and statement.opcode[0] not in ("st", "red", "bra", "call")
            for operand in statement.operands[1 if is_target else 0 :]:
                found.update(names_in(operand))
            found.add(statement.guard)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes the items that fusion works on."""

    forms: LinearForms
    arrays: Mapping[str, SharedArray]
    read: frozenset[str]

    def items(self, statements: Sequence[Statement]) -> Iterator[Event | Fence]:
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
            elif head in ("ld", "st") and len(statement.operands) == 2:
                opcode = Opcode(head, statement.opcode[1:])
                if opcode.space == "shared":
                    guard = guards.setdefault((statement.guard, statement.is_negated), len(guards))
                    for event in self._events(statement, opcode, guard):
                        event.sequence = count
                        count += 1
                        yield event

    def address(self, operation: Operation) -> int:
        """Returns the constant part of the address that an operation names."""
        return self.forms.of(_address(operation)).constant

    def _events(self, operation: Operation, opcode: Opcode, guard: int) -> Iterator[Event]:
        """Returns one event, or one for each element of a vector of which some are not read."""
        address = self.forms.of(_address(operation))
        is_volatile = opcode.has(*_VOLATILE) or (opcode.is_signed and opcode.bytes < 4)
        event = Event(
            cast("Any", operation),  # its identity is all that fusion asks for
            cast("Any", self.arrays.get(address.variable)),
            AccessKind.LOAD if opcode.name == "ld" else AccessKind.STORE,
            opcode.bytes * opcode.elements,
            AffineInt(address.constant, form=address.form),
            np.arange(guard + 1) == guard,  # accesses under one predicate have one mask
            volatile=is_volatile,  # what extends a sign does not merge
        )
        used = self._used(operation) if opcode.name == "ld" and not is_volatile else ()
        if all(used):
            yield event
            return
        for index, is_used in enumerate(used):
            if is_used:
                place = AffineInt(address.constant + index * opcode.bytes, form=address.form)
                yield replace(event, width=opcode.bytes, offset=place)

    def _used(self, operation: Operation) -> tuple[bool, ...]:
        """Returns for each element that a load writes whether it is read."""
        target = operation.operands[0]
        items = target.items if isinstance(target, Vector) else (target,)
        return tuple(not self.read.isdisjoint(names_in(item)) for item in items)


def _address(operation: Operation) -> Operand:
    return operation.operands[1 if operation.opcode[0] == "ld" else 0]
