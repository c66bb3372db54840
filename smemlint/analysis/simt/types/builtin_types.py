"""Types that CUDA knows without a declaration: keywords, vectors, formats of small floats."""

from __future__ import annotations

from functools import lru_cache

from smemlint.analysis.simt.domain.ctypes import (
    BF16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    I8,
    I16,
    I32,
    I64,
    NULL,
    TF32,
    U8,
    U16,
    U32,
    U64,
    VOID,
    ArrayType,
    CType,
    FloatType,
    IntType,
    Member,
    PointerType,
    RecordType,
    VoidType,
)

_ALIASES: dict[str, CType] = {
    "int8_t": I8, "uint8_t": U8, "int16_t": I16, "uint16_t": U16,
    "int32_t": I32, "uint32_t": U32, "int64_t": I64, "uint64_t": U64,
    "uchar": U8, "ushort": U16, "uint": U32, "ulong": U64, "BYTE": U8,
    "byte": U8,  # of <cstddef>
    "size_t": U64, "ssize_t": I64, "ptrdiff_t": I64, "intptr_t": I64, "uintptr_t": U64,
    "wchar_t": I32, "char8_t": U8, "char16_t": U16, "char32_t": U32,
    "clock_t": I64, "half": HALF, "__half": HALF, "half_t": HALF, "float16_t": HALF,
    "nv_half": HALF, "__nv_bfloat16": BF16, "nv_bfloat16": BF16, "bfloat16_t": BF16,
    "bf16": BF16, "nv_bfloat": BF16, "float32_t": FLOAT, "float64_t": DOUBLE,
    "tfloat32_t": TF32, "tf32_t": TF32,
    "__nv_fp8_e4m3": FloatType("e4m3", 1), "__nv_fp8_e5m2": FloatType("e5m2", 1),
    "e4m3": FloatType("e4m3", 1), "e5m2": FloatType("e5m2", 1),  # as instances are named
    "tf32": TF32,
    "float_e4m3_t": FloatType("e4m3", 1), "float_e5m2_t": FloatType("e5m2", 1),
    "fp8_e4m3_t": FloatType("e4m3", 1), "__nv_fp8_storage_t": U8,
    "__nv_fp8_e8m0": FloatType("e8m0", 1), "float_ue8m0_t": FloatType("e8m0", 1),
    "__int128": IntType(128, True), "__int128_t": IntType(128, True),
    "__uint128_t": IntType(128, False), "uint128_t": IntType(128, False),
    "cuuint32_t": U32, "cuuint64_t": U64, "nullptr_t": NULL,
}  # fmt: skip


def _vector(name: str, element: CType, count: int) -> RecordType:
    """Returns a built-in vector with the alignment that vector_types.h gives it."""
    size = element.size * count
    align = element.align if count == 3 else min(size, 16)
    members = tuple(
        Member(axis, element, i * element.size) for i, axis in enumerate("xyzw"[:count])
    )
    return RecordType(name, members, size, align, is_pair_class=element in (HALF, BF16))


def _vectors() -> dict[str, CType]:
    scalars: dict[str, CType] = {
        "char": I8, "uchar": U8, "short": I16, "ushort": U16, "int": I32, "uint": U32,
        "long": I64, "ulong": U64, "longlong": I64, "ulonglong": U64,
        "float": FLOAT, "double": DOUBLE,
    }  # fmt: skip
    table: dict[str, CType] = {}
    for name, element in scalars.items():
        for count in (1, 2, 3, 4):
            table[f"{name}{count}"] = _vector(f"{name}{count}", element, count)
    for names, element in (
        (("half2", "__half2", "nv_half2"), HALF),
        (("__nv_bfloat162", "nv_bfloat162", "bf16_2"), BF16),
    ):
        for name in names:
            table[name] = _vector(name, element, 2)
    for name in ("cuComplex", "cufftComplex", "cuFloatComplex"):
        table[name] = _vector(name, FLOAT, 2)
    for name in ("cuDoubleComplex", "cufftDoubleComplex"):
        table[name] = _vector(name, DOUBLE, 2)
    dim3 = tuple(Member(axis, U32, 4 * i) for i, axis in enumerate("xyz"))
    table["dim3"] = RecordType("dim3", dim3, 12, 4)
    table["cudaLaunchConfig_t"] = _launch_config(table["dim3"])
    table["cudaKernelNodeParams"] = _node_of_graph(table["dim3"])
    for name in ("CUtensorMap", "TmaDescriptor"):
        table[name] = RecordType(name, (Member("opaque", ArrayType(U64, 16), 0),), 128, 64)
    return table


def _launch_config(dim3: CType) -> RecordType:
    """Returns what `cudaLaunchKernelEx` is given, as `driver_types.h` lays it out."""
    members = (
        Member("gridDim", dim3, 0),
        Member("blockDim", dim3, 12),
        Member("dynamicSmemBytes", U64, 24),
        Member("stream", PointerType(VoidType()), 32),
        Member("attrs", PointerType(VoidType()), 40),
        Member("numAttrs", U32, 48),
    )
    return RecordType("cudaLaunchConfig_t", members, 56, 8)


def _node_of_graph(dim3: CType) -> RecordType:
    """Returns what `cudaGraphAddKernelNode` is given, as `driver_types.h` lays it out."""
    members = (
        Member("func", PointerType(VoidType()), 0),
        Member("gridDim", dim3, 8),
        Member("blockDim", dim3, 20),
        Member("sharedMemBytes", U32, 32),
        Member("kernelParams", PointerType(PointerType(VoidType())), 40),
        Member("extra", PointerType(PointerType(VoidType())), 48),
    )
    return RecordType("cudaKernelNodeParams", members, 56, 8)


NAMED: dict[str, CType] = {**_ALIASES, **_vectors()}


KEYWORDS: dict[str, CType] = {
    "int": I32, "unsigned": U32, "float": FLOAT, "double": DOUBLE, "void": VOID, "bool": BOOL,
    "char": I8, "short": I16, "long": I64,
}  # fmt: skip
"""Types of one keyword, which no declaration can give another meaning."""


@lru_cache(4096)
def builtin_type(words: tuple[str, ...]) -> CType | None:
    """Returns the type that words like `unsigned long long` name; None for no built-in type."""
    names = [w for w in words if w not in ("const", "volatile")]
    if len(names) == 1:
        word = names[0].removeprefix("::").removeprefix("std::").removeprefix("cute::")
        word = word.removeprefix("cutlass::").removeprefix("::")
        if word in NAMED:
            return NAMED[word]
    unsigned = "unsigned" in names
    rest = sorted(w for w in names if w not in ("signed", "unsigned", "int"))
    match rest:
        case []:
            return (U32 if unsigned else I32) if names else None
        case ["bool"] | ["_Bool"]:
            return BOOL
        case ["char"]:
            return U8 if unsigned else I8
        case ["short"]:
            return U16 if unsigned else I16
        case ["long"] | ["long", "long"]:
            return U64 if unsigned else I64
        case ["float"]:
            return FLOAT
        case ["double"] | ["double", "long"]:
            return DOUBLE
        case ["void"]:
            return VOID
        case ["__int128"]:
            return NAMED["__int128"]
        case _:
            return None
