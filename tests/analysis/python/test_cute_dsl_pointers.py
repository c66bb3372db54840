"""Elements behind pointers into shared memory, and where an allocator places its arrays.

Expected values are SASS of nvidia-cutlass-dsl 4.8.1 for sm_90a.
"""

from collections import Counter

import pytest
from test_cute_dsl_kernels import facts_of, ways

from smemlint.facts import AccessKind
from smemlint.reasons import ReasonCode

LOAD, STORE = AccessKind.LOAD, AccessKind.STORE
KERNEL = """
@cute.struct
class Struct:
    first: cute.struct.MemRange[cutlass.Float32, 64]
    rows: cute.struct.MemRange[cutlass.Float32, 1024]

@cute.kernel
def kernel(x: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    BODY

@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])

def compiled(x):
    cute.compile(host, x)
"""


def ways_in(tmp_path, *lines):
    """Kind and ways of every access of a kernel of these lines."""
    return ways(facts_of(KERNEL.replace("BODY", "\n    ".join(lines)), tmp_path))


ARRAY = "s = smem.allocate_array(cutlass.Float32, 2048, byte_alignment=16)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([ARRAY, "s[2 * tx] = x[0]"], [(STORE, 4, 2)]),
        ([ARRAY, "v = s[33 * tx]", "w = s[32 * tx]"], [(LOAD, 4, 1), (LOAD, 4, 32)]),
        ([ARRAY, "s[8 * tx + 1] += x[0]"], [(STORE, 4, 8), (LOAD, 4, 8)]),
        ([ARRAY, "r = s + 8", "v = r[4 * tx - 5]"], [(LOAD, 4, 4)]),
        (["st = smem.allocate(Struct)", "v = st.rows[4 * tx]"], [(LOAD, 4, 4)]),
        (["s = smem.allocate_array(cutlass.Float16, 2048)", "v = s[8 * tx]"], [(LOAD, 2, 4)]),
    ],
)
def test_elements_of_pointers(lines, expected, tmp_path):
    """`p[i]` is `(p + i).load()`: words 2, 33, 32, 8, 4, 4 and again 4 apart."""
    assert ways_in(tmp_path, *lines) == expected


@pytest.mark.parametrize(
    "access",
    ["v = p[32 * tx]", "v = (p + 32 * tx).load()", "v = cute.arch.load(p + 32 * tx, x.dtype)"],
)
def test_a_pointer_leaves_its_swizzle_out(access, tmp_path):
    """A column of a swizzled tensor is 4-way, of its pointer 32-way."""
    layout = "cute.make_layout((32, 32), stride=(32, 1)), 1024, cute.make_swizzle(3, 4, 3)"
    tensor = f"s = smem.allocate_tensor(cutlass.Float32, {layout})"
    found = ways_in(tmp_path, tensor, "p = s.iterator", "u = s[tx, 0]", access)
    assert found == [(LOAD, 4, 4), (LOAD, 4, 32)]


@pytest.mark.parametrize(
    ("alignment", "expected"), [("", {4: 2, 8: 1}), (", byte_alignment=16", {16: 1})]
)
def test_an_array_is_aligned_as_it_says(alignment, expected, tmp_path):
    """Behind one word, four neighbours are one STS.128 if their array begins at 16 bytes."""
    lines = (
        "q = smem.allocate_array(cutlass.Float32, 1)",
        f"s = smem.allocate_array(cutlass.Float32, 256{alignment})",
        "u = q[0]",
        "for i in cutlass.range_constexpr(4):",
        "    s[4 * tx + i] = x[i]",
    )
    facts = facts_of(KERNEL.replace("BODY", "\n    ".join(lines)), tmp_path)
    found = Counter()
    for access in (a for k in facts.kernels for a in k.accesses if a.kind is STORE):
        for pattern in access.patterns:
            found[pattern.width] += pattern.count
    assert found == expected


ROWS = """s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(32, 1)), 16,
        cute.make_swizzle(3, 4, 3))"""
RESERVED = (
    "p = smem.allocate_array(cutlass.Float32, 4, partition=cutlass.utils.SmemPartition.RESERVED)"
)
ROW = "v = s[1, tx]"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [([ROWS, ROW], 1), ([ROWS, RESERVED, ROW], 0), ([RESERVED, ROWS, ROW], 0)],
)
def test_what_is_reserved_moves_all_else(lines, expected, tmp_path):
    """A row under a swizzle is free from byte 0, and 2-way from byte 16, where the array is then.

    What lies in the reserved partition is in front, also if it is allocated later: no figure.
    """
    assert [w for _, _, w in ways_in(tmp_path, *lines)] == [expected]


PEERS = (
    "s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(32, 1)), 16)",
    "p = cute.arch.map_dsmem_ptr(s.iterator, 1)",
    "q = cute.make_tensor(p, s.layout)",
    "cute.autovec_copy(s[tx, None], q[tx, None])",
    "a = cute.arch.map_dsmem_ptr(s.iterator + 32 * tx, tx % 2).toint()",
)


def test_what_lies_in_another_block_has_no_banks(tmp_path):
    """The stores to the peer are said; the loads are LDS.128 whose rows lie 32 words apart."""
    facts = facts_of(KERNEL.replace("BODY", "\n    ".join(PEERS)), tmp_path)
    found = [(a.kind, a.width_bytes, a.ways) for k in facts.kernels for a in k.accesses]
    assert found == [(LOAD, 16, 8)]
    codes = {n.reason.code for k in facts.kernels for n in k.not_analysed}
    assert codes == {ReasonCode.NO_LANES}


MOVED = """
def moved(pointer):
    swizzle = pointer.type.swizzle_type
    mask = ((1 << swizzle.num_bits) - 1) << (swizzle.num_base + swizzle.num_shift)
    address = pointer.toint()
    address = address ^ ((address & mask) >> swizzle.num_shift)
    return cute.make_ptr(pointer.dtype, address, pointer.memspace, assumed_align=16)
"""


SWIZZLE = ", cute.make_swizzle(3, 4, 3)"
ADDRESS = "s[tx, None].iterator.toint()"


@pytest.mark.parametrize(
    ("row", "swizzle", "expected"),
    [
        ("moved(s[tx, None].iterator)", SWIZZLE, 1),
        ("moved(s[tx, None].iterator)", "", 8),
        (f"cute.make_ptr(s.element_type, {ADDRESS}, s.memspace, assumed_align=16)", SWIZZLE, 8),
    ],
)
def test_addresses_that_the_program_swizzles(row, swizzle, expected, tmp_path):
    """Vectors of rows of 128 bytes, each an LDS.128: `toint()` leaves the swizzle out."""
    layout = "cute.make_layout((64, 64), stride=(64, 1)), 1024"
    lines = (
        f"s = smem.allocate_tensor(cutlass.Float16, {layout}{swizzle})",
        "r = cute.make_rmem_tensor((8,), cutlass.Float16)",
        f"cute.autovec_copy(cute.make_tensor({row}, cute.make_layout(8)), r)",
    )
    text = MOVED + KERNEL.replace("BODY", "\n    ".join(lines))
    assert ways(facts_of(text, tmp_path)) == [(LOAD, 16, expected)]


@pytest.mark.parametrize("bits", [1024, "tx << 6"])
def test_the_window_of_shared_memory_begins_somewhere(bits, tmp_path):
    """Bits from 1,024 on are not those of the array's place alone: no figure."""
    pointer = f"cute.make_ptr(s.element_type, s.iterator.toint() ^ ({bits}), s.memspace)"
    lines = (
        "s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(1024), 1024)",
        f"v = cute.make_tensor({pointer}, cute.make_layout(1))[0]",
    )
    facts = facts_of(KERNEL.replace("BODY", "\n    ".join(lines)), tmp_path)
    assert not any(a.certainty.is_decided for k in facts.kernels for a in k.accesses)
