"""What the instructions of one PTX kernel ask for while they are lowered: names, sites, notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.ptx.fusion import Fused
from smemlint.analysis.compiled.ptx.linear import LinearForms
from smemlint.analysis.compiled.ptx.operands import Names
from smemlint.analysis.compiled.recorder import Site
from smemlint.analysis.compiled.values import Symbol, Value
from smemlint.analysis.simt.builtins.atomics import issuing
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind, SharedArray, Span
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Operand, Operation
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason

Mask = NDArray[np.bool_]

PARAMETER_BITS = 20
"""Addresses of a parameter's bytes have so many bits; above them stands its number."""


@dataclass(slots=True, eq=False)
class Lowering:
    """One kernel on its way to a program.

    Attributes:
        names: of registers and variables.
        span_of: where an instruction stands for the user.
        call_of: where the call stands whose inlined function begins with an instruction.
        arguments: known kernel arguments by name and byte offset.
        parameters: the names of the kernel's parameters, each with addresses of its own.
        makes_generic: some shared address becomes a generic one.
        forms: how ptxas sees addresses.
        fusion: what ptxas makes of accesses, by the identity of the operation.
        read: the registers that some instruction reads.
        sharing: functions of the file that access shared memory, by mangled name.
        notes: what is not followed, once for each place.
    """

    names: Names
    span_of: Callable[[Operation], Span]
    call_of: Callable[[Operation], Span | None]
    arrays: Mapping[str, SharedArray]
    arguments: Mapping[tuple[str, int], int]
    parameters: Sequence[str]
    makes_generic: bool
    forms: LinearForms
    fusion: Mapping[int, Sequence[Fused]]
    read: frozenset[str]
    arch: str
    sharing: frozenset[str] = frozenset()
    notes: dict[tuple[Span, Reason], None] = field(default_factory=dict)
    _parameters: dict[tuple[str, int], Value] = field(default_factory=dict)

    # ---- what handlers ask for

    def note(self, operation: Operation, reason: Reason) -> None:
        """Notes that an instruction is not followed."""
        self.notes.setdefault((self.span_of(operation), reason))

    def parameter_at(self, address: int) -> tuple[str, int] | None:
        """Returns the parameter at an address of the parameter space, and the byte in it."""
        number, offset = divmod(address, 1 << PARAMETER_BITS)
        return (self.parameters[number], offset) if 0 <= number < len(self.parameters) else None

    def parameter(self, name: str, offset: int, opcode: Opcode) -> Value:
        """Returns the value of a kernel parameter: known, or one unknown for the whole launch."""
        key = (name, offset)
        if key in self.arguments:
            return Value(self.arguments[key])
        if key not in self._parameters:
            shown = name if not offset else f"{name}+{offset}"
            mask = -1 if opcode.is_signed or opcode.width == 64 else (1 << opcode.width) - 1
            self._parameters[key] = Value(0, ((Symbol(shown, mask), 1),))
        return self._parameters[key]

    def sites(
        self,
        operation: Operation,
        kind: AccessKind,
        width: int,
        address: Operand,
        *,
        matrices: int = 0,
        atomic: str = "",
        is_partial: bool = False,
    ) -> tuple[Site, ...]:
        """Returns what ptxas makes of an access, as sites; none where it is part of another one.

        Args:
            operation: the instruction.
            kind: what it does.
            width: bytes a lane.
            address: the operand that names the array.
            matrices: of `ldmatrix` and `stmatrix`.
            atomic: the operation of an atomic or of an asynchronous copy, as the bank model has it.
            is_partial: an asynchronous copy that may fill bytes with zeros.
        """
        span = self.span_of(operation)
        call = self.call_of(operation)
        return tuple(
            Site(
                kind,
                fused.width,
                span,
                operation.spelling,
                matrices,
                atomic,
                self.arrays.get(self.forms.of(address).variable),
                fused.shift,
                call if call is not None and call.line != span.line else None,
                is_partial,
            )
            for fused in self.fusion.get(id(operation), (Fused(width),))
        )

    def issuing(
        self, address: Operand, operand: Operand | None, atomic: str, *, is_used: bool
    ) -> Callable[[Mask], Mask]:
        """Returns which lanes issue an atomic: on one address ptxas adds up over the warp."""
        where = AffineInt(0, form=self.forms.of(address).form)
        what = AffineInt(0, form=self.forms.of(operand).form) if operand is not None else where

        def lanes(mask: Mask) -> Mask:
            found = issuing(mask.reshape(-1), atomic, where, what, is_used=is_used, arch=self.arch)
            return found.reshape(mask.shape)

        return lanes
