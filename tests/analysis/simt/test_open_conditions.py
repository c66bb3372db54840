"""Conditions that are known for some threads only: figures as an H200's counters show."""

from __future__ import annotations

import pytest
from conftest import accesses_of, ways_of

from smemlint.facts import AccessKind, Certainty
from smemlint.reasons import Assumption, Topic, outcome

TILE = """
__global__ void k(const float *in, float *out, int n) {
  __shared__ float tile[18][18];
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  int j = threadIdx.y + blockIdx.y * blockDim.y;
  %s
  out[i] = 0;
}
void f(float *a) { k<<<64, dim3(16, 16)>>>(a, a, 9); }
"""
HALO = "tile[threadIdx.y + 1][threadIdx.x] = in[i];"
ONE_COLUMN = [(7, "store", 1.0)]
WHOLE_ROWS = [(7, "store", 2.0)]


@pytest.mark.parametrize(
    "text",
    [
        f"if (threadIdx.x == 0 && i >= n)\n {HALO}",
        f"if (i >= n && threadIdx.x == 0)\n {HALO}",
        f"if (!(threadIdx.x > 0 || i >= n))\n {HALO}",
        f"if (threadIdx.x > 0 || i >= n) return;\n {HALO}",
        f"bool edge = threadIdx.x == 0; if (edge) edge = i >= n; if (edge)\n {HALO}",
        f"bool edge = false; if (i >= n) edge = threadIdx.x == 0; if (edge)\n {HALO}",
        f"bool edge = threadIdx.x == 0 ? i >= n : false; if (edge)\n {HALO}",
        f"int edge = threadIdx.x == 0; edge = edge && i >= n; if (edge)\n {HALO}",
    ],
)
def test_threads_for_which_a_condition_is_false_take_no_part(text: str) -> None:
    assert ways_of(TILE % text) == ONE_COLUMN


@pytest.mark.parametrize(
    "text",
    [
        f"if (threadIdx.x == 0 || i >= n)\n {HALO}",
        f"if (!(threadIdx.x == 0 && i >= n))\n {HALO}",
        f"bool edge = threadIdx.x == 0; if (i >= n) edge = true; if (edge)\n {HALO}",
        f"int edge = threadIdx.x == 0 && i >= n; edge += n; if (edge)\n {HALO}",
    ],
)
def test_threads_for_which_it_may_hold_do(text: str) -> None:
    assert ways_of(TILE % text) == WHOLE_ROWS


def test_the_other_way_leaves_out_the_threads_for_which_it_is_known_to_hold() -> None:
    other = "tile[threadIdx.y][threadIdx.x] = in[i];"
    text = f"if (threadIdx.x > 0 || i >= n)\n {HALO} else\n {other}"
    assert ways_of(TILE % text) == [*WHOLE_ROWS, (8, "store", 1.0)]


SELECTIVE = """
__global__ void k(const int *in, const float *x, float *out, int n) {
  __shared__ float s[1024];
  int i = threadIdx.x;
  if (%s)
    s[%s] = x[i];
  out[i] = 0;
}
void f(int *a, float *b, int n) { k<<<64, 128>>>(a, b, b, n); }
"""


@pytest.mark.parametrize("test", ["in[i] == 7", "in[i] & 1", "in[0] == threadIdx.x"])
def test_what_singles_out_threads_by_data_leaves_conflicts_open(test: str) -> None:
    (access,) = accesses_of(SELECTIVE % (test, "i * 2"))
    assert access.certainty == "data-dependent"
    assert access.reason.code == "data"


@pytest.mark.parametrize("test", ["in[i] == 7", "in[i] & 1", "in[0] == threadIdx.x"])
def test_fewer_threads_of_a_free_access_are_free_too(test: str) -> None:
    assert ways_of(SELECTIVE % (test, "i")) == [(6, "store", 1.0)]


@pytest.mark.parametrize("test", ["x[i] > 0.5f", "i < n", "n == 3", "blockIdx.x == 3"])
def test_what_whole_warps_or_half_of_them_take_is_priced(test: str) -> None:
    assert ways_of(SELECTIVE % (test, "i * 2")) == [(6, "store", 2.0)]


@pytest.mark.parametrize(
    ("body", "wavefronts"),
    [
        ("int at = t; if (n > 3) at = t + 32; g[0] = s[at];", 1),
        ("int at = 2 * t; if (n > 3) at = 2 * t + m; g[0] = s[at];", 2),
        ("int w = 32; if (n > 3) w = 64; g[0] = s[t * w / 32 + w];", None),
        ("int at = n > 3 ? m : 2 * m; g[0] = s[at + t];", 1),
        ("int at = t; if (n > 3) at = 2 * t; g[0] = s[at];", None),
    ],
)
def test_one_of_two_that_differ_by_the_same_for_all(body: str, wavefronts: int | None) -> None:
    text = f"""
__global__ void k(float *g, int n, int m) {{
  __shared__ float s[4096];
  int t = threadIdx.x;
  {body}
}}
void f(float *g, int n, int m) {{ k<<<1, 32>>>(g, n, m); }}
"""
    (access,) = accesses_of(text)
    assert (access.wavefronts.mean if access.wavefronts else None) == wavefronts


def test_a_block_that_shrinks_at_the_end_leaves_its_arrays_apart() -> None:
    text = """
__global__ void k(const float *x, float *o, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x, size = blockDim.x;
  for (int j = 0; j < n; j += size) {
    if (j + size > n) size = n - j;
    if (j + t < n) { s[t] = x[j]; s[t + size] = x[j + 1]; }
    __syncthreads();
    for (int i = 0; i < size; i++) o[t] += s[i] + s[i + size];
  }
}
void f(float *x, float *o, int n) { k<<<1, 256>>>(x, o, n); }
"""
    found = [(str(a.kind), a.certainty, a.wavefronts.mean) for a in accesses_of(text)]
    assert found == [("store", "assumed", 1)] * 2 + [("load", "assumed", 1)] * 2


_HELD = Assumption(Topic.NUMBER, "`min(t + 1, m - 1)` is `t + 1`", "min(t + 1, m - 1)")
_LISTED = "std::min({2 * t, 48, m})"
_LIST_HELD = Assumption(Topic.NUMBER, f"`{_LISTED}` is `min({{2 * t, 48}})`", _LISTED)


@pytest.mark.parametrize(
    ("body", "wavefronts", "condition"),
    [
        ("int i = t - 1; i = i < m ? m : i;", 1, outcome("i < m", False)),
        ("int i = 2 * t; if (i > m) i = m;", 2, outcome("i > m", False)),
        ("int i = t; i = i <= m ? i : m;", 1, outcome("i <= m", True)),
        ("int i = min(t + 1, m - 1);", 1, _HELD),
        (f"int i = {_LISTED};", 2, _LIST_HELD),
        ("int i = t; i = i < m ? i + 1 : m;", None, None),
        ("int i = t; i = i == m ? i : m;", None, None),
        ("int i = t; if (m > 3) i = 2 * t;", None, None),
    ],
)
def test_a_value_that_is_held_to_a_bound_is_priced_inside_of_it(
    body: str, wavefronts: int | None, condition: Assumption | None
) -> None:
    text = f"""
__global__ void k(float *g, int m) {{
  __shared__ float s[64];
  int t = threadIdx.x;
  {body}
  g[t] = s[i];
}}
void f(float *g, int m) {{ k<<<1, 32>>>(g, m); }}
"""
    (access,) = accesses_of(text)
    assert (access.wavefronts.mean if access.wavefronts else None) == wavefronts
    assert access.conditions == ((condition,) if condition else ())


def test_the_condition_that_chose_a_type_is_assumed():
    """Each build of cholla defines PRECISION; without it `Real` is no type at all."""
    (store,) = accesses_of("""\
#if PRECISION == 1
typedef float Real;
#endif
#if PRECISION == 2
typedef double Real;
#endif
__global__ void k(Real *o) {
  __shared__ Real s[6 * 32];
  s[6 * threadIdx.x] = o[threadIdx.x];
}
void run(Real *o) { k<<<1, 32>>>(o); }
""")
    assert store.wavefronts.mean == 2
    assert "PRECISION == 1" in {assumption.subject for assumption in store.assumptions}


def test_conditions_around_members_are_assumed():
    """The bodies of Bonsai have 96 bytes, and 128 in builds that exchange time steps."""
    (store,) = accesses_of("""\
struct Inner {
  float4 a;
#ifdef WITH_KEY
  float4 key;
#endif
};
typedef struct Body {
  float4 b;
  Inner inner;
#ifdef WITH_TIME
  float4 time;
#endif
} Body;
__global__ void k(float4 *o) {
  __shared__ Body s[2][16];
  s[threadIdx.x / 16][threadIdx.x % 16].b = o[threadIdx.x];
}
void run(float4 *o) { k<<<1, 32>>>(o); }
""")
    assumed = {a.subject for a in store.assumptions if a.topic is Topic.BUILD}
    assert assumed == {"defined(WITH_KEY)", "defined(WITH_TIME)"}


STAIRCASE = """
__global__ void k(float *out, int n, unsigned m) {
  extern __shared__ float s[];
  int lane = threadIdx.x %% 32;
  for (int row = 0; row < n; ++row)
    if (%s) s[20 * lane + row] = out[row];
  out[lane] = s[lane];
}
void f(float *a) { k<<<64, 128, 8192>>>(a, 9, 31); }
"""


@pytest.mark.parametrize(
    ("test", "certainty"),
    [
        ("row < lane", "data-dependent"),
        ("row < lane && lane < n", "data-dependent"),
        ("!(lane <= row || n < 5)", "data-dependent"),
        ("unsigned(row - lane) < n", "data-dependent"),
        ("unsigned(row - lane) < unsigned(out[3])", "data-dependent"),
        ("n > unsigned(m - row - lane)", "data-dependent"),
        ("unsigned(row * 32 - lane) < n", "assumed"),
        ("row * 32 + lane < n", "assumed"),
        ("lane < n", "assumed"),
    ],
)
def test_what_loses_threads_with_each_iteration_leaves_conflicts_open(test, certainty) -> None:
    store, _ = accesses_of(STAIRCASE % test)
    assert store.certainty == certainty


@pytest.mark.parametrize(
    ("test", "certainty"),
    [("(threadIdx.x & m) == 0", "data-dependent"), ("threadIdx.x < m", "assumed")],
)
def test_how_many_threads_share_a_word_of_an_atomic_hangs_on_them_too(test, certainty) -> None:
    atomic, *_ = accesses_of(
        "__global__ void k(float *out, unsigned m) { __shared__ float sum;"
        f"if ({test}) atomicAdd(&sum, out[threadIdx.x]); __syncthreads(); *out = sum; }}"
        "void f(float *a) { k<<<1, 64>>>(a, 31); }"
    )
    assert (atomic.kind, atomic.certainty) == ("atomic", certainty)


@pytest.mark.parametrize(
    "index",
    ["t * 2 + (n == 0) * 6", "(n > 4 && n < 9) + t * 2", "t * 2 - (int)!n", "t * 2 | (n > 4)"],
)
def test_a_condition_of_all_threads_is_a_number_that_they_share(index: str) -> None:
    assert ways_of(
        "__global__ void k(float *out, int n) { __shared__ float s[512]; int t = threadIdx.x;"
        f"s[{index}] = n; __syncthreads(); out[t] = s[t]; }}"
        "void f(float *a) { k<<<64, 128>>>(a, 9); }"
    ) == [(1, "store", 2.0), (1, "load", 1.0)]


@pytest.mark.parametrize(
    ("conditions", "width"),
    [
        (["(d > 0) * 4", "(d > 0) * 4"], 16),
        (["(d > 0) * 4", "(0 < d) * 4"], 16),
        (["(d > 0) * 4", "!(d <= 0) * 4"], 16),
        (["!!d * 4", "(d != 0) * 4"], 16),
        (["!d * 32", "!d * 32"], 16),
        (["(d > 0 && d < 9) * 32", "(d > 0 && d < 9) * 32"], 16),
        (["(d > 0) * 4", "(d > 1) * 4"], 8),
        (["(d > 0) * 4", "!(d > 0) * 4"], 8),
        (["(d < 9) * 4", "((unsigned)d < 9) * 4"], 8),
        (["(d > 0 && d < 9) * 4", "(d > 0 || d < 9) * 4"], 8),
    ],
)
def test_equal_conditions_are_one_number(conditions: list[str], width: int) -> None:
    """Four stores, of which nvcc 13.0.88 (sm_90, -O3) makes one STS.128 of equal conditions."""
    a, b = conditions
    stores = " ".join(f"s[t * 4 + {shift} + {k}] = 1;" for k, shift in enumerate([a, a, b, b]))
    found = accesses_of(
        "__global__ void k(float *out, int d) { __shared__ float s[512]; int t = threadIdx.x;"
        f"{stores} __syncthreads(); out[t] = s[t]; }}"
        "void f(float *a, int d) { k<<<1, 32>>>(a, d); }"
    )
    stored = [x for x in found if x.kind is AccessKind.STORE and x.instructions]
    assert {x.width_bytes for x in stored} == {width}
    assert sum(x.instructions for x in stored) == 16 // width


SEARCH = """
__global__ void k(const int *in, int *out, int n) {
  __shared__ int table[1024];
  unsigned lane = threadIdx.x, code = lane * 32, first = 0;
  int found = 0;
  for (int length = 0; length < %s; ++length) {
    if (%s) {
      found += table[code];
      %s
    }
    first += in[length];
  }
  out[lane] = found;
}
void f(int *a) { k<<<64, 32>>>(a, a, 9); }
"""


@pytest.mark.parametrize("trips", ["10", "n"])
@pytest.mark.parametrize(
    ("test", "leave", "certainty"),
    [
        ("code - first < in[length]", "break;", "data-dependent"),
        ("first > in[length]", "break;", "assumed"),  # a whole block finds its own at once
        ("code - first < in[length]", "", "assumed"),
        ("code - first < in[length]", "switch (n) { case 3: break; }", "assumed"),
    ],
)
def test_lanes_that_leave_a_search_each_in_its_own_iteration_are_open(
    trips: str, test: str, leave: str, certainty: str
) -> None:
    """As in cudf's inflate: a code of so many bits is that of few lanes of a warp."""
    (load,) = accesses_of(SEARCH % (trips, test, leave))
    assert load.certainty == certainty


GUARDED = """\
__global__ void k(float *g, int n, const int *d) {
  __shared__ float s[32 * 9];
  for (int i = threadIdx.x; i < 288; i += 32) s[i] = g[i];
  __syncthreads();
  int t = threadIdx.x;
  %s
}
void f(float *g, int n, int *d) { k<<<1, 32>>>(g, n, d); }
"""


@pytest.mark.parametrize(
    "guarded",
    [
        "if (t < n && s[t * 32] > 0) g[0] = 1;",
        "if (t < n) { if (s[t * 32] > 0) g[0] = 1; }",
        "if (t >= n || s[t * 32] > 0) g[0] = 1;",
        "g[0] = t < n ? s[t * 32] : 0;",
    ],
)
def test_an_operand_behind_an_open_condition_stays_inside_the_array(guarded):
    """Nine threads of a warp can be let through: arithmetic, 288 floats at a stride of 32."""
    (load,) = (a for a in accesses_of(GUARDED % guarded) if a.kind is AccessKind.LOAD)
    assert (load.ways, int(load.patterns[0].active.sum())) == (9, 9)


@pytest.mark.parametrize(
    "guarded",
    [
        "if (d[t] == 3 && s[t * 2] > 0) g[0] = 1;",
        "switch (d[t]) { case 0: g[4] = s[t * 2]; break; default: break; }",
    ],
)
def test_one_value_of_the_data_is_that_of_few_threads(guarded):
    (load,) = (a for a in accesses_of(GUARDED % guarded) if a.kind is AccessKind.LOAD)
    assert load.certainty is Certainty.DATA_DEPENDENT


CHOSEN = """\
template <int N> __global__ void k(float *g, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x, i = 0;
  %s
  s[t + 33 * i] = 1;
}
"""


@pytest.mark.parametrize(
    ("choice", "is_decided"),
    [
        ("if ((t & 3) == N) i = 1; else i = 2;", False),
        ("switch (t & 3) { case N: i = 1; break; default: i = 2; }", False),
        ("switch (n) { case N: i = 1; break; default: i = 2; }", True),
    ],
)
def test_what_threads_choose_by_their_number_differs_among_them(choice, is_decided):
    """Of N = 1 thread 0 writes word 66 and thread 1 word 34: both of bank 2."""
    (store,) = accesses_of(CHOSEN % choice)
    assert store.certainty.is_decided is is_decided


PICKED = """
__global__ void k(const float *in, float *out, int n) {
  __shared__ float s[1024];
  int at = %s;
  if (n > 7) at = %s;
  %s
  out[0] = s[at];
}
void f(float *a, int n) { k<<<1, 32>>>(a, a, n); }
"""


@pytest.mark.parametrize(
    ("one", "other", "ways"),
    [
        ("0", "5 * threadIdx.x", 1),  # one word, or 32 banks
        ("2 * threadIdx.x", "6 * threadIdx.x", 2),  # 16 banks each
        ("31 - threadIdx.x", "threadIdx.x + 1", 1),
    ],
)
def test_places_that_threads_choose_together_are_decided_where_both_cost_as_much(one, other, ways):
    (access,) = accesses_of(PICKED % (one, other, ""))
    assert (access.certainty, access.ways) == (Certainty.ASSUMED, ways)


@pytest.mark.parametrize(
    ("one", "other", "more"),
    [
        ("0", "2 * threadIdx.x", ""),  # free, or 2-way
        ("threadIdx.x", "3 * threadIdx.x", "if (n > 5) at += threadIdx.x;"),  # 4: 4-way
    ],
)
def test_places_that_cost_more_in_one_case_stay_open(one, other, more):
    (access,) = accesses_of(PICKED % (one, other, more))
    assert access.certainty is Certainty.UNKNOWN


def test_loops_from_a_start_that_threads_choose_together_are_decided():
    text = PICKED % ("0", "threadIdx.x + 1", "for (int i = at; i < n; i++) out[i] = s[5 * i];")
    found = [(a.certainty, a.ways) for a in accesses_of(text)]
    assert found == [(Certainty.ASSUMED, 1)] * 2


@pytest.mark.parametrize(("other", "is_decided"), [("n", True), ("m", False)])
def test_two_calls_choose_alike_under_equal_conditions_only(other, is_decided):
    """Of other conditions the words lie 2, 5 or 1 apart; of equal ones 2."""
    text = """
__device__ int chosen(int n) { int at = 0; if (n > 7) at = 3 * threadIdx.x; return at; }
__global__ void k(const float *s_, float *out, int n, int m) {
  __shared__ float s[1024];
  out[0] = s[chosen(n) - chosen(%s) + 200 + 2 * threadIdx.x];
}
void f(float *a, int n, int m) { k<<<1, 32>>>(a, a, n, m); }
"""
    (access,) = accesses_of(text % other)
    assert access.certainty.is_decided is is_decided


@pytest.mark.parametrize(
    ("bound", "lanes"),
    [
        ("int m = min(8, n); if (t < m)", 8),
        ("int m = min(8, n - 64 * (int)blockIdx.x); if (t < m)", 8),
        ("int m = max(24, n); if (t >= m)", 8),
        ("int m = min(8, n); if (m > t)", 8),
        ("int m = n < 8 ? n : 8; if (t < m)", 8),
        ("int m = n > 8 ? 8 : n; if (t < m)", 8),
        ("int m = 8; if (n < m) m = n; if (t < m)", 8),
        ("int m = n; if (m > 8) m = 8; if (t < m)", 8),
        ("int m = n; if (8 <= m) m = 8; if (t < m)", 8),
        ("int m = 24 < n ? n : 24; if (t >= m)", 8),
        ("int m = n < 8 ? 8 : n; if (t < m)", 32),
        ("int m = n < 8u ? n : 8; if (t < m)", 32),
        ("int m = n; if (t < m)", 32),
        ("unsigned m = min(8u, (unsigned)n); if (t < m)", 8),
        ("unsigned m = 8 - min((unsigned)n, 12u); if (t < m)", 32),
        ("unsigned m = (unsigned)n % 8; if (t - m < 4u)", 32),
        ("int m = (n & 7) - 20; if ((unsigned)t <= m)", 32),
    ],
)
def test_a_bounded_limit_bounds_the_lanes(bound, lanes):
    """Of `t < m` no lane takes part that is beyond what m can be: the others conflict alone.

    A number that is negative is a large one where it is compared as unsigned.
    """
    source = f"""
__global__ void k(float *g, int n) {{
  __shared__ float s[1024];
  int t = threadIdx.x;
  {bound} s[t * 32] = g[t];
  __syncthreads();
  g[t] = s[t];
}}
void f(float *g, int n) {{ k<<<4, 32>>>(g, n); }}
"""
    store = next(a for a in accesses_of(source) if a.kind is AccessKind.STORE)
    assert store.wavefronts.mean == lanes


FIRST_LANES = """
__global__ void k(float *out, const int *s, int n) {
  __shared__ float t[64 * 32];
  int k = s[blockIdx.x], e = %s;
  for (int i = threadIdx.x; i < e; i += 64)
    out[i] = t[i * 32];
}
void f(float *a, int *s) { k<<<64, 64>>>(a, s, 9); }
"""


@pytest.mark.parametrize(
    ("bound", "lanes"),
    [
        ("min(n - k, 4)", 4),
        ("n - k < 4 ? n - k : 4", 4),
        ("k + 4 > n ? n - k : 4", 4),
        ("n < k + 4 ? n - k : 4", 4),
        ("k + 4 <= n ? 4 : n - k", 4),
        ("k & 3", 3),
        ("k + 4 > n ? 4 : n - k", 32),
    ],
)
def test_a_loop_leaves_out_the_threads_that_never_enter_it(bound: str, lanes: int) -> None:
    assert ways_of(FIRST_LANES % bound) == [(6, "load", lanes)]


FLAG = """
__global__ void k(float *g, bool flag) {
  __shared__ float s[4096];
  s[threadIdx.x] = g[0];
  __syncthreads();
  %s
}
void f(float *g, bool flag) { k<<<1, 256>>>(g, flag); }
"""


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("g[0] = flag ? s[threadIdx.x * 2] : s[threadIdx.x * 4];", [2.0, 4.0]),
        ("g[0] = !flag ? s[threadIdx.x * 2] : s[threadIdx.x * 4];", [2.0, 4.0]),
        ("bool other = flag; g[0] = other ? s[threadIdx.x * 2] : 0;", [2.0]),
        ("g[0] = s[threadIdx.x * (flag ? 2 : 1)];", [None]),
    ],
)
def test_a_flag_that_a_kernel_is_given_leaves_both_operands_of_a_choice(text, loads) -> None:
    found = [a for a in accesses_of(FLAG % text) if a.kind is AccessKind.LOAD]
    assert [a.wavefronts and a.wavefronts.mean for a in found] == loads


@pytest.mark.parametrize(
    ("body", "condition", "holds"),
    [
        ("if (!n) return; s[8 * t] = 1;", "!n", False),
        ("if (!(n > 16)) s[8 * t] = 1;", "!(n > 16)", True),
        ("if (!(n > 16)) t += 1; else s[8 * t] = 1;", "!(n > 16)", False),
        ("if (n > 16) return; s[8 * t] = 1;", "n > 16", False),
        ("for (;;) { if (!g[0]) break; s[8 * t] = 1; }", "!g[0]", False),
    ],
)
def test_a_condition_that_the_program_negates_holds_where_it_does(body, condition, holds):
    source = f"""
__global__ void k(const int *g, int n) {{
  __shared__ volatile int s[1024];
  int t = threadIdx.x;
  {body}
}}
void f(const int *g, int n) {{ k<<<1, 64>>>(g, n); }}
"""
    (store,) = accesses_of(source)
    assert outcome(condition, holds) in store.assumptions
    assert outcome(condition, not holds) not in store.assumptions


STEPPED = """
__global__ void k(const int *p, int *o, int n) {
  __shared__ int s[2048];
  int t = threadIdx.x, i = 0, v = 0;
  %s
  s[(t * 32 + t * i) & 2047] = v;
}
void f(int *a) { k<<<1, 64>>>(a, a, 9); }
"""


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("v = p[t] > 3 ? i++ : 4;", -1.0),
        ("v = p[t] > 3 ? 4 : i++;", -1.0),
        ("p[t] > 3 && i++;", -1.0),
        ("p[t] > 3 || i++;", -1.0),
        ("t < 8 && p[t] > 3 && i++;", -1.0),
        ("v = n > 3 ? i++ : 4;", 1.0),
        ("n > 3 && i++;", 1.0),
        ("n > 3 || i++;", 32.0),
        ("v = t >= 0 ? i++ : 4;", 1.0),
        ("v = p[t] > 3 ? i++ : i++;", 1.0),
    ],
)
def test_what_an_operand_changes_is_changed_where_it_is_evaluated(text: str, ways: float) -> None:
    assert ways_of(STEPPED % text) == [(6, "store", ways)]


def test_runs_that_merge_by_their_values_are_not_stepped_together() -> None:
    text = """
__global__ void k(const int *p, int *o) {
  __shared__ int s[512], d[512];
  int t = threadIdx.x, i = t * 16, j = i + 8, k = i;
  s[t] = p[t];
  __syncthreads();
  while (i < t * 16 + 8 && j < t * 16 + 16)
    d[k++] = (s[i] <= s[j]) ? s[i++] : s[j++];
}
void f(int *a) { k<<<1, 32>>>(a, a); }
"""
    found = [a.certainty for a in accesses_of(text) if a.span.line == 8]
    loads = [
        a.certainty for a in accesses_of(text) if a.span.line == 8 and a.kind is AccessKind.LOAD
    ]
    assert loads == [Certainty.DATA_DEPENDENT] * 4
    assert Certainty.ASSUMED not in found
