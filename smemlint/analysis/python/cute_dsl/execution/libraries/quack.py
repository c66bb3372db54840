"""Helpers of QuACK, which FlashAttention's kernels in the DSL are written with, too.

Source: quack-kernels 0.4, `quack/layout_utils.py` and `quack/copy_utils.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.analysis.python.cute_dsl.execution.call import (
    FUNCTIONS,
    Call,
    as_value,
    function,
    needed_tensor,
)
from smemlint.analysis.python.cute_dsl.execution.copies import (
    copy_by,
    copy_plainly,
    note_without_lanes,
)
from smemlint.analysis.python.cute_dsl.execution.tensor_functions import make_registers
from smemlint.analysis.python.cute_dsl.execution.values import (
    Opaque,
    UnknownTensor,
    array_of,
)
from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.analysis.python.interpreter.values import Value

_WIDEST = 128
"""Bits of the widest vector."""


# ---- views


@function("quack.transpose_view")
def transpose_view(call: Call) -> Value:
    """Evaluates `transpose_view(tensor)`: its first two modes exchanged."""
    tensor = call.tensor(0, "a")
    if isinstance(tensor, UnknownTensor):
        return as_value(tensor)
    modes = tensor.layout.plain.modes()
    first, second, *rest = (mode.shape for mode in modes)
    order = cute.make_ordered_layout((second, first, *rest), (1, 0, *range(2, len(modes))))
    return as_value(tensor.apply(lambda layout: cute.composition(layout, order)))


@function("quack.select")
def select(call: Call) -> Value:
    """Evaluates `select(tensor, mode)`."""
    return FUNCTIONS["select"](call)


@function("quack.expand")
def expand(call: Call) -> Value:
    """Evaluates `expand(tensor, dim, size)`: one more mode of stride 0."""
    tensor = call.tensor(0, "a")
    if isinstance(tensor, UnknownTensor):
        return as_value(tensor)
    at, more = call.static(1, "dim"), cute.Layout(call.integer(2, "size"), 0)

    def expanded(layout: cute.Layout) -> cute.Layout:
        modes = layout.modes()
        return cute.make_layout(*modes[:at], more, *modes[at:])

    return as_value(tensor.apply(expanded))


@function("quack.reshape_acc_to_mn", "quack.make_acc_tensor_mn_view")
def reshape_acc_to_mn(call: Call) -> Value:
    """Evaluates `reshape_acc_to_mn(acc, transpose=)`: ((2, 2, V), M, N) as ((2, M), (2, V, N))."""
    tensor = call.tensor(0, "acc")
    if isinstance(tensor, UnknownTensor):
        return as_value(tensor)
    is_transposed = call.value(1, "transpose", False) is True
    return as_value(tensor.apply(lambda layout: _rows_and_columns(layout, is_transposed)))


def _rows_and_columns(layout: cute.Layout, is_transposed: bool) -> cute.Layout:
    atom, m, n, *rest = layout.modes()
    columns, rows, *vectors = atom.modes()
    found = (cute.make_layout(rows, m), cute.make_layout(columns, *vectors, n))
    return cute.make_layout(*(found[::-1] if is_transposed else found), *rest)


# ---- copies


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
    return as_value(cute.make_tiled_copy(atom, cute.Layout(threads), cute.Layout(elements)))


@function("quack.tiled_copy_2d")
def tiled_copy_2d(call: Call) -> Value:
    """Evaluates `tiled_copy_2d(dtype, threads_per_row, num_threads, num_copy_elems, is_async)`."""
    row, threads = call.static(1, "threads_per_row"), call.static(2, "num_threads")
    elements = call.static(3, "num_copy_elems", 1)
    order = cute.Layout((threads // row, row), (row, 1))
    return as_value(
        cute.make_tiled_copy(_atom(call, 4, elements), order, cute.Layout((1, elements)))
    )


@function("quack.copy")
def copy(call: Call) -> Value:
    """Evaluates `copy(src, dst, pred=, is_async=)`: vectors of the first mode's length."""
    source, destination = call.tensor(0, "src"), call.tensor(1, "dst")
    policy: cute.CopyAtom | cute.CuteError
    try:
        if isinstance(source, UnknownTensor):
            raise cute.CuteError(source.reason)
        elements = cute.static(cute.leaves(source.shape)[0])
        bits = min(_WIDEST, elements * source.bits)
        is_async = call.given.named.get("is_async") is True
        op = cute.cp_async(bits) if is_async else cute.universal_copy(bits)
        policy = cute.CopyAtom(op, source.bits)
    except cute.CuteError as error:
        policy = error
    return copy_by(call, policy, (source, destination))


@function("quack.load_s2r")
def load_s2r(call: Call) -> Value:
    """Evaluates `load_s2r(src)`: copies a tensor to registers like it."""
    like = replace(call, name="make_rmem_tensor_like")
    registers = make_registers(like)
    sides = call.tensor(0, "src"), needed_tensor(registers)
    copy_plainly(call, sides, cute.autovec_copy)
    return registers


@function("quack.tma_get_copy_fn", "quack.tma_producer_copy_fn", "quack.cpasync_bulk_get_copy_fn")
def get_tma_copy(call: Call) -> Value:
    """Evaluates what makes functions that start a copy by TMA of the given tensors."""
    for value in (*call.given.positional, *call.given.named.values()):
        array = array_of(needed_tensor(value))
        if array is not None:
            note_without_lanes(call, "TMA", array)
    return Opaque("a copy by TMA")
