"""Calls that begin with an instruction, from the line table that nvcc 13.0.88 makes."""

from __future__ import annotations

import random
import struct

from smemlint.frontend.sass.line_table import calls_at
from smemlint.frontend.sass.parser import Disassembly, SourceLine
from tests.frontend.sass.test_cubin import cubin

TABLE = bytes.fromhex(
    "790000000200280000000101fb0e0a0001010101000000012f746d700000696e6c2e63750001b4da8bd806e003"
    "000000000000090200000000000000000401030401f103040290010100039003180378010003900000f3f0f100"
    "039007000379010003900000030902e00001030102c00001030102200102f001000101"
)
"""Of a program that inlines a function of line 3 at lines 10 and 11: of the two rows at 0xd0 the first
is of line 10, and 0xa0 begins what line 11 computes of its argument."""
RELOCATION = struct.pack("<QQq", 0x35, 14 << 32 | 2, 0)
SYMBOLS = bytes(14 * 24) + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 9, 0, 512)
NAMES = b"\0_Z1kPfi\0"
SASS = """
        .other          _Z1kPfi,@"STO_CUDA_ENTRY STV_DEFAULT"
.text._Z1kPfi:
	//## File "/tmp/inl.cu", line 3 inlined at "/tmp/inl.cu", line 10
	//## File "/tmp/inl.cu", line 10
        /*00d0*/                   LDS R5, [R2] ;
        /*00e0*/                   LDS R7, [R2+0xa0] ;
"""


def file_of(table: bytes) -> bytes:
    return cubin(
        [
            (".debug_line", 1, table, len(table)),
            (".rela.debug_line", 4, RELOCATION, len(RELOCATION)),
            (".symtab", 2, SYMBOLS, len(SYMBOLS)),
            (".strtab", 3, NAMES, len(NAMES)),
        ]
    )


def test_the_first_of_two_rows_is_the_call() -> None:
    assert calls_at(file_of(TABLE)) == {
        "_Z1kPfi": {0xA0: ("/tmp/inl.cu", 11), 0xD0: ("/tmp/inl.cu", 10)}
    }


def test_an_instruction_knows_the_call_that_it_begins() -> None:
    calls = calls_at(file_of(TABLE))
    first, second = Disassembly(SASS, None, calls).function("_Z1kPfi").instructions
    assert (first.line, first.call) == (SourceLine("/tmp/inl.cu", 3), SourceLine("/tmp/inl.cu", 10))
    assert (second.line, second.call) == (SourceLine("/tmp/inl.cu", 3), None)
    library = Disassembly(SASS, lambda path: True, calls).function("_Z1kPfi").instructions
    assert {i.call for i in library} == {None}


def test_a_damaged_table_says_less_and_raises_nothing() -> None:
    assert calls_at(b"") == calls_at(b"\x7fELF") == {}
    rng = random.Random(1)
    for end in range(len(TABLE)):
        assert set(calls_at(file_of(TABLE[:end]))) <= {"_Z1kPfi"}
        for byte in (b"\0", b"\xff"):  # a line range of 0 is a division by it
            calls_at(file_of(TABLE[:end] + byte + TABLE[end + 1 :]))
    for _ in range(2000):
        damaged = bytearray(TABLE)
        for _ in range(rng.randrange(1, 6)):
            damaged[rng.randrange(len(TABLE))] = rng.randrange(256)
        calls_at(file_of(bytes(damaged)))
