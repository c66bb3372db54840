"""Copy and MMA operations of the DSL, their atoms and tiled forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from smemlint.analysis.cute_facts import thread_layout_use
from smemlint.analysis.python.cute_dsl.execution.call import Call, function, reason_of
from smemlint.analysis.python.cute_dsl.execution.values import (
    FLOAT32,
    Cute,
    OpValue,
    TmaInfo,
    UnknownTensor,
    WithoutLanes,
    array_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import DType, Scope, Symbol, Unknown, Value
from smemlint.layout import cute
from smemlint.layout.cute import CopyOp, MmaOp

_TENSOR_MEMORY = {
    "16x256b": (16, 256), "16x128b": (16, 128), "16x64b": (16, 64), "16x32bx2": (16, 32),
    "32x32b": (32, 32),
}  # fmt: skip
"""Lanes and bits of the copies of tensor memory."""
_WITHOUT_LANES = (
    ("CopyBulkTensor", "TMA"), ("CopyReduceBulkTensor", "TMA"), ("CopyTensorTile", "TMA"),
    ("CopyBulk", "bulk copy"), ("CopyDsmem", "bulk copy"), ("Ld16x", "tensor memory"),
    ("Ld32x", "tensor memory"), ("St16x", "tensor memory"), ("St32x", "tensor memory"),
    ("LdRed", "tensor memory"), ("Cp", "tensor memory"),
)  # fmt: skip
_MMA_TYPES = {
    "Float64": "F64", "Float32": "F32", "TFloat32": "TF32", "Float16": "F16", "BFloat16": "BF16",
    "Float8E4M3FN": "E4M3", "Float8E5M2": "E5M2", "Int32": "S32", "Int8": "S8", "Uint8": "U8",
}  # fmt: skip
_NARROWEST_ASYNCHRONOUS = 32
"""Bits of a copy by cp.async."""
_WARP_SHAPES = {(16, 8, 8), (16, 8, 16), (16, 8, 32)}
_BLOCK_SCALED = {
    "MmaMXF4Op": "SM80_16x8x64_S32S4S4S32_TN", "MmaMXF4NVF4Op": "SM80_16x8x64_S32S4S4S32_TN",
    "MmaMXF8Op": "SM80_16x8x32_S32S8S8S32_TN", "MmaMXF8F6F4Op": "SM80_16x8x32_S32S8S8S32_TN",
}  # fmt: skip
"""Operations of sm_120, and those whose operands lie just so: fp4 as s4, fp8 as s8."""


@function("make_copy_atom")
def make_copy_atom(call: Call) -> Value:
    """Evaluates `make_copy_atom(op, dtype, num_bits_per_copy=)`."""
    op = payload_of(call.value(0, "op"))
    if not isinstance(op, OpValue):
        raise cute.CuteError(reason_of(call.value(0, "op"), "a copy operation is not known"))
    dtype = call.value(1, "copy_internal_type")
    tensor_memory = _tensor_memory_op(op)
    if tensor_memory is not None and isinstance(dtype, DType):
        return Cute(cute.CopyAtom(tensor_memory, dtype.bits, dtype.name))
    for prefix, mechanism in _WITHOUT_LANES:
        if op.name.startswith(prefix) and op.name.endswith("Op") and op.name[4:] != "G2SOp":
            return Cute(WithoutLanes(mechanism))
    known = call.dtype(1, "copy_internal_type")
    bits = call.static(2, "num_bits_per_copy", 0)
    if op.name == "CopyG2SOp" and bits in (0, known.bits):
        call.run.types.learn_width(known, _NARROWEST_ASYNCHRONOUS)
    return Cute(cute.CopyAtom(copy_op(op, known, bits), known.bits, known.name))


def _tensor_memory_op(op: OpValue) -> CopyOp | None:
    """Returns a load or store of tensor memory; None for others, and where a part is not known."""
    shape = _TENSOR_MEMORY.get(op.name[2:-2])
    given = BoundArguments(list(op.arguments), op.named)
    repeat = given.get(0, "repeat", None)
    packed = given.get(1, "pack" if op.name.startswith("Ld") else "unpack", None)
    times = "1" if repeat is None else repeat.name[1:] if isinstance(repeat, Symbol) else ""
    is_known = packed is None or isinstance(packed, Symbol)
    if shape is None or not times.isdecimal() or not is_known:
        return None
    is_packed = isinstance(packed, Symbol) and packed.name != "NONE"
    found = cute.TensorMemoryShape(*shape, int(times), is_packed=is_packed)
    return cute.tensor_memory_copy(found, is_store=op.name.startswith("St"))


def copy_op(op: OpValue, dtype: DType, bits: int) -> CopyOp:
    """Returns the engine's operation.

    Raises:
        CuteError: the operation is not modelled, or an argument is not known.
    """
    given = BoundArguments(list(op.arguments), op.named)
    transposed, matrices = given.get(0, "transpose", False), given.get(1, "num_matrices", 1)
    known = isinstance(transposed, bool) and isinstance(matrices, int)
    match op.name:
        case "CopyUniversalOp" | "CopyS2ROp" | "CopyR2SOp" | "CopyG2ROp" | "CopyR2GOp":
            # Without a width the compiler takes as many bits as lie together in both tensors.
            return cute.universal_copy(bits) if bits else cute.AUTO_VECTORIZING_COPY
        case "CopyG2SOp":
            mode = given.get(0, "cache_mode")
            is_global = isinstance(mode, Symbol) and mode.name == "GLOBAL"
            return cute.cp_async(bits or dtype.bits, is_global=is_global)
        case "LdMatrix8x8x16bOp" if known and matrices in (1, 2, 4):
            return cute.ldmatrix(int(matrices), is_transposed=bool(transposed))  # type: ignore[arg-type]
        case "LdMatrix8x16x8bOp" if known and not given.has(2, "unpack_bits"):
            return cute.ldmatrix(int(matrices))  # type: ignore[arg-type]
        case "StMatrix8x8x16bOp" if known and matrices in (1, 2, 4):
            return cute.stmatrix(int(matrices), is_transposed=bool(transposed))  # type: ignore[arg-type]
        case "StMatrix16x8x8bOp" if known and matrices in (1, 2, 4):
            return cute.stmatrix_transposed_bytes(int(matrices))  # type: ignore[arg-type]
        case "LdMatrix16x16x8bOp" if known and matrices in (1, 2):
            return cute.ldmatrix_transposed_bytes(int(matrices))  # type: ignore[arg-type]
    if "Matrix" in op.name and not known:
        unknown = matrices if isinstance(transposed, bool) else transposed
        raise cute.CuteError(reason_of(unknown, f"an argument of {op.name} is not known"))
    raise cute.CuteError(f"the operation {op.name} is not modelled")


def operation_of(copy: CopyOp) -> OpValue | None:
    """Returns the operation that an atom was made of, `atom.op`; None for one without a name."""
    if not copy.matrices:
        name = {cute.Mechanism.CP_ASYNC: "CopyG2SOp", cute.Mechanism.TENSOR_MEMORY: None}
        found = name.get(copy.mechanism, "CopyUniversalOp")
        return OpValue(found, "", (), {}) if found is not None else None
    is_load, are_bytes = copy.mechanism is cute.Mechanism.LDMATRIX, copy.name.startswith("SM100_U8")
    shape = "8x8x16b" if not are_bytes else "16x16x8b" if is_load else "16x8x8b"
    count = copy.matrices // 2 if is_load and are_bytes else copy.matrices
    named: Scope = {"transpose": copy.is_transposed, "num_matrices": count}
    return OpValue(f"{'Ld' if is_load else 'St'}Matrix{shape}Op", "warp", (), named)


def is_operation(name: str) -> bool:
    """Returns whether a class of the DSL is a copy or MMA operation."""
    return name.endswith("Op") and (name[0].isupper())


# ---- MMA


@function("make_mma_atom")
def make_mma_atom(call: Call) -> Value:
    """Evaluates `make_mma_atom(op)`."""
    return Cute(_operation(call, "op"))


def _operation(call: Call, name: str) -> MmaOp:
    """Returns the MMA operation or atom that is the first argument.

    Raises:
        CuteError: it is not known.
    """
    op = payload_of(call.value(0, name))
    if isinstance(op, OpValue):
        if op.name.startswith("MmaMX"):
            given = BoundArguments(list(op.arguments), op.named)
            operands, scale = [given.get(0, "ab_dtype")], given.get(2, "sf_dtype")
            if op.module == "tcgen05" and "F4" in op.name:  # whose operands have one type alone
                operands, scale = [], given.get(0, "sf_dtype")
            bits = 4 if op.name.startswith("MmaMXF4") else 8
            call.run.types.learn_block_scaled(operands, scale, bits)
        return mma_op(op)
    if not isinstance(op, cute.MmaOp):
        raise cute.CuteError(reason_of(call.value(0, name), "an MMA operation is not known"))
    return op


def mma_op(op: OpValue) -> MmaOp:
    """Returns the engine's operation.

    Raises:
        CuteError: the operation is not modelled.
    """
    if op.module == "tcgen05":
        given_values = (*op.arguments, *op.named.values())
        return umma_op(given_values, is_block_scaled=op.name.startswith("MmaMX"))
    given = BoundArguments(list(op.arguments), op.named)
    if op.name == "MmaUniversalOp" or op.name in _BLOCK_SCALED:
        found = cute.mma_op(_BLOCK_SCALED.get(op.name, "UniversalFMA"))
        assert found is not None
        return found
    a, acc, shape = given.get(0, "ab_dtype"), given.get(1, "acc_dtype"), given.get(2, "shape_mnk")
    if op.name in ("MmaF8Op", "MmaI8Op"):
        a, acc, shape = (
            given.get(0, "a_dtype"),
            given.get(2, "acc_dtype"),
            given.get(3, "instruction_shape"),
        )
    elif not given.has(2, "shape_mnk"):
        shape = given.get(2, "instruction_shape")
    if op.name == "MmaTF32Op":
        a, acc, shape = DType("TFloat32", 32), FLOAT32, given.get(0, "shape_mnk")
    if not (isinstance(a, DType) and isinstance(shape, tuple | list) and len(shape) == 3):
        raise cute.CuteError(f"the types or the shape of {op.name} are not known")
    types = tuple(_MMA_TYPES.get(t.name, "") for t in (acc, a, a, acc) if isinstance(t, DType))
    m, n, k = (s if isinstance(s, int) else 0 for s in shape)
    if (
        (m, n, k) in _WARP_SHAPES
        and len(types) == 4
        and "MmaF16BF16Op MmaFP8Op MmaTF32Op".count(op.name)
    ):
        arch = "SM89" if k == 32 else "SM80"
        found = cute.mma_op(f"{arch}_{m}x{n}x{k}_{''.join(types)}_TN")
        if found is None and k == 32:
            found = cute.mma_op("SM80_16x8x32_S32S8S8S32_TN")  # fp8 and s8 share their layouts
        if found is not None:
            return found
    if m == 64 and len(types) == 4:
        source = next(
            (
                v
                for v in (*op.arguments, *op.named.values())
                if isinstance(v, Symbol) and v.name in ("RMEM", "SMEM")
            ),
            None,
        )
        reads = isinstance(source, Symbol) and source.name == "RMEM"
        return cute.warpgroup_mma(
            n, k, "", (types[0], types[1], types[1], types[0]), reads_registers=reads
        )
    raise cute.CuteError(f"{op.name} of {m}x{n}x{k} is not modelled")


def umma_op(arguments: Iterable[Value], k: int = 0, *, is_block_scaled: bool = False) -> MmaOp:
    """Returns the MMA that the arguments of an operation or of a helper describe.

    They differ in their order, not in their types: element types of A, (B,) and the accumulator, a
    tile, the group of blocks and where A comes from.

    Args:
        arguments: of the operation.
        k: of one instruction, where the tile names M and N only.
        is_block_scaled: whether it takes scale factors, whose accumulator is Float32.

    Raises:
        CuteError: an argument is not known.
    """
    given = list(arguments)
    for value in given:
        if isinstance(value, Unknown):
            raise cute.CuteError(reason_of(value, "an argument of a tcgen05 MMA is not known"))
    types = [v for v in given if isinstance(v, DType)]
    tile = next((v for v in given if isinstance(v, tuple | list)), ())
    named = [(v.path.split(".")[-2], v.name) for v in given if isinstance(v, Symbol)]
    names = dict(named)
    extents = [e for e in tile if isinstance(e, int)]
    extents += [k] if len(extents) == 2 else []
    if len(extents) != 3 or "CtaGroup" not in names:
        raise cute.CuteError("the tile or the blocks of a tcgen05 MMA are not known")
    acc = types[-1] if len(types) > 1 and not is_block_scaled else FLOAT32
    a = types[0] if types else DType("TFloat32", 32)
    d, operand = (_MMA_TYPES.get(t.name, "") for t in (acc, a))
    known = (d, operand, operand, d) if d and operand else ()
    return cute.tensor_memory_mma(
        (extents[0], extents[1], extents[2]),
        2 if names["CtaGroup"] == "TWO" else 1,
        known,
        tuple(name for owner, name in named if owner == "OperandMajorMode"),
        reads_memory=names.get("OperandSource") != "TMEM",
    )


@function("make_tiled_mma")
def make_tiled_mma(call: Call) -> Value:
    """Evaluates `make_tiled_mma(op or atom, atom_layout, permutation_mnk=)`."""
    op = _operation(call, "op_or_atom")
    atoms = (
        call.layout(1, "atom_layout_mnk")
        if call.has(1, "atom_layout_mnk")
        else cute.Layout((1, 1, 1))
    )
    if not call.has(2, "permutation_mnk"):
        return Cute(cute.TiledMma(op, atoms))
    order = call.tiler(2, "permutation_mnk")
    assert isinstance(order, tuple)
    return Cute(cute.TiledMma(op, atoms, order))


# ---- tiled copies


@function("make_tiled_copy_tv")
def make_tiled_copy_tv(call: Call) -> Value:
    """Evaluates `make_tiled_copy_tv(atom, threads, values)`."""
    threads = call.layout(1, "thr_layout")
    if not cute.is_compact(threads):
        if threads.is_static:
            span, kernel = call.run.span_of(call.node), call.run.kernel
            use = thread_layout_use(span, kernel.name if kernel is not None else "", threads)
            call.run.layouts.setdefault((span, use.spelled), use)
        for number in cute.int_tuples.leaves((threads.shape, threads.stride)):
            cute.integers.static(number)  # else raises why it is not known
        raise cute.CuteError(f"the thread layout {threads} is not compact")
    return Cute(cute.make_tiled_copy(call.atom(0, "atom"), threads, call.layout(2, "val_layout")))


@function("make_tiled_copy")
def make_tiled_copy(call: Call) -> Value:
    """Evaluates `make_tiled_copy(atom, thread_value, tiler)`."""
    return Cute(
        cute.TiledCopy(call.atom(0, "atom"), call.layout(1, "layout_tv"), call.tiler(2, "tiler_mn"))
    )


@function("make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C")
def make_tiled_copy_for(call: Call) -> Value:
    """Evaluates `make_tiled_copy_A(atom, mma)`, `_B` and `_C`."""
    operand: cute.Operand = call.name[-1]  # type: ignore[assignment]
    return Cute(
        cute.make_tiled_copy_for(call.atom(0, "atom"), call.tiled_mma(1, "tiled_mma"), operand)
    )


@function("make_tiled_copy_S", "make_tiled_copy_D")
def make_tiled_copy_like(call: Call) -> Value:
    """Evaluates `make_tiled_copy_S(atom, tiled_copy)` and `_D`."""
    side: cute.Side = "S" if call.name[-1] == "S" else "D"
    return Cute(
        cute.make_tiled_copy_like(call.atom(0, "atom"), call.tiled_copy(1, "tiled_copy"), side)
    )


@function("make_tiled_copy_C_atom")
def make_tiled_copy_c_atom(call: Call) -> Value:
    """Evaluates `make_tiled_copy_C_atom(atom, mma)`."""
    return Cute(cute.make_tiled_copy_c_atom(call.atom(0, "atom"), call.tiled_mma(1, "mma")))


@function("make_cotiled_copy")
def make_cotiled_copy(call: Call) -> Value:
    """Evaluates `make_cotiled_copy(atom, thread_value, data_layout)`."""
    atom, order = call.atom(0, "atom"), call.layout(1, "atom_layout_tv")
    return Cute(cute.make_cotiled_copy(atom, order, call.layout(2, "data_layout")))


# ---- copies without lane addresses

_MAJOR_MODES = "cutlass.cute.nvgpu.OperandMajorMode"


@function(
    "make_tiled_tma_atom", "make_tiled_tma_atom_A", "make_tiled_tma_atom_B", "make_im2col_tma_atom"
)
def make_tma_atom(call: Call) -> Value:
    """Evaluates TMA atoms with the tensor of coordinates that goes with them."""
    tensor = call.tensor(1, "gmem_tensor")
    if isinstance(tensor, UnknownTensor):
        tensor = replace(tensor, space=cute.Space.COORDINATE, reason="a tensor of coordinates")
    return TmaInfo.of(Cute(WithoutLanes("TMA")), Cute(tensor), call.value(2, "smem_layout"))


@function("CopyAtom")
def copy_atom_of_trait(call: Call) -> Value:
    """Evaluates `CopyAtom(op, trait)`, which programs write for TMA alone."""
    op = payload_of(call.value(0, "op"))
    if isinstance(op, OpValue) and op.name.startswith("CopyBulk"):
        return Cute(WithoutLanes("TMA"))
    raise cute.CuteError("its trait is not modelled")


@function("OperandMajorMode")
def operand_major_mode(call: Call) -> Value:
    """Evaluates `OperandMajorMode("k")`."""
    value = call.value(0, "value")
    return (
        Symbol(f"cutlass.cute.nvgpu.OperandMajorMode.{value.upper()}")
        if isinstance(value, str)
        else value
    )


@function("tma_partition")
def tma_partition(call: Call) -> Value:
    """Evaluates `tma_partition(..)`: boxes of shared memory, and of global memory."""
    box = "a box that TMA moves"
    shared = UnknownTensor(cute.Space.SHARED, box, object=array_of(call.tensor(3, "smem_tensor")))
    return (Cute(shared), Cute(UnknownTensor(cute.Space.GLOBAL, box)))


@function("make_s2t_copy", "make_umma_smem_desc")
def make_copy_to_tensor_memory(call: Call) -> Value:
    """Evaluates what makes copies from shared to tensor memory, by descriptor."""
    return Cute(WithoutLanes("tensor memory"))
