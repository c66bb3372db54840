"""What the sections of a cubin say of its kernels: launch bounds, shared memory, parameters.

A cubin is an ELF file. Its attribute sections are not documented by NVIDIA; the numbers are those
that `cuobjdump -elf` of CUDA 13.0 names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import field

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SECTIONS

_MAGIC = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NO_BITS = 8

_SIZED = 4
_MAX_THREADS = 0x05
_REQUIRED_THREADS = 0x10
_PARAMETER = 0x17
_EXTENTS = struct.Struct("<III")
_PARAMETER_INFO = struct.Struct("<IHHI")
_SIZE_SHIFT = 18
_CONSTANT_BANK = 0x0A
_BANK_INFO = struct.Struct("<IHH")


@dataclass(frozen=True, slots=True)
class KernelSection:
    """What a cubin says of one kernel.

    Attributes:
        name: mangled.
        block: the block shape that `__block_size__` or `.reqntid` demands.
        max_block: the bound of `__launch_bounds__`.
        shared_bytes: up to the end of the static arrays, with what the hardware reserves.
        parameters: (offset, size) in bytes of each parameter, in order.
        first_parameter: offset of the parameters in constant bank 0; None if it has none.
    """

    name: str
    block: tuple[int, int, int] | None = None
    max_block: tuple[int, int, int] | None = None
    shared_bytes: int = 0
    parameters: tuple[tuple[int, int], ...] = ()
    first_parameter: int | None = None


@dataclass(slots=True)
class _Found:
    block: tuple[int, int, int] | None = None
    max_block: tuple[int, int, int] | None = None
    shared_bytes: int = 0
    parameters: dict[int, tuple[int, int]] = field(default_factory=dict)
    first_parameter: int | None = None


def is_elf(data: bytes) -> bool:
    """Returns whether a file is a 64-bit little-endian ELF file, as cubins are."""
    return data.startswith(_MAGIC)


def kernel_sections(data: bytes) -> dict[str, KernelSection]:
    """Returns what a cubin says of each kernel that has an attribute section.

    Raises:
        ValueError: the file is not a cubin, or is cut short.
    """
    found: dict[str, _Found] = {}
    for name, type_, body_at, size in sections(data):
        if name.startswith(".nv.info."):
            kernel = found.setdefault(name.removeprefix(".nv.info."), _Found())
            _read_attributes(data[body_at : body_at + size], kernel)
        elif name.startswith(".nv.shared.") and type_ == _NO_BITS:
            kernel = found.setdefault(name.removeprefix(".nv.shared."), _Found())
            kernel.shared_bytes = size
    return {
        name: KernelSection(
            name,
            f.block,
            f.max_block,
            f.shared_bytes,
            tuple(place for _, place in sorted(f.parameters.items())),
            f.first_parameter,
        )
        for name, f in found.items()
    }


def sections(data: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Yields name, type, offset and size of every section.

    Raises:
        ValueError: the file is not a cubin, or is cut short.
    """
    if not is_elf(data):
        raise ValueError("not a 64-bit ELF file")
    try:
        _, _, _, _, _, table, _, _, _, _, entry, count, names = _HEADER.unpack_from(data)
        if entry != _SECTION.size or count > MAX_SECTIONS:
            raise ValueError("its section table has no known form")
        rows = [_SECTION.unpack_from(data, table + i * entry) for i in range(count)]
        strings_at = rows[names][4]
    except (struct.error, IndexError) as error:
        raise ValueError("its section table is cut short") from error
    for row in rows:
        start = strings_at + row[0]
        end = data.find(b"\0", start)
        yield data[start:end].decode("utf-8", "replace"), row[1], row[4], row[5]


def _read_attributes(body: bytes, kernel: _Found) -> None:
    at = 0
    while at + 4 <= len(body):
        form, attribute, size = struct.unpack_from("<BBH", body, at)
        at += 4
        if form != _SIZED:
            continue
        value = body[at : at + size]
        at += size
        if attribute in (_MAX_THREADS, _REQUIRED_THREADS) and len(value) >= _EXTENTS.size:
            x, y, z = _EXTENTS.unpack_from(value)
            if attribute == _REQUIRED_THREADS:
                kernel.block = (x, y, z)
            else:
                kernel.max_block = (x, y, z)
        elif attribute == _CONSTANT_BANK and len(value) >= _BANK_INFO.size:
            _, kernel.first_parameter, _ = _BANK_INFO.unpack_from(value)
        elif attribute == _PARAMETER and len(value) >= _PARAMETER_INFO.size:
            _, number, offset, packed = _PARAMETER_INFO.unpack_from(value)
            kernel.parameters[number] = (offset, packed >> _SIZE_SHIFT)
