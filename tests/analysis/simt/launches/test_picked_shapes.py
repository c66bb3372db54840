"""Launches whose block an open choice of the host code picks among known ones."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.launches import host_runs
from smemlint.reasons import Topic

PICKED = """
__global__ void k(float *out) {
  __shared__ float s[32][33];
  s[threadIdx.x][threadIdx.y] = out[threadIdx.x];
  __syncthreads();
  out[0] = s[0][threadIdx.x];
}
void run(float *o, int mode, int n) { %s k<<<1, block>>>(o); }
"""


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        (
            "dim3 block; switch (mode) { case 0: block = dim3(32, 32); break;"
            " case 1: block = dim3(16, 16); break; default: block = dim3(8, 8); }",
            {(32, 32, 1), (16, 16, 1), (8, 8, 1)},
        ),
        (
            "int block = 16; switch (mode) { case 0: block = 32; break; case 7: block = 64; }",
            {(32, 1, 1), (64, 1, 1), (16, 1, 1)},
        ),
        (
            "int block; if (n < 128) block = 64; else if (n < 512) block = 256; else block = 512;",
            {(64, 1, 1), (256, 1, 1), (512, 1, 1)},
        ),
        ("int block = n > 5 ? 64 : 128;", {(64, 1, 1), (128, 1, 1)}),
        ("int block = 64; if (n) block = atoi(argv[1]);", {(64, 1, 1)}),
    ],
)
def test_all_known_shapes_of_an_open_choice_are_evaluated(body, blocks):
    kernels = facts_of(PICKED % body).kernels
    assert {k.instance.block for k in kernels} == blocks
    for kernel in kernels:
        (access, *_) = kernel.accesses
        assert any(a.topic is Topic.HOST for a in access.assumptions)


BEHIND_A_HELPER = """
template <int B> __global__ void k(const float* x) {
  __shared__ float s[B][B];
  s[threadIdx.y][threadIdx.x] = x[threadIdx.x];
}
bool is_direct(int mode, int n) {
  if (mode == 1) return true;
  if (mode == 2) return false;
  if (n <= 20) return true;
  return false;
}
void run(const float* x, int mode, int n, int count) {
  int size = -1;
  if (is_direct(mode, n)) {
    %s
    dim3 threads(size, size);
    for (int i = 0; i < count; ++i) {
      if (x == nullptr) continue;
      switch (size) {
        case 32: k<32><<<1, threads>>>(x); break;
        case 16: k<16><<<1, threads>>>(x); break;
        case 8: k<8><<<1, threads>>>(x); break;
      }
    }
  }
}
"""


def test_whether_a_helper_says_so_is_a_choice_of_the_condition_that_asks_it():
    picked = "if (n > 16) size = 32; else if (n % 8 == 0) size = 16; else size = 8;"
    kernels = facts_of(BEHIND_A_HELPER % picked).kernels
    found = {(k.instance.template[0][1], k.instance.block) for k in kernels}
    assert found == {("32", (32, 32, 1)), ("16", (16, 16, 1)), ("8", (8, 8, 1))}


def test_launches_that_the_default_path_misses_stay():
    source = """
      template <class T> __global__ void k(const T* x) {
        __shared__ T s[64];
        s[threadIdx.x] = x[threadIdx.x];
      }
      bool is_direct(int mode, int n) {
        if (mode == 2) return false;
        return n <= 20;
      }
      void run(const float* x, int mode, int n) {
        if (is_direct(mode, n)) k<<<1, n>>>(x);
      }
    """
    assert {k.instance.template for k in facts_of(source).kernels} == {(("T", "float"),)}


@pytest.fixture
def executed(calls_of):
    """The host functions that were executed."""
    return calls_of(host_runs, "execute_host_function")


def test_the_default_path_is_taken_only_where_a_launch_is_open(executed):
    body = "int m = 1; if (n) m = atoi(argv[1]); int block = n > 5 ? 64 : 128;"
    assert {k.instance.block for k in facts_of(PICKED % body).kernels} == {(64, 1, 1), (128, 1, 1)}
    assert len(executed) == 1 + 2


def _flags(count):
    return "".join(f"int f{i} = 0; if (n == {i}) f{i} = 1; " for i in range(count))


@pytest.mark.parametrize(("flags", "runs"), [(4, 1 + 16), (5, 1)])
def test_ways_to_a_shape_are_run_where_they_are_a_few(flags, runs, executed):
    total = " + ".join(f"f{i}" for i in range(flags))
    facts_of(PICKED % f"{_flags(flags)} int block = 32 + 32 * ({total});")
    assert len(executed) == runs


def test_further_ways_are_not_run_where_the_first_one_leaves_a_block_as_open(executed):
    tells = "int a = 16, b = n; if (mode) { a = 32; b = 128; }"
    for body, runs in (
        (f"{tells} int block = b;", 1 + 1 + 1),
        (f"{tells} dim3 block(a, b);", 1 + 2 + 1),
    ):
        executed.clear()
        facts_of(PICKED % body)
        assert len(executed) == runs


@pytest.mark.parametrize(("block", "runs"), [("a * n", 1 + 1), ("dim3(a, n)", 1 + 2)])
def test_a_way_that_comes_to_further_instances_before_the_cut_tells_no_more(
    block, runs, executed, monkeypatch
):
    """The first way comes to k<2>: it has statements less to execute than all ways together."""
    monkeypatch.setattr("smemlint.analysis.simt.launches.host_functions.MAX_HOST_STEPS", 15)
    calls = "".join(f"launch<{i}>(o, {block}); " for i in range(9))
    facts = facts_of(f"""
    template <int N> __global__ void k(float *out) {{
      __shared__ float s[2048];
      s[threadIdx.x] = out[N];
    }}
    template <int N> void launch(float *o, dim3 block) {{ k<N><<<1, block>>>(o); }}
    void run(float *o, int mode, int n) {{
      int a = 16; if (mode) a = 32; else {{ n += 1; n += 1; }}
      {calls}
    }}""")
    assert len([f for _, f, _ in executed if f.name == "run"]) == runs
    assert {k.instance.template[0][1] for k in facts.kernels} == {"0", "1", "2"}


@pytest.mark.parametrize(("block", "runs"), [("m * n", 1 + 1), ("m", 1 + 1 + 1)])
def test_open_defaults_are_not_tried_where_the_default_leaves_a_block_as_open(
    block, runs, executed
):
    facts = facts_of(f"""
    template <int N> __global__ void k(float *out) {{
      __shared__ float s[2048];
      s[threadIdx.x] = out[N];
    }}
    template <int N> void launch(float *o, int block) {{ k<N><<<1, block>>>(o); }}
    void run(float *o, int mode, int n) {{
      int m = 64; if (mode) m = n;
      if (m == 64) launch<0>(o, {block}); else launch<1>(o, {block});
    }}""")
    assert len([f for _, f, _ in executed if f.name == "run"]) == runs
    assert {k.instance.template[0][1] for k in facts.kernels} == {"0", "1"}


@pytest.mark.parametrize(
    ("flags", "uses", "runs"), [(4, " + 0 * f", 1 + 1 + 1), (5, " + 0 * f", 1 + 1), (4, "", 1 + 1)]
)
def test_more_ways_than_a_few_to_a_shape_are_left_to_the_default_path(flags, uses, runs, executed):
    chosen = _flags(flags)
    used = "".join(f"{uses}{i}" for i in range(flags)) if uses else ""
    body = f"{chosen} int block = 64{used}; if (n) block = atoi(argv[1]);"
    assert {k.instance.block for k in facts_of(PICKED % body).kernels} == {(64, 1, 1)}
    assert len(executed) == runs


@pytest.mark.parametrize(
    ("choice", "runs"),
    [
        ("int b = 64; if (m) b = 128;", 1 + 1),
        ("int b; int c = m ? 64 : 128; b = c;", 1 + 1),
        ("int b = 64; helper(m ? 1 : 0, &b);", 1 + 1),
        ("int b = 64; int *p = &b; if (m) *p = 128;", 1 + 1),
        ("int b = 64; int &r = b; int c = m ? 1 : 0; r = c;", 1 + 1),
        ("int b = 64; int c = m ? 1 : 0;", 1),
        ("int b = 64, c; if (m) c = 1; else c = 2; log(c);", 1),
        ("int b = 64, c = 1; if (m) { c = 2; for (int b = 0; b < 9; b++) use(b); }", 1),
    ],
)
def test_only_choices_that_a_shape_hangs_on_are_made(choice, runs, executed):
    facts_of(PICKED % f"{choice.replace('m', 'mode')} int block = b + n;")
    assert len(executed) == runs


@pytest.mark.parametrize(
    ("between", "condition", "expected"),
    [
        ("", "n > 5", {(1, 64), (2, 128)}),
        ("n += mode;", "n > 5", {(1, 64), (2, 128), (1, 128), (2, 64)}),
        ("", "n > 6", {(1, 64), (2, 128), (1, 128), (2, 64)}),
        ("", "mode > 5", {(1, 64), (2, 128), (1, 128), (2, 64)}),
    ],
)
def test_equal_conditions_take_the_same_alternative(between, condition, expected):
    text = f"""
    template <int N> __global__ void k(float *out) {{
      __shared__ float s[256];
      s[threadIdx.x] = out[threadIdx.x];
    }}
    void run(float *o, int mode, int n) {{
      int block = n > 5 ? 64 : 128;
      {between}
      if ({condition}) k<1><<<1, block>>>(o); else k<2><<<1, block>>>(o);
    }}"""
    found = {(int(k.instance.template[0][1]), k.instance.block[0]) for k in facts_of(text).kernels}
    assert found == expected


DIVISOR = """
template <int V, typename T> __global__ void k(T *p) {
  __shared__ T s[8192];
  for (int j = 0; j < V; j++) s[threadIdx.x * V + j] = p[j];
}
template <typename T> void run(T *p, unsigned n) {
  const unsigned v = std::gcd(16 / sizeof(T), n);
  switch (v) {
    case 16: k<16, T><<<1, 256>>>(p); break;
    case 8: k<8, T><<<1, 256>>>(p); break;
    case 4: k<4, T><<<1, 256>>>(p); break;
    case 1: k<1, T><<<1, 256>>>(p); break;
  }
}
void go(%s *p, unsigned n) { run(p, n); }
"""


@pytest.mark.parametrize(("type", "widths"), [("float", "14"), ("short", "148")])
def test_a_case_above_a_common_divisor_is_not_launched(type, widths):
    found = facts_of(DIVISOR % type).kernels
    assert {dict(k.instance.template)["V"] for k in found} == set(widths)


def test_an_extent_is_no_more_than_the_others_leave_of_a_block():
    """It was an internal error: 32 x 128 threads are none."""
    facts = facts_of("""
    __global__ void k(float *out) {
      __shared__ float s[2048];
      s[threadIdx.x] = out[0];
    }
    void run(float *o, int mode, int n) {
      int a = 16, b = n; if (mode) { a = 32; b = 128; }
      k<<<1, dim3(a, b)>>>(o);
    }""")
    assert {k.instance.block for k in facts.kernels} == {(8, 128, 1)}
