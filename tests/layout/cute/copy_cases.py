"""Kernels whose accesses CuTe's own `copy` and `gemm` have logged (tests/oracle/cute_copies)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from smemlint.layout import cute
from smemlint.layout.cute import UNDERSCORE as _
from smemlint.layout.cute import (
    CopyAtom,
    DynamicInt,
    Instruction,
    Layout,
    Space,
    Tensor,
    TiledCopy,
    TiledMma,
    copy,
    make_tiled_copy,
    make_tiled_copy_for,
)
from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    from collections.abc import Callable

    from smemlint.layout.cute import AnyLayout, CopyOp, IntTuple, SmemAtom

Case = tuple[int, list[Instruction]]
"""Threads and instructions."""

B_AT = 65536
LOAD, STORE = "S", "D"


def lanes(count: int) -> DynamicInt:
    return DynamicInt(np.arange(count))


def run_time(value: int = 0) -> DynamicInt:
    return DynamicInt(value)


def shared(bits: int, layout: AnyLayout, at: int = 0, swizzle: Swizzle | None = None) -> Tensor:
    return Tensor(Space.SHARED, bits, layout, 8 * at, swizzle)


def in_global(bits: int, layout: Layout) -> Tensor:
    return Tensor(Space.GLOBAL, bits, layout)


def right(*extents: int) -> Layout:
    return Layout(extents, cute.compact_strides(extents, is_right=True))


def swizzled(parameters: tuple[int, int, int], atom: Layout, shape: IntTuple) -> AnyLayout:
    return cute.compose_swizzle(Swizzle(*parameters), cute.tile_to_shape(atom, shape))


def op(name: str, bits: int = 0) -> CopyOp:
    found = cute.copy_op(name, bits)
    assert found is not None
    return found


def mma(name: str, atoms: IntTuple = (1, 1, 1), *permutation: object) -> TiledMma:
    found = cute.mma_op(name)
    assert found is not None
    if permutation:
        return TiledMma(found, Layout(atoms), permutation)  # type: ignore[arg-type]
    return TiledMma(found, Layout(atoms))


# ---- the tutorials


def sgemm_1(smem: Layout, threads_a: Layout, threads_c: Layout, strides: IntTuple) -> Case:
    count = cute.static(threads_c.size)
    thread = lanes(count)
    tile, at = (128, 128, 8), (run_time(), run_time(), _)
    problem = in_global(32, Layout((DynamicInt(), DynamicInt()), strides))
    found: list[Instruction] = []
    tiles = []
    for base, projection in ((0, (1, _, 1)), (8192, (_, 1, 1))):
        block = cute.local_tile(problem, tile, at, projection)
        tensor = shared(32, smem, base)
        source = cute.local_partition(block, threads_a, thread).slice(_, _, run_time())
        found += copy(source, cute.local_partition(tensor, threads_a, thread))
        tiles.append(tensor)
    a = cute.local_partition(tiles[0], threads_c, thread, (1, _))
    b = cute.local_partition(tiles[1], threads_c, thread, (_, 1))
    return count, found + cute.gemm(a, b)


def sgemm_2(
    smem: Layout, tiled: TiledCopy, multiply: TiledMma, strides: IntTuple, *, is_sm70: bool
) -> Case:
    thread = lanes(multiply.threads)
    problem = in_global(32, Layout((DynamicInt(), DynamicInt()), strides))
    block = cute.local_tile(problem, (128, 128, 8), (run_time(), run_time(), _), (1, _, 1))
    a, b = shared(32, smem), shared(32, smem, 8192)
    to_a, to_b = (tiled.partition(t, thread, STORE) for t in (a, b))
    from_global = tiled.partition(block, thread, LOAD).slice(_, _, _, run_time())
    registers = to_a.fragment_like()
    found = copy(from_global, registers, tiled)
    found += copy(registers, to_a) + copy(to_b.fragment_like(), to_b)
    of_a, of_b = multiply.partition(a, thread, "A"), multiply.partition(b, thread, "B")
    if not is_sm70:
        return multiply.threads, found + cute.gemm(of_a, of_b, multiply)
    return multiply.threads, found + _by_k([(of_a, "A"), (of_b, "B")], multiply)


def _by_k(parts: list[tuple[Tensor, Literal["A", "B"]]], multiply: TiledMma) -> list[Instruction]:
    found: list[Instruction] = []
    for k in range(cute.static(parts[0][0].mode(2).size)):
        for part, operand in parts:
            fragment = multiply.fragment(part, operand)
            at = (_, _, run_time(k))
            found += copy(part.slice(*at), fragment.slice(*at))
    return found


def sgemm_sm80(
    bits: int,
    smem: AnyLayout,
    tiled: TiledCopy,
    atom: CopyAtom,
    multiply: TiledMma,
    strides: IntTuple,
) -> Case:
    thread = lanes(multiply.threads)
    problem = in_global(bits, Layout((DynamicInt(), DynamicInt()), strides))
    block = cute.local_tile(problem, (128, smem.plain.mode(1).size), (run_time(), _))
    a, b = shared(bits, smem), shared(bits, smem, B_AT)
    source = tiled.partition(block, thread, LOAD).slice(_, _, _, run_time())
    found: list[Instruction] = []
    for tensor in (a, b):
        stage = tiled.partition(tensor, thread, STORE).slice(_, _, _, run_time(1))
        found += copy(source, stage, tiled)
    pairs = []
    for tensor, operand in ((a, "A"), (b, "B")):
        first = tensor.slice(_, _, run_time())
        fragment = multiply.fragment(multiply.partition(first, thread, operand), operand)
        by_operand = make_tiled_copy_for(atom, multiply, operand)
        part = by_operand.partition(tensor, thread, LOAD).slice(_, _, _, run_time(2))
        pairs.append((part, by_operand.retile(fragment)))
    for k in range(cute.static(pairs[0][1].mode(2).size)):
        for part, fragment in pairs:
            found += copy(part.slice(_, _, k), fragment.slice(_, _, k), atom)
    return multiply.threads, found


# ---- operands, partitions and tiled copies by themselves


def operands(
    bits: int,
    smem: tuple[AnyLayout, AnyLayout],
    atoms: tuple[CopyAtom, CopyAtom],
    multiply: TiledMma,
) -> Case:
    thread = lanes(multiply.threads)
    found: list[Instruction] = []
    for operand, layout, atom, at in zip("AB", smem, atoms, (0, B_AT), strict=True):
        tensor = shared(bits, layout, at)
        fragment = multiply.fragment(multiply.partition(tensor, thread, operand), operand)  # type: ignore[arg-type]
        tiled = make_tiled_copy_for(atom, multiply, operand)  # type: ignore[arg-type]
        found += copy(tiled.partition(tensor, thread, LOAD), tiled.retile(fragment), tiled)
    return multiply.threads, found


def partitions(bits: int, smem: tuple[AnyLayout, AnyLayout], multiply: TiledMma) -> Case:
    thread = lanes(multiply.threads)
    a = multiply.partition(shared(bits, smem[0]), thread, "A")
    b = multiply.partition(shared(bits, smem[1], B_AT), thread, "B")
    to_a, to_b = a.fragment_like(), b.fragment_like()
    found: list[Instruction] = []
    for k in range(cute.static(a.mode(2).size)):
        at = (_, _, run_time(k))
        found += copy(a.slice(*at), to_a.slice(*at)) + copy(b.slice(*at), to_b.slice(*at))
    found += copy(a, to_a, CopyAtom(cute.AUTO_VECTORIZING_COPY, bits))
    found += copy(b, to_b, CopyAtom(cute.DEFAULT_COPY, bits))
    return multiply.threads, found + cute.copy_aligned(a, to_a)


def stores(bits: int, smem: AnyLayout, tiled: TiledCopy, swizzle: Swizzle | None = None) -> Case:
    thread = lanes(tiled.threads)
    tensor = shared(bits, smem, 0, swizzle)
    target, source = (tiled.partition(tensor, thread, side) for side in (STORE, LOAD))
    values = target.fragment_like()
    found = copy(values, target, tiled) + copy(values, target) + cute.copy_aligned(values, target)
    values = source.fragment_like()
    return tiled.threads, found + copy(source, values, tiled) + copy(source, values)


# ---- FlashAttention


def flash_forward(head: int, rows: int, columns: int, warps: int) -> Case:
    chunk = 64 if head % 64 == 0 else 32
    swizzle = (2 if chunk == 32 else 3, 3, 3)
    multiply = mma("SM80_16x8x16_F32F16F16F32_TN", (warps, 1, 1), 16 * warps, 16, 16)
    layout_q = swizzled(swizzle, right(8, chunk), (rows, head))
    layout_kv = swizzled(swizzle, right(8, chunk), (columns, head))
    layout_vt = layout_kv.apply(lambda inner: cute.composition(inner, right(head, columns)))
    per_row = chunk // 8
    by_row = Layout((warps * 32 // per_row, per_row), (per_row, 1))
    from_global = make_tiled_copy(CopyAtom(cute.cp_async(128), 16), by_row, Layout((1, 8)))
    auto = CopyAtom(cute.AUTO_VECTORIZING_COPY, 16)
    to_global = make_tiled_copy(auto, by_row, Layout((1, 8)))
    thread = lanes(warps * 32)
    outside_q = in_global(16, Layout((rows, head), (DynamicInt(), 1)))
    outside_k = in_global(16, Layout((columns, head), (DynamicInt(), 1)))
    q, k = shared(16, layout_q), shared(16, layout_kv, 2 * rows * head)
    at_v = 2 * (rows + columns) * head
    v, v_plain = shared(16, layout_vt, at_v), shared(16, layout_vt.plain, at_v)
    found: list[Instruction] = []
    for outside, tensor in ((outside_q, q), (outside_k, k)):
        source = from_global.partition(outside, thread, LOAD)
        found += copy(source, from_global.partition(tensor, thread, STORE), from_global)
    loads, transposed = (
        CopyAtom(cute.ldmatrix(4), 16),
        CopyAtom(cute.ldmatrix(4, is_transposed=True), 16),
    )
    pairs = []
    for tensor, plain, atom, operand in (
        (q, q, loads, "A"), (k, k, loads, "B"), (v, v_plain, transposed, "B"),
    ):  # fmt: skip
        fragment = multiply.fragment(multiply.partition(plain, thread, operand), operand)
        tiled = make_tiled_copy_for(atom, multiply, operand)
        pairs.append((tiled, tiled.partition(tensor, thread, LOAD), tiled.retile(fragment)))
    for group in (pairs[:2], pairs[2:]):
        for i in range(cute.static(group[0][2].mode(2).size)):
            for tiled, part, fragment in group:
                at = (_, _, run_time(i))
                found += copy(part.slice(*at), fragment.slice(*at), tiled)
    result = multiply.partition(cute.make_register_tensor(16, Layout((rows, head))), thread, "C")
    registers = multiply.fragment(result, "C", 16)
    out = shared(16, layout_q)
    by_c = make_tiled_copy_for(auto, multiply, "C")
    found += copy(by_c.retile(registers), by_c.partition(out, thread, STORE), by_c)
    stored = to_global.partition(out, thread, LOAD)
    outside_o = to_global.partition(outside_q, thread, STORE)
    found += copy(stored, cute.make_register_tensor(16, Layout(outside_o.shape)), to_global)
    return warps * 32, found


# ---- Hopper


def epilogue(
    bits: int, store: CopyOp, load: CopyOp, atom: SmemAtom, shape: IntTuple, multiply: TiledMma
) -> Case:
    thread = lanes(multiply.threads)
    layout = cute.tile_to_shape(atom.layout, shape)
    tensor = cute.as_position_independent(shared(bits, layout, 0, atom.swizzle))
    smallest = cute.make_tiled_copy_c_atom(CopyAtom(cute.stmatrix(4), 16), multiply)
    to_shared = cute.make_tiled_copy_like(CopyAtom(store, bits), smallest, LOAD)
    shape_of = to_shared.partition(tensor, thread, LOAD).shape
    assert isinstance(shape_of, tuple)
    registers = cute.make_register_tensor(bits, Layout(shape_of[:3]))
    stage = (_, _, _, run_time(1))
    target = to_shared.partition(tensor, thread, STORE).slice(*stage)
    found = copy(registers, target, to_shared)
    to_registers = cute.make_tiled_copy_like(CopyAtom(load, bits), smallest, LOAD)
    source = to_registers.partition(tensor, thread, LOAD).slice(*stage)
    values = replace(registers, layout=to_registers.retile(registers).layout)
    return multiply.threads, found + copy(source, to_registers.retile(values), to_registers)


def flash_3_output(bits: int, store: CopyOp, atom: SmemAtom, multiply: TiledMma) -> Case:
    thread = lanes(multiply.threads)
    layout = cute.tile_to_shape(atom.layout, (128, 128))
    swizzle = None if atom.swizzle.is_identity else atom.swizzle
    tensor = shared(bits, layout, 0, swizzle)
    whole = cute.make_register_tensor(bits, Layout((128, 128)))
    shape = multiply.partition(whole, thread, "C").shape
    registers = cute.make_register_tensor(bits, cute.make_layout_like(Layout(shape)))
    tiled = make_tiled_copy_for(CopyAtom(store, bits), multiply, "C")
    found: list[Instruction] = []
    for target in (tensor, cute.as_position_independent(tensor)):
        found += copy(tiled.retile(registers), tiled.partition(target, thread, STORE), tiled)
    return multiply.threads, found


def example_50(policy: CopyOp) -> Case:
    multiply, thread = mma("SM90_64x64x32_S32S8S8_SS_TN"), lanes(128)
    layout = Layout(((32, 4), 64), ((1, 2048), 32))
    tensor = shared(32, layout, 0, Swizzle(3, 4, 3))
    atom = CopyAtom(policy, 32)
    tiled = make_tiled_copy_for(atom, multiply, "C")
    whole = cute.make_register_tensor(32, Layout((128, 64)))
    registers = multiply.fragment(multiply.partition(whole, thread, "C"), "C", 32)
    found = copy(tiled.retile(registers), tiled.partition(tensor, thread, STORE), tiled)
    back = TiledCopy(atom, Layout((128, 16), (16, 1)), (128, 16))
    part = back.partition(tensor, thread, LOAD)
    return 128, found + copy(part, part.fragment_like(), back)


# ---- all


def atom_named(name: str, bits: int) -> SmemAtom:
    found = cute.smem_atom(name, bits)
    assert found is not None
    return found


def cases() -> dict[str, Callable[[], Case]]:
    """Every case by name; each is computed when called."""
    return {**_tutorials(), **_operands(), **_partitions(), **_stores(), **_kernels()}


def _tutorials() -> dict[str, Callable[[], Case]]:
    nt, padded = Layout((128, 8)), Layout((128, 8), (1, 129))
    by_m, by_k, by_c = Layout((32, 8)), right(32, 8), Layout((16, 16))
    column, row = (1, DynamicInt()), (DynamicInt(), 1)
    fma = mma("UniversalFMA", (16, 16, 1))
    wide = make_tiled_copy(CopyAtom(cute.universal_copy(128), 32), by_m, Layout((4, 1)))
    narrow = make_tiled_copy(CopyAtom(cute.universal_copy(32), 32), by_k, Layout((1, 1)))
    found: dict[str, Callable[[], Case]] = {
        "sgemm_1_nt": lambda: sgemm_1(nt, by_m, by_c, column),
        "sgemm_1_pad": lambda: sgemm_1(padded, by_k, by_c, row),
        "sgemm_1_tn": lambda: sgemm_1(right(128, 8), by_k, by_c, row),
    }
    for name, is_sm70 in (("sgemm_2", False), ("sgemm_sm70", True)):
        found[f"{name}_nt"] = lambda s=is_sm70: sgemm_2(nt, wide, fma, column, is_sm70=s)
        found[f"{name}_tn"] = lambda s=is_sm70: sgemm_2(padded, narrow, fma, row, is_sm70=s)
    half = swizzled((3, 3, 3), Layout((8, (8, 8)), (8, (1, 64))), (128, 64, 3))
    by_row = swizzled((3, 3, 3), right(8, 64), (128, 64, 3))
    async_half = make_tiled_copy(CopyAtom(cute.cp_async(128), 16), right(16, 8), Layout((1, 8)))
    halves = mma("SM80_16x8x16_F16F16F16F16_TN", (2, 2), 32, 32, 16)
    for name, policy, smem in (
        ("ldsm4", cute.ldmatrix(4), half), ("ldsm2", cute.ldmatrix(2), half),
        ("ldsm1", cute.ldmatrix(1), half), ("default", cute.DEFAULT_COPY, half),
        ("autovec", cute.AUTO_VECTORIZING_COPY, half), ("universal", cute.universal_copy(16), half),
        ("row64", cute.ldmatrix(4), by_row),
    ):  # fmt: skip
        found[f"sgemm_sm80_h_{name}"] = lambda p=policy, s=smem: sgemm_sm80(
            16, s, async_half, CopyAtom(p, 16), halves, row
        )
    auto = CopyAtom(cute.AUTO_VECTORIZING_COPY, 32)
    async_nt = make_tiled_copy(CopyAtom(cute.cp_async(128), 32), by_m, Layout((4, 1)))
    async_tn = make_tiled_copy(CopyAtom(cute.cp_async(32), 32), by_k, Layout((1, 1)))
    three = cute.tile_to_shape(padded, (128, 8, 3))
    found["sgemm_sm80_f_nt"] = lambda: sgemm_sm80(
        32, Layout((128, 8, 3)), async_nt, auto, fma, column
    )
    found["sgemm_sm80_f_tn"] = lambda: sgemm_sm80(32, three, async_tn, auto, fma, row)
    return found


K64 = swizzled((3, 3, 3), right(8, 64), (128, 64))
K32 = swizzled((2, 3, 3), right(8, 32), (128, 64))
MN64 = swizzled((3, 3, 3), Layout((64, 8)), (128, 64))
TF32 = swizzled((3, 2, 3), right(8, 32), (128, 32))
BYTES = swizzled((2, 4, 3), right(16, 64), (128, 64))
DOUBLES = swizzled((2, 2, 2), Layout((16, 4)), (64, 16))
HALVES = "SM80_16x8x16_F32F16F16F32_TN"
HALVES_22 = mma(HALVES, (2, 2, 1), 32, 32, 16)
TF32_22 = mma("SM80_16x8x8_F32TF32TF32F32_TN", (2, 2, 1), 32, 32, 8)
BYTES_22 = mma("SM80_16x8x32_S32S8S8S32_TN", (2, 2, 1), 32, 32, 32)
DOUBLES_22 = mma("SM80_8x8x4_F64F64F64F64_TN", (2, 2, 1))


def _operands() -> dict[str, Callable[[], Case]]:
    permuted = mma(HALVES, (2, 2, 1), 32, Layout((8, 2, 2), (1, 16, 8)), 16)
    n4, n2 = CopyAtom(cute.ldmatrix(4), 16), CopyAtom(cute.ldmatrix(2), 16)
    t4, t2, t1 = (CopyAtom(cute.ldmatrix(n, is_transposed=True), 16) for n in (4, 2, 1))
    pitch = Layout((128, 64), (72, 1))
    default = CopyAtom(cute.DEFAULT_COPY, 64)
    rows: dict[str, tuple[int, AnyLayout, CopyAtom, CopyAtom, TiledMma]] = {
        "op_k64_22": (16, K64, n4, n4, HALVES_22),
        "op_k64_41_x2": (16, K64, n4, n2, mma(HALVES, (4, 1, 1), 64, 16, 16)),
        "op_k32_12": (16, K32, n4, n4, mma(HALVES, (1, 2, 2), 16, 32, 32)),
        "op_k64_perm": (16, K64, n4, n4, permuted),
        "op_mn64_T": (16, MN64, t4, t4, HALVES_22),
        "op_mn64_T4_T2": (16, MN64, t2, t1, HALVES_22),
        "op_pad": (16, pitch, n4, n4, HALVES_22),
        "op_plain": (16, right(128, 64), n4, n4, HALVES_22),
        "op_tf32": (32, TF32, *(CopyAtom(cute.ldmatrix(4), 32),) * 2, TF32_22),
        "op_s8": (8, BYTES, *(CopyAtom(cute.ldmatrix(4), 8),) * 2, BYTES_22),
        "op_f64": (64, DOUBLES, default, default, DOUBLES_22),
    }
    return {
        name: lambda bits=bits, s=smem, atoms=(a, b), m=multiply: operands(bits, (s, s), atoms, m)
        for name, (bits, smem, a, b, multiply) in rows.items()
    }


def _partitions() -> dict[str, Callable[[], Case]]:
    pairs = Layout((16, 2), (2, 1))
    rows: dict[str, tuple[int, AnyLayout, AnyLayout, TiledMma]] = {
        "part_f64": (64, DOUBLES, DOUBLES, DOUBLES_22),
        "part_volta_nt": (
            16, Layout((64, 16)), Layout((64, 16)), mma("SM70_8x8x4_F32F16F16F32_NT", (4, 2, 1)),
        ),
        "part_volta_tn": (
            16, right(64, 16), right(64, 16),
            mma("SM70_8x8x4_F32F16F16F32_TN", (4, 4, 1), 32, 32, 4),
        ),
        "part_simt_perm": (
            32, Layout((128, 8)), Layout((128, 8), (1, 132)),
            mma("UniversalFMA", (16, 16, 1), pairs, pairs, _),
        ),
        "part_sm80_k64": (16, K64, K64, HALVES_22),
        "part_sm80_mn64": (16, MN64, MN64, HALVES_22),
        "part_tf32": (32, TF32, TF32, TF32_22),
        "part_s8": (8, BYTES, BYTES, BYTES_22),
    }  # fmt: skip
    return {
        name: lambda bits=bits, smem=(a, b), m=multiply: partitions(bits, smem, m)
        for name, (bits, a, b, multiply) in rows.items()
    }


def _stores() -> dict[str, Callable[[], Case]]:
    def tiled(policy: CopyOp, bits: int, threads: Layout, values: Layout) -> TiledCopy:
        return make_tiled_copy(CopyAtom(policy, bits), threads, values)

    auto, by_4 = cute.AUTO_VECTORIZING_COPY, Layout((32, 4), (4, 1))
    row, rows, mixed = Layout((1, 8)), Layout((2, 8), (8, 1)), Layout((2, 8))
    m2 = swizzled((2, 2, 3), right(8, 32), (128, 64))
    m1 = swizzled((3, 1, 4), right(8, 32), (128, 64))
    pitch = Layout((128, 64), (66, 1))
    plain = cute.tile_to_shape(right(8, 64), (128, 64))
    pointer = Swizzle(2, 3, 3)
    wide, by_8 = cute.universal_copy(64), right(16, 8)
    table: dict[str, tuple[int, AnyLayout, TiledCopy, Swizzle | None]] = {
        "st_u128_k64": (16, K64, tiled(cute.universal_copy(128), 16, by_8, row), None),
        "st_u64_k32": (16, K32, tiled(wide, 16, right(8, 16), Layout((1, 4))), None),
        "st_auto_k64": (16, K64, tiled(auto, 16, by_4, row), None),
        "st_default_k64": (16, K64, tiled(cute.DEFAULT_COPY, 16, by_4, Layout((1, 16))), None),
        "st_auto_tf": (32, TF32, tiled(auto, 32, by_8, Layout((2, 4))), None),
        "st_blocked": (
            32, TF32, tiled(cute.universal_copy(32), 32, Layout((4, 32)), Layout((8, 1))), None,
        ),
        "st_odd": (32, Layout((128, 64), (65, 1)), tiled(auto, 32, by_4, Layout((1, 4))), None),
        "bind_pitch66": (16, pitch, tiled(auto, 16, by_8, row), None),
        "bind_pitch66_2rows": (16, pitch, tiled(auto, 16, by_8, rows), None),
        "bind_pitch66_interleaved": (16, pitch, tiled(auto, 16, by_8, mixed), None),
        "bind_m2": (16, m2, tiled(auto, 16, by_8, row), None),
        "bind_m1": (16, m1, tiled(auto, 16, by_8, row), None),
        "bind_m2_u64": (16, m2, tiled(wide, 16, by_8, row), None),
        "bind_ptr3": (16, plain, tiled(auto, 16, by_8, row), pointer),
        "bind_max64": (16, m2, tiled(cute.auto_vectorizing_copy(64), 16, by_8, row), None),
        "bind_max32_ptr": (16, plain, tiled(cute.auto_vectorizing_copy(32), 16, by_8, rows), pointer),
    }  # fmt: skip
    return {
        name: lambda bits=bits, s=smem, t=tiled_copy, p=swizzle: stores(bits, s, t, p)
        for name, (bits, smem, tiled_copy, swizzle) in table.items()
    }


def _kernels() -> dict[str, Callable[[], Case]]:
    one = mma("SM90_64x128x16_F32F16F16_SS")
    two = mma("SM90_64x128x16_F32F16F16_SS", (2, 1, 1))
    k64, k128 = atom_named("Layout_K_SW64_Atom", 16), atom_named("Layout_K_SW128_Atom", 16)
    f128, mn = atom_named("Layout_K_SW128_Atom", 32), atom_named("Layout_MN_SW128_Atom", 16)
    inter = atom_named("Layout_K_INTER_Atom", 16)
    auto = cute.AUTO_VECTORIZING_COPY
    st4, st2, st_t = cute.stmatrix(4), cute.stmatrix(2), cute.stmatrix(4, is_transposed=True)
    ld4, ld2, ld_t = cute.ldmatrix(4), cute.ldmatrix(2), cute.ldmatrix(4, is_transposed=True)
    sub, pair = (64, 32, 2), (128, 32, 2)
    return {
        "flash_fwd_d64": lambda: flash_forward(64, 128, 128, 4),
        "flash_fwd_d96": lambda: flash_forward(96, 128, 64, 4),
        "flash_fwd_d128": lambda: flash_forward(128, 128, 32, 4),
        "flash_fwd_d256": lambda: flash_forward(256, 64, 64, 4),
        "epi_sw64_stsm4": lambda: epilogue(16, st4, ld4, k64, sub, one),
        "epi_sw64_stsm2": lambda: epilogue(16, st2, ld2, k64, sub, one),
        "epi_mn128_stsmT": lambda: epilogue(16, st_t, ld_t, mn, sub, one),
        "epi_f32_sw128": lambda: epilogue(32, auto, auto, f128, sub, one),
        "epi_sw64_coop": lambda: epilogue(16, st4, ld4, k64, pair, two),
        "fa3_o_sw128": lambda: flash_3_output(16, st4, k128, two),
        "fa3_o_f32": lambda: flash_3_output(32, auto, f128, two),
        "fa3_o_inter": lambda: flash_3_output(16, st4, inter, two),
        "ex50_default": lambda: example_50(cute.DEFAULT_COPY),
        "ex50_autovec": lambda: example_50(auto),
    }
