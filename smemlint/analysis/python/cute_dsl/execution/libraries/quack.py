"""Helpers of QuACK, which FlashAttention's kernels in the DSL are written with, too.

Source: quack-kernels 0.4, `quack/layout_utils.py` and `quack/copy_utils.py`.
"""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import (
    FUNCTIONS,
    METHODS,
    Call,
    executed,
    function,
    method,
    needed_tensor,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.copies import (
    copy_by,
    copy_plainly,
    note_without_lanes,
)
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import item_of, make_registers
from smemlint.analysis.python.cute_dsl.execution.libraries.hopper import (
    is_row_major,
    staged,
    widest_atom,
)
from smemlint.analysis.python.cute_dsl.execution.values import (
    FLOAT32,
    AnyTensor,
    Cute,
    Opaque,
    Origin,
    Partial,
    ThreadSlice,
    UnknownTensor,
    array_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, Symbol, Unknown, Value
from smemlint.hardware.arch import WIDEST_ACCESS, architecture
from smemlint.layout import cute
from smemlint.reasons import ReasonCode

# ---- views


@function("quack.transpose_view")
def transpose_view(call: Call) -> Value:
    """Evaluates `transpose_view(tensor)`: its first two modes exchanged."""
    tensor = call.tensor(0, "a")
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    modes = tensor.layout.plain.modes()
    first, second, *rest = (mode.shape for mode in modes)
    order = cute.make_ordered_layout((second, first, *rest), (1, 0, *range(2, len(modes))))
    return Cute(tensor.apply(lambda layout: cute.composition(layout, order)))


@function("quack.select")
def select(call: Call) -> Value:
    """Evaluates `select(tensor, mode)`."""
    return FUNCTIONS["select"](call)


@function("quack.expand")
def expand(call: Call) -> Value:
    """Evaluates `expand(tensor, dim, size)`: one more mode of stride 0."""
    tensor = call.tensor(0, "a")
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    at, more = call.static(1, "dim"), cute.Layout(call.integer(2, "size"), 0)

    def expanded(layout: cute.Layout) -> cute.Layout:
        modes = layout.modes()
        return cute.make_layout(*modes[:at], more, *modes[at:])

    return Cute(tensor.apply(expanded))


@function("quack.reshape_acc_to_mn", "quack.make_acc_tensor_mn_view")
def reshape_acc_to_mn(call: Call) -> Value:
    """Evaluates `reshape_acc_to_mn(acc, transpose=)`: ((2, 2, V), M, N) as ((2, M), (2, V, N))."""
    tensor = call.tensor(0, "acc")
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    is_transposed = call.value(1, "transpose", False) is True
    return Cute(tensor.apply(lambda layout: _rows_and_columns(layout, is_transposed)))


def _rows_and_columns(layout: cute.Layout, is_transposed: bool) -> cute.Layout:
    atom, m, n, *rest = layout.modes()
    columns, rows, *vectors = atom.modes()
    found = (cute.make_layout(rows, m), cute.make_layout(columns, *vectors, n))
    return cute.make_layout(*(found[::-1] if is_transposed else found), *rest)


@function("quack.mma_partition_C_vec", "quack.mma_partition_A_vec")
def partition_vector(call: Call) -> Value:
    """Evaluates `mma_partition_C_vec(vector, thr_mma, extent, is_colvec)`: of rows or columns."""
    vector, part = call.tensor(0, "sVec"), payload_of(call.value(1, "thr_mma"))
    if isinstance(vector, UnknownTensor):
        return Cute(vector)
    is_column, repeated = (
        call.value(3, "is_colvec"),
        cute.Layout(call.integer(2, "expand_shape"), 0),
    )
    is_sliced = isinstance(part, ThreadSlice) and isinstance(part.tiled, cute.TiledMma)
    if not is_sliced or not isinstance(is_column, bool):
        raise cute.CuteError("a slice of a tiled MMA is not known")
    assert isinstance(part, ThreadSlice) and isinstance(part.tiled, cute.TiledMma)

    def matrix(layout: cute.Layout) -> cute.Layout:
        first, *rest = layout.modes()
        return cute.make_layout(*((first, repeated) if is_column else (repeated, first)), *rest)

    operand: cute.Operand = "C" if "_C_" in call.name else "A"
    tile = part.tiled.partition(vector.apply(matrix), part.thread, operand)
    by_rows = tile.apply(lambda layout: _rows_and_columns(layout, False))
    keep, first = cute.UNDERSCORE, 0
    return Cute(by_rows.slice(*((keep, first, keep) if is_column else (first, keep, keep))))


# ---- layouts of shared memory


@function("quack.make_smem_layout", "quack.make_smem_layout_epi")
def make_smem_layout(call: Call) -> Value:
    """Evaluates `make_smem_layout(dtype, layout_enum, tile, stage, major_mode_size)`."""
    dtype, is_row = call.dtype(0, "dtype"), is_row_major(call.value(1, "layout"))
    m, n = (cute.static(cute.product(e)) for e in cute.wrap(call.int_tuple(2, "tile")))
    extent = n if is_row else m
    if call.has(4, "major_mode_size"):
        extent = call.static(4, "major_mode_size")
    stages = (call.integer(3, "stage"),) if call.has(3, "stage") else ()
    order = ((0, 1) if is_row else (1, 0)) + (2,) * len(stages)
    return Cute(staged(widest_atom(is_row, dtype, extent), (m, n, *stages), order))


# ---- MMAs


@function("quack.partition_fragment_ABC")
def partition_fragments(call: Call) -> Value:
    """Evaluates `partition_fragment_ABC(thr_mma, shape_mnk, sA, sB, swap_AB)`: acc, A and B."""
    part = payload_of(call.value(0, "thr_mma"))
    mma = part.tiled if isinstance(part, ThreadSlice) else part
    if not isinstance(mma, cute.TiledMma):
        raise cute.CuteError(reason_of(call.value(0, "thr_mma"), "a tiled MMA is not known"))
    m, n, k = (numbers.value_of(call.run, e) for e in cute.wrap(call.int_tuple(1, "shape_mnk"))[:3])
    a, b = call.value(2, "sA"), call.value(3, "sB")
    is_swapped = call.value(4, "swap_AB", False) is True
    rows, columns = (n, m) if is_swapped else (m, n)
    first, second = (b, a) if is_swapped else (a, b)

    shape = _method(call, "partition_shape_C", (rows, columns))
    accumulator = _called(call, "make_rmem_tensor", shape, FLOAT32)
    operand = (
        _method(call, "partition_A", first)
        if mma.op.a_is_descriptor
        else _method(call, "partition_shape_A", (rows, k))
    )
    fragments = (
        _method(call, "make_fragment_A", operand),
        _method(call, "make_fragment_B", _method(call, "partition_B", second)),
    )
    return (accumulator, *(fragments[::-1] if is_swapped else fragments))


@function("quack.gemm_zero_init")
def gemm_zero_init(call: Call) -> Value:
    """Evaluates `gemm_zero_init(mma, shape_mn, A, B, .., swap_AB)`: accumulators in registers."""
    shape, is_swapped = call.value(1, "shape"), call.value(7, "swap_AB", False)
    if not isinstance(is_swapped, bool):
        raise cute.CuteError(reason_of(is_swapped, "whether operands are swapped is not known"))
    if is_swapped and isinstance(shape, tuple):
        shape = shape[::-1]
    return _called(call, "make_rmem_tensor", _method(call, "partition_shape_C", shape), FLOAT32)


def _called(call: Call, name: str, *given: Value) -> Value:
    """Returns what another function returns."""
    arguments = BoundArguments(list(given), {})
    shown = name.removeprefix("quack.")
    return executed(FUNCTIONS[name], replace(call, name=shown, given=arguments))


def _method(call: Call, name: str, given: Value, owner: Value | None = None) -> Value:
    """Returns what a method returns, by default one of the first argument of a call."""
    arguments = BoundArguments([given], {})
    receiver = owner if owner is not None else call.given.positional[0]
    return executed(METHODS[name], replace(call, name=name, owner=receiver, given=arguments))


# ---- copies


@function("quack.get_smem_store_atom", "quack.get_smem_load_atom")
def get_matrix_atom(call: Call) -> Value:
    """Evaluates `get_smem_store_atom(dtype, transpose, major_mode_size)`, and of loads."""
    dtype, is_transposed = call.dtype(0, "element_type"), call.value(1, "transpose", False)
    if not isinstance(is_transposed, bool):
        raise cute.CuteError(reason_of(is_transposed, "which mode is contiguous is not known"))
    if architecture(call.run.arch).capability < (9, 0) or dtype.bits != 16:
        op = cute.universal_copy((1 if is_transposed else 2) * dtype.bits)
        return Cute(cute.CopyAtom(op, dtype.bits, dtype.name))
    extent = call.static(2, "major_mode_size") if call.has(2, "major_mode_size") else 16
    matrices = 4 if extent % 16 == 0 else 2 if extent % 8 == 0 else 1
    kind = cute.stmatrix if "store" in call.name else cute.ldmatrix
    return Cute(cute.CopyAtom(kind(matrices, is_transposed=is_transposed), 16, dtype.name))


@function("quack.partition_S_position_independent", "quack.partition_D_position_independent")
def partition_position_independent(call: Call) -> Value:
    """Evaluates `partition_S_position_independent(thr_copy, tensor)`: the same addresses."""
    return _method(call, call.name[: len("partition_S")], call.value(1, "tensor"))


@function("quack.get_smem_store_C")
def get_store(call: Call) -> Value:
    """Evaluates `get_smem_store_C(mma, tensor, thread, transpose, ..)`: what stores to it."""
    policy, tensor = call.given.positional[0], call.value(1, "sC")
    atom = _store_atom(call, needed_tensor(tensor))
    tiled = _called(call, "make_tiled_copy_C", atom, policy)
    sliced = _method(call, "get_slice", call.value(2, "tidx"), tiled)
    part = _method(call, "partition_D", tensor, sliced)
    return Partial(Symbol("quack.copy_utils.store_C"), (tiled, part), {}), sliced, part


def _store_atom(call: Call, tensor: AnyTensor) -> Value:
    if isinstance(payload_of(call.given.positional[0]), cute.TiledCopy):
        reason = "stores of what is loaded from tensor memory are not modelled"
        return Unknown.because(ReasonCode.NOT_MODELLED, reason)
    if isinstance(tensor, UnknownTensor):
        return Unknown.because(ReasonCode.NOT_MODELLED, tensor.reason)
    dtype = tensor.origin.dtype if isinstance(tensor.origin, Origin) else UNKNOWN
    transpose, size = call.value(3, "transpose", False), call.given.named.get("major_mode_size")
    return _called(call, "quack.get_smem_store_atom", dtype, transpose, size)


@function("quack.store_C")
def store_to(call: Call) -> Value:
    """Copies registers, converted to the element type of a partition, to one of its stages."""
    part, source = call.tensor(1, "partition"), call.tensor(2, "src")
    stage = call.value(3, "dst_idx", None)
    policy: cute.TiledCopy | cute.CuteError
    try:
        policy = call.tiled_copy(0, "tiled_copy")
        if stage is not None and not isinstance(part, UnknownTensor):
            part = item_of(call.run, part, (*(None,) * (part.rank - 1), stage)) or part
        if not isinstance(source, UnknownTensor):
            values = cute.make_fragment_like(source.layout.plain)
            source = policy.retile(cute.make_register_tensor(policy.atom.bits, values))
    except cute.CuteError as error:
        policy = error
    return copy_by(call, policy, (source, part))


def _atom(call: Call, at: int, elements: int) -> cute.CopyAtom:
    dtype = call.dtype(0, "dtype")
    bits = elements * dtype.bits
    is_async = call.value(at, "is_async", False) is True
    op = cute.cp_async(bits) if is_async else cute.universal_copy(bits)
    return cute.CopyAtom(op, dtype.bits, dtype.name)


@function("quack.tiled_copy_1d")
def tiled_copy_1d(call: Call) -> Value:
    """Evaluates `tiled_copy_1d(dtype, num_threads, num_copy_elems, is_async)`."""
    threads, elements = call.static(1, "num_threads"), call.static(2, "num_copy_elems", 1)
    atom = _atom(call, 3, elements)
    return Cute(cute.make_tiled_copy(atom, cute.Layout(threads), cute.Layout(elements)))


@function("quack.tiled_copy_2d")
def tiled_copy_2d(call: Call) -> Value:
    """Evaluates `tiled_copy_2d(dtype, threads_per_row, num_threads, num_copy_elems, is_async)`."""
    row, threads = call.static(1, "threads_per_row"), call.static(2, "num_threads")
    elements = call.static(3, "num_copy_elems", 1)
    order = cute.Layout((threads // row, row), (row, 1))
    return Cute(cute.make_tiled_copy(_atom(call, 4, elements), order, cute.Layout((1, elements))))


@function("quack.copy")
def copy(call: Call) -> Value:
    """Evaluates `copy(src, dst, pred=, is_async=)`: vectors of the first mode's length."""
    source, destination = call.tensor(0, "src"), call.tensor(1, "dst")
    policy: cute.CopyAtom | cute.CuteError
    try:
        if isinstance(source, UnknownTensor):
            raise cute.CuteError(source.reason)
        elements = cute.static(cute.leaves(source.shape)[0])
        bits = min(8 * WIDEST_ACCESS, elements * source.bits)
        is_async = call.given.named.get("is_async") is True
        op = cute.cp_async(bits) if is_async else cute.universal_copy(bits)
        policy = cute.CopyAtom(op, source.bits)
    except cute.CuteError as error:
        policy = error
    return copy_by(call, policy, (source, destination))


@function("quack.cvt_copy", "quack.sr_cvt_copy")
def convert_and_copy(call: Call) -> Value:
    """Evaluates `cvt_copy(tiled_copy, src, dst, .., retile=)`: converts registers, then copies."""
    source, destination = call.tensor(1, "src"), call.tensor(2, "dst")
    dtype = destination.origin.dtype if isinstance(destination, cute.Tensor) else UNKNOWN  # type: ignore[attr-defined]
    value: Value = Cute(source)
    if isinstance(source, cute.Tensor) and isinstance(dtype, DType) and dtype.bits != source.bits:
        value = _method(call, "to", dtype, value)
    if call.given.named.get("retile", False) is True:
        value = _method(call, "retile", value)
    policy: cute.TiledCopy | cute.CuteError
    try:
        policy = call.tiled_copy(0, "tiled_copy")
    except cute.CuteError as error:
        policy = error
    return copy_by(call, policy, (needed_tensor(value), destination))


@function("quack.load_s2r", "quack.contiguous")
def load_s2r(call: Call) -> Value:
    """Evaluates `load_s2r(src)`: copies a tensor to registers like it, or to compact ones."""
    is_like = call.name == "load_s2r"
    like = replace(call, name="make_rmem_tensor_like" if is_like else "make_rmem_tensor")
    registers = make_registers(like)
    sides = call.tensor(0, "src"), needed_tensor(registers)
    copy_plainly(call, sides, cute.autovec_copy)
    return registers


@method("contiguous", "clone")
def materialized(call: Call) -> Value:
    """Evaluates `tensor.contiguous()` and `tensor.clone()`, which QuACK gives to tensors."""
    name = "quack.load_s2r" if call.name == "clone" else "quack.contiguous"
    return _called(call, name, call.owner)


@function("quack.tma_get_copy_fn", "quack.tma_producer_copy_fn", "quack.cpasync_bulk_get_copy_fn")
def get_tma_copy(call: Call) -> Value:
    """Evaluates what makes functions that start a copy by TMA of the given tensors."""
    for value in (*call.given.positional, *call.given.named.values()):
        array = array_of(needed_tensor(value))
        if array is not None:
            note_without_lanes(call, "TMA", array)
    return Opaque("a copy by TMA")
