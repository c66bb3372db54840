"""What the parts of a PTX opcode say: types, state spaces, modifiers."""

from __future__ import annotations

from smemlint.frontend.ptx.module import sizeof
from smemlint.lazy_dataclasses import dataclass

_SPACES = ("shared", "global", "local", "param", "const")
_INTEGER = ("b", "u", "s")


@dataclass(frozen=True, slots=True)
class Opcode:
    """An opcode, e.g. `ld.volatile.shared::cta.v2.f32`.

    Attributes:
        name: its first part.
        parts: the others.
    """

    name: str
    parts: tuple[str, ...]

    def has(self, *words: str) -> bool:
        """Returns whether one of the parts is one of the words."""
        return any(word in self.parts for word in words)

    @property
    def types(self) -> tuple[str, ...]:
        """The types that it names, the destination's first."""
        return tuple(p for p in self.parts if is_type(p))

    @property
    def type(self) -> str:
        """The last type that it names; `b32` without one."""
        types = self.types
        return types[-1] if types else "b32"

    @property
    def bytes(self) -> int:
        """Of one element."""
        return sizeof(self.type)

    @property
    def width(self) -> int:
        """Bits of its type; 1 for predicates."""
        return 1 if self.type == "pred" else 8 * self.bytes

    @property
    def is_signed(self) -> bool:
        """Whether operands are two's complement."""
        return self.type.startswith("s")

    @property
    def is_integer(self) -> bool:
        """Whether operands are integers, bits or predicates."""
        return self.type == "pred" or is_integer(self.type)

    @property
    def elements(self) -> int:
        """Of a vector."""
        found = [p for p in self.parts if p in ("v2", "v4", "v8")]
        return int(found[0][1:]) if found else 1

    @property
    def matrices(self) -> int:
        """Of `ldmatrix` and `stmatrix`."""
        found = [p for p in self.parts if p in ("x1", "x2", "x4")]
        return int(found[0][1:]) if found else 0

    @property
    def space(self) -> str:
        """The state space; empty for generic addresses, `cluster` for distributed shared memory."""
        for part in self.parts:
            name, _, scope = part.partition("::")
            if name in _SPACES:
                return "cluster" if scope == "cluster" else name
        return ""


def is_type(part: str) -> bool:
    """Returns whether a part of an opcode is a type, e.g. `u32` or `f16x2`."""
    head = part.rstrip("0123456789x")
    return part in ("pred", "tf32") or (
        head in ("b", "u", "s", "f", "bf", "e") and part != head and part[len(head)].isdigit()
    )


def is_integer(type_: str) -> bool:
    """Returns whether a type is of integers or bits."""
    return type_[:1] in _INTEGER and type_[1:].isdigit()
