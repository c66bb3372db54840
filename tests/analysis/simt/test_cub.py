"""CUB's collectives: their accesses at the user's call.

Figures are those of the machine code (nvcc 13.5.37, sm_90, the CCCL of that toolkit) of the line
that calls the collective: instructions and wavefronts of its loads and stores.
"""

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

HEAD = """#include <cub/cub.cuh>
struct Pair { float a, b; };
struct PairOp { __device__ Pair operator()(const Pair &x, const Pair &y) const { return x; } };
struct Running { int r; __device__ int operator()(int a) { int o = r; r += a; return o; } };
struct Plus { template <class T> __device__ T operator()(T x, T y) const { return x + y; } };
"""
REDUCE = "T r = C(t).Reduce(x[threadIdx.x], Plus());\nif (threadIdx.x == 0) o[0] = r;"
SCAN = "T v = x[threadIdx.x], q;\nC(t).InclusiveScan(v, q, {});\no[threadIdx.x] = q;"
WARPS, RAKING = "cub::BLOCK_REDUCE_WARP_REDUCTIONS", "cub::BLOCK_REDUCE_RAKING"
COMMUTATIVE = "cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY"


def kernel(collective, body, element="float", block=128):
    return (
        f"{HEAD}typedef {element} T;\n__global__ void k(T *o, const T *x, int n) {{\n"
        f"using C = cub::{collective}; __shared__ typename C::TempStorage t;\n{body}\n}}\n"
        f"int main() {{ k<<<1, {block}>>>(0, 0, 5); }}"
    )


def figures(text):
    """Kind -> (instructions, wavefronts of all of them)."""
    return {
        str(a.kind): (a.instructions, round(a.instructions * a.wavefronts.mean, 3))
        for a in accesses_of(text)
    }


@pytest.mark.parametrize(
    ("collective", "element", "block", "loads", "stores"),
    [
        (f"BlockReduce<float, 256, {WARPS}>", "float", 256, (3, 3), (8, 8)),
        (f"BlockReduce<float, 256, {RAKING}>", "float", 256, (8, 8), (8, 16)),
        (f"BlockReduce<float, 128, {COMMUTATIVE}>", "float", 128, (3, 3), (3, 3)),
        (f"BlockReduce<float, 1024, {COMMUTATIVE}>", "float", 1024, (31, 31), (31, 31)),
    ],
)
def test_reductions_of_a_block(collective, element, block, loads, stores):
    found = figures(kernel(collective, REDUCE, element, block))
    assert found == {"load": loads, "store": stores}


@pytest.mark.parametrize(
    ("collective", "element", "block", "loads", "stores"),
    [
        ("BlockScan<float, 64>", "float", 64, (3, 4), (3, 4)),
        ("BlockScan<float, 128>", "float", 128, (8, 12), (8, 12)),
        ("BlockScan<Pair, 128>", "Pair", 128, (8, 24), (8, 24)),
    ],
)
def test_scans_of_a_block(collective, element, block, loads, stores):
    body = SCAN.format("PairOp()" if element == "Pair" else "Plus()")
    assert figures(kernel(collective, body, element, block)) == {"load": loads, "store": stores}


def test_a_scan_with_a_callback_hands_the_prefix_on():
    body = "Running c{0};\nfor (int i = 0; i < 3; i++) {\nT v = x[threadIdx.x + i * 128];\n"
    body += "C(t).ExclusiveSum(v, v, c);\n__syncthreads();\no[threadIdx.x + i * 128] = v;\n}"
    collective = "BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>"
    found = figures(kernel(collective, body, "int"))
    assert found["store"] == (15, 15)
    assert found["load"] == (24, 36)  # 26 and 38: two of them stand in two copies of the loop


@pytest.mark.parametrize(
    ("items", "order", "loads", "stores"),
    [
        (1, "TRANSPOSE", (4, 4), (4, 4)),
        (2, "WARP_TRANSPOSE", (4, 8), (8, 8)),
        (3, "TRANSPOSE", (12, 12), (12, 12)),
        (8, "WARP_TRANSPOSE", (32, 32), (32, 32)),
    ],
)
def test_loads_of_a_block_that_are_transposed(items, order, loads, stores):
    body = f"T v[{items}];\nC(t).Load(x, v);\n"
    body += f"for (int i = 0; i < {items}; i++) o[threadIdx.x * {items} + i] = v[i];"
    collective = f"BlockLoad<float, 128, {items}, cub::BLOCK_LOAD_{order}>"
    assert figures(kernel(collective, body)) == {"load": loads, "store": stores}


def test_warp_collectives_take_no_shared_memory():
    body = "o[threadIdx.x] = C(t).Sum(x[threadIdx.x]);"
    assert figures(kernel("WarpReduce<float>", body)) == {}


def test_what_is_computed_is_data():
    body = "__shared__ float s[64]; int v = x[threadIdx.x] > 1, all;\n"
    body += "cub::BlockScan<int, 128>::TempStorage *u = 0; C(t).ExclusiveSum(v, v, all);\n"
    body += "s[v] = 1;\ns[all + threadIdx.x] = 1;"
    found = accesses_of(kernel("BlockScan<int, 128>", body, "int"))
    stores = {a.line: a for a in found if a.array.name == "s"}
    assert [a.reason.code if a.reason else None for a in stores.values()] == [ReasonCode.DATA, None]


def test_an_operation_that_is_not_modelled_is_noted():
    for body in ("C(t).Unheard(x[threadIdx.x]);", "C(t).Rank(x[0], x[1]);"):
        facts = facts_of(kernel("BlockReduce<float, 128>", body))
        notes = [n for k in facts.kernels for n in k.not_analysed] + list(facts.not_analysed)
        assert [n.reason.code for n in notes] == [ReasonCode.NOT_DECLARED]


def test_storage_lies_where_the_compiler_puts_it():
    # sizeof(TempStorage) is 96: {8 x float; 8 bytes; float}, aligned to 32
    body = "struct S { typename C::TempStorage t; float s[512]; }; __shared__ S u;\n"
    body += "for (int i = 0; i < 4; i++) u.s[threadIdx.x * 4 + i] = x[i];"
    text = kernel("BlockScan<float, 256, cub::BLOCK_SCAN_WARP_SCANS>", body, block=128)
    (access,) = (a for a in accesses_of(text) if a.array.name == "u")
    assert (access.width_bytes, access.instructions, access.wavefronts.mean) == (16, 4, 4)


def test_what_lies_behind_a_class_that_was_not_read_may_be_aligned():
    text = (
        "#include <other/other.cuh>\nstruct S { typename other::Sort<float>::Storage t; float u[2048]; };\n"
        "__global__ void k(float *o, const float *x) { __shared__ S s;\n"
        "for (int i = 0; i < 4; i++) s.u[threadIdx.x * 4 + i] = x[i];\n"
        "o[threadIdx.x] = s.u[threadIdx.x * 2]; }\nvoid run() { k<<<1, 256>>>(0, 0); }"
    )
    stored, loaded = sorted(accesses_of(text), key=lambda a: a.line)
    assert (str(stored.certainty), str(loaded.certainty)) == ("sampled", "assumed")
    assert loaded.wavefronts.mean == 2


def test_the_function_that_a_class_of_a_namespace_hides_nothing_of_is_called():
    reduce = "template <typename T> __device__ void BlockReduce(T &x) {\n{}\n"
    reduce += "__shared__ typename BlockReduce::TempStorage t;\nx = BlockReduce(t).Sum(x);\n}\n"
    for alias in ("typedef {} BlockReduce;", "using BlockReduce = {};"):
        made = reduce.replace("{}", alias.format("cub::BlockReduce<T, 256>"), 1)
        text = f"{HEAD}{made}__global__ void k(float *o) {{ float x = o[0]; BlockReduce(x); o[1] = x; }}"
        found = figures(f"{text}\nvoid run() {{ k<<<1, 256>>>(0); }}")
        assert found == {"load": (3, 3), "store": (8, 8)}
