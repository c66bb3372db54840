"""Which neighbours LLVM and ptxas fuse; widths as in the SASS of nvcc 13.0.88 -O3, sm_90."""

from __future__ import annotations

from collections import Counter

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void k(const TYPE *a, const TYPE *b, TYPE *out, int n) {
  DECLARATION
  int tx = threadIdx.x * STEP, ty = threadIdx.y;
  BODY
}
void f(TYPE *a, int n) { k<<<1, dim3(4, 8)>>>(a, a, a, n); }
"""
PROMISED = "__shared__ __align__(16) TYPE s[32][64]; __shared__ __align__(16) TYPE t[32][64];"
PLAIN = "__shared__ TYPE s[32][64]; __shared__ TYPE t[32][64];"
TWO = "for (int j = 0; j < 4; ++j) { s[ty][tx + j] = a[j * n]; t[ty][tx + j] = b[j * n]; }"
ROWS = "for (int j = 0; j < 4; ++j) { s[ty][tx + j] = a[j * n]; s[ty + 8][tx + j] = b[j * n]; }"
HALVES = "for (int j = 0; j < 4; ++j) { s[ty][tx + j] = a[j * n]; s[ty][tx + 4 + j] = b[j]; }"
BETWEEN = """
  s[ty][tx] = a[n]; s[ty][tx + 1] = a[tx]; s[ty + 8][tx] = a[ty];
  s[ty][tx + 2] = a[2 * n]; s[ty][tx + 3] = a[3 * n];
"""
OTHER_COLUMN = "for (int j = 0; j < 4; ++j) { s[ty][tx + j] = a[j]; s[n][tx + j + 4] = b[j]; }"
PASSED = """
  TYPE x = s[ty][tx], y = s[ty][tx + 1];
  t[n][tx] = x;
  TYPE z = s[ty][tx + 2], w = s[ty][tx + 3];
  out[tx] = x * y + z * w;
"""
SUM = "TYPE x = 0; for (int j = 0; j < COUNT; ++j) x = x * n + s[ty][tx + j]; out[tx] = x;"
FILL = "for (int j = 0; j < COUNT; ++j) s[ty][tx + j] = a[j * n];"
DYNAMIC = "extern __shared__ %s TYPE d[]; TYPE (*s)[64] = (TYPE (*)[64])d; TYPE (*t)[64] = s + 32;"


def widths(body: str, declaration: str, type_: str = "float", step: int = 8) -> dict[str, int]:
    """Instructions of one warp by kind and widest bytes of a site, e.g. `{"store 16": 2}`."""
    text = KERNEL.replace("DECLARATION", declaration).replace("BODY", body)
    text = text.replace("TYPE", type_).replace("STEP", str(step))
    found: Counter[str] = Counter()
    for access in accesses_of(text):
        if access.instructions:
            found[f"{access.kind} {access.width_bytes}"] += access.instructions
    return dict(found)


@pytest.mark.parametrize(
    ("body", "promised", "plain"),
    [
        (TWO, {"store 16": 2}, {"store 4": 8}),
        (ROWS, {"store 16": 2}, {"store 4": 8}),
        (HALVES, {"store 16": 2}, {"store 4": 8}),
        (BETWEEN, {"store 16": 1, "store 4": 1}, {"store 8": 2, "store 4": 1}),
        (OTHER_COLUMN, {"store 16": 2}, {"store 4": 8}),
        (PASSED, {"load 16": 1, "store 4": 1}, {"load 8": 2, "store 4": 1}),
    ],
    ids=["arrays", "rows", "slots", "between", "column", "passed"],
)
def test_a_promised_alignment_lets_accesses_pass_others(
    body: str, promised: dict[str, int], plain: dict[str, int]
) -> None:
    assert widths(body, PROMISED) == promised
    assert widths(body, PLAIN) == plain


@pytest.mark.parametrize(
    ("apart", "stores"),
    [("2 * n + 1", {"store 8": 1}), ("2 * n", {"store 4": 2}), ("n", {"store 4": 2})],
)
def test_stores_move_past_a_load_of_bytes_that_they_do_not_write(
    apart: str, stores: dict[str, int]
) -> None:
    """As in a reduction over pairs (CV-CUDA's min_area_rect): odd words are read, an even written."""
    body = f"TYPE *p = d + tx + ty; p[0] = a[tx]; TYPE x = p[{apart}]; p[1] = x;"
    found = widths(body.replace("+ ty", "+ 64 * ty"), DYNAMIC % "")
    assert {kind: n for kind, n in found.items() if kind.startswith("store")} == stores


def test_dynamic_shared_memory_is_aligned_to_sixteen_bytes() -> None:
    assert widths(TWO, DYNAMIC % "__align__(16)") == {"store 16": 2}
    assert widths(TWO, DYNAMIC % "") == {"store 16": 2}


def test_runs_of_one_array_at_an_unknown_distance_are_open() -> None:
    """Four STS.64: `t[..][0]` may be `s[..][0]`, but not `s[..][1]`."""
    text = KERNEL.replace("DECLARATION", (DYNAMIC % "").replace("s + 32", "s + n"))
    text = text.replace("BODY", TWO).replace("TYPE", "float").replace("STEP", "8")
    found = [a.certainty.value for a in accesses_of(text) if a.width_bytes > 4]
    assert set(found) == {"sampled"}


TURNS = "for (int i = 0; i < 4; ++i) { s[4 * t + i] = x; s[OFFSET] = y; }"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (TURNS.replace("OFFSET", "1024 + t + 256 * i"), {"store 8": 2, "store 4": 4}),
        (TURNS.replace("OFFSET", "1025 + t + 256 * i"), {"store 8": 2, "store 4": 4}),
        (TURNS.replace("OFFSET", "1026 + t + 256 * i"), {"store 4": 8}),
        ("s[4 * t] = x; s[n] = y; s[4 * t + 1] = x;", {"store 4": 3}),
        ("s[4 * t] = x; s[4 * n + 1] = y; s[4 * t + 1] = x;", {"store 8": 1, "store 4": 1}),
    ],
)
def test_places_are_apart_by_what_divides_their_difference(
    body: str, expected: dict[str, int]
) -> None:
    """1024 - 3 * t is 1 modulo 3, 1280 - 3 * t is 2, 1536 - 3 * t is 0: pairs pass two stores."""
    begin = "int t = threadIdx.x; float x = a[t], y = b[t];"
    found: Counter[str] = Counter()
    text = KERNEL.replace("DECLARATION", "__shared__ __align__(16) float s[4096];")
    text = text.replace("BODY", begin + body).replace("TYPE", "float").replace("STEP", "1")
    for access in accesses_of(text.replace("dim3(4, 8)", "32")):
        if access.instructions:
            found[f"{access.kind} {access.width_bytes}"] += access.instructions
    assert found == expected


@pytest.mark.parametrize(
    ("type_", "count", "loads", "stores"),
    [
        ("unsigned char", 2, {"load 2": 1}, {"store 2": 1}),
        ("unsigned char", 3, {"load 4": 1}, {"store 2": 2}),
        ("unsigned char", 16, {"load 16": 1}, {"store 16": 1}),
        ("float", 3, {"load 16": 1}, {"store 8": 2}),
        ("float", 6, {"load 16": 2}, {"store 16": 2}),
        ("double", 2, {"load 16": 1}, {"store 16": 1}),
        ("unsigned short", 8, None, {"store 16": 1}),
        ("unsigned short", 6, None, {"store 8": 2}),
        ("unsigned short", 3, None, {"store 4": 2}),
    ],
)
def test_elements_of_a_promised_array_fuse_by_halves_of_sixteen_bytes(
    type_: str, count: int, loads: dict[str, int] | None, stores: dict[str, int]
) -> None:
    n = str(count)
    if loads is not None:
        assert widths(SUM.replace("COUNT", n), PROMISED, type_, 16) == loads
    assert widths(FILL.replace("COUNT", n), PROMISED, type_, 16) == stores


def test_bytes_of_an_array_without_a_promise_stay_bytes() -> None:
    assert widths(SUM.replace("COUNT", "4"), PLAIN, "unsigned char", 16) == {"load 1": 4}
    assert widths(FILL.replace("COUNT", "4"), PLAIN, "unsigned char", 16) == {"store 1": 4}


EPILOGUE = """\
__global__ void k(float *o, int n) {
  extern __shared__ int4 q[];
  float *s = (float *)q;
  int t = threadIdx.x;
  float c[16];
  for (int i = 0; i < 16; ++i) c[i] = o[i * n + t];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < %d; ++i) {
    int at = 128 * (t / 4) + 2 * (t %% 4) + %s;
    c[i] += s[at];
    s[at] = c[i];
  }
  for (int i = 0; i < 16; ++i) o[i * n + t] = c[i];
}
void run(float *o, int n) { k<<<1, 128, 65536>>>(o, n); }
"""


@pytest.mark.parametrize(
    ("count", "at", "certainty"),
    [
        (16, "(i / 2) * 8 + (i % 2)", Certainty.ASSUMED),  # 8 LDS.64, 8 STS.64
        (8, "(i % 4) / 2 * 1024 + (i / 4) * 8 + (i % 2)", Certainty.ASSUMED),  # 4 and 4
        # 3 LDS.64 and 10 LDS, 3 STS.64 and 10 STS
        (16, "(i / 8) * 16 + (i % 4) / 2 * 1024 + i % 8 / 4 * 8 + (i % 2)", Certainty.SAMPLED),
        (16, "(7 - i / 2) * 8 + (i % 2)", Certainty.SAMPLED),  # 7 LDS.64 and 2 LDS, 7 and 2
    ],
)
def test_what_fuses_of_updates_that_do_not_ascend_is_open(count, at, certainty):
    found = accesses_of(EPILOGUE % (count, at))
    assert [access.certainty for access in found] == [certainty] * 2
    assert {p.width for access in found for p in access.patterns if p.count} == {8}


BUTTERFLIES = """
__global__ void k(float *d) {
  __shared__ float s[256];
  int t = threadIdx.x;
  for (int len = 2; len <= 256; len <<= 1) {
    int half = len / 2, i = t / half * len + t % half, j = i + half;
    float a = s[i], b = s[j];
    s[i] = a + b;
    s[j] = a - b;
    __syncthreads();
  }
  d[t] = s[t];
}
void f(float *d) { k<<<1, 128>>>(d); }
"""


def test_a_division_by_one_leaves_what_is_known_of_the_number() -> None:
    """One LDS.64 and STS.64 where `half` is 1, seven pairs of LDS and STS."""
    issued = [(str(a.kind), a.instructions) for a in accesses_of(BUTTERFLIES)[:4]]
    assert sorted(issued) == [("load", 28), ("load", 32), ("store", 28), ("store", 32)]


@pytest.mark.parametrize("own", ["Row *own", "int own", "long long own", "float own"])
def test_a_member_stays_apart_from_an_array_beside_it(own):
    """nvcc 13.0.88, sm_90: one STS.64 for both words, whatever type the other member has."""
    value = "s->own[t].%s" if "*" in own else "in[t * int(s->own)].%s"
    text = f"""
struct Row {{ int a, b; size_t c; int d; }};
struct State {{ int n, m; {own}; Row cache[128]; }};
__global__ void k(const Row *in, State *from, int *out) {{
  __shared__ State st; State *s = &st;
  int t = threadIdx.x;
  if (t == 0) s->own = from->own;
  __syncthreads();
  s->cache[t].a = {value % "a"};
  s->cache[t].b = {value % "b"};
  __syncthreads();
  out[t] = s->cache[t ^ 1].a;
}}
void run(const Row *in, State *from, int *out) {{ k<<<1, 128>>>(in, from, out); }}
"""
    stores = [a for a in accesses_of(text) if a.kind is AccessKind.STORE and a.span.line > 8]
    assert [(a.width_bytes, a.instructions) for a in stores] == [(8, 0), (8, 4)]


def test_an_extern_array_with_an_extent_is_defined_as_any_other():
    body = "for (int j = 0; j < 4; ++j) s[ty + 1][tx + j] = s[0][j]; out[tx] = s[ty + 2][tx];"
    given, open_ = "extern __shared__ TYPE s[32][64];", "extern __shared__ TYPE s[][64];"
    assert widths(body, given) == widths(body, PLAIN) == {"store 4": 4, "load 4": 5}
    assert widths(body, open_) == {"store 16": 1, "load 16": 1, "load 4": 1}
