"""The reader of cubin sections, on files that the test builds."""

from __future__ import annotations

import struct

import pytest

from smemlint.frontend.sass.cubin import KernelSection, is_elf, kernel_sections


def cubin(sections: list[tuple[str, int, bytes, int]]) -> bytes:
    """An ELF file of (name, type, contents, size)."""
    names = b"\0" + b"".join(n.encode() + b"\0" for n, *_ in sections) + b".shstrtab\0"
    bodies, rows, at = b"", [], 64
    for name, type_, body, size in [*sections, (".shstrtab", 3, names, len(names))]:
        rows.append(
            struct.pack(
                "<IIQQQQIIQQ", names.index(name.encode()), type_, 0, 0, at, size, 0, 0, 1, 0
            )
        )
        bodies, at = bodies + body, at + len(body)
    header = b"\x7fELF\x02\x01" + bytes(10)
    header += struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, at, 0, 64, 0, 0, 64, len(rows), len(rows) - 1
    )
    return header + bodies + b"".join(rows)


def attribute(number: int, value: bytes) -> bytes:
    return struct.pack("<BBH", 4, number, len(value)) + value


def test_launch_bounds_shared_memory_and_parameters() -> None:
    info = (
        struct.pack("<BBH", 3, 0x1B, 0xFF)
        + attribute(0x05, struct.pack("<III", 256, 1, 1))
        + attribute(0x10, struct.pack("<III", 32, 8, 1))
        + attribute(0x17, struct.pack("<IHHI", 0, 1, 8, 4 << 18))
        + attribute(0x17, struct.pack("<IHHI", 0, 0, 0, 8 << 18))
        + attribute(0x0A, struct.pack("<IHH", 5, 0x380, 16))
    )
    data = cubin([(".nv.info.k", 1, info, len(info)), (".nv.shared.k", 8, b"", 0x400 + 4096)])
    assert is_elf(data)
    assert kernel_sections(data) == {
        "k": KernelSection("k", (32, 8, 1), (256, 1, 1), 5120, ((0, 8), (8, 4)), 0x380)
    }


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(70), b"GIF89a"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        kernel_sections(data)


def test_a_cut_cubin_is_refused_or_read() -> None:
    data = cubin([(".nv.info.k", 1, attribute(0x05, bytes(12)), 16)])
    for end in range(len(data)):
        try:
            kernel_sections(data[:end])
        except ValueError:
            continue
