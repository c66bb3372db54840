"""Which registers an instruction writes, and how its operands are read.

The widths of results are those that ptxas 13.0 emits for sm_75 to sm_121; NVIDIA documents none
of this.
"""

from __future__ import annotations

import re

from smemlint.frontend.sass.operands import (
    TRUE_PREDICATES,
    ZERO_REGISTERS,
    Predicate,
    Register,
    next_register,
)
from smemlint.frontend.sass.parser import Instruction

_WITHOUT_RESULT = frozenset((
    "ARRIVES", "BAR", "BPT", "BRA", "BREAK", "BRX", "BSSY", "BSYNC", "CALL", "CCTL", "CCTLL",
    "CGAERRBAR", "DEPBAR", "ENDCOLLECTIVE", "ERRBAR", "EXIT", "FENCE", "JMP", "JMX", "KILL",
    "LDGDEPBAR", "LDGSTS", "MEMBAR", "NANOSLEEP", "NOP", "PREEXIT", "ACQBULK", "RED", "REDG", "RET",
    "ST", "STAS", "STG", "STL", "STS", "STSM", "UBLKCP", "UBLKPF", "UCGABAR_ARV", "UCGABAR_WAIT",
    "USETMAXREG", "UTMACCTL", "UTMACMDFLUSH", "UTMALDG", "UTMAPF", "UTMAREDG", "UTMASTG",
    "WARPGROUP", "WARPSYNC", "YIELD",
))  # fmt: skip
ONLY_PREDICATES = frozenset((
    "DSETP", "FCHK", "FSETP", "HSETP2", "ISETP", "PLOP3", "PSETP", "SYNCS", "UISETP", "UPLOP3",
    "UPSETP",
))  # fmt: skip
"""What they write are predicates: a register that follows is read."""
PREDICATES_AFTER_RESULT = frozenset((
    "IADD3", "UIADD3", "IMAD", "UIMAD", "LEA", "ULEA", "LOP3", "ULOP3", "MATCH", "REDUX", "ATOM",
    "ATOMG", "VIMNMX", "UVIMNMX", "VIMNMX3", "VIADDMNMX",
))  # fmt: skip
_TWO_PREDICATES = frozenset(
    ["DSETP", "FSETP", "HSETP2", "ISETP", "PLOP3", "PSETP", "UISETP", "UPLOP3", "UPSETP"]
)
_LOADS = frozenset(["LDC", "LDCU", "ULDC", "LD", "LDG", "LDS", "LDL", "ATOM", "ATOMG", "ATOMS"])
_DOUBLES = frozenset(["DADD", "DMUL", "DFMA", "DMNMX", "DSEL"])
_WITH_PAIRS = frozenset(["IADD", "IADD3", "MOV", "UIADD", "UIADD3", "UMOV"])
"""Of sm_120, with the modifier `64`."""
_TILE = re.compile(r"\d+x(\d+)x\d+")


def results(instruction: Instruction) -> tuple[str, ...]:
    """Returns the registers and predicates that an instruction writes."""
    opcode = instruction.opcode
    if opcode in _WITHOUT_RESULT:
        return ()
    if opcode == "R2P":
        return tuple(f"P{i}" for i in range(7))
    if opcode in ("VOTE", "VOTEU"):
        return tuple(
            o.name for o in instruction.operands[:-1] if isinstance(o, (Register, Predicate))
        )
    names: list[str] = []
    has_register = False
    for place, operand in enumerate(instruction.operands):
        if isinstance(operand, Predicate):
            is_extra = opcode in PREDICATES_AFTER_RESULT if has_register else True
            if not is_extra or operand.is_negated or (opcode in _TWO_PREDICATES and place > 1):
                break
            names.append(operand.name)
        elif isinstance(operand, Register) and not has_register and opcode not in ONLY_PREDICATES:
            has_register = True
            names += [next_register(operand.name, i) for i in range(_width(instruction))]
        else:
            break
    return tuple(n for n in names if n not in TRUE_PREDICATES and n not in ZERO_REGISTERS)


def _width(instruction: Instruction) -> int:
    """Returns how many registers the result takes."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in _LOADS:
        return 4 if "128" in modifiers else 2 if "64" in modifiers else 1
    if opcode == "LDSM":
        return int(modifiers[-1]) if modifiers[-1] in ("2", "4") else 1
    if opcode in ("HMMA", "IMMA", "BMMA", "QMMA", "DMMA"):
        return _matrix_width(opcode, modifiers)
    if opcode in ("HGMMA", "IGMMA", "QGMMA", "BGMMA"):
        tile = next((m for m in map(_TILE.match, modifiers) if m), None)
        columns = int(tile[1]) if tile else 256
        return columns // 4 if opcode == "HGMMA" and "F32" not in modifiers else columns // 2
    if opcode in ("TEX", "TLD", "TXD", "TLD4", "SULD"):
        return 4
    if opcode == "CS2R":
        return 1 if "32" in modifiers else 2
    is_wide = (
        "WIDE" in modifiers
        or (opcode in _WITH_PAIRS and "64" in modifiers)
        or opcode in _DOUBLES
        or opcode == "LEPC"
    )
    if opcode in ("I2F", "F2F"):
        is_wide = modifiers[:1] == ("F64",)
    if opcode in ("F2I", "I2I", "FRND"):
        is_wide = bool({"S64", "U64"} & set(modifiers[:1])) or modifiers[:1] == ("F64",)
    return 2 if is_wide else 1


def _matrix_width(opcode: str, modifiers: tuple[str, ...]) -> int:
    if opcode == "DMMA":
        return 4 if "884" in modifiers else 8
    if opcode == "HMMA":
        return 4 if "F32" in modifiers else 2
    return 2 if {"8816", "8832", "88128"} & set(modifiers) else 4
