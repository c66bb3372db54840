"""Structs in shared memory that a program makes of others, and of annotations that it collects."""

import pytest
from test_cute_dsl_kernels import facts_of, ways

COLLECTED = """
def make(n, is_more):
    class Shared:
        pass

    annotations = {"bar": cute.struct.MemRange[cutlass.Int64, 1]}
    annotations["rows"] = cute.struct.Align[cute.struct.MemRange[cutlass.Float32, n * n], 128]
    if is_more:
        annotations["more"] = cute.struct.MemRange[cutlass.Float32, n]
    annotations.update({"columns": cute.struct.MemRange[cutlass.Float32, n * n]})
    Shared.__annotations__ = annotations
    return cute.struct(Shared)

class K:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.shared = make(32, MORE)
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        st = cutlass.utils.SmemAllocator().allocate(self.shared)
        rows = st.rows.get_tensor(cute.make_layout((32, 32), stride=(32, 1)))
        columns = st.columns.get_tensor(cute.make_layout((32, 32), stride=(34, 1)))
        x = rows[tx, 0]
        y = columns[tx, 0]

def compiled(a):
    cute.compile(K(), a)
"""


@pytest.mark.parametrize("more", ["True", "a.shape[0] > 2"])
def test_a_struct_of_collected_annotations(more, tmp_path):
    """Pitches of 32 and 34 words, wherever the fields begin."""
    facts = facts_of(COLLECTED.replace("MORE", more), tmp_path)
    assert [w for _, _, w in ways(facts)] == [32, 2]


NESTED = """
class Scheduler:
    @staticmethod
    def make_storage(stages):
        @cute.struct
        class Inner:
            bars: cute.struct.MemRange[cutlass.Int64, stages]
            info: cute.struct.Align[cute.struct.MemRange[cutlass.Int32, 32 * stages], 16]
        return Inner

class K:
    @cute.jit
    def __call__(self, a: cute.Tensor, stages: int):
        Inner = Scheduler.make_storage(STAGES)
        @cute.struct
        class Storage:
            first: cutlass.Int32
            scheduler: Inner
            last: cute.struct.MemRange[cutlass.Float32, 1024]
        self.storage = Storage
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        st = cutlass.utils.SmemAllocator().allocate(self.storage)
        scheduler = st.scheduler
        info = scheduler.info.get_tensor(cute.make_layout((32, 4)))
        x = info[2 * tx, 0]
        last = st.last.get_tensor(cute.make_layout(1024))
        y = last[4 * tx]

def compiled(a, stages):
    cute.compile(K(), a, stages)
"""


@pytest.mark.parametrize("stages", ["4", "stages"])
def test_fields_of_a_struct_in_a_struct(stages, tmp_path):
    """Steps of two and four words, wherever the fields begin."""
    assert [w for _, _, w in ways(facts_of(NESTED.replace("STAGES", stages), tmp_path))] == [2, 4]


CONDITIONAL = """
from enum import Enum

class Mode(Enum):
    DENSE = "dense"
    SPARSE = "sparse"

class K:
    def __init__(self, count, mode=Mode.DENSE):
        if not isinstance(mode, Mode):
            raise TypeError("no")
        self.count = count

    @cute.jit
    def __call__(self, a: cute.Tensor):
        @cute.struct
        class Storage:
            first: cute.struct.MemRange[cutlass.Float32, 32]
            if cutlass.const_expr(self.count > 4):
                more: cute.struct.MemRange[cutlass.Float32, 32]
            last: cute.struct.MemRange[cutlass.Float32, 1024]
        self.storage = Storage
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        st = cutlass.utils.SmemAllocator().allocate(self.storage)
        last = st.last.get_tensor(cute.make_layout(1024))
        y = last[4 * tx]

def compiled(a, count):
    cute.compile(K(COUNT), a)
"""


@pytest.mark.parametrize(("count", "begins"), [("8", 256), ("4", 128), ("count", None)])
def test_fields_that_a_struct_may_have(count, begins, tmp_path):
    """A member of an enumeration is one: the object is made. `last` begins behind the others."""
    facts = facts_of(CONDITIONAL.replace("COUNT", count), tmp_path)
    assert [w for _, _, w in ways(facts)] == [4]
    (access,) = (a for k in facts.kernels for a in k.accesses)
    first = {int(p.addresses.min()) for p in access.patterns}
    assert begins is None or first == {begins}
