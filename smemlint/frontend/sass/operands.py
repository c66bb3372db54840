"""Operands of machine instructions as `nvdisasm` writes them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from smemlint.lazy_dataclasses import dataclass

ZERO_REGISTERS = frozenset({"RZ", "URZ"})
TRUE_PREDICATES = frozenset({"PT", "UPT"})


@dataclass(frozen=True, slots=True)
class Register:
    """A general or uniform register.

    Attributes:
        name: e.g. `R12`, `UR4`, `RZ`.
        is_negated, is_inverted, is_absolute: `-R1`, `~R1`, `|R1|`.
        part: a suffix that selects a part of it, e.g. `H0_H0` or `B1`; empty for all 32 bits.
    """

    name: str
    is_negated: bool = False
    is_inverted: bool = False
    is_absolute: bool = False
    part: str = ""

    @property
    def is_zero(self) -> bool:
        """Whether it is the register that always reads zero."""
        return self.name in ZERO_REGISTERS


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate register, e.g. `P0`, `!UP1` or `PT`."""

    name: str
    is_negated: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether it is `PT` or `UPT`, which always read true."""
        return self.name in TRUE_PREDICATES


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number as the 32 bits that the instruction sees; a float's are those of binary32."""

    bits: int
    text: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A word of a constant bank, `c[bank][register + offset]`; an unknown bank is -1."""

    bank: int
    register: str
    offset: int
    is_negated: bool = False
    is_absolute: bool = False
    is_inverted: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """A memory operand: the sum of `register * scale` and an offset in bytes.

    Attributes:
        terms: (register, scale).
        pair: the register whose successor holds the upper word of a generic address.
    """

    terms: tuple[tuple[str, int], ...]
    offset: int
    pair: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the code."""

    name: str


@dataclass(frozen=True, slots=True)
class Word:
    """Anything else: a special register, a barrier, a descriptor."""

    text: str


Operand: TypeAlias = Register | Predicate | Immediate | Constant | Address | Label | Word

_REGISTER = re.compile(r"(U?R(?:\d+|Z))((?:\.\w+)*)$")
_PREDICATE = re.compile(r"(!?)(U?P[0-9T])$")
_INTEGER = re.compile(r"-?(?:0x[0-9a-f]+|\d{1,20})$")
_FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|INF|QNAN)$")
_CONSTANT = re.compile(
    r"c\[(0x[0-9a-f]+)\]\[(?:(U?R(?:\d+|Z))(?:\.\w+)*)?\s*\+?\s*(-?0x[0-9a-f]+)?\]$"
)
_LABEL = re.compile(r"`\(([^()]+)\)$")
_MEMORY = re.compile(r"\[([^\[\]]*)\]$")
_TERM = re.compile(r"[-+]?\s*[^-+\s]+")
_SCALE = re.compile(r"\.X(\d{1,9})")


def split_operands(text: str) -> list[str]:
    """Returns the operands of an instruction: split at commas outside of brackets."""
    if "[" not in text and "{" not in text and "(" not in text:
        return [part.strip() for part in text.split(",")] if text else []
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        if character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return parts


@lru_cache(maxsize=1 << 16)
def parse_operand(text: str) -> Operand:
    """Returns one operand; what is in no known form becomes a `Word`."""
    text = text.replace(".reuse", "")
    if match := _PREDICATE.match(text):
        return Predicate(match[2], bool(match[1]))
    if _INTEGER.match(text):
        return Immediate(_integer(text) & 0xFFFFFFFF, text)
    if _FLOAT.match(text):
        return Immediate(_float_bits(text), text)
    if match := _LABEL.search(text):
        return Label(match[1])
    if "[" in text:
        if constant := _constant(text):
            return constant
        if match := _MEMORY.search(text):
            return _address(match[1])
        return Word(text)
    body, signs = _signs(text)
    if match := _REGISTER.match(body):
        part = match[2].lstrip(".")
        return Register(match[1], *signs, part)
    return Word(text)


def next_register(name: str, steps: int = 1) -> str:
    """Returns the register that follows, of a pair or a quadruple; `RZ` stays."""
    if name in ZERO_REGISTERS:
        return name
    digits = 1 if name[0] == "R" else 2
    return f"{name[:digits]}{int(name[digits:]) + steps}"


def _signs(text: str) -> tuple[str, tuple[bool, bool, bool]]:
    is_negated = text.startswith("-")
    text = text.removeprefix("-")
    is_inverted = text.startswith("~")
    text = text.removeprefix("~")
    is_absolute = text.startswith("|")
    return text.strip("|"), (is_negated, is_inverted, is_absolute)


def _constant(text: str) -> Constant | None:
    body, (is_negated, is_inverted, is_absolute) = _signs(text)
    body = re.sub(r"\](?:\.\w+)+$", "]", body)
    if body.startswith("cx["):
        return Constant(-1, "", 0)
    match = _CONSTANT.match(body)
    if match is None:
        return None
    register = match[2] or ""
    return Constant(
        int(match[1], 16),
        "" if register in ZERO_REGISTERS else register,
        int(match[3] or "0", 16),
        is_negated,
        is_absolute,
        is_inverted,
    )


def _integer(text: str) -> int:
    return int(text, 16 if "x" in text else 10)


def _address(text: str) -> Operand:
    terms, offset, pair = [], 0, ""
    for part in _TERM.findall(text):
        term = part.replace(" ", "").removeprefix("+")
        if _INTEGER.match(term):
            offset += _integer(term)
            continue
        name = term.split(".")[0]
        if not _REGISTER.match(name):
            return Word(f"[{text}]")
        if name not in ZERO_REGISTERS:
            scale = _SCALE.search(term)
            terms.append((name, int(scale[1]) if scale else 1))
            if not term.endswith(".U32"):
                pair = pair or name
    return Address(tuple(terms), offset, pair)


def _float_bits(text: str) -> int:
    value = float(text.replace("INF", "inf").replace("QNAN", "nan"))
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))
