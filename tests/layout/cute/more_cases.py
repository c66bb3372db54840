"""Random kernels of further forms as plain data, and what the engine makes of them.

`tests/oracle/record_cute_copies.py --forms more` draws them and asks CuTe's compiled headers the same
(`tests/oracle/cute_copies/forms.hpp`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from copy_cases import B_AT, LOAD, STORE, in_global, lanes, run_time, shared
from random_cases import (
    BITS,
    Data,
    Draw,
    atom_of,
    layout_of,
    mma_of,
    pair_of,
    smem_of,
    tiled_of,
    tuples,
)

from smemlint.layout import cute
from smemlint.layout.cute import UNDERSCORE as _
from smemlint.layout.cute import CopyAtom, Instruction, Layout, copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from copy_cases import Case

    from smemlint.layout.cute import Tensor

STAGES = (_, _, _, run_time(1))


def build(case: Data) -> Case:
    """Threads and instructions of a case."""
    return BUILDERS[case["form"]](BITS[case["type"]], case)


def _tensor(bits: int, data: Data, at: int = 0) -> Tensor:
    layout, pointer = smem_of(data)
    return shared(bits, layout, at, pointer)


def _registers(bits: int, tensor: Tensor, modes: int | None = None) -> Tensor:
    shape = tensor.shape
    assert isinstance(shape, tuple)
    return cute.make_register_tensor(bits, Layout(shape[:modes]))


def _derived(bits: int, case: Data) -> Case:
    tensor, tiled = _tensor(bits, case["smem"]), tiled_of(case["tiled"])
    thread = lanes(tiled.threads)
    store = cute.make_tiled_copy_like(atom_of(case["to"]), tiled, "S")
    values = _registers(bits, store.partition(tensor, thread, LOAD))
    found = copy(values, store.partition(tensor, thread, STORE), store)
    load = cute.make_tiled_copy_like(atom_of(case["from"]), tiled, "D")
    values = _registers(bits, load.partition(tensor, thread, STORE))
    return tiled.threads, found + copy(load.partition(tensor, thread, LOAD), values, load)


def _epilogues(bits: int, case: Data) -> Case:
    tensor = cute.as_position_independent(_tensor(bits, case["smem"]))
    multiply = mma_of(case["mma"])
    thread = lanes(multiply.threads)
    atoms = cute.make_tiled_copy_c_atom(CopyAtom(cute.stmatrix(4), 16), multiply)
    store = cute.make_tiled_copy_like(atom_of(case["to"]), atoms, "S")
    values = _registers(bits, store.partition(tensor, thread, LOAD), 3)
    found = copy(values, store.partition(tensor, thread, STORE).slice(*STAGES), store)
    load = cute.make_tiled_copy_like(atom_of(case["from"]), atoms, "S")
    source = load.partition(tensor, thread, LOAD).slice(*STAGES)
    return multiply.threads, found + copy(source, load.retile(values), load)


def _cotiled(bits: int, case: Data) -> Case:
    tensor = _tensor(bits, case["smem"])
    order, data = layout_of(case["order"]), layout_of(case["data"])
    tiled = cute.make_cotiled_copy(atom_of(case["atom"]), order, data)
    target = tiled.partition(tensor, lanes(tiled.threads), STORE)
    return tiled.threads, copy(target.fragment_like(), target, tiled)


def _incoming(bits: int, case: Data) -> Case:
    tensor, tiled = _tensor(bits, case["smem"]), tiled_of(case["tiled"])
    thread = lanes(tiled.threads)
    stride = tuple(run_time(999) if d is None else d for d in case["stride"])
    shape = cute.product_each(tensor.layout.plain.shape)
    source = tiled.partition(in_global(bits, Layout(shape, stride)), thread, LOAD)
    target = tiled.partition(tensor, thread, STORE)
    found = copy(source, target, tiled) + cute.copy_if(tiled, source, target)
    found += copy(source, target)
    for k in range(cute.static(target.mode(2).size)):
        found += copy(source.slice(_, _, k), target.slice(_, _, k), tiled)
    return tiled.threads, found


def _stages(bits: int, case: Data) -> Case:
    tensor, tiled = _tensor(bits, case["smem"]), tiled_of(case["tiled"])
    thread = lanes(tiled.threads)
    late = tiled.partition(tensor, thread, STORE).slice(*STAGES)
    values = late.fragment_like()
    found = copy(values, late, tiled) + copy(values, late)
    early = tiled.partition(tensor.slice(_, _, run_time(1)), thread, LOAD)
    values = early.fragment_like()
    found += copy(early, values, tiled) + copy(early, values) + cute.copy_aligned(early, values)
    for m in range(cute.static(early.mode(1).size)):
        one, other = (t.slice(_, m, _).group(1, 2) for t in (early, values))
        found += copy(one, other, tiled)
    grouped = tiled.partition(tensor, thread, LOAD).group(0, 3).slice(_, run_time(1))
    flat = grouped.apply(cute.flatten)
    return tiled.threads, found + copy(flat, _registers(bits, flat))


def _tiles(bits: int, case: Data) -> Case:
    tensor, tiled = _tensor(bits, case["smem"]), tiled_of(case["tiled"])
    thread = lanes(tiled.threads)
    inner = cute.local_tile(tensor, tuples(case["tile"]), (run_time(1), run_time(0)))
    source = tiled.partition(inner, thread, LOAD)
    found = copy(source, source.fragment_like(), tiled)
    wide = tensor.recast(case["wide"])
    some = wide.slice(_, thread % cute.static(wide.mode(1).size))
    values = some.fragment_like()
    return tiled.threads, found + copy(some, values) + cute.copy_aligned(values, some)


def _projected(bits: int, case: Data) -> Case:
    threads = layout_of(case["threads"])
    count = cute.static(threads.size)
    parts = [
        cute.local_partition(_tensor(bits, case[name], at), threads, lanes(count), projection)
        for name, at, projection in (("a", 0, (1, _)), ("b", B_AT, (_, 1)))
    ]
    return count, cute.gemm(*parts)


def _multiplied(bits: int, case: Data) -> Case:
    multiply = mma_of(case["mma"])
    thread = lanes(multiply.threads)
    a = multiply.partition(_tensor(bits, case["a"]), thread, "A")
    b = multiply.partition(_tensor(bits, case["b"], B_AT), thread, "B")
    return multiply.threads, cute.gemm(a, b, multiply)


def _transposed(bits: int, case: Data) -> Case:
    tensor, multiply = _tensor(bits, case["smem"]), mma_of(case["mma"])
    thread, view = lanes(multiply.threads), layout_of(case["view"])
    turned = tensor.apply(lambda layout: cute.composition(layout, view))
    plain = shared(bits, turned.layout.plain)
    values = multiply.fragment(multiply.partition(plain, thread, "B"), "B")
    load = cute.make_tiled_copy_for(atom_of(case["atom"]), multiply, "B")
    source, target = load.partition(turned, thread, LOAD), load.retile(values)
    found: list[Instruction] = []
    for k in range(cute.static(values.mode(2).size)):
        found += copy(source.slice(_, _, k), target.slice(_, _, k), load)
    return multiply.threads, found


def _accumulated(bits: int, case: Data) -> Case:
    multiply = mma_of(case["mma"])
    target = multiply.partition(_tensor(bits, case["smem"]), lanes(multiply.threads), "C")
    values = target.fragment_like()
    found = copy(values, target)
    found += copy(values, target, CopyAtom(cute.AUTO_VECTORIZING_COPY, bits))
    return multiply.threads, found + cute.copy_aligned(target, values)


BUILDERS: dict[str, Callable[[int, Data], Case]] = {
    "derived": _derived, "epilogues": _epilogues, "cotiled": _cotiled, "incoming": _incoming,
    "stages": _stages, "tiles": _tiles, "projected": _projected, "multiplied": _multiplied,
    "transposed": _transposed, "accumulated": _accumulated,
}  # fmt: skip

ACCUMULATING = (
    "SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x8_F32TF32TF32F32_TN", "SM80_8x8x4_F64F64F64F64_TN",
    "SM89_16x8x32_F32E4M3E5M2F32_TN", "SM70_8x8x4_F32F16F16F32_NT", "SM70_8x8x4_F16F16F16F16_TN",
    "SM90_64x32x16_F32F16F16_SS", "SM75_8x8x16_S32S8S8S32_TN", "UniversalFMA",
)  # fmt: skip


class MoreDraw(Draw):
    """Draws cases of these forms."""

    def more_case(self) -> Data:
        form = self.one(*BUILDERS)
        type_ = self.one("int8_t", "half", "half", "half", "float", "double")
        m, n = self.one(32, 64), self.one(32, 64)
        return {"form": form, "type": type_, **getattr(self, f"_{form}")(type_, m, n)}

    def nested(self, type_: str, m: int, n: int) -> Data:
        """A tiled copy whose threads and values are in nested or permuted orders."""
        tiled = self.tiled(type_, m, n)
        if self.random.random() < 0.5:
            threads = [self.one(4, 8), self.one(2, 4), self.one(2, 4)]
            strides = [0, 0, 0]
            current = 1
            for i in self.random.sample(range(3), 3):
                strides[i], current = current, current * threads[i]
            a, b, c = threads
            x, y, z = strides
            tiled["threads"] = [[[a, b], c], [[x, y], z]]
            if self.random.random() < 0.5:
                tiled["threads"] = [[a, [b, c]], [x, [y, z]]]
        return tiled

    def _derived(self, type_: str, m: int, n: int) -> Data:
        tiled = self.nested(type_, m, n)
        return {"smem": self.smem(type_, m, n), "tiled": tiled,
                "to": self.atom(type_, most=4), "from": self.atom(type_, most=4)}  # fmt: skip

    def _epilogues(self, type_: str, m: int, n: int) -> Data:
        names = ("SM90_64x32x16_F32F16F16_SS", "SM90_64x64x16_F32F16F16_SS",
                 "SM80_16x8x16_F32F16F16F32_TN")  # fmt: skip
        mma = self.mma(*names)
        mma["atoms"][0] = self.one((1, 1, 1), (2, 1, 1))
        mma["atoms"][1] = Layout(mma["atoms"][0]).stride
        mma["permutation"] = [None, None, None]
        return {"smem": self.smem(type_, 128, n, 2), "mma": mma,
                "to": self._store_atom(type_), "from": self._load_atom(type_)}  # fmt: skip

    def _cotiled(self, type_: str, m: int, n: int) -> Data:
        data = self.one(Layout((m, n)), Layout((m, n), (n, 1)))
        count = self.one(1, 2, 4, 8)
        threads = self.one(32, 64)
        order = self.one(
            Layout((threads, count), (count, 1)), Layout((threads, count), (1, threads)),
            Layout(((8, threads // 8), count), ((count * threads // 8, count), 1)),
        )  # fmt: skip
        return {"smem": self.smem(type_, m, n), "atom": self.atom(type_, most=count),
                "order": pair_of(order), "data": pair_of(data)}  # fmt: skip

    def _incoming(self, type_: str, m: int, n: int) -> Data:
        tiled = self.nested(type_, m, n)
        bits = self.one(*(b for b in (32, 64, 128, 128) if b >= BITS[type_]))
        where = self.one("ALWAYS", "GLOBAL") if bits == 128 else "ALWAYS"
        if self.random.random() < 0.8:
            fill = self.one("", "_ZFILL")
            tiled |= {"op": f"SM80_CP_ASYNC_CACHE{where}{fill}", "op_bits": bits}
            count = bits // BITS[type_]
            values = self.one((1, count), (1, count), (count, 1), (2, count))
            tiled["values"] = [values, Layout(values).stride]
        stride = self.one((n, 1), (None, 1), (None, 1), (1, m), (1, None))
        return {"smem": self.smem(type_, m, n), "tiled": tiled, "stride": stride}

    def _stages(self, type_: str, m: int, n: int) -> Data:
        return {"smem": self.smem(type_, m, n, self.one(2, 3)), "tiled": self.nested(type_, m, n)}

    def _tiles(self, type_: str, m: int, n: int) -> Data:
        wide = self.one(*(b for b in (8, 16, 32, 64, 128) if b != BITS[type_]))
        tile = self.one([m // 2, n], [m // 2, n // 2], [16, n // 2])
        return {"smem": self.smem(type_, m, n), "tiled": self.nested(type_, *tile), "tile": tile,
                "wide": wide}  # fmt: skip

    def _projected(self, type_: str, m: int, n: int) -> Data:
        k = self.one(4, 8, 16)
        threads = self.one(Layout((8, 4)), Layout((8, 4), (4, 1)), Layout((16, 16)),
                           Layout((4, 16), (16, 1)), Layout((2, 16)))  # fmt: skip
        pair = {x: self.smem(type_, s, k, may_point=False) for x, s in (("a", m), ("b", n))}
        return {**pair, "threads": pair_of(threads)}

    def _multiplied(self, type_: str, m: int, n: int) -> Data:
        k = self.one(4, 8, 16)
        pair = {x: self.smem(type_, s, k) for x, s in (("a", m), ("b", n))}
        mma = self.mma("UniversalFMA")
        if self.random.random() < 0.4:
            mma["permutation"] = [[(16, 2), (2, 1)], [(8, 4), (4, 1)], None]
        return {**pair, "mma": mma}

    def _transposed(self, type_: str, m: int, n: int) -> Data:
        names = {16: "SM80_16x8x16_F32F16F16F32_TN", 32: "SM80_16x8x8_F32TF32TF32F32_TN",
                 8: "SM80_16x8x32_S32S8S8S32_TN", 64: "SM80_8x8x4_F64F64F64F64_TN"}  # fmt: skip
        return {"smem": self.smem(type_, m, n, may_point=False), "view": [(n, m), (m, 1)],
                "atom": self._load_atom(type_), "mma": self.mma(names[BITS[type_]])}  # fmt: skip

    def _accumulated(self, type_: str, m: int, n: int) -> Data:
        return {"smem": self.smem(type_, 64, 64), "mma": self.mma(*ACCUMULATING)}
