"""Kernels of the DSL whose numbers are known in part, and accesses that the program spells itself."""

import pytest
from test_cute_dsl_kernels import facts_of, ways

from smemlint.facts import AccessKind, Certainty

STAGES = """
class Staged:
    @cute.jit
    def __call__(self, a: cute.Tensor, k: int):
        self.stages = 4
        while self.stages > 1 and k % self.stages != 0:
            self.stages -= 1
        shape = (64, 64, self.stages)
        layout = cute.tile_to_shape(cute.make_layout((8, 64), stride=(64, 1)), shape, (0, 1, 2))
        self.kernel(a, layout, k).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, layout: cute.Layout, k: int):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float32, layout, 16)
        stage, _, _ = cute.arch.block_idx()
        x = s[tx, 0, stage]
        y = s[0, tx, stage]

def compiled(a, k):
    cute.compile(Staged(), a, k)
"""


def test_stages_that_are_not_known_move_all_lanes_alike(tmp_path):
    """Rows of 64 words: a column is one bank, a row all of them."""
    assert [w for _, _, w in ways(facts_of(STAGES, tmp_path))] == [32, 1]


SHIFTED = """
class Shifted:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.shift = 0
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
        if a[tx] > 0.0:
            self.shift = 31
        x = s[32 * tx + self.shift]

def compiled(a):
    cute.compile(Shifted(), a)
"""


def test_an_attribute_that_threads_may_assign_is_not_known(tmp_path):
    """Lanes that differ in the attribute are in two banks, lanes that do not are all in one."""
    ((access,),) = (k.accesses for k in facts_of(SHIFTED, tmp_path).kernels)
    assert not access.certainty.is_decided


ASSEMBLY = """
from cutlass import Float32, Int32
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T

def address(pointer):
    return Int32(llvm.ptrtoint(T.i32(), pointer.llvm_ptr))

@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout(4096), 16)
    at = OFFSET
    x = llvm.inline_asm(T.i32(), [at], "TEXT", "CONSTRAINTS")

@cute.jit
def run():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

cute.compile(run)
"""


@pytest.mark.parametrize(
    ("offset", "text", "constraints", "expected"),
    [
        ("address(s.iterator) + tx * 128", "ld.shared.f32 $0, [$1];", "=f,r", (4, 32)),
        ("Int32(32) + address(s.iterator) + 4 * tx", "ld.shared.f32 $0, [$1+8];", "=f,r", (4, 1)),
        ("s.iterator.toint() + tx * 8", "st.shared.s32 [$0], 0;", "r", (4, 2)),
        ("address(s.iterator + tx * 8)", "{ st.shared.v4.f32 [$0], {a, a, a, a}; }", "r", (16, 2)),
        (
            "s.iterator.toint() + tx % 16 * 128 + tx // 16 * 16",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];",
            "=r,=r,=r,=r,r",
            (16, 8),
        ),
        (
            "s.iterator.toint() + tx * 16",
            "cp.async.cg.shared.global [$0], [$1], 16;",
            "r,l",
            (16, 1),
        ),
        ("s.iterator.toint() + tx * 32", "cp.async.ca.shared.global [$0], [$1], 4;", "r,l", (4, 8)),
    ],
)
def test_inline_ptx_accesses_what_it_is_given(tmp_path, offset, text, constraints, expected):
    """Addresses of ptrtoint are bytes; 32 rows of 16 bytes, 32 apart, take 8 wavefronts, not 4.

    Of rows of 128 bytes the eight of a matrix lie in the same banks.
    """
    program = ASSEMBLY.replace("OFFSET", offset).replace("TEXT", text)
    found = facts_of(program.replace("CONSTRAINTS", constraints), tmp_path)
    kinds = {"ldm": AccessKind.LDMATRIX, "ld.": AccessKind.LOAD, "cp.": AccessKind.ASYNC_COPY}
    kind = kinds.get(text[:3], AccessKind.STORE)
    assert ways(found) == [(kind, *expected)]


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("mov.b32 $0, $1;", 0),
        ("mbarrier.arrive.shared.b64 _, [$1];", 0),
        ("atom.shared.add.s32 $0, [$1], 1;", 1),
        ("@p ld.shared.f32 $0, [$1];", 1),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$1], [$2], 8, [$3];",
            1,
        ),
        ("cp.async.cg.shared.global [$1], [$2], bytes;", 1),
        ("ld.shared.f32 $0, [other];", 1),
        ("@p bra END; ld.shared.f32 $0, [$1]; END: ret;", 1),
    ],
)
def test_other_inline_ptx_is_noted_if_it_may_access_shared_memory(tmp_path, text, notes):
    program = ASSEMBLY.replace("OFFSET", "address(s.iterator)").replace("TEXT", text)
    (kernel,) = facts_of(program.replace("CONSTRAINTS", "=r,r"), tmp_path).kernels
    assert (len(kernel.accesses), len(kernel.not_analysed)) == (0, notes)


ELEMENTS = """
@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.DTYPE, LAYOUT)
    per_row = 128 // COUNT
    for e in cutlass.range_constexpr(COUNT):
        x = s[tx // per_row, tx % per_row * COUNT + e]

@cute.jit
def run():
    kernel().launch(grid=[1, 1, 1], block=[128, 1, 1])

cute.compile(run)
"""
PLAIN = "cute.make_layout((128, 128), stride=(128, 1)), 1024"
SWIZZLED = (
    "cute.make_layout((128, (64, 2)), stride=(64, (1, 8192))), 1024, cute.make_swizzle(3, 4, 3)"
)


@pytest.mark.parametrize(
    ("dtype", "count", "layout", "instructions", "expected"),
    [
        ("Float16", 4, PLAIN, 4, (8, 1)),
        ("BFloat16", 8, PLAIN, 4, (16, 1)),
        ("Uint8", 16, PLAIN, 4, (16, 1)),
        ("Float32", 16, PLAIN, 16, (16, 4)),
        ("Float16", 8, PLAIN.replace(", 1024", ""), 4, (16, 1)),
        ("BFloat16", 16, SWIZZLED, 64, (2, 4)),
        ("Float32", 16, SWIZZLED, 64, (4, 4)),
    ],
)
def test_elements_merge_as_llvm_merges_them(tmp_path, dtype, count, layout, instructions, expected):
    """Instructions of four warps in the SASS of nvidia-cutlass-dsl 4.8.1 (sm_120a, sm_90a).

    All of shared memory is aligned to 1024 bytes, whatever an allocation asks for. Those of a swizzled tensor never merge, as each address is an exclusive-or of its own.
    """
    program = ELEMENTS.replace("DTYPE", dtype).replace("COUNT", str(count))
    found = facts_of(program.replace("LAYOUT", layout), tmp_path)
    ((access,),) = (k.accesses for k in found.kernels)
    assert sum(p.count for p in access.patterns) == instructions
    assert (access.width_bytes, access.ways) == expected


EACH = "\n        for j in cutlass.range_constexpr(4): "
ROWS = "cute.make_tensor(s.iterator, cute.make_layout((8, 32, 4), stride=(128, 4, 1)))"
NEXT = "\n        i = (i + 1) % 4"
LOOPS = """
@cute.jit
def compiled(s: cute.Tensor, tx):
    for i in range(4):
        s[4 * tx + i] = 1.0

def plain(s, tx):
    for i in range(4):
        s[4 * tx + i] = 1.0

@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
BODY

@cute.jit
def run(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

cute.compile(run, cute.runtime.make_fake_compact_tensor(cutlass.Float32, (4096,)))
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in cutlass.range(4): s[4 * tx + i] = 1.0", (4, 4)),
        ("for i in range(4): s[4 * tx + i] = 1.0", (4, 4)),
        ("for i in cutlass.range(4, unroll=1): s[4 * tx + i] = 1.0", (4, 4)),
        ("for i in cutlass.range(4, unroll_full=True): s[4 * tx + i] = 1.0", (4, 4)),
        ("for i in cutlass.range(4, unroll=2): s[4 * tx + i] = 1.0", (8, 2)),
        ("for i in cutlass.range(4, unroll=4): s[4 * tx + i] = 1.0", (16, 1)),
        ("for i in cutlass.range_constexpr(4): s[4 * tx + i] = 1.0", (16, 1)),
        ("for i in (0, 1, 2, 3): s[4 * tx + i] = 1.0", (16, 1)),
        ("compiled(s, tx)", (4, 4)),
        ("plain(s, tx)", (16, 1)),
        ("for i in cutlass.range(4): x = s[4 * tx + i]", (4, 4)),
        ("for i in range(2): s[4 * tx + i] = 1.0", (4, 4)),
        ("for i in range(4): s[4 * tx + i] = a[tx + i]", (16, 1)),
        ("for i in range(4): a[4 * tx + i] = s[4 * tx + i]", (4, 4)),
        ("for i in range(2):\n        for j in range(2): s[4 * tx + 2 * i + j] = 1.0", (16, 1)),
        ("for i in range(4): s[4 * tx + i] = 1.0\n    for i in range(4): a[i] = 1.0", (16, 1)),
        ("if a[0] > 1.0:\n        for i in range(4): s[4 * tx + i] = 1.0", (16, 1)),
        ("for i in range(4): s[4 * tx + i] = 1.0\n    s[4 * tx + 512] = 1.0", (4, 4)),
        ("a[tx] = a[tx + 1]\n    for i in range(4): s[4 * tx + i] = 1.0", (16, 1)),
        ("a[tx] = 2.0\n    for i in range(4): s[4 * tx + i] = 1.0", (4, 4)),
        (f"for i in range(2): {EACH}s[128 * i + 4 * tx + j] = 1.0", (4, 4)),
        (f"for i in range(16): {EACH}s[128 * i + 4 * tx + j] = 1.0", (16, 1)),
        (f"t = {ROWS}\n    for i in range(4): {EACH}x = t[i, tx, j]", (16, 1)),
        (
            f"i = cutlass.Int32(0)\n    for k in range(2): {EACH}x = s[64 * i + 4 * tx + j]{NEXT}",
            (4, 4),
        ),
    ],
)
def test_iterations_of_a_loop_of_the_compiled_code_merge_in_larger_kernels(
    tmp_path, body, expected
):
    """As nvidia-cutlass-dsl 4.8.1 and ptxas 13.0 compile it for sm_90a: STS, STS.64 or STS.128."""
    found = facts_of(LOOPS.replace("BODY", f"    {body}"), tmp_path)
    assert {(width, n) for _, width, n in ways(found)} == {expected}


def test_iterations_behind_an_access_of_shared_memory_merge(tmp_path):
    """The loop alone is four STS: the first use of where shared memory begins lies in it."""
    body = "    s[tx] = 1.0\n    for i in range(4): s[4 * tx + i + 512] = 1.0"
    found = facts_of(LOOPS.replace("BODY", body), tmp_path)
    assert [(width, n) for _, width, n in ways(found)] == [(4, 1), (16, 1)]


@pytest.mark.parametrize(
    "body",
    [
        "for i in cutlass.range(32): x = s[64 * tx + i]",
        "for i in cutlass.range(cutlass.Int32(a[0])): x = s[64 * tx + i]",
        "i = cutlass.Int32(0)\n    while i < a[0]:\n        x = s[64 * tx + i]\n        i += 1",
        "row = cute.make_tensor(s.iterator + tx // 2 * 64, 4)\n    for i in range(4): x = row[i]",
    ],
)
def test_neighbours_that_iterations_may_share_an_instruction_for_are_open(tmp_path, body):
    """LLVM unrolls a loop of a run-time length by 16, 8 and 4: LDS.128 there, LDS in the rest."""
    found = facts_of(LOOPS.replace("BODY", f"    {body}"), tmp_path)
    assert not any(access.certainty.is_decided for access in found.kernels[0].accesses)


def test_32_bytes_are_two_accesses_of_16(tmp_path):
    """A row of eight words a lane is STS.128 twice, each with a pitch of two times its width."""
    body = """
    r = cute.make_rmem_tensor(8, cutlass.Float32)
    cute.autovec_copy(r, cute.make_tensor(s.iterator, cute.make_layout((32, 8), stride=(8, 1)))[tx, None])
"""
    found = facts_of(LOOPS.replace("BODY", body), tmp_path)
    assert ways(found) == [(AccessKind.STORE, 16, 2)]
    assert found.kernels[0].accesses[0].instructions == 2


BOUNDED = """
@cute.kernel
def kernel(a: cute.Tensor, k: cutlass.Constexpr[int], tile: cutlass.Constexpr[int]):
    tx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
    x = s[ELEMENT]

@cute.jit
def run(a: cute.Tensor, k: cutlass.Constexpr[int], tile: cutlass.Constexpr[int]):
    kernel(a, k, tile).launch(grid=[1, 1, 1], block=[64, 1, 1])

def host(q, batch, columns):
    _, k = q.shape
    assert CONDITION
    tile = 8
    if batch > 64:
        tile = 64
    cute.compile(run, q, k, min(tile, columns))
"""


@pytest.mark.parametrize(
    ("condition", "element", "expected"),
    [
        ("k >= 128", "2 * (tx % 32 % (k // 4))", 2),
        ("128 <= k", "2 * (tx % 32 % (k // 4))", 2),
        ("k > 127", "2 * (tx % 32 % (k // 4))", 2),
        ("not k < 128", "2 * (tx % 32 % (k // 4))", 2),
        ("k >= 128", "2 * tx + tx // k", 2),
        ("k >= 128", "tile + 4 * tx", 4),
        ("k > 124", "2 * (tx % 32 % (k // 4))", None),
        ("k <= 128", "2 * (tx % 32 % (k // 4))", None),
        ("k >= 128", "tile * tx", None),
    ],
)
def test_numbers_of_the_host_are_bounded_and_alike_for_all_threads(
    tmp_path, condition, element, expected
):
    """32 lanes below k / 4 stay as they are: two words apart they are 2-way."""
    text = BOUNDED.replace("CONDITION", condition).replace("ELEMENT", element)
    (kernel,) = facts_of(text, tmp_path).kernels
    (access,) = kernel.accesses
    assert (access.ways if access.certainty.is_decided else None) == expected


BEHIND = """
class Scale:
    def __init__(self, rows):
        self.rows = rows

    @cute.jit
    def __call__(self):
        self.kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        first = smem.allocate_tensor(cutlass.Float32, cute.make_layout(self.rows))
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((64, 4), stride=(4, 1)))
        for j in cutlass.range_constexpr(COUNT):
            s[31 - tx, j] = s[31 - tx, j] * 2.0

CALL
"""
LOAD, STORE = AccessKind.LOAD, AccessKind.STORE


@pytest.mark.parametrize(
    ("rows", "count", "expected"),
    [
        ("32", 4, {(LOAD, 16, 1), (STORE, 16, 1)}),
        ("33", 4, {(LOAD, 4, 4), (LOAD, 8, 2), (STORE, 4, 4), (STORE, 8, 2)}),
        ("33", 2, {(LOAD, 4, 4), (STORE, 4, 4)}),
        ("rows", 1, {(LOAD, 4, 4), (STORE, 4, 4)}),
        ("rows", 2, None),
    ],
)
def test_neighbours_merge_by_where_their_array_begins(rows, count, expected, tmp_path):
    """Behind 33 words the middle two of four are in one LDS.64; behind `rows` that is open.

    nvidia-cutlass-dsl 4.8.1, sm_90a: all of shared memory begins at a multiple of 1,024 bytes.
    """
    is_known = rows.isdigit()
    call = f"cute.compile(Scale({rows}))" if is_known else "def run(rows):\n    Scale(rows)()"
    text = BEHIND.replace("COUNT", str(count)).replace("CALL", call)
    (kernel,) = facts_of(text, tmp_path).kernels
    if expected is None:
        assert {a.certainty for a in kernel.accesses} == {Certainty.SAMPLED}
    else:
        found = {
            (a.kind, p.width, p.wavefronts / p.ideal) for a in kernel.accesses for p in a.patterns
        }
        assert found == expected


RETURNED = """
class Returned:
    def __init__(self, pitch):
        self.pitch = pitch

    def is_wide(self):
        if self.pitch != 64:
            return False
        return True

    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.wide = self.is_wide()
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
        x = s[self.pitch * tx]
"""


def test_a_method_that_returns_early_says_nothing_of_attributes_behind_it(tmp_path):
    """The pitch may be 64 or not."""
    ((access,),) = (k.accesses for k in facts_of(RETURNED, tmp_path).kernels)
    assert access.certainty is Certainty.SAMPLED


MERGED = """
@cute.kernel
def kernel(tiled: cute.TiledCopy):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    first = smem.allocate_array(cutlass.Float32, COUNT)
    s = cute.make_tensor(smem.allocate_array(cutlass.Float32, 512), cute.make_layout(512))
    part = tiled.get_slice(tx).partition_D(s)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    given = cute.make_rmem_tensor((4,), cutlass.Boolean)
    cute.copy(atom, cute.make_rmem_tensor_like(part), part[None, 0]PREDICATE)

@cute.jit
def run():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(128), cute.make_layout(4))
    kernel(tiled).launch(grid=[1, 1, 1], block=[128, 1, 1])

cute.compile(run)
"""


@pytest.mark.parametrize(
    ("count", "expected"), [(128, (16, 1)), (2175, (4, 4)), (2174, (8, 2)), (0, (16, 1))]
)
def test_vectors_of_the_compiler_are_as_wide_as_their_array_is_aligned(count, expected, tmp_path):
    """2,175 floats end at byte 8,700, a multiple of 4: four STS, lanes 16 bytes apart.

    nvidia-cutlass-dsl 4.8.1 (sm_90a) has st.shared.b32 there, and st.shared.v4.b32 at byte 0.
    """
    text = MERGED.replace("COUNT", str(count)).replace("PREDICATE", "")
    assert set(ways(facts_of(text, tmp_path))) == {(AccessKind.STORE, *expected)}


def test_elements_with_predicates_of_their_own_are_left_open(tmp_path):
    text = MERGED.replace("COUNT", "128").replace("PREDICATE", ", pred=given")
    ((access,),) = (k.accesses for k in facts_of(text, tmp_path).kernels)
    assert not access.certainty.is_decided


def test_single_elements_with_predicates_have_figures(tmp_path):
    """Lanes store 16 words apart, one element at a time: 16 of them are in a bank."""
    text = MERGED.replace("COUNT", "128").replace("PREDICATE", ", pred=given")
    strided = text.replace("cute.make_layout(512))", "cute.make_layout(512, stride=4))")
    ((access,),) = (k.accesses for k in facts_of(strided, tmp_path).kernels)
    assert (access.width_bytes, access.ways, access.instructions) == (4, 16, 16)
