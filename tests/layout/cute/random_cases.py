"""Random layouts, tilers and atoms as plain data, and what the engine makes of them.

`tests/oracle/record_cute_copies.py` draws them and asks CuTe's compiled headers the same.
"""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING, Any

import copy_cases
import numpy as np

from smemlint.layout import cute
from smemlint.layout.cute import CopyAtom, DynamicInt, Layout, TiledCopy, TiledMma
from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    from collections.abc import Callable

    from copy_cases import Case

    from smemlint.layout.cute import AnyLayout, Instruction

Data = dict[str, Any]
BITS = {"int8_t": 8, "half": 16, "float": 32, "tfloat32_t": 32, "double": 64}


def tuples(tree: Any) -> Any:
    """Lists of JSON as tuples."""
    return tuple(map(tuples, tree)) if isinstance(tree, list | tuple) else tree


def layout_of(pair: Any) -> Layout:
    shape, stride = tuples(pair)
    return Layout(shape, stride)


def pair_of(layout: Layout) -> list[Any]:
    return [layout.shape, layout.stride]


# ---- algebra


def algebra_answer(operation: str, arguments: list[Any]) -> str:
    """The answer as CuTe prints it, without underscores."""
    match operation:
        case "copy_traits":
            atom = CopyAtom(copy_cases.op(*arguments[:2]), arguments[2])
            return " ".join(map(str, (atom.source, atom.destination, atom.reference)))
        case "mma_traits":
            op = cute.mma_op(arguments[0])
            assert op is not None
            return " ".join(map(str, (op.threads, op.a, op.b, op.c)))
        case "thread_value":
            multiply = mma_of(arguments[0])
            return " ".join(str(multiply.thread_value(operand)) for operand in ("A", "B", "C"))
        case "tiled_copy":
            tiled = tiled_of(arguments[0])
            sides = (tiled.layout_of("S"), tiled.layout_of("D"))
            return " ".join(map(str, (tiled.thread_value, *sides)))
    values = [_argument(a) for a in arguments]
    result = getattr(cute, operation)(*values)
    return str(result)


def _argument(value: Any) -> Any:
    if isinstance(value, dict):
        return layout_of(value["layout"])
    return tuples(value)


def layout_argument(layout: Layout) -> Data:
    return {"layout": pair_of(layout)}


# ---- copies


def smem_of(data: Data) -> tuple[AnyLayout, Swizzle | None]:
    layout = layout_of(data["layout"])
    if data["swizzle"] is None:
        return layout, None
    swizzle = Swizzle(*data["swizzle"])
    return (layout, swizzle) if data["pointer"] else (cute.compose_swizzle(swizzle, layout), None)


def atom_of(data: Data) -> CopyAtom:
    return CopyAtom(copy_cases.op(data["op"], data["op_bits"]), data["bits"])


def tiled_of(data: Data) -> TiledCopy:
    threads, values = layout_of(data["threads"]), layout_of(data["values"])
    return cute.make_tiled_copy(atom_of(data), threads, values)


def mma_of(data: Data) -> TiledMma:
    permutation = tuple(
        cute.UNDERSCORE if p is None else p if isinstance(p, int) else layout_of(p)
        for p in data["permutation"]
    )
    op = cute.mma_op(data["op"])
    assert op is not None
    return TiledMma(op, layout_of(data["atoms"]), permutation)


def build(case: Data) -> Case:
    """Threads and instructions of a case."""
    bits = BITS[case["type"]]
    match case["form"]:
        case "stores":
            layout, pointer = smem_of(case["smem"])
            return copy_cases.stores(bits, layout, tiled_of(case["tiled"]), pointer)
        case "operands":
            pair = (smem_of(case["a"])[0], smem_of(case["b"])[0])
            atoms = (atom_of(case["atom_a"]), atom_of(case["atom_b"]))
            return copy_cases.operands(bits, pair, atoms, mma_of(case["mma"]))
        case "partitions":
            pair = (smem_of(case["a"])[0], smem_of(case["b"])[0])
            return copy_cases.partitions(bits, pair, mma_of(case["mma"]))
        case "locals":
            return _locals(bits, case)
        case "results":
            return _results(bits, case)
    return _cooperative(bits, case)


def _locals(bits: int, case: Data) -> Case:
    layout, pointer = smem_of(case["smem"])
    threads = layout_of(case["threads"])
    count = cute.static(threads.size)
    thread = copy_cases.lanes(count)
    tensor = copy_cases.shared(bits, layout, 0, pointer)
    _ = cute.UNDERSCORE
    part = cute.local_partition(tensor.slice(_, _, DynamicInt(1)), threads, thread)
    values = part.fragment_like()
    found = cute.copy(values, part) + cute.copy_aligned(part, values)
    inner = cute.local_tile(tensor.slice(_, _, 1), tuples(case["tile"]), (DynamicInt(1), 0))
    own = cute.local_partition(inner, threads, thread)
    return count, found + cute.copy(own, own.fragment_like())


def _results(bits: int, case: Data) -> Case:
    layout, pointer = smem_of(case["smem"])
    multiply = mma_of(case["mma"])
    thread = copy_cases.lanes(multiply.threads)
    tensor = copy_cases.shared(bits, layout, 0, pointer)
    tiled = cute.make_tiled_copy_for(atom_of(case["atom"]), multiply, "C")
    whole = cute.make_register_tensor(bits, Layout(layout.shape))
    values = multiply.fragment(multiply.partition(whole, thread, "C"), "C", bits)
    found: list[Instruction] = []
    for target in (tensor, cute.as_position_independent(tensor)):
        found += cute.copy(tiled.retile(values), tiled.partition(target, thread, "D"), tiled)
    return multiply.threads, found


def _cooperative(bits: int, case: Data) -> Case:
    layout, pointer = smem_of(case["smem"])
    tensor = copy_cases.shared(bits, layout, 0, pointer)
    outside = copy_cases.in_global(bits, layout_of(case["gmem"]))
    count = case["threads"]
    thread = copy_cases.lanes(count)
    return count, cute.cooperative_copy(count, thread, outside, tensor, case["vector"])


# ---- drawing


class Draw:
    """Draws cases; all that it draws is accepted by the engine."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def shape(self, size: int, depth: int = 0) -> Any:
        """A nested shape of at most `size` coordinates."""
        if depth == 2 or self.random.random() < 0.3 + 0.35 * depth:
            return self.random.choice([n for n in (1, 2, 3, 4, 6, 8, 16) if n <= size] or [1])
        modes = []
        for _ in range(self.random.randint(1, 3)):
            mode = self.shape(size, depth + 1)
            size //= prod(cute.leaves(mode))  # type: ignore[arg-type]
            modes.append(mode)
        return tuple(modes)

    def layout(self, size: int = 128, *, is_injective: bool = False) -> Layout:
        shape = self.shape(size)
        extents = cute.leaves(shape)
        strides, current = [0] * len(extents), 1
        for i in self.random.sample(range(len(extents)), len(extents)):
            if not is_injective and self.random.random() < 0.12:
                continue
            strides[i] = current
            current *= extents[i] * self.one(1, 1, 1, 2, 3)  # type: ignore[operator]
        flat = iter(strides)
        return Layout(shape, _like(shape, flat))

    def powers(self, size: int = 256) -> Layout:
        """A compact layout of powers of two, modes in some order: these compose more often."""
        modes: list[int] = []
        while len(modes) < self.random.randint(1, 4):
            modes.append(2 ** self.random.randint(0, 3))
        strides, current = [0] * len(modes), 1
        for i in self.random.sample(range(len(modes)), len(modes)):
            strides[i] = current
            current *= modes[i]
        return Layout(tuple(modes), tuple(strides))

    def algebra(self) -> tuple[str, list[Any]]:
        a = self.one(self.layout, self.powers)()
        b = self.one(self.layout, self.powers)(32)
        unique = self.layout(128, is_injective=True)
        one, other = layout_argument(a), layout_argument(b)
        extents = [self.one(1, 2, 4, 3) for _ in range(a.rank)]
        operations: list[tuple[str, list[Any]]] = [
            *[("composition", [one, other])] * 4,
            *[("logical_divide", [one, other])] * 3,
            ("logical_divide", [one, extents]),
            ("zipped_divide", [one, extents]),
            ("tiled_divide", [one, extents]),
            ("flat_divide", [one, extents]),
            ("coalesce", [one]),
            ("filter_layout", [one]),
            ("complement", [layout_argument(unique), 4 * cute.static(unique.cosize)]),
            ("complement", [layout_argument(unique), [8, 6, 16]]),
            ("right_inverse", [layout_argument(unique)]),
            ("left_inverse", [layout_argument(unique)]),
            ("logical_product", [layout_argument(unique), other]),
            ("blocked_product", [layout_argument(unique), other]),
            ("raked_product", [layout_argument(unique), other]),
            ("max_common_vector", [layout_argument(unique), one]),
            ("max_common_layout", [layout_argument(unique), one]),
            ("max_alignment", [one]),
            ("make_fragment_like", [one]),
            ("make_layout_like", [one]),
            ("nullspace", [one]),
            ("upcast", [one, self.one(2, 4, 8)]),
            ("downcast", [one, self.one(2, 4, 8)]),
            ("tile_to_shape", self._tiling(unique)),
        ]
        return self.random.choice(operations)

    def _tiling(self, block: Layout) -> list[Any]:
        rank = max(block.rank, 2)
        sizes = cute.product_each(cute.append(block, rank).shape)
        shape = [cute.static(size) * self.one(1, 2, 3) for size in sizes]
        order = self.random.sample(range(1, rank + 1), rank)
        return [layout_argument(block), shape, order]

    # -- copies

    def smem(self, type_: str, m: int, n: int, stages: int = 1, *, may_point: bool = True) -> Data:
        """A plain, padded or swizzled layout of shared memory."""
        shape: tuple[int, ...] = (m, n) if stages == 1 else (m, n, stages)
        style = self.random.random()
        is_row = self.random.random() < 0.6
        if style < 0.15:
            pad = self.one(1, 2, 4, 8)
            block = Layout((m, n), (n + pad, 1)) if is_row else Layout((m, n), (1, m + pad))
            return {"layout": pair_of(cute.tile_to_shape(block, shape)), "swizzle": None}
        rows, width = self.one(8, 16), self.one(16, 32, 64)
        rows, width = min(rows, m if is_row else n), min(width, n if is_row else m)
        block = Layout((rows, width), (width, 1)) if is_row else Layout((width, rows), (1, width))
        layout = pair_of(cute.tile_to_shape(block, shape))
        if style < 0.3:
            return {"layout": layout, "swizzle": None}
        if may_point and style < 0.45:
            swizzle = [self.one(1, 2, 3), 4, 3]
            return {"layout": layout, "swizzle": swizzle, "pointer": True}
        bits = self.random.randint(1, 3)
        span = (width * rows).bit_length() - 1
        base = self.random.randint(0, 4)
        shift = self.random.randint(bits, max(bits, span - base - bits))
        return {"layout": layout, "swizzle": [bits, base, shift], "pointer": False}

    def atom(self, type_: str, *, most: int = 16) -> Data:
        bits = BITS[type_]
        widths = [w for w in (8, 16, 32, 64, 128) if w >= bits and w <= bits * most]
        op, op_bits = self.random.choice(
            [
                ("UniversalCopy", self.random.choice(widths)),
                ("UniversalCopy", self.random.choice(widths)),
                ("AutoVectorizingCopyWithAssumedAlignment", 128),
                ("AutoVectorizingCopyWithAssumedAlignment", self.one(32, 64)),
                ("DefaultCopy", 0),
            ]
        )
        return {"op": op, "op_bits": op_bits, "bits": bits}

    def tiled(self, type_: str, m: int, n: int) -> Data:
        threads = self.one(32, 64)
        rows = self.one(*(r for r in (4, 8, 16, 32) if r <= m))
        columns = threads // rows
        value_m = self.one(1, 1, 2, 4, 8)
        value_n = self.one(1, 1, 2, 4, 8)
        data = self.atom(type_, most=value_m * value_n)
        thread_layout = self.one(Layout((rows, columns)), Layout((rows, columns), (columns, 1)))
        values = self.one(Layout((value_m, value_n)), Layout((value_m, value_n), (value_n, 1)))
        return {**data, "threads": pair_of(thread_layout), "values": pair_of(values)}

    def mma(self, *names: str) -> Data:
        op = self.one(*names)
        atoms = self.one((1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (1, 1, 2))
        if op == "UniversalFMA":
            atoms = self.one((8, 4, 1), (4, 8, 1), (16, 2, 1))
        permutation: list[Any] = [None, None, None]
        if self.random.random() < 0.5:
            m, n = self._tile_of(op, atoms)
            permutation = [self.one(None, m, 2 * m), self.one(None, n, 2 * n), None]
            if self.random.random() < 0.3:
                permutation[1] = [(n // 2, 2, 2), (1, n, n // 2)]
        return {"op": op, "atoms": [atoms, Layout(atoms).stride], "permutation": permutation}

    @staticmethod
    def _tile_of(op: str, atoms: tuple[int, int, int]) -> tuple[int, int]:
        found = cute.mma_op(op)
        assert found is not None
        threads = TiledMma(found, Layout(atoms)).thread_layout
        m, n = (cute.static(threads.mode(i).size) for i in (1, 2))
        return found.shape[0] * m, found.shape[1] * n

    def copy_case(self) -> Data:
        forms = ("stores", "operands", "partitions", "locals", "results", "cooperative")
        form = self.random.choices(forms, (4, 12, 3, 2, 5, 2))[0]
        m, n = self.one(32, 64), self.one(32, 64)
        if form == "stores":
            type_ = self.one("int8_t", "half", "half", "float", "double")
            return {"form": form, "type": type_, "smem": self.smem(type_, m, n),
                    "tiled": self.tiled(type_, m, n)}  # fmt: skip
        if form == "locals":
            type_ = self.one("half", "float")
            rows = self.one(4, 8, 16)
            threads = self.one(
                Layout((rows, 32 // rows)), Layout((rows, 32 // rows), (32 // rows, 1))
            )
            return {"form": form, "type": type_, "smem": self.smem(type_, m, n, 2),
                    "threads": pair_of(threads), "tile": [m // 2, n]}  # fmt: skip
        if form == "cooperative":
            type_ = self.one("half", "float", "int8_t")
            gmem = self.one(Layout((m, n)), Layout((m, n), (n, 1)))
            return {"form": form, "type": type_, "smem": self.smem(type_, m, n),
                    "gmem": pair_of(gmem), "threads": self.one(32, 64, 96),
                    "vector": self.one(BITS[type_], 32, 64, 128)}  # fmt: skip
        return self._of_mma(form, m, n)

    def _of_mma(self, form: str, m: int, n: int) -> Data:
        type_, names = self.one(
            ("half", ("SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x8_F16F16F16F16_TN")),
            ("tfloat32_t", ("SM80_16x8x8_F32TF32TF32F32_TN", "SM80_16x8x4_F32TF32TF32F32_TN")),
            ("int8_t", ("SM80_16x8x32_S32S8S8S32_TN", "SM80_8x8x16_S32S8S8S32_TN")),
            ("double", ("SM80_8x8x4_F64F64F64F64_TN",)),
        )
        if form == "results":
            names = ("SM80_16x8x16_F32F16F16F32_TN", "SM80_8x8x16_S32S8S8S32_TN", "UniversalFMA",
                     "SM90_64x32x16_F32F16F16_SS")  # fmt: skip
            type_ = self.one("half", "float")
            atom = self._store_atom(type_)
            return {"form": form, "type": type_, "smem": self.smem(type_, 64, 64), "atom": atom,
                    "mma": self.mma(*names)}  # fmt: skip
        if form == "partitions" and self.random.random() < 0.4:
            type_, names = "half", ("SM70_8x8x4_F32F16F16F32_NT", "SM70_8x8x4_F32F16F16F32_TN")
            if self.random.random() < 0.5:
                type_, names = "float", ("UniversalFMA",)
        case = {"form": form, "type": type_, "mma": self.mma(*names),
                "a": self.smem(type_, m, 32, may_point=False),
                "b": self.smem(type_, n, 32, may_point=False)}  # fmt: skip
        if form == "operands":
            case |= {"atom_a": self._load_atom(type_), "atom_b": self._load_atom(type_)}
        return case

    def _load_atom(self, type_: str) -> Data:
        bits = BITS[type_]
        if bits == 64 or self.random.random() < 0.2:
            return self.atom(type_, most=2)
        names = [f"SM75_U32x{i}_LDSM_N" for i in (1, 2, 4)]
        if bits == 16:
            names += [f"SM75_U16x{i}_LDSM_T" for i in (2, 4, 8)]
        return {"op": self.random.choice(names), "op_bits": 0, "bits": bits}

    def _store_atom(self, type_: str) -> Data:
        bits = BITS[type_]
        if bits != 16 or self.random.random() < 0.3:
            return self.atom(type_, most=2)
        names = [f"SM90_U32x{i}_STSM_N" for i in (1, 2, 4)]
        names += [f"SM90_U16x{i}_STSM_T" for i in (2, 4, 8)]
        return {"op": self.random.choice(names), "op_bits": 0, "bits": bits}


def _like(shape: Any, flat: Any) -> Any:
    return tuple(_like(s, flat) for s in shape) if isinstance(shape, tuple) else next(flat)


def accepted(make: Callable[[], Any]) -> bool:
    try:
        make()
    except cute.CuteError:
        return False
    return True


def addresses(instruction: cute.Instruction, threads: int) -> Any:
    """The byte addresses of an instruction, as int64 of shape (threads,)."""
    lanes = np.asarray(instruction.address, dtype=np.int64)
    return np.broadcast_to(lanes, (threads,))


def addresses_of(case: Case) -> tuple[list[list[Any]], Any]:
    """Runs of equal [op, width, count], and the addresses of shape (instructions, threads)."""
    threads, instructions = case
    runs: list[list[Any]] = []
    for instruction in instructions:
        op = f"{instruction.op}{instruction.matrices or ''}"
        if runs and runs[-1][:2] == [op, instruction.width]:
            runs[-1][2] += 1
        else:
            runs.append([op, instruction.width, 1])
    rows = [addresses(instruction, threads) for instruction in instructions]
    return runs, np.array(rows, dtype=np.int64).reshape(len(rows), threads)
