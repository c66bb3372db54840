"""Numbers that a condition settles, and copies that are none of shared memory."""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.facts import AccessKind
from smemlint.reasons import ReasonCode
from smemlint.sources.source import Source

PROGRAM = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import tcgen05

class Kernel:
    def __init__(self, size: int, other: int):
        self.parts = size // 512
        self.other = other

    @cute.jit
    def __call__(self):
        self.kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self):
        lane, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
        at = lane * self.parts
        pair = self.parts == 16 and self.other == 3
        BODY
"""


def analysed(body):
    indented = body.replace("\n", "\n        ")
    facts, crashed = analyze([Source("k.py", PROGRAM.replace("BODY", indented))], Settings())
    assert not crashed
    return facts


def figures(body):
    stores = (a for k in analysed(body).kernels for a in k.accesses if a.kind is AccessKind.STORE)
    return [a.wavefronts.mean if a.certainty.is_decided else None for a in stores]


@pytest.mark.parametrize(
    ("body", "wavefronts"),
    [
        # 32 words that lie 8, 16 or 2 words apart
        ("if cutlass.const_expr(self.parts == 8):\n    s[at] = 1.0", [8]),
        ("if cutlass.const_expr(pair):\n    s[at] = 1.0", [16]),
        ("if cutlass.const_expr(self.other == 1 and self.parts == 2):\n    s[at] = 1.0", [2]),
        (
            "if cutlass.const_expr(self.other == 1):\n"
            "    if cutlass.const_expr(self.parts == 2):\n        s[at * self.other] = 1.0",
            [2],
        ),
        # whatever else it is: 5 * lane has no conflict, 6 * lane is two words in each second bank
        (
            "if cutlass.const_expr(self.parts == 5):\n    s[at] = 1.0\nelse:\n    s[at] = 2.0",
            [1, None],
        ),
        ("if cutlass.const_expr(self.other == 8):\n    s[at] = 1.0", [None]),
        ("if cutlass.const_expr(self.parts > 8):\n    s[at] = 1.0", [None]),
        ("if cutlass.const_expr(self.parts == 8 or self.other == 3):\n    s[at] = 1.0", [None]),
        ("if cutlass.const_expr(not (self.parts == 8)):\n    s[at] = 1.0", [None]),
        ("s[at] = 1.0\nif cutlass.const_expr(self.parts == 8):\n    s[at] = 2.0", [None, 8]),
        # a variable that is assigned twice says nothing
        ("pair = self.other == 8\nif cutlass.const_expr(pair):\n    s[at] = 1.0", [None]),
    ],
)
def test_a_condition_of_the_compilation_settles_a_number_in_its_branch(body, wavefronts):
    assert figures(body) == wavefronts


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("a = tcgen05.make_tmem_copy(atom, t)\n    cute.copy(a, x, y)", ReasonCode.NO_LANES),
        (
            "a = cute.make_copy_atom(tcgen05.Ld32x32bOp(1), t)\n    cute.copy(a, x, y)",
            ReasonCode.NO_LANES,
        ),
        ("inner(tcgen05.make_tmem_copy(atom, t), x, y)", ReasonCode.NO_LANES),
        ("inner(cute.make_tiled_copy_D(atom, t), x, y)", ReasonCode.NOT_REACHED),
        (
            "a = tcgen05.make_tmem_copy(atom, t)\n    a = atom\n    cute.copy(a, x, y)",
            ReasonCode.NOT_REACHED,
        ),
        ("cute.copy(atom, x, y)", ReasonCode.NOT_REACHED),
        # a function inside another one reads its variables
        (
            "a = tcgen05.make_tmem_copy(atom, t)\n    def later(x):\n        cute.copy(a, x, y)",
            ReasonCode.NO_LANES,
        ),
        (
            "a = tcgen05.make_tmem_copy(atom, t)\n    def later(a):\n        cute.copy(a, x, y)",
            ReasonCode.NOT_REACHED,
        ),
        ("tma_partition(atom, 0, 1, x, y)\n    cute.copy(atom, x, y)", ReasonCode.NO_LANES),
        ("tma_partition(t, 0, 1, x, y)\n    cute.copy(atom, x, y)", ReasonCode.NOT_REACHED),
        # names of tensors, and what makes those that say nothing
        ("cute.copy(atom, tOrO[None, 0], t.partition_D(gO))", ReasonCode.NO_LANES),
        ("cute.copy(atom, tOsO, tOgO)", ReasonCode.NOT_REACHED),
        ("cute.autovec_copy(cute.coalesce(tTR_tAcc), tTR_rAcc)", ReasonCode.NO_LANES),
        ("r = cute.make_rmem_tensor_like(y)\n    cute.copy(atom, r, mX)", ReasonCode.NO_LANES),
        ("r = unread(y)\n    cute.copy(atom, r, mX)", ReasonCode.NOT_REACHED),
        ("r = x if t else rX\n    cute.copy(atom, r, mX)", ReasonCode.NOT_REACHED),
        ("r = rX\n    r = sX\n    cute.copy(atom, r, mX)", ReasonCode.NOT_REACHED),
        ("r = rX\n    r = r[None]\n    cute.copy(atom, r, mX)", ReasonCode.NO_LANES),
    ],
)
def test_copies_outside_shared_memory_that_nothing_reaches_have_no_lanes(body, code):
    inner = "def inner(tiled, x, y):\n    cute.copy(tiled, x, y)" if "inner(" in body else ""
    source = PROGRAM.replace("BODY", "s[lane] = 1.0")
    source += f"\n{inner}\n\ndef outer(atom, t, x, y):\n    {body}\n"
    facts, _ = analyze([Source("k.py", source)], Settings())
    assert [n.reason.code for n in facts.not_analysed] == [code]


@pytest.mark.parametrize(("named", "notes"), [("x", 0), ("shared", 1)])
def test_a_kernel_whose_file_names_no_shared_memory_copies_none(named, notes):
    text = f"""import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel({named}: cute.Tensor):
    atom = cute.make_copy_atom(unread.Op(), cutlass.Float32)
    cute.copy(atom, unread.part({named}), unread.other({named}))

@cute.jit
def host({named}: cute.Tensor):
    kernel({named}).launch(grid=[1, 1, 1], block=[32, 1, 1])

host(unread.tensor())
"""
    facts, _ = analyze([Source("k.py", text)], Settings())
    found = [n for k in (facts, *facts.kernels) for n in k.not_analysed]
    assert sum(n.reason.code is not ReasonCode.NO_LANES for n in found) == notes


@pytest.mark.parametrize(
    ("layout", "instructions"),
    [("(32, 1), stride=(1, 0)", 32), ("((8, 4), 1), stride=((1, 8), 0)", 32)],
)
def test_the_innermost_mode_of_a_copy_is_divided_into_vectors(layout, instructions):
    text = f"""import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel():
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout({layout}), 16)
    r = cute.make_rmem_tensor(s.shape, cutlass.Float32)
    atom = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32
    )
    cute.copy(atom, s, r)

@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
"""
    facts, _ = analyze([Source("k.py", text)], Settings())
    (access,) = facts.kernels[0].accesses
    assert access.certainty.is_decided
    assert sum(p.width * p.count for p in access.patterns) == 4 * instructions


def test_dynamic_shared_memory_begins_at_one_place():
    """Words behind each other, from n words on; rows of 2 words are 2-way; one array for all."""
    text = """import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel(n: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    p = cute.arch.get_dyn_smem(cutlass.Float32, 16)
    a = cute.make_tensor(p, cute.make_layout((1, n)))
    b = cute.make_tensor(p + n, cute.make_layout((2, n)))
    a[0, lane] = 1.0
    b[1, lane] = 1.0
    h = cute.make_tensor(cute.arch.get_dyn_smem(cutlass.Float16), cute.make_layout((2, 32)))
    h[0, lane] = 1.0

@cute.jit
def host(n: cutlass.Int32):
    kernel(n).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
    facts, _ = analyze([Source("k.py", text)], Settings())
    (kernel,) = facts.kernels
    assert [(a.span.line, a.ways) for a in kernel.accesses] == [(10, 1), (11, 2), (13, 1)]
    assert len(kernel.arrays) == 1


SELECTS = """import os
import cutlass
import cutlass.cute as cute
from cutlass import Float16, Float32, Int32

FLAG = os.path.exists("there")

def helper(a, b):
    if FLAG:
        return cute.arch.fmax(a, b)
    return cute.arch.fmax(b, a)

@cute.kernel
def kernel(x: cute.Tensor, n: Int32):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(Float16, cute.make_layout((32, 80), stride=(88, 1)), 128)
    r = cute.make_rmem_tensor((4,), Float32)
    other = Float32(n)
    m = Float32(1.0)
    count = Int32(0)
    for j in cutlass.range_constexpr(40):
        value = Float32(s[31 - lane, j])
        BODY
        m = m * value

@cute.jit
def host(x: cute.Tensor, n: Int32):
    kernel(x, n).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


@pytest.mark.parametrize(
    ("body", "width"),
    [  # nvidia-cutlass-dsl 4.8.1, sm_90a, of a block of 64: LDS.128 or LDS.U16
        ("if lane + j >= n:\n    value = Float32(-4.0)", 16),
        ("if value > m:\n    m = value", 16),
        ("if lane + j >= n:\n    value = value * other + 1.0\nelse:\n    count += 2", 16),
        (
            "if lane + j >= n:\n    count = count // (lane + 1)\n    value = cute.math.exp2(value)",
            16,
        ),
        ("if lane + j >= n:\n    r[j % 4] = Float32(-1.0)", 16),
        ("if lane + j >= n:\n    count = 1\n    if count > 3:\n        value = other", 16),
        ("if lane + j >= n:\n    value = value + Float32(x[lane, 3])", 2),
        ("if lane + j >= n:\n    x[lane, 1] = Float16(value)", 2),
        ("if lane + j >= n:\n    cute.arch.fence_acq_rel_cta()", 2),
        ("if lane + j >= n:\n    value = cute.math.sin(value)", 2),
        ("value = helper(value, other)", 16),  # a branch of Python
    ],
)
def test_a_branch_that_only_computes_parts_no_loads(body, width):
    text = SELECTS.replace("BODY", body.replace("\n", "\n        "))
    facts, _ = analyze([Source("k.py", text)], Settings())
    (access,) = (a for k in facts.kernels for a in k.accesses)
    assert access.width_bytes == width
    assert access.certainty.is_decided is (width == 16)


@pytest.mark.parametrize(
    ("dtype", "pitch", "elements", "is_decided"),
    [  # what nvidia-cutlass-dsl 4.8.1 makes of them, sm_90a
        ("Float16", 40, (0, 2), False),  # LDS.64
        ("Float16", 40, (0, 3), False),  # LDS.64
        ("Float16", 40, (0, 2, 4, 6), False),  # LDS.128
        ("Float16", 40, (0, 4), True),  # two LDS.U16
        ("Float16", 40, (1, 3, 5, 7), True),  # four LDS.U16
        ("Float16", 40, (0, 1, 2), True),  # LDS.64
        ("Float16", 33, (0, 2), True),  # rows of 66 bytes: two LDS.U16
        ("Int8", 48, (0, 2, 4, 6), False),  # LDS.64
        ("Float32", 36, (0, 2), True),  # two LDS
    ],
)
def test_gaps_between_narrow_loads_may_be_filled(dtype, pitch, elements, is_decided):
    loads = " + ".join(f"s[31 - lane, {at}]" for at in elements)
    text = f"""import cutlass
import cutlass.cute as cute

@cute.kernel
def kernel():
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.{dtype}, cute.make_layout((32, 32), stride=({pitch}, 1)), 128)
    x = {loads}

@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
"""
    facts, _ = analyze([Source("k.py", text)], Settings())
    assert {a.certainty.is_decided for a in facts.kernels[0].accesses} == {is_decided}
