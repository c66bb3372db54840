"""Helpers of `cutlass.utils` that choose layouts and operations, for Hopper above all.

Source: CUTLASS 4.7, `python/CuTeDSL/cutlass/utils/hopper_helpers.py`, `utils/layout.py` and
`cute/nvgpu/warpgroup/helpers.py`.
"""

from __future__ import annotations

from smemlint.analysis.python.cute_dsl.execution.call import Call, function, reason_of
from smemlint.analysis.python.cute_dsl.execution.copies import copy_plainly
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import registers
from smemlint.analysis.python.cute_dsl.execution.members import leading_mode
from smemlint.analysis.python.cute_dsl.execution.values import (
    Architecture,
    Cute,
    Namespace,
    Opaque,
    Origin,
    UnknownTensor,
    layout_of,
)
from smemlint.analysis.python.interpreter.values import DType, Symbol, Value
from smemlint.hardware.arch import architecture
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout
from smemlint.layout.swizzle import Swizzle
from smemlint.reasons import Assumption, Topic

ROW, COLUMN = (Symbol(f"cutlass.utils.LayoutEnum.{n}_MAJOR") for n in ("ROW", "COL"))
K_MAJOR, MN_MAJOR = (Symbol(f"cutlass.cute.nvgpu.OperandMajorMode.{n}") for n in ("K", "MN"))
_EITHER_MAJOR = Assumption(
    Topic.ARGUMENT, "tensors that are passed are row-major, or all of them column-major", "tensors"
)
_SPANS = {"INTER": (128, 0), "SW32": (256, 1), "SW64": (512, 2), "SW128": (1024, 3)}
"""Contiguous bits of an atom and bits of its swizzle."""
_CAPACITY = {
    "sm_120": 101376, "sm_103": 232448, "sm_101": 232448, "sm_110": 232448, "sm_100": 232448,
    "sm_90": 232448, "sm_89": 101376, "sm_87": 166912, "sm_86": 101376, "sm_80": 166912,
}  # fmt: skip


# ---- scheduling


@function("WorkTileInfo")
def work_tile(call: Call) -> Value:
    """Evaluates `WorkTileInfo(tile_idx, is_valid_tile)`."""
    named = {"tile_idx": call.value(0, "tile_idx"), "is_valid_tile": call.value(1, "is_valid_tile")}
    return Namespace(named)


@function("make_contiguous_group_work_tile_info")
def contiguous_work_tile(call: Call) -> Value:
    """Evaluates `make_contiguous_group_work_tile_info(groups, tensor)`: copies it to registers."""
    tensor = call.tensor(1, "sTile_info")
    if isinstance(tensor, UnknownTensor):
        copy_plainly(call, (tensor, tensor), cute.autovec_copy)
    elif isinstance(tensor.origin, Origin):
        fragment = registers(tensor.origin.dtype, cute.Layout(tensor.shape))
        copy_plainly(call, (tensor, fragment), cute.autovec_copy)
    return Opaque("work tile")


# ---- LayoutEnum


@function("from_tensor")
def from_tensor(call: Call) -> Value:
    """Evaluates `LayoutEnum.from_tensor(tensor)`: which mode has stride 1."""
    tensor = call.tensor(0, "tensor")
    if isinstance(tensor, UnknownTensor):
        if call.run.choice is None:
            raise cute.CuteError(f"which mode is contiguous: {tensor.reason}")
        call.run.guessed.setdefault(_EITHER_MAJOR)
        place = call.run.span_of(call.node)
        return COLUMN if call.run.are_columns.get(place, bool(call.run.choice)) else ROW
    mode = leading_mode(tensor.layout.plain)
    if mode not in (0, 1):
        raise cute.CuteError("which mode is contiguous is not known")
    return COLUMN if mode == 0 else ROW


def is_row_major(value: Value) -> bool:
    """Returns whether a member of `LayoutEnum` is `ROW_MAJOR`.

    Raises:
        CuteError: it is not known which one it is.
    """
    if not isinstance(value, Symbol) or value.name not in ("ROW_MAJOR", "COL_MAJOR"):
        raise cute.CuteError(reason_of(value, "which mode is contiguous is not known"))
    return value.name == "ROW_MAJOR"


def _asked(call: Call) -> bool:
    """Evaluates `layout_enum.is_k_major_a()`: a member of what the function is called on."""
    return is_row_major(call.owner)


@function("is_k_major_a", "is_k_major_b", "is_n_major_c")
def answers_row_major(call: Call) -> Value:
    """Evaluates what a `LayoutEnum` answers with yes if it is row-major."""
    return _asked(call)


@function("is_m_major_a", "is_n_major_b", "is_m_major_c")
def is_column_major(call: Call) -> Value:
    """Evaluates what a `LayoutEnum` answers with yes if it is column-major."""
    return not _asked(call)


@function("mma_major_mode", "sm90_mma_major_mode")
def major_mode(call: Call) -> Value:
    """Evaluates `layout_enum.sm90_mma_major_mode()`."""
    return K_MAJOR if _asked(call) else MN_MAJOR


# ---- layouts of shared memory


@function("make_smem_layout_atom")
def make_smem_layout_atom(call: Call) -> Value:
    """Evaluates `make_smem_layout_atom(kind, dtype)`."""
    kind = call.value(0, "kind")
    if not isinstance(kind, Symbol):
        raise cute.CuteError(reason_of(kind, "the kind of a layout atom is not known"))
    return Cute(smem_atom(kind.name, call.dtype(1, "element_type")))


def smem_atom(kind: str, dtype: DType) -> cute.ComposedLayout:
    """Returns the layout atom of that kind, such as `K_SW128`: a swizzle of bytes.

    Raises:
        CuteError: there is no such atom.
    """
    major, _, mode = kind.partition("_")
    is_wide = kind == "MN_SW128_32B"
    mode = mode.removesuffix("_32B") if is_wide else mode
    if mode not in _SPANS or major not in ("K", "MN"):
        raise cute.CuteError(f"the layout atom {kind} is not modelled")
    bits, swizzle = _SPANS[mode]
    count = bits // dtype.bits
    layout = (
        cute.Layout((8, count), (count, 1)) if major == "K" else cute.Layout((count, 8), (1, count))
    )
    return cute.ComposedLayout(Swizzle(2, 5, 2) if is_wide else Swizzle(swizzle, 4, 3), layout)


def widest_mode(span: int) -> str:
    """Returns the widest swizzle mode whose atoms divide that many contiguous bits."""
    return next((m for m in ("SW128", "SW64", "SW32") if span % _SPANS[m][0] == 0), "INTER")


def widest_atom(is_k_major: bool, dtype: DType, extent: int) -> cute.ComposedLayout:
    """Returns the widest atom whose contiguous extent divides the tile: `get_smem_layout_atom`."""
    mode = widest_mode(extent * dtype.bits)
    return smem_atom(f"{'K' if is_k_major else 'MN'}_{mode}", dtype)


@function("get_smem_layout_atom", "sm90_get_smem_layout_atom")
def get_smem_layout_atom(call: Call) -> Value:
    """Evaluates `get_smem_layout_atom(layout_enum, dtype, extent)`: the kind of an atom."""
    is_k_major = is_row_major(call.value(0, "layout"))
    dtype, extent = call.dtype(1, "element_type"), call.static(2, "major_mode_size")
    mode = widest_mode(extent * dtype.bits)
    return Symbol(
        f"cutlass.cute.nvgpu.warpgroup.SmemLayoutAtomKind.{'K' if is_k_major else 'MN'}_{mode}"
    )


def staged(atom: cute.ComposedLayout, shape: cute.IntTuple, order: tuple[int, ...]) -> AnyLayout:
    """Returns a layout atom repeated to fill a tile and its stages."""
    return cute.ComposedLayout(atom.swizzle, cute.tile_to_shape(atom.layout, shape, order), 0)


@function("make_smem_layout_a", "make_smem_layout_b", "sm90_make_smem_layout_a",
          "sm90_make_smem_layout_b")  # fmt: skip
def make_smem_layout_operand(call: Call) -> Value:
    """Evaluates `make_smem_layout_a(layout_enum, tile_mnk, dtype, stages)` and `_b` of Hopper."""
    is_k_major = is_row_major(call.value(0, f"{call.name[-1]}_layout"))
    tile, dtype = call.int_tuple(1, "mma_tiler_mnk"), call.dtype(2, f"{call.name[-1]}_dtype")
    stages = call.integer(3, "num_stages")
    m, n, k = (cute.static(cute.product(t)) for t in cute.wrap(tile)[:3])
    extent = m if call.name[-1] == "a" else n
    atom = widest_atom(is_k_major, dtype, k if is_k_major else extent)
    return Cute(staged(atom, (extent, k, stages), (0, 1, 2) if is_k_major else (1, 0, 2)))


@function("make_smem_layout_epi", "sm90_make_smem_layout_epi")
def make_smem_layout_epi(call: Call) -> Value:
    """Evaluates `make_smem_layout_epi(dtype, layout_enum, tile, stages, ..)` of Hopper."""
    dtype, is_row = call.dtype(0, "epi_dtype"), is_row_major(call.value(1, "epi_layout"))
    tile = cute.wrap(call.int_tuple(2, "epi_tile"))
    m, n = (cute.static(cute.product(t)) for t in tile[:2])
    atom = widest_atom(is_row, dtype, n if is_row else m)
    shape: cute.IntTuple = (m, n, call.integer(3, "epi_stage"))
    order: tuple[int, ...] = (0, 1, 2) if is_row else (1, 0, 2)
    if call.has(4, "smem_trg_shape"):
        found = layout_of(call.value(4, "smem_trg_shape"))
        shape = found.shape if found is not None else call.int_tuple(4, "smem_trg_shape")
    if call.has(5, "smem_order"):
        order = call.int_tuple(5, "smem_order")  # type: ignore[assignment]
    return Cute(staged(atom, shape, order))


# ---- operations


@function("make_trivial_tiled_mma", "sm90_make_trivial_tiled_mma")
def make_trivial_tiled_mma(call: Call) -> Value:
    """Evaluates `make_trivial_tiled_mma(a, b, a_major, b_major, acc, atoms, tiler_mn, ..)`."""
    a, acc = call.dtype(0, "a_dtype"), call.dtype(4, "acc_dtype")
    if not call.given.has(5, "atom_layout_mnk") or not call.given.has(6, "tiler_mn"):
        raise cute.CuteError("layouts of tcgen05 are not modelled")
    atoms = call.layout(5, "atom_layout_mnk")
    tile = [cute.static(e) for e in cute.leaves(call.int_tuple(6, "tiler_mn"))]
    if tile[0] != 64 or atoms.rank != 3:
        raise cute.CuteError("this tile is not one of wgmma")
    names = {"Float32": "F32", "Float16": "F16", "Int32": "S32", "BFloat16": "BF16"}
    types = {
        "Float16": "F16",
        "BFloat16": "BF16",
        "Float8E4M3FN": "E4M3",
        "Float8E5M2": "E5M2",
        "Int8": "S8",
        "Uint8": "U8",
    }
    d, operand = names.get(acc.name, "F32"), types.get(a.name, "F16")
    source = call.value(7, "a_source", None)
    reads = isinstance(source, Symbol) and source.name == "RMEM"
    op = cute.warpgroup_mma(
        tile[1], 256 // a.bits, "", (d, operand, operand, d), reads_registers=reads
    )
    return Cute(cute.TiledMma(op, atoms))


@function("get_smem_store_op", "sm90_get_smem_store_op")
def get_smem_store_op(call: Call) -> Value:
    """Evaluates `get_smem_store_op(layout_enum, d, acc)`: stmatrix for 16-bit results."""
    return smem_store(call, 4)


def smem_store(call: Call, matrices: int) -> Value:
    """Returns the atom for stores of results: stmatrix of that many matrices for 16-bit ones."""
    is_row, d = is_row_major(call.value(0, "layout_d")), call.dtype(1, "elem_ty_d")
    op = cute.AUTO_VECTORIZING_COPY
    if d.bits == 16:
        op = cute.stmatrix(matrices, is_transposed=not is_row)
    return Cute(cute.CopyAtom(op, d.bits, d.name))


@function("compute_tile_shape_or_override")
def compute_tile_shape(call: Call) -> Value:
    """Evaluates `compute_tile_shape_or_override(tile_mnk, dtype, is_cooperative)`."""
    if call.has(3, "epi_tile_override"):
        return call.value(3, "epi_tile_override")
    m, n, *_ = (cute.static(e) for e in cute.leaves(call.int_tuple(0, "tile_shape_mnk")))
    bits = call.dtype(1, "element_type").bits
    if call.value(2, "is_cooperative", False) is True:
        return (min(128, m), min(32, n))
    return (min(64, m), min(64 if bits == 8 else 32, n))


@function("get_smem_capacity_in_bytes", "capacity_in_bytes")
def get_smem_capacity(call: Call) -> Value:
    """Evaluates `get_smem_capacity_in_bytes(arch)`, by default of the target of the run."""
    arch = call.value(0, "compute_capability", None)
    if arch is None:
        return architecture(call.run.arch).shared_per_block
    found = _CAPACITY.get(arch) if isinstance(arch, str) else None
    if found is None:
        raise cute.CuteError("the capacity of shared memory is not known")
    return found


@function("get_arch_enum", "_get_dsl")
def get_arch(call: Call) -> Value:
    """Returns the architecture for which a kernel is compiled: the target of the run."""
    if call.name == "_get_dsl":
        return Symbol("cutlass.BaseDSL.current")
    return Architecture(call.run.capability)
