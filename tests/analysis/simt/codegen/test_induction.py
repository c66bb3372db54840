"""Loops that are not fully unrolled: SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void __launch_bounds__(256) k(const float *in, float *out, int n) {
  __shared__ ALIGN float s[8192];
  int t = threadIdx.x;
  for (int i = t; i < 8192; i += 256) s[i] = in[i];
  __syncthreads();
  float x = 0;
  const float *p = s + 16 * t;
#pragma unroll 1
  for (int k = 0; k < n; k++) { BODY }
  out[t] = x;
}
"""


def loads(body, align=""):
    """Returns width, number in each warp, and certainty of the loads of the loop."""
    found = accesses_of(KERNEL.replace("BODY", body).replace("ALIGN", align))
    own = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    return {(a.width_bytes, a.certainty) for a in own}, sum(a.instructions for a in own) // 8


def product(offsets, place="s[16 * t + 32 * k + {}]"):
    return "x = x * " + " * ".join(f"({place.format(o)} + {o})" for o in offsets) + ";"


@pytest.mark.parametrize(("count", "width"), [(2, 4), (4, 8), (6, 4), (8, 16), (12, 8), (16, 16)])
def test_a_pointer_into_the_middle_of_neighbours_is_as_aligned_as_the_middle(count, width):
    expected = {(width, Certainty.ASSUMED)}, count * 4 // width
    assert loads(product(range(count))) == expected
    assert loads(product(reversed(range(count)))) == expected


@pytest.mark.parametrize(
    ("offsets", "widths", "number"),
    [
        ((0, 1, 2), {4, 8}, 2),
        ((0, 1, 2, 4), {4, 8}, 3),
        ((0, 1, 6, 7), {4}, 4),
        ((0, 1, 2, 3, 4), {4, 8}, 3),
        (range(7), {4}, 7),
        ((0, 4, 5, 6, 7), {4}, 5),
        ((*range(4), *range(8, 12)), {16}, 2),
        ((*range(4), 32, 33), {8, 16}, 2),
        ((*range(8), *range(16, 20)), {16}, 3),
        ((2, 3), {4}, 2),  # the pointer is to the last; it would be there of 4 to 7, too
        ((4, 5, 6, 7), {4}, 4),
        (range(4, 12), {8}, 4),  # to 6, behind the middle of 0 and the last
        (range(-5, -1), {4, 8}, 3),  # in front of 0: nvcc 13.5
        (range(-4, 0), {8}, 2),
        (range(-8, 0), {16}, 2),
        (range(-7, -3), {4}, 4),
        (range(-9, -1), {4, 16}, 3),
        (range(-12, 0), {8}, 6),
        (range(-3, 1), {4}, 4),
        (range(-7, 1), {4}, 8),
        (range(-5, 1), {4, 8}, 4),
        (range(-2, 2), {8}, 2),
        (range(-4, 4), {16}, 2),
        (range(-6, 2), {8}, 4),
        (range(8, 16), {4}, 8),
        ((3, 4, 5, 6, 7, 8), {4, 16}, 3),
    ],
)
def test_the_pointer_lets_offsets_have_the_fewest_bits(offsets, widths, number):
    assert loads(product(offsets)) == ({(width, Certainty.ASSUMED) for width in widths}, number)


@pytest.mark.parametrize(
    "offsets",
    [
        (-1, 0, 1),
        (4, 5, 7),
        (1, 2, 3),
        (1, 2, 3, 4),
        (1, 2, 4, 5),
        (0, 1, 4, 5),
        (-3, -2, -1),
        (-1, 0, 1, 3),
        (32, 33, 64, 65),
    ],
)
def test_which_of_two_pointers_it_is_whose_offsets_have_as_many_bits_is_open(offsets):
    """Depends on where the loop begins and on how the index is written (nvcc 13.5.37)."""
    found, _ = loads(product(offsets))
    assert Certainty.SAMPLED in {certainty for _, certainty in found}


def test_addresses_that_need_no_such_pointer_stay_as_aligned_as_they_are():
    four = {(16, Certainty.ASSUMED)}, 1
    assert loads(product(range(4), "s[32 * k + {}]")) == four
    assert loads(product(range(4)), "__align__(16)") == four
    assert loads(product(range(4), "p[{}]") + " p += 32;") == four


BLOCKS = """
__global__ void __launch_bounds__(128) k(const float *in, float *out, float y, int n) {
  __shared__ ALIGN float s[8192];
  __shared__ float q[4096];
  int t = threadIdx.x;
  for (int i = t; i < 4096; i += 128) s[i] = q[i] = in[i];
  __syncthreads();
  float a = 0;
  const float *p = s + 32 * t;
  LOOP
  out[t] = a;
}
void f(float *a, int n) { k<<<1, 128>>>(a, a, 2.f, n); }
"""


def in_blocks(loop, align="", kind=AccessKind.LOAD):
    """Returns width and certainty of the accesses in the loop, and how many a warp makes."""
    found = accesses_of(BLOCKS.replace("LOOP", loop).replace("ALIGN", align))
    line = BLOCKS[: BLOCKS.index("LOOP")].count("\n") + 1
    own = [a for a in found if a.kind is kind and a.span.line >= line and a.instructions]
    return {(a.width_bytes, a.certainty) for a in own}, sum(a.instructions for a in own) // 4


@pytest.mark.parametrize(
    ("factor", "width"), [(3, 4), (4, 8), (5, 4), (6, 4), (8, 16), (12, 8), (16, 16)]
)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("a += s[32 * t + i];", AccessKind.LOAD),
        ("a += s[32 * t + i] * in[i];", AccessKind.LOAD),
        ("a += p[i];", AccessKind.LOAD),
        ("s[32 * t + i] = in[i * n];", AccessKind.STORE),
    ],
)
def test_iterations_of_one_block_have_a_pointer_into_their_middle(factor, width, body, kind):
    loop = f"\n#pragma unroll {factor}\nfor (int i = 0; i < {4 * factor}; i++) {{ {body} }}"
    expected = {(width, Certainty.ASSUMED)}, 4 * factor * 4 // width
    assert in_blocks(loop, kind=kind) == expected


@pytest.mark.parametrize(
    ("head", "place", "width"),
    [
        ("int i = 4; i < 20", "32 * t + i", 4),  # to 7
        ("int i = 0; i < 16", "32 * t + i + 512", 4),
    ],
)
def test_the_places_of_a_block_may_begin_anywhere(head, place, width):
    loop = f"#pragma unroll 4\nfor ({head}; i++) a += s[{place}];"
    assert in_blocks("\n" + loop) == ({(width, Certainty.ASSUMED)}, 64 // width)


def test_two_arrays_have_a_pointer_each():
    body = "a += s[32 * t + i] * q[20 * t + i];"
    loop = f"\n#pragma unroll 4\nfor (int i = 0; i < 32; i++) {body}"
    assert in_blocks(loop) == ({(8, Certainty.ASSUMED)}, 2 * 16)


def test_which_pointer_two_iterations_have_is_open():
    loop = "\n#pragma unroll 2\nfor (int i = 0; i < 16; i++) a += s[32 * t + i];"
    assert {certainty for _, certainty in in_blocks(loop)[0]} == {Certainty.SAMPLED}


@pytest.mark.parametrize(
    ("loop", "align"),
    [
        ("for (int i = 0; i < 32; i++) a += s[32 * t + i];", "__align__(16)"),
        ("for (int i = 0; i < 32; i++) a += *p++;", ""),
        ("for (int i = 0; i < 32; i += 2) a += p[i] + 2 * p[i + 1];", ""),
    ],
)
def test_blocks_whose_loads_are_as_aligned_as_they_are(loop, align):
    assert in_blocks(f"\n#pragma unroll 4\n{loop}", align) == ({(16, Certainty.ASSUMED)}, 8)


@pytest.mark.parametrize(
    ("function", "trips", "width"),
    [
        ("expf", 16, 16),  # fully unrolled
        ("logf", 8, 16),
        ("logf", 16, 8),  # by four
        ("log1pf", 24, 8),
        ("expf", 32, 16),  # by eight
        ("exp", 8, 16),
    ],
)
def test_what_a_function_costs_decides_how_far_its_loop_is_unrolled(function, trips, width):
    loop = f"for (int i = 0; i < {trips}; i++) a += {function}(s[32 * t + i]);"
    loop = loop.replace("exp(", "exp((double)")
    assert in_blocks(loop) == ({(width, Certainty.ASSUMED)}, trips * 4 // width)


@pytest.mark.parametrize(
    ("loop", "place", "width"),
    [
        ("for (int k = 0; k < n; k++) { BODY }", "s[2 * t + 64 * k + {}]", 8),
        ("for (int k = 2; k < n; k++) { BODY }", "s[2 * t + 64 * k + {}]", 8),
        ("for (int k = 1; k < n; k++) { BODY }", "s[2 * t + 64 * k + {}]", 4),
        ("int k = 0; while (k < n) { k++; BODY }", "s[2 * t + 64 * k + {}]", 4),
        ("for (int k = 32; k > n; k--) { BODY }", "s[2 * t + 64 * k + {}]", 4),
        ("for (int k = 0; k < n; k++) { BODY }", "s[1024 + 2 * t + 64 * k + {}]", 4),
        ("for (int k = n; k < m; k++) { BODY }", "s[2 * t + 64 * k + {}]", 8),
        ("int k = n; do { k++; BODY } while (k < m);", "s[2 * t + 64 * k + {}]", None),  # 4
        ("for (int k = n + 1; k < m; k++) { BODY }", "s[2 * t + 64 * k + {}]", None),  # 8
    ],
)
def test_four_iterations_of_a_loop_that_run_time_ends_have_a_pointer(loop, place, width):
    body = "x = x * " + " * ".join(place.format(o) for o in range(2)) + ";"
    head = "#pragma unroll 1\n  for (int k = 0; k < n; k++) { BODY }"
    text = KERNEL.replace(head, loop).replace("int n)", "int n, int m)")
    found = accesses_of(text.replace("BODY", body).replace("ALIGN", ""))
    own = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    assert {a.width_bytes if a.certainty is Certainty.ASSUMED else None for a in own} == {width}


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("last", ["", "__syncwarp();", "__syncthreads();", "x += in[k];"])
@pytest.mark.parametrize("launch", ["", "void f(float *p) { k<<<1, 256>>>(p, p, 10); }"])
def test_so_has_one_whose_number_a_launch_tells_and_one_with_a_barrier(start, last, launch):
    """SASS of nvcc 13.5.37: two LDS from 1 on, an LDS.64 from 0 and 2 on."""
    text = KERNEL.replace("int k = 0;", f"int k = {start};").replace("#pragma unroll 1", "")
    body = "x += s[2 * t + 64 * k] * s[2 * t + 64 * k + 1]; " + last
    found = accesses_of(text.replace("BODY", body).replace("ALIGN", "") + launch)
    own = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    width = {(a.width_bytes, a.certainty) for a in own}
    assert width == {(4 if start == 1 else 8, Certainty.ASSUMED)}


@pytest.mark.parametrize(
    ("start", "end", "step"), [("2 * t", 1024, 512), ("t", 1024, 128), ("t", "n", 128)]
)
def test_what_a_loop_from_a_thread_on_subtracts_from_a_constant_is_aligned_to_nothing(
    start, end, step
):
    # nvcc 13.5: two LDS; nothing but the loop's counter is subtracted
    loop = f"\n#pragma unroll 1\nfor (int k = {start}; k < {end}; k += {step}) "
    found, _ = in_blocks(loop + "a += s[2046 - 2 * k] * s[2047 - 2 * k];")
    assert found == {(4, Certainty.ASSUMED)}


@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        ("int k = 0; k < 64; k += 2", "s[62 - k] * s[63 - k]", ({8}, 32)),
        ("int k = 1; k < 64; k += 2", "s[63 - k] * s[64 - k]", ({8}, 32)),
        ("int k = 0; k < 64; k += 2", "s[63 - k] * s[64 - k]", ({4}, 64)),
        ("int k = 0; k < 64; k += 4", "s[60 - k] * s[61 - k] * s[62 - k]", ({16}, 16)),
        ("int k = 0; k < 64; k += 4", "s[60 - k] * s[61 - k] * s[65 - k]", ({4, 8}, 32)),
        ("int k = 0; k < 64; k += 2", "s[62 - k] * s[63 - k]; if (n == k) break", ({4}, 64)),
        ("int k = 0; k < 64; k += 2", "s[62 + 2 * n - k] * s[63 + 2 * n - k]", ({4}, 64)),
    ],
)
def test_what_a_loop_from_a_constant_on_subtracts_for_all_threads_is_as_aligned_as_it_is(
    head, body, found
):
    # nvcc 13.5.37
    loop = f"\n#pragma unroll 1\nfor ({head}) {{ a += {body}; }}"
    (kinds, number) = in_blocks(loop)
    assert ({width for width, _ in kinds}, number) == found
    assert {certainty for _, certainty in kinds} == {Certainty.ASSUMED}


@pytest.mark.parametrize(
    ("place", "end", "certainty"),
    [
        ("1024 - 64 * k + 2 * t", 16, Certainty.SAMPLED),  # nvcc 13.5.37: an LDS.64
        ("(15 - k) * 64 + 2 * t", 16, Certainty.SAMPLED),  # two LDS, as those below
        ("1024 - 64 * k + 2 * t", "n", Certainty.ASSUMED),
        ("510 - 2 * t + 64 * k", 16, Certainty.ASSUMED),
    ],
)
def test_what_it_subtracts_from_the_place_of_a_thread_is_open(place, end, certainty):
    loop = f"\n#pragma unroll 1\nfor (int k = 0; k < {end}; k++) a += s[{place}] * s[{place} + 1];"
    found, _ = in_blocks(loop)
    assert found == {(4, certainty)}


NEST = """
__global__ void __launch_bounds__(128) k(const float *in, float *out, int n) {
  __shared__ float s[64 * 64];
  int t = threadIdx.x, w = t / 32, l = t % 32;
  for (int i = t; i < 4096; i += 128) s[i] = in[i];
  __syncthreads();
  for (int q = FROM; q < TO; q += BY) {
    float x = 0;
#pragma unroll 1
    for (int c = 0; c < 8; c++) x += SUM;
    out[q * 32 + l] = x;
  }
}
"""


@pytest.mark.parametrize(("count", "widths"), [(3, {4, 8}), (4, {8}), (6, {4}), (8, {16})])
@pytest.mark.parametrize(
    ("begin", "to", "by", "rows"),
    [
        ("w", "16", "4", "q"),
        ("w + 3", "19", "4", "q"),
        ("w + 3", "n", "4", "q"),
        ("3", "19", "1", "q + l"),
        ("3", "n", "1", "q + l"),
    ],
)
def test_a_pointer_is_counted_from_where_the_loops_around_stand(begin, to, by, rows, count, widths):
    """Every iteration of a loop around runs the same instructions (nvcc 13.0.88 and 13.5.37)."""
    text = " + ".join(f"s[({rows}) * 64 + c * 8 + {i}]" for i in range(count))
    head = (("FROM", begin), ("TO", to), ("BY", by), ("SUM", text))
    source = NEST
    for name, part in head:
        source = source.replace(name, part)
    found = [a for a in accesses_of(source) if a.kind is AccessKind.LOAD and a.instructions]
    assert {a.width_bytes for a in found} == widths
    assert {a.certainty for a in found} == {Certainty.ASSUMED}


CONSTANT = """
__global__ void k(const float *in, float *out) {
  __shared__ float s[32 * 256];
  int l = threadIdx.x;
  for (int i = l; i < 8192; i += 32) s[i] = in[i];
  __syncthreads();
  float x = 0;
#pragma unroll COPIES
  for (int c = 0; c < 8; c++) x += SUM;
  out[l] = x;
}
void f(const float *in, float *out) { k<<<1, 32>>>(in, out); }
"""


@pytest.mark.parametrize(
    ("copies", "offsets", "widths"),
    [
        (1, (0, 1), {8: 8}),
        (1, (1, 2), {4: 16}),
        (1, (0, 1, 2), {8: 8, 4: 8}),
        (1, (0, 2, 4, 5, 6), {4: 16, 16: 8}),
        (1, (1, 2, 3, 6, 7), {4: 8, 8: 16}),
        (1, (2, 3, 4, 5, 6), {4: 40}),
        (1, (0, 3, 5, 6, 7), {4: 40}),
        (2, (0, 1), {4: 16}),
        (2, (0, 1, 2), {16: 8}),
        (2, (0, 3, 4, 5), {4: 16, 8: 8}),
        (2, (0, 4, 5, 6, 7), {4: 8, 16: 8}),
        (2, (2, 3, 4), {8: 8, 4: 8}),
    ],
)
def test_the_middle_is_taken_of_many_in_a_loop_between_constants(copies, offsets, widths):
    """SASS of nvcc 13.0.88 and 13.5.37 (-O3, sm_90), one warp."""
    text = " + ".join(f"s[l * 256 + c * 16 + {i}]" for i in offsets)
    found = accesses_of(CONSTANT.replace("COPIES", str(copies)).replace("SUM", text))
    counts = {}
    for a in found:
        if a.kind is AccessKind.LOAD:
            counts[a.width_bytes] = counts.get(a.width_bytes, 0) + a.instructions
    assert counts == widths


CROWDED = """
__global__ void __launch_bounds__(128) k(const float *a, const float *b, float *c, int K) {
  __shared__ float as[128][32];
  __shared__ float bs[32][64];
  int t = threadIdx.x, tx = t % 8, ty = t / 8;
  float acc[8][8] = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = t; i < 4096; i += 128) as[i / 32][i % 32] = a[i / 32 * K + k0 + i % 32];
    for (int i = t; i < 2048; i += 128) bs[i / 64][i % 64] = b[(k0 + i / 64) * 64 + i % 64];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 32; k++) {
      float ra[8], rb[8];
      for (int i = 0; i < 8; i++) ra[i] = as[ty * 8 + i][k];
      for (int j = 0; j < 8; j++) rb[j] = bs[k][tx * 8 + j];
      for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) acc[i][j] += ra[i] * rb[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) c[(i * 8 + j) * 128 + t] = acc[i][j];
}
void f(const float *a, const float *b, float *c, int K) { k<<<1, 128>>>(a, b, c, K); }
"""


def test_the_last_place_among_very_many_is_open():
    """SASS of nvcc 13.5.37: LDS of as, at its last place, 8-way; LDS.128 of bs, at its middle."""
    found = [a for a in accesses_of(CROWDED) if a.kind is AccessKind.LOAD]
    assert [(a.span.line, a.certainty) for a in found] == [
        (14, Certainty.SAMPLED),
        (15, Certainty.SAMPLED),
    ]
