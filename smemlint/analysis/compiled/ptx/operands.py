"""Operands of PTX as functions of the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from smemlint.analysis.compiled.arithmetic import add
from smemlint.analysis.compiled.bits import bitwise
from smemlint.analysis.compiled.state import Operand as Reader
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import ONE, Symbol, Value, uniform, wrap
from smemlint.frontend.ptx.syntax import (
    Address,
    Immediate,
    Name,
    Negated,
    Operand,
    Registers,
    Sum,
    names_in,
)
from smemlint.lazy_dataclasses import dataclass

SHARED_WINDOW = 1 << 40
"""Added to an address of shared memory that was made generic, so that it is known again."""
LOCAL_WINDOW = 1 << 41
_AXES = {"x": 0, "y": 1, "z": 2}
_LARGEST_GRID = (1 << 31) - 1
_BITS = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b64": 64, "u64": 64, "s64": 64, "f64": 64}


def bits_of(type_: str) -> int:
    """Returns the bits of a register of this type."""
    if type_.endswith("16"):
        return 16
    return 64 if type_ == "b128" else _BITS.get(type_, 32)


@dataclass(slots=True)
class Names:
    """The names of a kernel: registers by scope, addresses of variables.

    Attributes:
        addresses: of variables in shared and local memory.
        widths: of registers in bits, where they are not 32.
    """

    addresses: Mapping[str, int]
    widths: dict[object, int] = field(default_factory=dict)
    _scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    _counted: dict[str, str] = field(default_factory=dict)
    _fresh: int = 0

    def scope(self, *, is_open: bool) -> None:
        """Opens or closes a scope."""
        if is_open:
            self._scopes.append({})
        elif len(self._scopes) > 1:
            self._scopes.pop()

    def declare(self, registers: Registers) -> None:
        """Takes the registers of a declaration; those of inner scopes get names of their own."""
        bits = bits_of(registers.type)
        for prefix, _ in registers.counted:
            self._counted[prefix] = registers.type
        for name in registers.names:
            full = name
            if len(self._scopes) > 1:
                self._fresh += 1
                full = self._scopes[-1][name] = f"{name}@{self._fresh}"
            if bits != 32:
                self.widths[full] = bits

    def register(self, name: str) -> str:
        """Returns the register that a name means here."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if name not in self.widths:
            type_ = self._counted.get(name.rstrip("0123456789"))
            if type_ is not None and bits_of(type_) != 32:
                self.widths[name] = bits_of(type_)
        return name

    def registers(self, operand: Operand) -> tuple[str, ...]:
        """Returns the registers in an operand."""
        return tuple(
            self.register(name)
            for name in names_in(operand)
            if name not in self.addresses and name != "_" and not _is_special(name)
        )

    def reader(self, operand: Operand) -> Reader:
        """Returns the value of an operand."""
        match operand:
            case Immediate(number):
                value = Value(int(wrap(number, 64)))
                return lambda state: value
            case Negated(name):
                read = self.reader(name)
                return lambda state: bitwise("xor", read(state), ONE, 1)
            case Sum(name, offset) | Address(Name() as name, offset, _):
                return self._displaced(name, offset)
            case Address(base, _, _):
                return self.reader(base)
            case Name(text):
                return self._name(text)
            case _:
                return lambda state: uniform()

    def _displaced(self, name: Name, offset: int) -> Reader:
        read = self.reader(name)
        if not offset:
            return read
        value = Value(offset)
        return lambda state: add(read(state), value, 64)

    def _name(self, text: str) -> Reader:
        if text in self.addresses:
            address = Value(self.addresses[text])
            return lambda state: address
        if text == "WARP_SZ":
            return lambda state: Value(32)
        if _is_special(text) and self.register(text) == text:
            return special_register(text)
        register = self.register(text)
        return lambda state: state.get(register)


_SPECIAL = frozenset((
    "tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid",
    "clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi", "clusterid",
    "nclusterid", "cluster_ctaid", "cluster_nctaid", "cluster_ctarank", "cluster_nctarank",
    "is_explicit_cluster", "dynamic_smem_size", "total_smem_size", "aggr_smem_size",
    "reserved_smem_offset_begin", "current_graph_exec", "lanemask_eq", "lanemask_lt",
    "lanemask_le", "lanemask_gt", "lanemask_ge",
))  # fmt: skip


def _is_special(text: str) -> bool:
    head = text[1:].partition(".")[0]
    return text[:1] == "%" and (head in _SPECIAL or head.startswith(("envreg", "pm")))


def special_register(text: str) -> Reader:
    """Returns the value of a special register, e.g. `%tid.x`."""
    head, _, axis = text[1:].partition(".")
    if head in ("tid", "ntid") and axis in _AXES:
        at = _AXES[axis]
        if head == "tid":
            return lambda state: state.geometry.thread[at]
        return lambda state: Value(state.geometry.block[at])
    if head == "laneid":
        return lambda state: state.geometry.lane
    if head == "warpid":
        return lambda state: state.geometry.warp
    if head == "nwarpid":
        return lambda state: Value(len(state.geometry.live))
    if head.startswith("lanemask_"):
        return lambda state: _lane_mask(state, head[9:])
    mask = _LARGEST_GRID if head in ("ctaid", "nctaid") else -1
    fixed = Value(0, ((Symbol(text, mask), 1),))
    if head.startswith(("clock", "globaltimer")):
        return lambda state: uniform()
    return lambda state: state.geometry.launch.get(text, fixed)


def _lane_mask(state: State, relation: str) -> Value:
    one = np.left_shift(np.int64(1), np.asarray(state.geometry.lane.base))
    below, upto = one - 1, 2 * one - 1
    masks = {"eq": one, "lt": below, "le": upto, "gt": 0xFFFFFFFF ^ upto, "ge": 0xFFFFFFFF ^ below}
    return Value(masks[relation])
