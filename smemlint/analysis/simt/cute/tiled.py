"""CuTe's tiled copies and MMAs, their partitions, and the algorithms that access memory."""

from __future__ import annotations

from typing import Literal

from smemlint.analysis.cute_facts import elementwise_use, thread_layout_use
from smemlint.analysis.simt.cute.accesses import issue, note_without_lanes
from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.tensors import register_tensor
from smemlint.analysis.simt.cute.types import tiled_mma
from smemlint.analysis.simt.cute.user_traits import user_mma_op
from smemlint.analysis.simt.cute.values import ThreadSlice, payload_of, shared_tensor_of, tensor_of
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, Cute, Unknown, Value, number
from smemlint.frontend import ir
from smemlint.layout import cute
from smemlint.layout.cute import Instruction

ALGORITHMS = frozenset(
    ("copy", "copy_if", "copy_aligned", "cooperative_copy", "cooperative_gemm", "gemm")
)
"""Functions that access memory: where an operand is not known, a note is recorded."""
_DONE = number(0)


def _atom(call: Call, index: int = 0) -> cute.CopyAtom:
    payload = call.payload(index)
    if isinstance(payload, cute.TiledCopy):
        return payload.atom
    if not isinstance(payload, cute.CopyAtom):
        raise cute.CuteError("a copy atom that is not known")
    return payload


@function("make_tiled_copy")
def _make_tiled_copy(call: Call) -> Value:
    values = call.layout(2) if len(call.values) > 2 else cute.Layout(1)
    threads = call.layout(1)
    if not cute.is_compact(threads):
        _note_gaps(call, threads)
        raise cute.CuteError("the thread layout of make_tiled_copy is not compact")
    return Cute(cute.make_tiled_copy(_atom(call), threads, values))


def _note_gaps(call: Call, threads: cute.Layout) -> None:
    """Records a thread layout that CuTe inverts only in part."""
    if threads.is_static:
        state = call.ev.state
        use = thread_layout_use(state.unit.span(call.node), state.frames[0].name, threads)
        state.layouts.setdefault(f"threads {use.span} {use.spelled}", use)


@function("make_tiled_copy_impl")
def _make_tiled_copy_impl(call: Call) -> Value:
    tiler = call.convert.tiler(call.values[2])
    return Cute(cute.TiledCopy(_atom(call), call.layout(1), tiler))


@function("make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C")
def _make_tiled_copy_for(call: Call) -> Value:
    operand: Literal["A", "B", "C"] = call.name[-1]  # type: ignore[assignment]
    return Cute(cute.make_tiled_copy_for(_atom(call), mma_of(call, 1), operand))


@function("make_tiled_copy_C_atom")
def _make_tiled_copy_c_atom(call: Call) -> Value:
    return Cute(cute.make_tiled_copy_c_atom(_atom(call), mma_of(call, 1)))


@function("make_tiled_copy_S", "make_tiled_copy_D")
def _make_tiled_copy_like(call: Call) -> Value:
    other = call.payload(1)
    if not isinstance(other, cute.TiledCopy):
        raise cute.CuteError("a tiled copy that is not known")
    side: Literal["S", "D"] = call.name[-1]  # type: ignore[assignment]
    return Cute(cute.make_tiled_copy_like(_atom(call), other, side))


@function("make_cotiled_copy")
def _make_cotiled_copy(call: Call) -> Value:
    return Cute(cute.make_cotiled_copy(_atom(call), call.layout(1), call.layout(2)))


@function("make_tiled_mma")
def _make_tiled_mma(call: Call) -> Value:
    values = list(call.values)
    first = values[0]
    if isinstance(first, Aggregate) and isinstance(first.type, RecordType):
        op = user_mma_op(call.ev, first.type.name)
        values[0] = Cute(op) if op is not None else first
    return tiled_mma(values, call.convert)


def mma_of(call: Call, index: int) -> cute.TiledMma:
    """Returns an argument that must be an MMA; a thread's slice of one is one, too.

    Raises:
        CuteError: it is not known.
    """
    payload = call.payload(index)
    if isinstance(payload, ThreadSlice):
        payload = payload.tiled
    if not isinstance(payload, cute.TiledMma):
        raise cute.CuteError("a TiledMMA that is not known")
    return payload


@function("partition_fragment_C", "partition_shape_C")
def _partition_fragment_c(call: Call) -> Value:
    mma = mma_of(call, 0)
    shape = call.convert.int_tuple(call.values[1])
    whole = cute.make_register_tensor(mma.op.element_bits("C") or 32, cute.Layout(shape))
    part = mma.partition(whole, 0, "C")
    if call.name == "partition_shape_C":
        from smemlint.analysis.simt.cute.values import value_of

        return value_of(part.shape)
    fragment = mma.fragment(part, "C")
    return Cute(register_tensor(fragment.bits, fragment.layout.plain))


# ---- algorithms


def _policy(call: Call) -> cute.CopyAtom | cute.TiledCopy | None:
    """Returns the first of three arguments; None where there are two.

    Up to CUTLASS 3.1 a thread's slice of a tiled copy is its atom, too.
    """
    if len(call.values) == 2:
        return None
    payload = call.payload(0)
    if isinstance(payload, ThreadSlice):
        payload = payload.tiled
    if isinstance(payload, cute.TiledCopy | cute.CopyAtom):
        return payload
    if isinstance(payload, cute.CopyOp) and (
        payload.mechanism is cute.Mechanism.AUTO_VECTORIZING or not payload.has_lane_addresses
    ):
        return cute.CopyAtom(payload, 8)
    raise cute.CuteError("a copy policy that is not known")


def _is_elsewhere(call: Call, first: int) -> bool:
    """Returns whether no tensor of a call is in shared memory."""
    tensors = [tensor_of(value) for value in call.values[first:]]
    return all(tensor is not None and not tensor.is_shared for tensor in tensors)


@function("copy", "copy_aligned")
def _copy(call: Call) -> Value:
    first = len(call.values) - 2
    if first < 0 or _is_elsewhere(call, first):
        return _DONE
    if call.name == "copy_aligned":
        return _issue(call, cute.copy_aligned(call.tensor(first), call.tensor(first + 1)))
    policy = _policy(call)
    if isinstance(policy, cute.CopyAtom) and not policy.op.has_lane_addresses:
        return _move_without_lanes(call, policy.op.mechanism.value)
    if policy is not None and _has_one_side(call, policy, first):
        return _copy_one_side(call, policy, first)
    source, destination = call.tensor(first), call.tensor(first + 1)
    if policy is None:
        _note_elements(call, source, destination)
    return _issue(call, cute.copy(source, destination, policy))


def _has_one_side(call: Call, policy: cute.CopyAtom | cute.TiledCopy, first: int) -> bool:
    """Returns whether the addresses hang on one tensor, in shared memory; the other is unknown."""
    atom = policy.atom if isinstance(policy, cute.TiledCopy) else policy
    tensors = [tensor_of(value) for value in call.values[first:]]
    is_fixed = atom.op.mechanism is not cute.Mechanism.AUTO_VECTORIZING
    return is_fixed and None in tensors and any(t is not None and t.is_shared for t in tensors)


def _copy_one_side(call: Call, policy: cute.CopyAtom | cute.TiledCopy, first: int) -> Value:
    """Records what the known side of an operation of a fixed width does.

    Its addresses are the same whatever it moves them from or to.
    """
    atom = policy.atom if isinstance(policy, cute.TiledCopy) else policy
    is_source = tensor_of(call.values[first]) is not None
    shared = call.tensor(first if is_source else first + 1)
    _issue(call, cute.accesses_of_side(atom, shared, "S" if is_source else "D"))
    if atom.op.mechanism is cute.Mechanism.UNIVERSAL:  # others move registers or global memory
        call.tensor(first + 1 if is_source else first)
    return _DONE


def _move_without_lanes(call: Call, mechanism: str) -> Value:
    """Notes a copy by TMA or tensor memory, or an MMA, whose operands need not be known."""
    shared = [t for value in call.values if (t := shared_tensor_of(value)) is not None]
    note_without_lanes(call.ev, call.node, shared[0] if shared else None, mechanism)
    return _DONE


def _note_elements(call: Call, source: cute.Tensor, destination: cute.Tensor) -> None:
    """Records a copy that gives up vectors for strides that only run time tells."""
    state = call.ev.state
    span = state.unit.span(call.node)
    use = elementwise_use(span, state.frames[0].name, source, destination)
    if use is not None:
        state.layouts.setdefault(f"elements {span}", use)


@function("copy_if")
def _copy_if(call: Call) -> Value:
    first = len(call.values) - 2
    if _is_elsewhere(call, first):
        return _DONE
    source, destination = call.tensor(first), call.tensor(first + 1)
    payload = call.payload(0)
    if isinstance(payload, cute.TiledCopy | cute.CopyAtom):
        return _issue(call, cute.copy_if(payload, source, destination))
    return _issue(call, cute.copy_elements(source, destination))


@function("cooperative_copy")
def _cooperative_copy(call: Call) -> Value:
    threads, *rest = call.static_types()
    source, destination = call.tensor(1), call.tensor(2)
    thread = call.convert.integer(call.values[0])
    policy = _atom(call, 3) if len(call.values) > 3 else None
    vector = rest[0] if rest else 0
    return _issue(call, cute.cooperative_copy(threads, thread, source, destination, vector, policy))


@function("cooperative_gemm")
def _cooperative_gemm(call: Call) -> Value:
    """Evaluates `(thread, mma, A, B, C, ..)` and `(thread, mma, alpha, A, B, beta, C, ..)`.

    What transforms elements follows, then how A and B are loaded, and C is loaded and stored.

    Raises:
        CuteError: an argument is not known, or whether C is loaded.
    """
    mma, thread = mma_of(call, 1), call.convert.integer(call.values[0])
    stores = len(call.values) > 6 and tensor_of(call.values[6]) is not None
    first = 3 if stores else 2
    ops = [_copy_op(call, first + (8 if stores else 5) + k) for k in range(4)]
    found = cute.gemm_operand(mma, thread, call.tensor(first), "A", ops[0], False)
    found += cute.gemm_operand(mma, thread, call.tensor(first + 1), "B", ops[1], False)
    if not stores:
        return _issue(call, found)
    result = call.tensor(6)
    loads_result = _is_not_zero(call, 5)
    if loads_result:
        found += cute.gemm_operand(mma, thread, result, "C", ops[2], False)
    _issue(call, found + cute.gemm_operand(mma, thread, result, "C", ops[3], True))
    if loads_result is None:
        raise cute.CuteError("whether `cooperative_gemm` loads C")
    return _DONE


def _copy_op(call: Call, index: int) -> cute.CopyOp:
    """Returns an argument that says how an operand is copied; element by element by default."""
    payload = call.payload(index) if index < len(call.values) else cute.DEFAULT_COPY
    if not isinstance(payload, cute.CopyOp):
        raise cute.CuteError("a copy operation that is not known")
    return payload


def _is_not_zero(call: Call, index: int) -> bool | None:
    """Returns whether an argument is a number but 0; None where the source does not say."""
    value, node = call.values[index], call.node.args[index]
    if isinstance(value, AffineInt) and value.constant is not None:
        return value.constant != 0
    if isinstance(node, ir.Constant):
        return any(digit in node.value.lower().partition("e")[0] for digit in "123456789")
    return None


@function("gemm")
def _gemm(call: Call) -> Value:
    """Evaluates `gemm([mma,] [D,] A, B, C)`."""
    values = list(call.values)
    payload = payload_of(values[0])
    mma = payload if isinstance(payload, cute.TiledMma) else None
    operands = [tensor_of(value) for value in (values[1:] if mma is not None else values)]
    if len(operands) == 4 and operands[0] is not None:  # else an MMA that is not known
        operands = operands[1:]
    if len(operands) != 3 or operands[0] is None or operands[1] is None:
        if mma is not None and mma.op.b_is_descriptor:
            return _move_without_lanes(call, "descriptor")
        raise cute.CuteError("operands that are not known")
    return _issue(call, cute.gemm(operands[0], operands[1], mma))


@function("make_zip_tensor")
def _make_zip_tensor(call: Call) -> Value:
    """Evaluates `make_zip_tensor(t, ..)` of fragments, which only MMAs read: the first one.

    Raises:
        CuteError: a tensor is not known, or not in registers.
    """
    tensors = [call.tensor(i) for i in range(len(call.values))]
    if any(tensor.space is not cute.Space.REGISTER for tensor in tensors):
        raise cute.CuteError("tensors that are zipped in memory")
    return call.values[0]


@function("warpgroup_fence_operand")
def _order(call: Call) -> Value:
    """Orders accesses of registers; accesses none."""
    return _DONE


@function("clear", "fill")
def _fill(call: Call) -> Value:
    tensor = tensor_of(call.values[0])
    if tensor is None:
        return call.values[0] if isinstance(call.values[0], Unknown) else _DONE
    issue(call.ev, cute.store_elements(tensor), call.node, is_fill=True)
    return _DONE


@function("axpby")
def _elementwise(call: Call) -> Value:
    tensors = [tensor for value in call.values if (tensor := tensor_of(value)) is not None]
    if any(tensor.is_shared for tensor in tensors):
        raise cute.CuteError(f"`{call.name}` of shared elements")
    return _DONE


def _issue(call: Call, instructions: list[Instruction]) -> Value:
    issue(call.ev, instructions, call.node)
    return _DONE
