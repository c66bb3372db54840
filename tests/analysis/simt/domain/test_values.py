"""What index expressions come to, thread by thread, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import accesses_of
from figures import expected_lanes, figure, kernel, lanes
from hypothesis import given, settings
from hypothesis import strategies as st

from smemlint.analysis.simt.domain.values import AffineInt, Symbol
from smemlint.facts import Certainty


def only(body, **how):
    (access,) = accesses_of(kernel(body, **how))
    return access


@pytest.mark.parametrize(
    ("before", "index", "value"),
    [
        ("", "t ^ (t / 8)", lambda t: t ^ t // 8),
        ("", "(t * 32 + (t ^ (t >> 2))) & 1023", lambda t: t * 32 + (t ^ t >> 2) & 1023),
        ("", "t / 4 * 32 + t % 4", lambda t: t // 4 * 32 + t % 4),
        ("", "(t - 16) / 3 + 6", lambda t: int((t - 16) / 3) + 6),
        ("", "(t - 40) % 7 + 6", lambda t: -((40 - t) % 7) + 6 if t < 40 else (t - 40) % 7 + 6),
        ("", "((t - 16) >> 1) + 8", lambda t: (t - 16 >> 1) + 8),
        ("", "min(t, 7)", lambda t: min(t, 7)),
        ("", "max(t, 20) - 20", lambda t: max(t, 20) - 20),
        ("", "t < 9 ? 2 * t : 100 + t", lambda t: 2 * t if t < 9 else 100 + t),
        ("", "(t > 4) + 2 * !t + (t == 9 || t == 8) * 4", lambda t: (t > 4) + 2 * (t == 0) + (t in (8, 9)) * 4),
        ("", "~t + 64", lambda t: ~t + 64),
        ("", "-t + 64", lambda t: 64 - t),
        ("", "(unsigned char)(t * 9)", lambda t: t * 9 % 256),
        ("", "(signed char)(t * 9) + 128", lambda t: (t * 9 + 128) % 256 - 128 + 128),
        ("", "(unsigned)(t - 1) % 64u", lambda t: (t - 1) % 64),
        ("", "(t - 1u) >> 28", lambda t: (t - 1) % 2**32 >> 28),
        ("", "(1ull << t % 60) % 61", lambda t: (1 << t % 60) % 61),
        ("", "((unsigned long long)t << 33 >> 32)", lambda t: 2 * t),
        ("", "(int)((long long)t * 3000000000ll % 97)", lambda t: t * 3000000000 % 97),
        ("", "0x1F & t", lambda t: t & 31),
        ("", "010 + t + 0b11", lambda t: t + 11),
        ("", "'b' - 'a' + t", lambda t: t + 1),
        ("", "sizeof(double) * t", lambda t: 8 * t),
        ("", "(t, t * 2)", lambda t: 2 * t),
        ("", "t & ~7 | t & 1", lambda t: t & ~7 | t & 1),
        ("", "[&] { int a = t; a += 3; a <<= 1; a ^= 5; return a; }()", lambda t: t + 3 << 1 ^ 5),
        ("const int pitch = 17;", "t * pitch", lambda t: 17 * t),
        ("static constexpr int pitch = 16 + 1;", "t * pitch", lambda t: 17 * t),
        ("#define AT(r, c) ((r) * 9 + (c))", "AT(t / 8, t % 8)", lambda t: t // 8 * 9 + t % 8),
        ("enum { A, B = 5, C };", "t * C + A", lambda t: 6 * t),
        ("enum class E { x = 3 };", "t * static_cast<int>(E::x)", lambda t: 3 * t),
        ("constexpr int pad(int x) { return x % 32 == 0 ? x + 1 : x; }", "t * pad(8)", lambda t: 8 * t),
        ("constexpr int log2_(int x) { return x < 2 ? 0 : 1 + log2_(x / 2); }", "t * log2_(64)", lambda t: 6 * t),
        ("__device__ int f(int x, int y = 3) { if (x & 1) return x; return x + y; }", "f(t)", lambda t: t if t & 1 else t + 3),
        ("template <int N> struct P { static const int v = N * 2; };", "t * P<3>::v", lambda t: 6 * t),
        ("using Index = unsigned short; typedef Index I2;", "(I2)(t * 4000)", lambda t: t * 4000 % 65536),
        ("struct V { int x, y; };", "V{t, 4}.x * V{2, 3}.y", lambda t: 3 * t),
    ],
)  # fmt: skip
def test_index_expressions(before, index, value):
    access = only(f"s[{index}] = 1;", before=before, shared="unsigned char s[65536]", block="64")
    assert lanes(access) == expected_lanes(value, 64, 1)
    assert access.certainty is Certainty.ASSUMED


def test_bit_counts_and_reversal():
    access = only("s[__popc(t) * 32 + (__brev(t) >> 27)] = 1;")
    expected = expected_lanes(lambda t: t.bit_count() * 32 + int(f"{t:05b}"[::-1], 2), 32)
    assert lanes(access) == expected


def test_lane_and_warp_ids_in_every_spelling():
    for lane, warp in (
        ("t % 32", "t / 32"),
        ("t & 31", "t >> 5"),
        ("t % warpSize", "t / warpSize"),
        ("(threadIdx.y * blockDim.x + threadIdx.x) & 31", "t / 32"),
    ):
        access = only(f"s[({lane}) * 2 + ({warp}) * 64] = 1;", block="96")
        assert lanes(access) == expected_lanes(lambda t: t % 32 * 2 + t // 32 * 64, 96), lane


def test_three_dimensional_blocks_number_x_first():
    text = kernel("s[threadIdx.z * 100 + threadIdx.y * 10 + t] = 1;", block="dim3(4, 4, 4)")
    (access,) = accesses_of(text)
    expected = expected_lanes(lambda i: i // 16 * 100 + i // 4 % 4 * 10 + i % 4, 64)
    assert lanes(access) == expected


class TestUnknowns:
    """What is uniform and unknown decides nothing where it only rotates the banks."""

    @pytest.mark.parametrize(
        ("index", "ways"),
        [
            ("t + n", 1),
            ("t * 2 + n", 2),
            ("t * 4 + blockIdx.x * 7 - n * 3", 4),
            ("n * n + t * 8", 8),
            ("n / 3 * 16 + t * 16", 16),
            ("(n ^ 5) + t", 1),
            ("t * 2 + gridDim.x", 2),
        ],
    )
    def test_uniform_offsets(self, index, ways):
        access = only(f"s[{index}] = 1;")
        assert (access.wavefronts.mean, access.ideal.mean) == (ways, 1)
        assert access.certainty is Certainty.ASSUMED

    @pytest.mark.parametrize(
        ("index", "reason"),
        [
            ("t * n", "`n`"),
            ("t / n", "`n`"),
            ("t % n", "`n`"),
            ("t / 8 * n + t % 8", "`n`"),
            ("t * blockIdx.x", "`blockIdx.x`"),
            ("t * clusterDim.y", "`clusterDim.y`"),
        ],
    )
    def test_an_unknown_pitch_is_named(self, index, reason):
        access = only(f"s[{index}] = 1;")
        assert access.certainty is Certainty.UNKNOWN
        assert access.wavefronts is None and access.ideal is None
        assert reason in access.reason.text

    def test_rows_that_one_warp_shares_do_not_need_the_pitch(self):
        access = only("s[threadIdx.y * n + t] = 1;", block="dim3(32, 4)")
        assert figure(access) == ("store", 4, 4, 1, 1)

    @pytest.mark.parametrize(
        ("index", "figures"),
        [
            ("(threadIdx.x + n) % 32", (1, 1, 1)),
            ("(threadIdx.x + n) % 32 * 2", (2, 2, 2)),
            ("((threadIdx.x ^ n) & 31) * 4", (4, 4, 4)),
            # Eight lanes meet in bank 0, with lane 0 beside them for 24 of 32 residues.
            ("t * (1 + 31 * (((threadIdx.x + n) & 31) < 8))", (8, 9, 8.75)),
        ],
    )
    def test_residues_of_an_unknown_are_enumerated(self, index, figures):
        access = only(f"s[{index}] = 1;", params="float *g, unsigned n")
        least, most, mean = figures
        assert access.certainty.is_decided
        assert (access.wavefronts.min, access.wavefronts.max) == (least, most)
        assert access.wavefronts.mean == mean

    def test_numbers_that_the_launch_passes_are_taken_where_nothing_else_decides(self):
        text = """
__global__ void k(float *g, int pitch, int n) {
  __shared__ float s[4096];
  s[threadIdx.x * pitch] = n;
  s[threadIdx.x + n] = n;
}
void run(float *g) { k<<<1, 32>>>(g, 33, 5); }"""
        strided, _ = accesses_of(text)
        assert (strided.wavefronts.mean, strided.ideal.mean) == (1, 1)
        assert "argument" in [a.topic for a in strided.assumptions]

    def test_data_decides_nothing(self):
        text = kernel("int i = ids[t];\ns[i] = 1;", params="float *g, const int *ids")
        (access,) = accesses_of(text)
        assert access.certainty is Certainty.DATA_DEPENDENT
        assert access.reason.code == "data"
        assert access.wavefronts is None

    def test_shuffled_values_are_data(self):
        access = only("s[__shfl_sync(~0u, t * n, 3) + __shfl_xor_sync(~0u, t, n)] = 1;")
        assert access.certainty in (Certainty.DATA_DEPENDENT, Certainty.UNKNOWN)

    def test_a_name_that_nobody_declared(self):
        access = only("s[t * PITCH] = 1;")
        assert access.certainty is Certainty.UNKNOWN
        assert access.reason.code == "not-declared"


# ---- random index expressions, as C text and as Python

_LEAVES = st.one_of(
    st.sampled_from([("x", "x"), ("y", "y"), ("t", "(y * 16 + x)")]),
    st.integers(0, 40).map(lambda v: (str(v), str(v))),
)


def _grown(children):
    """Larger expressions; `trunc` and `rem` are C's division in Python."""
    pair = st.tuples(children, children)
    small = st.integers(1, 33)

    def infix(symbol):
        return pair.map(
            lambda p: (f"({p[0][0]} {symbol} {p[1][0]})", f"({p[0][1]} {symbol} {p[1][1]})")
        )

    def by_constant(c_form, python_form, constants):
        return st.tuples(children, constants).map(
            lambda p: (c_form.format(p[0][0], p[1]), python_form.format(p[0][1], p[1]))
        )

    return st.one_of(
        *(infix(symbol) for symbol in ("+", "-", "&", "|", "^")),
        by_constant("({} * {})", "({} * {})", st.integers(0, 9)),
        by_constant("({} / {})", "trunc({}, {})", small),
        by_constant("({} % {})", "rem({}, {})", small),
        by_constant("({} << {})", "({} << {})", st.integers(0, 4)),
        by_constant("({} >> {})", "({} >> {})", st.integers(0, 6)),
        by_constant("min({}, {})", "min({}, {})", small),
        by_constant("max({}, {})", "max({}, {})", small),
        st.tuples(children, children, children).map(
            lambda p: (
                f"({p[0][0]} < {p[1][0]} ? {p[2][0]} : {p[1][0]})",
                f"({p[2][1]} if {p[0][1]} < {p[1][1]} else {p[1][1]})",
            )
        ),
    )


def _trunc(a, b):
    return abs(a) // b * (1 if a >= 0 else -1)


@pytest.mark.slow
@settings(max_examples=250)
@given(st.recursive(_LEAVES, _grown, max_leaves=8))
def test_random_expressions_give_every_lane_its_address(expression):
    c_text, python_text = expression
    names = {"trunc": _trunc, "rem": lambda a, b: a - b * _trunc(a, b), "min": min, "max": max}
    compiled = compile(python_text, "index", "eval")

    def value(thread):
        return eval(compiled, {**names, "x": thread % 16, "y": thread // 16}) & 4095

    text = kernel(
        f"int x = threadIdx.x, y = threadIdx.y; t = y * 16 + x;\ns[({c_text}) & 4095] = 1;",
        shared="float s[4096]",
        block="dim3(16, 4)",
    )
    (access,) = accesses_of(text)
    assert lanes(access) == expected_lanes(value, 64)


def test_numbers_are_beside_each_other_where_all_lanes_have_the_same_unknowns():
    n, m = Symbol("n", "n"), Symbol("m", "m")
    lanes = np.arange(64)
    here = AffineInt(lanes, terms=((n, lanes // 8),))
    assert here.is_beside(AffineInt(7, terms=((n, np.arange(64) // 8),)))
    assert not here.is_beside(AffineInt(lanes, terms=((n, lanes % 8),)))
    assert not here.is_beside(AffineInt(lanes, terms=((m, lanes // 8),)))
    assert not here.is_beside(AffineInt(lanes))
