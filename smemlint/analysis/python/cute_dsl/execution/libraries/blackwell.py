"""tcgen05 in the DSL: its MMAs, tensor memory, and helpers of `cutlass.utils` that go with them.

Of an accumulator in tensor memory only the layout matters: which values a thread loads from it
decides what the thread stores to shared memory.

Source: nvidia-cutlass-dsl 4.8.1, `cutlass/utils/blackwell_helpers.py` and
`cutlass/cute/nvgpu/tcgen05`.
"""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution.call import Call, function, method, reason_of
from smemlint.analysis.python.cute_dsl.execution.functions.atoms import umma_op
from smemlint.analysis.python.cute_dsl.execution.functions.layouts import inside
from smemlint.analysis.python.cute_dsl.execution.libraries.hopper import (
    K_MAJOR,
    MN_MAJOR,
    is_row_major,
    smem_atom,
    staged,
    widest_mode,
)
from smemlint.analysis.python.cute_dsl.execution.values import (
    FLOAT32,
    Cute,
    Origin,
    Pointer,
    UnknownTensor,
    WithoutLanes,
    payload_of,
)
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Instance,
    Symbol,
    Unknown,
    Value,
)
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass

_FP4 = "Float4E2M1FN"


# ---- MMAs


def _all_arguments(call: Call) -> list[Value]:
    return [*call.given.positional, *call.given.named.values()]


@function(*(f"{m}.make_trivial_tiled_mma" for m in ("blackwell_helpers", "sm100", "utils")))
def make_trivial_tiled_mma(call: Call) -> Value:
    """Evaluates `make_trivial_tiled_mma(a, (b,) majors, acc, group, tile, source)`."""
    first = call.given.positional[0] if call.given.positional else call.value(0, "a_dtype")
    if not isinstance(first, DType):
        raise cute.CuteError(reason_of(first, "an element type is not known"))
    k = {32: 8, 16: 16}.get(first.bits, 32)
    return Cute(cute.TiledMma(umma_op(_all_arguments(call), k)))


@function("make_blockscaled_trivial_tiled_mma")
def make_blockscaled_tiled_mma(call: Call) -> Value:
    """Evaluates `make_blockscaled_trivial_tiled_mma(a, (b,) majors, scales, size, group, tile)`."""
    given = _all_arguments(call)
    types = [v for v in given if isinstance(v, DType)]
    call.run.types.learn_block_scaled(
        types[:-1], types[-1] if types else UNKNOWN, 4 if 16 in given else 8
    )
    k = 64 if types and all(t.name == _FP4 for t in types[:-1]) else 32
    return Cute(cute.TiledMma(umma_op(given, k, is_block_scaled=True)))


# ---- tensor memory


@dataclass(frozen=True, slots=True, eq=False)
class TensorMemory:
    """A `TmemAllocator`."""


@function("TmemAllocator")
def tensor_memory_allocator(call: Call) -> Value:
    """Evaluates `TmemAllocator(..)`."""
    return Cute(TensorMemory())


@method("retrieve_ptr")
@function("retrieve_tmem_ptr")
def retrieve_pointer(call: Call) -> Value:
    """Evaluates `allocator.retrieve_ptr(dtype)` and `arch.retrieve_tmem_ptr(dtype, ..)`."""
    dtype = call.value(0, "dtype" if call.name == "retrieve_ptr" else "element_type")
    known = dtype if isinstance(dtype, DType) else FLOAT32
    return Cute(Pointer(cute.Space.TENSOR_MEMORY, Origin(known)))


@function("Repetition")
def repetition(call: Call) -> Value:
    """Evaluates `tcgen05.Repetition(n)`."""
    return Symbol(f"cutlass.cute.nvgpu.tcgen05.Repetition.x{call.static(0, 'value')}")


@function("get_tmem_copy_properties")
def tensor_memory_copy_properties(call: Call) -> Value:
    """Evaluates `get_tmem_copy_properties(atom)`: data paths, bits, repetitions and packing."""
    shape = call.atom(0, "atom").op.tensor_memory
    if shape is None:
        raise cute.CuteError("the atom is no copy of tensor memory")
    packing = Symbol(
        f"cutlass.cute.nvgpu.tcgen05.Pack.{'PACK_16b_IN_32b' if shape.is_packed else 'NONE'}"
    )
    return (shape.lanes, shape.bits, shape.repeat, packing)


@function("find_tmem_tensor_col_offset")
def columns_of(call: Call) -> Value:
    """Evaluates `find_tmem_tensor_col_offset(tensor)`: the columns that it takes."""
    tensor = call.tensor(0, "tmem_tensor")
    if isinstance(tensor, UnknownTensor):
        raise cute.CuteError(tensor.reason)
    return cute.static(tensor.recast(32).layout.plain.cosize) & 0xFFFF


@function("make_tmem_copy")
def make_tensor_memory_copy(call: Call) -> Value:
    """Evaluates `make_tmem_copy(atom, tensor)`."""
    atom, tensor = payload_of(call.value(0, "atom")), payload_of(call.value(1, "tmem_tensor"))
    if isinstance(atom, cute.CopyAtom) and isinstance(tensor, cute.Tensor):
        try:
            return Cute(cute.make_tensor_memory_copy(atom, tensor))
        except cute.CuteError as error:
            why = str(error)
    elif isinstance(atom, cute.CopyAtom):
        why = tensor.reason if isinstance(tensor, UnknownTensor) else "its tensor is not known"
    else:
        why = reason_of(call.value(0, "atom"), "its copy atom is not known")
    return Cute(WithoutLanes("tensor memory", f"`make_tmem_copy`: {why}"))


# ---- epilogues


def _output(layout: Value, dtype: DType) -> cute.Output:
    return cute.Output(dtype.bits, is_m_major=not is_row_major(layout))


def _ctas(call: Call, at: int, name: str) -> int:
    value = call.value(at, name)
    if not isinstance(value, bool):
        raise cute.CuteError(reason_of(value, "how many blocks execute an MMA is not known"))
    return 2 if value else 1


def _tile_mn(call: Call, at: int, name: str) -> tuple[int, int]:
    m, n, *_ = (cute.static(e) for e in cute.leaves(call.int_tuple(at, name)))
    return m, n


@function("compute_epilogue_tile_shape")
def compute_epilogue_tile_shape(call: Call) -> Value:
    """Evaluates `compute_epilogue_tile_shape(tile, is_2cta, layout_d, d, layout_c=, ..)`."""
    d = _output(call.value(2, "layout_d"), call.dtype(3, "elem_ty_d"))
    c: cute.Output | None = None
    if call.has(5, "elem_ty_c"):
        layout_c = call.value(4, "layout_c", None)
        is_m_major = layout_c is None or not is_row_major(layout_c)
        c = cute.Output(call.dtype(5, "elem_ty_c").bits, is_m_major)
    tile = cute.epilogue_tile(
        _tile_mn(call, 0, "cta_tile_shape"), _ctas(call, 1, "use_2cta_instrs"), d, c
    )
    return call.result(tile)


def _extents(tile: cute.Tiler) -> tuple[int, ...]:
    """Returns M and N of an epilogue's tile, whose modes may be layouts."""
    if not isinstance(tile, tuple):
        raise cute.CuteError("an epilogue's tile is not known")
    return tuple(
        cute.static(t.size if isinstance(t, cute.Layout) else cute.product(t))  # type: ignore[arg-type]
        for t in tile[:2]
    )


@function("get_tmem_load_op")
def get_tensor_memory_load(call: Call) -> Value:
    """Evaluates `get_tmem_load_op(tile, layout_d, d, accumulator, epilogue_tile, is_2cta)`."""
    d = _output(call.value(1, "layout_d"), call.dtype(2, "elem_ty_d"))
    accumulator = call.dtype(3, "elem_ty_acc")
    m, n = _extents(call.tiler(4, "epi_tile"))
    tile_m, _ = _tile_mn(call, 0, "cta_tile_shape")
    warps = cute.warps_of(tile_m, _ctas(call, 5, "use_2cta_instrs"))
    shape = cute.accumulator_load((m, n), warps, accumulator.bits, d)
    op = cute.tensor_memory_copy(shape)
    return Cute(cute.CopyAtom(op, accumulator.bits, accumulator.name))


@function("get_smem_store_op")
def get_smem_store_op(call: Call) -> Value:
    """Evaluates `get_smem_store_op(layout_d, d, accumulator, tiled_load)`."""
    dtype, accumulator = call.dtype(1, "elem_ty_d"), call.dtype(2, "elem_ty_acc")
    d = _output(call.value(0, "layout_d"), dtype)
    shape = call.tiled_copy(3, "tiled_tmem_load").atom.op.tensor_memory
    op = cute.AUTO_VECTORIZING_COPY
    if shape is not None:
        op = cute.accumulator_store(shape, accumulator.bits, d)
    return Cute(cute.CopyAtom(op, dtype.bits, dtype.name))


@function("transform_partitioned_tensor_layout")
def transform_partitioned_layout(call: Call) -> Value:
    """Evaluates it: `((M, N), MMA_M, MMA_N, ..)` is seen as `((M, MMA_M), (N, MMA_N), ..)`."""
    tensor = call.tensor(0, "tensor")
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    return Cute(tensor.apply(_rows_and_columns))


def _rows_and_columns(layout: cute.Layout) -> cute.Layout:
    first, tiles_m, tiles_n, *rest = layout.modes()
    m, n = first.modes()
    return cute.make_layout(cute.make_layout(m, tiles_m), cute.make_layout(n, tiles_n), *rest)


@function("epilogue_smem_copy_and_partition")
def epilogue_store(call: Call) -> Value:
    """Evaluates `epilogue_smem_copy_and_partition(kernel, load, registers, thread, shared)`.

    The copy to shared memory, and its parts of registers and of shared memory.
    """
    load, kernel = call.tiled_copy(1, "tiled_copy_t2r"), call.value(0, "gemm_kernel")
    given = [_of(kernel, name) for name in ("c_layout", "c_dtype", "acc_dtype")]
    chosen = replace(call, given=BoundArguments([*given, Cute(load)], {}))
    tiled = cute.make_tiled_copy_like(payload_of(get_smem_store_op(chosen)), load, "D")  # type: ignore[arg-type]
    registers, shared = call.tensor(2, "tTR_rC"), call.tensor(4, "sC")
    if isinstance(shared, cute.Tensor):
        shared = tiled.partition(shared, call.integer(3, "tidx"), "D")
    if isinstance(registers, cute.Tensor):
        registers = tiled.retile(registers)
    return (Cute(tiled), Cute(registers), Cute(shared))


def _of(kernel: Value, name: str) -> Value:
    """Returns an attribute of the object that a helper of `cutlass.utils` is given."""
    return kernel.attribute(name) if isinstance(kernel, Instance) else UNKNOWN


# ---- layouts of shared memory


def _atom_kind(major: Symbol, dtype: DType, mn_extent: int, k_extent: int) -> str:
    """Returns the widest layout atom whose contiguous extent divides the tile."""
    is_k_major = major.name == "K"
    span = (k_extent if is_k_major else mn_extent) * dtype.bits
    mode = widest_mode(span)
    wide = "_32B" if mode == "SW128" and not is_k_major and dtype.bits == 32 else ""
    return f"{major.name}_{mode}{wide}"


def _major(value: Value) -> Symbol:
    if not isinstance(value, Symbol) or value.name not in ("K", "MN"):
        raise cute.CuteError(reason_of(value, "which mode is contiguous is not known"))
    return value


@function("get_smem_layout_atom_ab")
def get_smem_layout_atom_ab(call: Call) -> Value:
    """Evaluates `get_smem_layout_atom_ab(major, dtype, shape)`: the kind of an atom."""
    major, dtype = _major(call.value(0, "major_mode")), call.dtype(1, "element_type")
    mn, k = (cute.static(cute.product(e)) for e in cute.wrap(call.int_tuple(2, "smem_shape_mn_k")))
    return _kind_symbol(_atom_kind(major, dtype, mn, k))


def _kind_symbol(kind: str) -> Symbol:
    return Symbol(f"cutlass.cute.nvgpu.tcgen05.SmemLayoutAtomKind.{kind}")


@function("get_smem_layout_atom_epi")
def get_smem_layout_atom_epi(call: Call) -> Value:
    """Evaluates `get_smem_layout_atom_epi(layout_enum, dtype, epilogue_tile)`."""
    major = K_MAJOR if is_row_major(call.value(0, "layout")) else MN_MAJOR
    dtype, tile = call.dtype(1, "element_type"), call.tiler(2, "epi_tile")
    return _kind_symbol(_atom_kind(major, dtype, *_contiguous(tile)))


def _contiguous(tile: cute.Tiler) -> tuple[int, int]:
    """Returns the extents of a tile that lie together, as TMA can store them."""
    if not isinstance(tile, tuple) or len(tile) != 2:
        raise cute.CuteError("an epilogue's tile is not known")
    m, n = (
        cute.static(cute.coalesce(cute.right_inverse(t)).size if isinstance(t, cute.Layout) else t)  # type: ignore[arg-type]
        for t in tile
    )
    return m, n


def _stages(call: Call, at: int, name: str) -> cute.Integer:
    """Returns how many stages there are; which one a thread accesses moves all its lanes alike."""
    value = call.value(at, name)
    return cute.DynamicInt(None) if isinstance(value, Unknown) else call.integer(at, name)


@function("blackwell_helpers.make_smem_layout_a", "blackwell_helpers.make_smem_layout_b",
          "sm100.make_smem_layout_a", "sm100.make_smem_layout_b",
          "utils.make_smem_layout_a", "utils.make_smem_layout_b")  # fmt: skip
def make_smem_layout_operand(call: Call) -> Value:
    """Evaluates `make_smem_layout_a(mma, tile_mnk, dtype, stages, is_k_major=)` and `_b`."""
    mma, dtype = call.tiled_mma(0, "tiled_mma"), call.dtype(2, f"{call.name[-1]}_dtype")
    m, n, k = (cute.static(cute.product(e)) for e in cute.wrap(call.int_tuple(1, "mma_tiler_mnk")))
    operand: cute.Operand = "A" if call.name[-1] == "a" else "B"
    tile = (m if operand == "A" else n, k)
    shape = mma.partition(cute.Tensor(cute.Space.REGISTER, 32, cute.Layout(tile)), 0, operand).shape
    assert isinstance(shape, tuple) and isinstance(shape[0], tuple)
    extents = [cute.static(e) * cute.static(t) for e, t in zip(shape[0], shape[1:3], strict=True)]  # type: ignore[arg-type]
    is_k_major = call.given.named.get("is_k_major")
    if not isinstance(is_k_major, bool):
        is_k_major = dict(zip("AB", mma.op.majors, strict=False)).get(operand, "K") == "K"
    major = K_MAJOR if is_k_major else MN_MAJOR
    atom = smem_atom(_atom_kind(major, dtype, *extents), dtype)
    order = (1, 2, 3) if is_k_major else (2, 1, 3)
    whole = (*shape, _stages(call, 3, "num_stages"))
    return Cute(inside(atom, lambda a: cute.tile_to_mma_shape(a, whole, order)))


@function("blackwell_helpers.make_smem_layout", "sm100.make_smem_layout", "utils.make_smem_layout")
def make_smem_layout(call: Call) -> Value:
    """Evaluates `make_smem_layout(major, tile, dtype, stages)`."""
    major, dtype = _major(call.value(0, "leading_mode")), call.dtype(2, "a_dtype")
    mn, k = (cute.static(cute.product(e)) for e in cute.wrap(call.int_tuple(1, "smem_tile_shape")))
    atom = smem_atom(_atom_kind(major, dtype, mn, k), dtype)
    order = (0, 1, 2) if major.name == "K" else (1, 0, 2)
    return Cute(staged(atom, (mn, k, _stages(call, 3, "num_stages")), order))


@function("blackwell_helpers.make_smem_layout_epi", "sm100.make_smem_layout_epi",
          "utils.make_smem_layout_epi")  # fmt: skip
def make_smem_layout_epi(call: Call) -> Value:
    """Evaluates `make_smem_layout_epi(dtype, layout_enum, epilogue_tile, stages)`."""
    dtype, is_row = call.dtype(0, "epi_dtype"), is_row_major(call.value(1, "epi_layout"))
    tile = call.tiler(2, "epi_tile")
    kind = _atom_kind(K_MAJOR if is_row else MN_MAJOR, dtype, *_contiguous(tile))
    m, n = _extents(tile)
    order = (0, 1, 2) if is_row else (1, 0, 2)
    return Cute(staged(smem_atom(kind, dtype), (m, n, _stages(call, 3, "epi_stage")), order))


@function("tile_to_mma_shape")
def tile_to_mma_shape(call: Call) -> Value:
    """Evaluates `tile_to_mma_shape(atom, shape, order)`."""
    shape = call.int_tuple(1, "mma_tile_shape")
    order: cute.Order = call.int_tuple(2, "order") if call.has(2, "order") else "left"
    return Cute(
        inside(call.any_layout(0, "atom"), lambda a: cute.tile_to_mma_shape(a, shape, order))
    )
