"""CuTe: layouts, swizzles, tensors, partitioning and copies, down to lane addresses.

Everything is a pure function of frozen values. Static integers (`Int<N>`) are Python ints, dynamic
ones `DynamicInt`; what CuTe refuses to compile is a `CuteError`.

    threads = DynamicInt(numpy.arange(128))
    atom = CopyAtom(ldmatrix(4), 16)
    tiled = make_tiled_copy_for(atom, TiledMma(mma_op("SM80_16x8x16_F16F16F16F16_TN")), "A")
    source = tiled.partition(shared, threads, "S")
    for instruction in copy(source, tiled.retile(fragment), tiled):
        instruction.op, instruction.width, instruction.address

Source: CUTLASS 4.7, `include/cute`; every function is checked against the compiled headers
(tests/oracle/record_cute*.py, fixtures/cute).
"""

from smemlint.layout.cute.algebra import (
    coalesce,
    complement,
    composition,
    domain_distribute,
    filter_layout,
    filter_zeros,
    flat_divide,
    logical_divide,
    tiled_divide,
    zip_modes,
    zipped_divide,
)
from smemlint.layout.cute.blackwell import (
    Output,
    accumulator_load,
    accumulator_store,
    epilogue_tile,
    matching_load,
    warps_of,
)
from smemlint.layout.cute.block_scaled import (
    scale_factor_fragment,
    scale_factor_layout,
    scale_factor_thread_value,
    warp_permutation,
)
from smemlint.layout.cute.cooperative import cooperative_copy, gemm_operand
from smemlint.layout.cute.copy_traits import (
    AUTO_VECTORIZING_COPY,
    DEFAULT_COPY,
    CopyOp,
    Mechanism,
    TensorMemoryShape,
    auto_vectorizing_copy,
    copy_op,
    cp_async,
    ldmatrix,
    ldmatrix_transposed_bytes,
    stmatrix,
    stmatrix_transposed_bytes,
    tensor_memory_copy,
    universal_copy,
)
from smemlint.layout.cute.copying import (
    CopiedFrom,
    Instruction,
    accesses_of_side,
    copy,
    copy_aligned,
    copy_elements,
    copy_if,
    store_elements,
    vector_bits,
)
from smemlint.layout.cute.dsl import autovec_copy
from smemlint.layout.cute.gemm import gemm
from smemlint.layout.cute.int_tuples import (
    Coordinate,
    IntTuple,
    Order,
    compact_order,
    compact_strides,
    crd2idx,
    dice_tuple,
    idx2crd,
    is_static,
    leaves,
    product,
    product_each,
    wrap,
)
from smemlint.layout.cute.integers import (
    UNDERSCORE,
    CuteError,
    DynamicInt,
    Integer,
    Refused,
    Underscore,
    ceil_div,
    lanes_of,
    static,
)
from smemlint.layout.cute.inverses import (
    downcast,
    left_inverse,
    max_alignment,
    max_common_layout,
    max_common_vector,
    nullspace,
    recast_layout,
    recast_swizzle,
    right_inverse,
    upcast,
)
from smemlint.layout.cute.layouts import (
    AnyLayout,
    ComposedLayout,
    Layout,
    Tiler,
    append,
    compose_swizzle,
    flatten,
    group,
    make_layout,
    make_ordered_layout,
    prepend,
)
from smemlint.layout.cute.mma_traits import (
    TRAIT_LAYOUTS,
    MmaOp,
    mma_op,
    selected_warpgroup_mma,
    typed_warp_mma,
    warpgroup_mma,
)
from smemlint.layout.cute.products import (
    blocked_product,
    flat_product,
    logical_product,
    make_fragment_like,
    make_layout_like,
    raked_product,
    tile_to_mma_shape,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from smemlint.layout.cute.slicing import slice_layout
from smemlint.layout.cute.smem_atoms import PointerFlag, SmemAtom, select_smem_atom, smem_atom
from smemlint.layout.cute.tensor_memory import (
    accumulator,
    make_tensor_memory_copy,
    named_tensor_memory_mma,
    tensor_memory_mma,
)
from smemlint.layout.cute.tensors import (
    Space,
    Tensor,
    as_position_independent,
    local_partition,
    local_tile,
    make_register_tensor,
    outer_partition,
)
from smemlint.layout.cute.tiled_copy import (
    CopyAtom,
    Side,
    TiledCopy,
    is_compact,
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_c_atom,
    make_tiled_copy_for,
    make_tiled_copy_like,
    partition_for_tma,
)
from smemlint.layout.cute.tiled_mma import Operand, TiledMma

__all__ = [
    "AUTO_VECTORIZING_COPY", "DEFAULT_COPY", "TRAIT_LAYOUTS", "UNDERSCORE", "AnyLayout",
    "ComposedLayout", "Coordinate", "CopiedFrom", "CopyAtom", "CopyOp", "CuteError", "DynamicInt",
    "Instruction", "IntTuple", "Integer", "Layout", "Mechanism", "MmaOp", "Operand", "Order",
    "Output", "PointerFlag", "Refused", "Side", "SmemAtom", "Space", "Tensor", "TensorMemoryShape",
    "TiledCopy", "TiledMma", "Tiler", "Underscore", "accesses_of_side", "accumulator",
    "accumulator_load", "accumulator_store", "append", "as_position_independent",
    "auto_vectorizing_copy", "autovec_copy", "blocked_product", "ceil_div", "coalesce",
    "compact_order", "compact_strides", "complement", "compose_swizzle", "composition",
    "cooperative_copy", "copy", "copy_aligned", "copy_elements", "copy_if", "copy_op", "cp_async",
    "crd2idx", "dice_tuple", "domain_distribute", "downcast", "epilogue_tile", "filter_layout",
    "filter_zeros", "flat_divide", "flat_product", "flatten", "gemm", "gemm_operand", "group",
    "idx2crd", "is_compact", "is_static", "lanes_of", "ldmatrix", "ldmatrix_transposed_bytes",
    "leaves", "left_inverse", "local_partition", "local_tile", "logical_divide", "logical_product",
    "make_cotiled_copy", "make_fragment_like", "make_layout", "make_layout_like",
    "make_ordered_layout", "make_register_tensor", "make_tensor_memory_copy", "make_tiled_copy",
    "make_tiled_copy_c_atom", "make_tiled_copy_for", "make_tiled_copy_like", "matching_load",
    "max_alignment", "max_common_layout", "max_common_vector", "mma_op", "named_tensor_memory_mma",
    "nullspace", "outer_partition", "partition_for_tma", "prepend", "product", "product_each",
    "raked_product", "recast_layout", "recast_swizzle", "right_inverse", "scale_factor_fragment",
    "scale_factor_layout", "scale_factor_thread_value", "select_smem_atom",
    "selected_warpgroup_mma", "slice_layout", "smem_atom", "static", "stmatrix",
    "stmatrix_transposed_bytes", "store_elements", "tensor_memory_copy", "tensor_memory_mma",
    "tile_to_mma_shape", "tile_to_shape", "tiled_divide", "tiled_product", "typed_warp_mma",
    "universal_copy", "upcast", "vector_bits", "warp_permutation", "warpgroup_mma", "warps_of",
    "wrap", "zip_modes", "zipped_divide", "zipped_product",
]  # fmt: skip
