"""Classes of executed programs: orders of bases, classes made at run time, what bases are told."""

import pytest
from test_cute_dsl_kernels import facts_of

KERNEL = """
import math
from dataclasses import dataclass, make_dataclass
from typing import NamedTuple

BEFORE

@cute.kernel
def kernel(pitch: cutlass.Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(pitch, 1)), 16)
    x = s[tx, 0]

@cute.jit
def host():
    kernel(PITCH).launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
"""


def ways_with(tmp_path, before, pitch):
    """Ways of a load of a column: the greatest common divisor of the pitch and 32 banks."""
    facts = facts_of(KERNEL.replace("BEFORE", before).replace("PITCH", pitch), tmp_path)
    return [a.ways for k in facts.kernels for a in k.accesses]


SIDES = """
class Base:
    def pitch(self):
        return 32

class Doubled(Base):
    def pitch(self):
        return 2 * super().pitch()

class Narrow(Base):
    def pitch(self):
        return 4

class Both(Doubled, Narrow):
    pass
"""


def test_super_means_the_next_class_of_the_object(tmp_path):
    assert ways_with(tmp_path, SIDES, "Both().pitch()") == [8]
    assert ways_with(tmp_path, SIDES, "Doubled().pitch()") == [32]


def test_a_base_of_two_bases_stands_behind_both(tmp_path):
    text = SIDES.replace("        return 2 * super().pitch()\n", "        return super().pitch()\n")
    text = text.replace("class Both(Doubled, Narrow)", "class Both(Base2, Narrow)")
    text = text.replace("class Narrow", "class Base2(Base):\n    pass\n\nclass Narrow")
    assert ways_with(tmp_path, text, "Both().pitch()") == [4]


def test_bases_that_no_order_suits_end(tmp_path):
    text = SIDES + "\nclass Wrong(Base, Doubled):\n    pass\n"
    assert ways_with(tmp_path, text, "Both().pitch()") == [8]


MADE = """
class Base:
    widths = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.widths or False:
            if "Params" not in cls.__dict__:
                cls.Params = make_dataclass("Params", [(n, int) for n in cls.widths])

    def pitch(self):
        return self.Params(**{n: 8 for n in type(self).widths}).ab
"""


def test_a_base_is_told_of_a_class_that_is_made_at_run_time(tmp_path):
    made = MADE + '\nMade = type("Made", (Base,), {"widths": ("ab", "c")})\n'
    assert ways_with(tmp_path, made, "Made().pitch()") == [8]
    defined = MADE + '\nclass Defined(Base):\n    widths = ("ab", "c")\n'
    assert ways_with(tmp_path, defined, "Defined().pitch()") == [8]


@pytest.mark.parametrize(
    ("pitch", "ways"),
    [
        ("Pair(4, 2).first", 4),
        ("Pair(4, 2)._replace(first=8).first", 8),
        ("Pair(4, 2)._replace(first=8).second", 2),
    ],
)
def test_a_named_tuple_is_made_by_a_call(tmp_path, pitch, ways):
    text = 'Pair = NamedTuple("Pair", [("first", int), ("second", int)])'
    assert ways_with(tmp_path, text, pitch) == [ways]


def test_items_are_sorted_by_what_a_function_says(tmp_path):
    text = """
pairs = [("a", 8), ("b", 2), ("c", 4)]
pairs.sort(key=lambda pair: pair[1])
"""
    assert ways_with(tmp_path, text, "pairs[0][1]") == [2]
    assert ways_with(tmp_path, text, "sorted(pairs, key=lambda p: -p[1])[0][1]") == [8]
    assert ways_with(tmp_path, text.replace("pair[1]", "unknown(pair)"), "pairs[0][1]") == []


STRUCTS = {
    "given": """
    fields = {"s_" + n: cute.struct.MemRange[cutlass.Float32, 1024] for n in ("a", "b")}
    Members = type("Members", (), {"__annotations__": fields})""",
    "added": """
    Members = type("Members", (), dict())
    for n in ("a", "b"):
        Members.__annotations__["s_" + n] = cute.struct.MemRange[cutlass.Float32, 1024]""",
}


@pytest.mark.parametrize("members", STRUCTS.values(), ids=STRUCTS)
def test_a_field_of_a_struct_is_had_by_its_name(tmp_path, members):
    facts = facts_of(
        """
@cute.kernel
def kernel():
    tx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    MEMBERS
    storage = smem.allocate(cute.struct(Members))
    s = getattr(storage, "s_b").get_tensor(cute.make_layout((32, 32), stride=(8, 1)))
    x = s[tx, ...]
    y = s[..., 3][tx]

@cute.jit
def host():
    kernel().launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
""".replace("MEMBERS", members),
        tmp_path,
    )
    assert [a.ways for k in facts.kernels for a in k.accesses] == [8]


def test_arithmetic_keeps_the_shape_of_a_tensor_of_pytorch(tmp_path):
    text = "angle = torch.rand(6, 4) * 2 * math.pi\nother = torch.cos(angle) + angle"
    assert ways_with(tmp_path, text, "other.shape[1]") == [4]
    assert ways_with(tmp_path, text, "other.dtype.width // 2") == [16]
    assert ways_with(tmp_path, text + " + torch.rand(4)", "other.shape[1]") == []


@pytest.mark.parametrize(
    ("made", "pitch", "ways"),
    [
        ("np.random.uniform(0, 100, size=(6, 8))", "a.shape[1]", 8),
        ("np.random.rand(6, 8).astype(np.float16)", "a.dtype.width", 16),
        ("np.zeros((6, 8)).transpose()", "a.stride(1)", 8),
        ("np.random.randn(2, 3)", "a.dtype.width // 8", 8),
        ("torch.randint(0, 9, (4, 4))", "a.dtype.width // 4", 16),
        ("torch.from_numpy(np.ones((4, 2), dtype=np.int32)).to(torch.int8)", "a.dtype.width", 8),
    ],
)
def test_arrays_of_numpy_are_tensors(tmp_path, made, pitch, ways):
    assert ways_with(tmp_path, f"import numpy as np\na = {made}", pitch) == [ways]


PARTS = """
class Bytes(NamedTuple):
    first: int = 0
    second: int = 0

    def __add__(self, other):
        return Bytes(self.first + other.first, self.second + other.second)

    def __radd__(self, other):
        return self
"""


@pytest.mark.parametrize(
    ("pitch", "ways"),
    [
        ("(Bytes(30, 1) + Bytes(4, 1)).first", 2),
        ("(0 + Bytes(36, 1)).first", 4),
        ("sum(n * (k == 'first') for k, n in zip(Bytes._fields, Bytes(40, 33)))", 8),
        ("len(Bytes()) * 16", 32),
        ("34 if 'first' in {k for k in Bytes._fields if k != 'second'} else 40", 2),
        ("34 if 'second' in {k for k in Bytes._fields if k != 'second'} else 40", 8),
        ("34 if 'first' in Bytes.__dict__ else 40", 2),
    ],
)
def test_named_tuples_are_added_and_walked_through(tmp_path, pitch, ways):
    """Ways are the greatest common divisor of the pitch and 32 banks."""
    assert ways_with(tmp_path, PARTS, pitch) == [ways]


MARKED = """
class Kept:
    def __init__(self, inner):
        self.inner = inner

    def __class_getitem__(cls, inner):
        return cls(inner)

class Table:
    def __init__(self, cls):
        self.name = cls.__name__
        self.found = {k: v for k, v in cls.__annotations__.items()}
        self.kept = {k: v.inner for k, v in self.found.items() if isinstance(v, Kept)}
        self.others = list({k: v for k, v in self.found.items() if not isinstance(v, Kept)})

    def __getitem__(self, key):
        return self.kept[key]

def table(cls):
    return Table(cls)

@table
class Rows:
    one: Kept[34]
    two: Kept[36]
    three: int
"""


@pytest.mark.parametrize(
    ("pitch", "ways"),
    [
        ("Rows['one']", 2),
        ("Rows['two']", 4),
        ("40 if Rows.others else 34", 8),
        ("40 if Rows.name == 'Rows' else 34", 8),
    ],
)
def test_a_decorator_of_the_program_makes_of_a_class_what_it_returns(tmp_path, pitch, ways):
    assert ways_with(tmp_path, MARKED, pitch) == [ways]


@pytest.mark.parametrize(
    ("op", "ways"),
    [
        ("StMatrix8x8x16bOp(False, 4)", 32),
        ("StMatrix8x8x16bOp(num_matrices=2)", 16),
        ("LdMatrix8x8x16bOp(True, 2)", 2),
        ("StMatrix16x8x8bOp(num_matrices=4)", 4),
        ("LdMatrix16x16x8bOp(num_matrices=2)", 2),
    ],
)
def test_an_atom_tells_the_operation_that_it_was_made_of(tmp_path, op, ways):
    """The pitch is 8 words a matrix of a plain store, one a matrix of any other operation."""
    element = "Uint8" if "8bOp" in op.replace("16bOp", "") else "Float16"
    text = f"op = cute.make_copy_atom(cute.nvgpu.warp.{op}, cutlass.{element}).op"
    plain = "isinstance(op, (cute.nvgpu.warp.StMatrix8x8x16bOp,)) and not op.transpose"
    assert ways_with(tmp_path, text, f"op.num_matrices * (8 if {plain} else 1)") == [ways]


SIZES = "sizes = {(1, 2): 34, (3, 4): 36, 'one': 40}\nmore = {(n, 1): 4 * n for n in (8, 10)}"


@pytest.mark.parametrize(
    ("pitch", "ways"),
    [
        ("sizes[1, 2]", [2]),
        ("sizes.get((3, 4))", [4]),
        ("sizes.get((4, 3), 40)", [8]),
        ("sizes[3 - 1, 2]", []),
        ("more[10, 1]", [8]),
        ("34 if (1, 2) in sizes else 32", [2]),
        ("34 if ((1, 2),) in sizes else 32", [32]),
    ],
)
def test_tuples_are_keys_of_tables(tmp_path, pitch, ways):
    assert ways_with(tmp_path, SIZES, pitch) == ways
