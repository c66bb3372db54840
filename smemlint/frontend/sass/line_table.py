"""Calls that begin with an instruction, in the line table of a cubin.

Where the first instruction of an inlined function has two rows at its address, the call and then
its own line, profilers show it at the call; `nvdisasm` prints the second row alone. The table is
DWARF 2, with an opcode of NVIDIA's for inlined functions, which is passed over here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from smemlint.frontend.sass.cubin import sections
from smemlint.limits.budgets import MAX_LINE_TABLE

Place: TypeAlias = "tuple[str, int]"
"""A file and a line."""

_TABLE, _RELOCATIONS = ".debug_line", ".rela.debug_line"
_SYMBOLS, _NAMES = ".symtab", ".strtab"
_HEADER = struct.Struct("<IHIBBbBB")
_VERSION = 2
_RELOCATION = struct.Struct("<QQq")
_SYMBOL_BYTES = 24
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 1, 2, 3, 4
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_CONTINUES = 0x80
_NUMBER_BYTES = 10
"""Bytes of a number of 64 bits."""


def calls_at(data: bytes) -> dict[str, dict[int, Place]]:
    """Returns, by mangled function and offset, the file and line of the call that begins there.

    Where the table is missing, cut short or of another form, what was read of it is returned.
    """
    found: dict[str, dict[int, Place]] = {}
    here, first = ("", -1), ("", 0)
    try:
        parts = {name: data[at : at + size] for name, _, at, size in sections(data)}
        functions = dict(_functions(parts))
        for function, offset, place in _rows(parts.get(_TABLE, b"")[:MAX_LINE_TABLE], functions):
            if (function, offset) != here:  # offsets of a function never go down
                here, first = (function, offset), place
            elif place != first:
                found.setdefault(function, {})[offset] = first
    except (ValueError, LookupError, ZeroDivisionError, struct.error):
        pass
    return found


def _functions(parts: Mapping[str, bytes]) -> Iterator[tuple[int, str]]:
    """Returns the functions of a table by the place of the address they begin at."""
    symbols, names = parts.get(_SYMBOLS, b""), parts.get(_NAMES, b"")
    for place, info, _ in _RELOCATION.iter_unpack(parts.get(_RELOCATIONS, b"")):
        (start,) = struct.unpack_from("<I", symbols, (info >> 32) * _SYMBOL_BYTES)
        yield place, names[start : names.index(b"\0", start)].decode("utf-8", "replace")


def _rows(table: bytes, functions: Mapping[int, str]) -> Iterator[tuple[str, int, Place]]:
    """Returns functions, offsets and places of the rows, in order."""
    at = 0
    while at + _HEADER.size <= len(table):
        header = _HEADER.unpack_from(table, at)
        length, version, prologue = header[:3]
        if version != _VERSION:
            return
        program = at + 10 + prologue
        files = _files(table, at + _HEADER.size + header[7] - 1, program)
        lengths = table[at + _HEADER.size : at + _HEADER.size + header[7] - 1]
        rows = _run(table, program, at + 4 + length, header[3:], lengths, functions)
        for function, offset, file, line in rows:
            yield function, offset, (files[file], line)
        at += 4 + length


def _files(table: bytes, at: int, end: int) -> dict[int, str]:
    """Returns the paths of the table's files, by number."""
    folders = [""]
    while at < end and table[at]:
        text, at = _text(table, at)
        folders.append(f"{text}/")
    at += 1
    found: dict[int, str] = {}
    while at < end and table[at]:
        text, at = _text(table, at)
        folder, at = _number(table, at)
        _, at = _number(table, at)  # when it was written
        _, at = _number(table, at)  # its size
        found[len(found) + 1] = folders[folder] + text
    return found


def _text(table: bytes, at: int) -> tuple[str, int]:
    """Returns a string, and where the next byte stands."""
    end = table.index(b"\0", at)
    return table[at:end].decode("utf-8", "replace"), end + 1


def _run(
    table: bytes,
    at: int,
    end: int,
    header: tuple[int, ...],
    lengths: bytes,
    functions: Mapping[int, str],
) -> Iterator[tuple[str, int, int, int]]:
    """Runs one line number program: functions, offsets, files and lines."""
    step, _, line_base, line_range, first_special = header
    function, address, file, line = "", 0, 1, 1
    while at < end:
        opcode = table[at]
        at += 1
        if opcode >= first_special:
            skipped = opcode - first_special
            address += skipped // line_range * step
            line += line_base + skipped % line_range
            if function:
                yield function, address, file, line
        elif opcode == 0:
            size, at = _number(table, at)
            if table[at] == _SET_ADDRESS:
                function, address = functions.get(at + 1, ""), 0
            elif table[at] == _END_SEQUENCE:
                function, address, file, line = "", 0, 1, 1
            at += size
        elif opcode == _COPY:
            if function:
                yield function, address, file, line
        elif opcode == _CONST_ADD_PC:
            address += (255 - first_special) // line_range * step
        elif opcode == _FIXED_ADVANCE_PC:
            address += struct.unpack_from("<H", table, at)[0]
            at += 2
        else:
            for _ in range(lengths[opcode - 1]):
                value, at = _number(table, at, is_signed=opcode == _ADVANCE_LINE)
                address += value * step if opcode == _ADVANCE_PC else 0
                line += value if opcode == _ADVANCE_LINE else 0
                file = value if opcode == _SET_FILE else file


def _number(table: bytes, at: int, *, is_signed: bool = False) -> tuple[int, int]:
    """Returns a number in LEB128, and where the next byte stands."""
    value = 0
    for i in range(_NUMBER_BYTES):
        byte = table[at + i]
        value |= (byte & ~_CONTINUES) << 7 * i
        if byte < _CONTINUES:
            if is_signed and byte & 0x40:
                value -= 1 << 7 * (i + 1)
            return value, at + i + 1
    raise ValueError("a number of more than 64 bits")
