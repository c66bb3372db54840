"""What Numba's NVVM and ptxas make of neighbours, with the test of each index for being negative.

SASS of numba-cuda 0.30.4, NVVM and ptxas 13.5.37, sm_90.
"""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.facts import Access, AccessKind, Certainty
from smemlint.sources.source import Source

KERNEL = """
import numba
import numpy as np
from numba import cuda, float32, float64
@cuda.jit{signature}
def k(a, out):
    s = cuda.shared.array({shape}, {dtype})
    t = cuda.threadIdx.x
    n = a.shape[0]
{body}
k[1, 32](a, out)
"""
LOADS = "out[t] = {} * 2 + {} * 3"


def accesses(
    tmp_path, shape: str, body: str, dtype: str = "float32", signature: str = ""
) -> list[Access]:
    path = tmp_path / "k.py"
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    path.write_text(KERNEL.format(shape=shape, dtype=dtype, body=lines, signature=signature))
    facts, crashed = analyze([Source(str(path))], Settings())
    assert not crashed
    return [access for kernel in facts.kernels for access in kernel.accesses]


def widths(found: list[Access], kind: AccessKind) -> list[int]:
    """Returns the bytes of each instruction that is issued, widest first."""
    chosen = [a for a in found if a.kind is kind]
    assert all(a.certainty is Certainty.ASSUMED for a in chosen)
    parts = [p.width for a in chosen for p in a.patterns for _ in range(p.count) if a.instructions]
    return sorted(parts, reverse=True)


@pytest.mark.parametrize(
    ("shape", "first", "second", "expected"),
    [
        ("(32, 8)", "s[t, 0]", "s[t, 1]", [8]),
        ("(32, 8)", "s[t][0]", "s[t][1]", [8]),
        ("(32, 8)", "s[t, -2]", "s[t, -1]", [8]),
        ("(32, 8)", "s[31 - t, 2]", "s[31 - t, 3]", [8]),
        ("(32, 8)", "s[t, 1]", "s[t, 2]", [4, 4]),
        ("(32, 9)", "s[t, 0]", "s[t, 1]", [4, 4]),
        ("1024", "s[(t & 31) * 4]", "s[(t & 31) * 4 + 1]", [8]),
        ("1024", "s[t]", "s[t + 1]", [4, 4]),
        ("1024", "s[t * 4]", "s[t * 4 + 1]", [4, 4]),
        ("1024", "s[2 * t]", "s[2 * t + 1]", [4, 4]),
        ("(64, 8)", "s[2 * t + 1, 0]", "s[2 * t + 1, 1]", [8]),
        ("(16, 64)", "s[0, 2 * t]", "s[0, 2 * t + 1]", [4, 4]),
        ("0", "s[4 * t]", "s[4 * t + 1]", [4, 4]),
        ("1023", "s[t // 4 * 8]", "s[t // 4 * 8 + 1]", [4, 4]),
        ("0", "s[(t & 31) * 4]", "s[(t & 31) * 4 + 1]", [8]),
        ("0", "s[4]", "s[5]", [8]),
    ],
)
def test_neighbours_whose_tests_are_one(shape, first, second, expected, tmp_path):
    found = accesses(tmp_path, shape, LOADS.format(first, second))
    assert widths(found, AccessKind.LOAD) == expected


@pytest.mark.parametrize(
    ("extent", "index"),
    [("1024", "t % 32 * 4{}"), ("1024", "t // 4 * 8{}"), ("1000", "t * 4{}")],
)
def test_tests_that_may_hide_a_neighbour_leave_it_open(extent, index, tmp_path):
    """The first are two LDS, the second one LDS.64, so is the third if nothing reads s[t]."""
    pair = (f"s[{index.format(more)}]" for more in ("", " + 1"))
    found = accesses(tmp_path, extent, LOADS.format(*pair))
    assert Certainty.SAMPLED in {a.certainty for a in found if a.kind is AccessKind.LOAD}


@pytest.mark.parametrize(
    ("trips", "expected"), [("8", [16] * 2), ("16", [16] * 4), ("n", [4]), ("6", [8] * 3)]
)
def test_iterations_of_a_range(trips, expected, tmp_path):
    row = 16 if trips in ("8", "16", "n") else 6
    body = f"for i in range({trips}):\n    s[t, i] = a[i]"
    found = accesses(tmp_path, f"(32, {row})", body)
    assert widths(found, AccessKind.STORE)[: len(expected)] == expected


def test_neighbours_that_a_loop_counts_are_open(tmp_path):
    """One LDS.128 of each four; two LDS each in a loop of run-time length around it."""
    body = "m = float32(0)\nfor k in range(4):\n    m += s[t * 8 + k]\nout[t] = m"
    (load,) = accesses(tmp_path, "1024", body)
    assert load.certainty is Certainty.SAMPLED


def test_rows_of_dynamic_memory_are_words(tmp_path):
    body = "for k in range(4):\n    s[t * 4 + k] = a[k]"
    found = accesses(tmp_path, "0", body, "float64")
    assert widths(found, AccessKind.STORE) == [8] * 4


@pytest.mark.parametrize(("barrier", "expected"), [("syncthreads", "assumed"), ("syncwarp", "s")])
def test_threads_that_meet_at_a_barrier_run_a_loop_equally_often(barrier, expected, tmp_path):
    """Here 32 eight-byte words of a column, whatever data say of the trip count."""
    body = f"for i in range(int(n / 16)):\n    s[t, i & 1] = a[i]\n    cuda.{barrier}()"
    (store,) = accesses(tmp_path, "(32, 16)", body, "float64")
    assert store.certainty.value.startswith(expected)
    assert store.wavefronts.mean == 32


@pytest.mark.parametrize(("trips", "loads"), [(24, 6), (32, 8)])
def test_the_product_of_tiles_is_unrolled(trips, loads, tmp_path):
    """Each row by 16 bytes; `range(31)` is not, `range(64)` neither."""
    body = f"b = cuda.shared.array(({trips}, 32), float32)\nm = float32(0)\n"
    body += f"for i in range({trips}):\n    m += s[t, i] * b[i, t]\nout[t] = m"
    found = accesses(tmp_path, f"(32, {trips})", body)
    assert widths(found, AccessKind.LOAD) == [16] * loads + [4] * trips


@pytest.mark.parametrize(
    ("pitch", "certainty"), [(32, "assumed"), (64, "assumed"), (36, "sampled")]
)
def test_rows_of_no_power_of_two_cost_more(pitch, certainty, tmp_path):
    """Eight LDS.128, eight LDS.128, and a loop of four times eight LDS of each array."""
    body = "b = cuda.shared.array((32, 32), float32)\nm = float32(0)\n"
    body += "for i in range(32):\n    m += s[t, i] * b[i, t]\nout[t] = m"
    row, column = accesses(tmp_path, f"(32, {pitch})", body)
    assert (row.certainty.value, column.certainty.value) == (certainty, "assumed")


def test_what_reads_arguments_may_stay_a_loop(tmp_path):
    """`range(32)` does, 24 iterations are unrolled."""
    body = "m = float32(0)\nfor i in range(32):\n    m += s[t, i] * a[i + t]\nout[t] = m"
    (load,) = accesses(tmp_path, "(32, 32)", body)
    assert load.certainty is Certainty.SAMPLED


def test_a_range_that_llvm_may_leave_a_loop_is_open(tmp_path):
    body = "m = float32(0)\nfor i in range(48):\n    m += s[t, i]\nout[t] = m"
    (load,) = accesses(tmp_path, "(32, 48)", body)
    assert load.certainty is Certainty.SAMPLED


@pytest.mark.parametrize(
    ("dtype", "stored", "loaded"), [("numba.complex64", 8, 4), ("np.complex128", 16, 8)]
)
def test_a_complex_number_is_stored_as_one_and_its_parts_are_loaded(
    dtype, stored, loaded, tmp_path
):
    body = "s[t] = complex(a[t], a[t + 1])\ncuda.syncthreads()\nout[t] = s[31 - t].real"
    found = accesses(tmp_path, "32", body, dtype)
    assert widths(found, AccessKind.STORE) == [stored]
    assert widths(found, AccessKind.LOAD) == [loaded]


@pytest.mark.parametrize(
    ("extent", "stride", "certainty"),
    [("SIZES[0]", 2, "sampled"), ("SIZES[0]", 1, "assumed"), ("2048", 2, "assumed")],
)
def test_a_guessed_block_is_none_of_an_array_of_any_size(extent, stride, certainty, tmp_path):
    """It may have eight elements, and the block eight threads: no two of them meet in a bank."""
    path = tmp_path / "k.py"
    path.write_text(
        "from numba import cuda, float32\nfrom sizes import SIZES\n@cuda.jit\ndef k(a, n):\n"
        f"    s = cuda.shared.array({extent}, float32)\n    t = {stride} * cuda.threadIdx.x\n"
        "    if t < n:\n        s[t] = a[t]\n"
    )
    facts, crashed = analyze([Source(str(path))], Settings())
    ((access,),) = [kernel.accesses for kernel in facts.kernels]
    assert not crashed
    assert access.certainty.value == certainty


STRIDED = '("void(float32[:], float32[:])")'
BETWEEN = "for k in range(4):\n    s[t, k] = a[t + k]"
IN_FRONT = "x = a[t]\ny = a[t + 1]\ns[t, 0] = x\ns[t, 1] = y\ns[t, 2] = x\ns[t, 3] = y"
WRITTEN = "for k in range(4):\n    out[t + k] {} s[t, k]"


@pytest.mark.parametrize(
    ("signature", "body", "kind", "expected"),
    [
        (STRIDED, BETWEEN, AccessKind.STORE, [4] * 4),
        ("((float32[:], float32[:]))", BETWEEN, AccessKind.STORE, [4] * 4),
        ("(argtypes=[float32[:], float32[:]])", BETWEEN, AccessKind.STORE, [4] * 4),
        ('("void(float32[::1], float32[:])")', BETWEEN, AccessKind.STORE, [16]),
        ("", BETWEEN, AccessKind.STORE, [16]),
        (STRIDED, IN_FRONT, AccessKind.STORE, [16]),
        (STRIDED, "for k in range(4):\n    s[t, k] = a[0]", AccessKind.STORE, [16]),
        (STRIDED, WRITTEN.format("="), AccessKind.LOAD, [4] * 4),
        (STRIDED, WRITTEN.format("+="), AccessKind.LOAD, [4] * 4),
        ("", WRITTEN.format("="), AccessKind.LOAD, [16]),
        (STRIDED, "s[t, 0] = 1\nout[t] = 2\nout[t + 1] = s[t, 0]", AccessKind.LOAD, [4]),
        ("", "s[t, 0] = 1\nout[t] = 2\nout[t + 1] = s[t, 0]", AccessKind.LOAD, []),
    ],
)
def test_elements_by_strides_part_what_is_around_them(signature, body, kind, expected, tmp_path):
    """Of arrays that a signature gives any strides, the compiler does not know where they lie."""
    found = accesses(tmp_path, "(32, 4)", body, signature=signature)
    assert widths(found, kind) == expected


@pytest.mark.parametrize(
    ("shape", "statement", "expected"),
    [
        ("(32, 3)", "s[t] = a[t], a[t + 32], a[t + 64]", [4, 4, 4]),
        ("(32, 3)", "s[t] = 0, 0, 0", [4, 4, 4]),
        ("(32, 4)", "s[t] = a[t], a[t + 32], a[t + 64], a[t + 9]", [16]),
        ("(2, 32, 4)", "s[1, t] = a[t], a[t + 32], a[t + 64], a[t + 9]", [16]),
    ],
)
def test_a_tuple_given_to_a_row_is_a_store_of_each_element(shape, statement, expected, tmp_path):
    assert widths(accesses(tmp_path, shape, statement), AccessKind.STORE) == expected
