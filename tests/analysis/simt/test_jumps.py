"""Jumps out of branches that hang on what is not known: what was written before them counts."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of, ways_of

from smemlint.reasons import Assumption, Topic, outcome

HELPERS = """
__device__ void either(int n, int &st) { if (n < 7) { st = 32; return; } st = 1; }
__device__ void once(int n, int &st) { if (n < 7) { st = 32; return; } }
__device__ void pointed(int n, int *at) { if (n < 7) { *at = 32 * threadIdx.x; return; } *at = 0; }
__device__ void found(int n, int &st) {
  for (int i = 0; i < n; i++) if (i * i > n) { st = 32; return; }
}
__device__ void checked(int n, int &st) { if (n < 7) { st = 2; return; } st = 2; }
struct Step {
  int st;
  __device__ bool set(int n) { if (n < 3) { st = 32; return true; } return false; }
};
"""
KERNEL = """
__global__ void k(float *g, int n) {
  __shared__ float s[4096];
  int st = 1, at = threadIdx.x; Step step = {1};
  %s
  s[%s] = g[0];
  __syncthreads();
  g[1] = s[threadIdx.x];
}
void f(float *a, int n) { k<<<1, 64>>>(a, n); }
"""


@pytest.mark.parametrize(
    ("text", "index", "code", "hangs_on"),
    [
        ("either(n, st);", "threadIdx.x * st", "residues", "`n < 7`"),
        ("once(n, st);", "threadIdx.x * st", "residues", "`n < 7`"),
        ("pointed(n, &at);", "at", "residues", "`n < 7`"),
        ("found(n, st);", "threadIdx.x * st", "residues", "`i * i > n`"),
        ("step.set(n);", "threadIdx.x * step.st", "residues", "`n < 3`"),
        ("auto put = [&](int m) { if (m < 4) { st = 32; return; } }; put(n);", "threadIdx.x * st", "residues", "`m < 4`"),
        ("for (int i = 0; i < 4; i++) if (n < i) { st = 32; break; }", "threadIdx.x * st", "residues", "`n < i`"),
        ("for (int i = 0; i < n; i++) if (n < i * i) { st = 32; break; }", "threadIdx.x * st", "residues", "`n < i * i`"),
        ("while (true) { if (n < 5) { st = 32; break; } n--; }", "threadIdx.x * st", "residues", "`n < 5`"),
        ("for (int i = 0; i < 2; i++) { if (n < i) { st = 32; continue; } g[i] = 7; }", "threadIdx.x * st", "residues", "`n < i`"),
        ("switch (n) { case 1: if (g[0] < 1) { st = 32; break; } }", "threadIdx.x * st", "data", ""),
        ("for (int i = 0; i < 2; i++) switch (n) { case 1: st = 32; continue; }", "threadIdx.x * st", "residues", "`n`"),
    ],
)  # fmt: skip
def test_what_was_written_before_a_jump_is_joined_where_it_ends(text, index, code, hangs_on):
    first, *_ = accesses_of(HELPERS + KERNEL % (text, index))
    assert (first.kind, first.wavefronts) == ("store", None)
    assert first.reason.code == code
    assert hangs_on in first.reason.text


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("checked(n, st);", 2.0),
        ("for (int i = 0; i < 4; i++) { if (n < i) { st = 4; break; } st = 4; }", 4.0),
        ("for (int i = 0; i < 4; i++) { if (n < i) break; g[i] = 7; }", 1.0),
        ("for (int i = 0; i < 4; i++) { if (threadIdx.x < i) { at = 0; break; } }", 1.0),
        ("if (n < 7) return; st = 8;", 8.0),
        ("for (int i = 0; i < 4; i++) { int own = 3; if (n < i) { own = 5; continue; } g[own] = 7; }", 1.0),
    ],
)  # fmt: skip
def test_jumps_that_leave_the_same_or_nothing_behind_change_nothing(text, ways):
    store, *_ = ways_of(HELPERS + KERNEL % (text, "threadIdx.x * st"))
    assert store[1:] == ("store", ways)


def test_a_block_that_a_host_function_sets_before_it_returns_is_taken():
    text = """
__global__ void k(float *g) { __shared__ float s[2048]; s[2 * threadIdx.x] = g[0]; g[1] = s[0]; }
int pick(int n, dim3 &block) {
  int shapes[2][2] = {{16, 16}, {8, 8}};
  for (int i = 0; i < 2; i++) {
    int *shape = shapes[0];
    if (n * shape[0] < 1000) { block.x = shape[0]; block.y = shape[1]; return n; }
  }
  exit(1);
}
void run(float *g, int n) { dim3 block; int size = pick(n, block); k<<<1, block, size>>>(g); }
"""
    assert [k.instance.block for k in facts_of(text).kernels] == [(16, 16, 1)]


def test_what_jumps_note_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
__device__ void pick(int n, int &at) {
  at = 1;
  if (n > 3) { at = 2; return; }
  at = 3;
}
__global__ void k(int n, float *g) {
  __shared__ float s[1024];
  int at;
  pick(n, at);
  s[threadIdx.x * at] = g[0];
  g[1] = s[threadIdx.x];
}
void f(float *g) { k<<<1, 32>>>(3, g); }
"""
    monkeypatch.setattr("smemlint.analysis.simt.interpreter.jumps.MAX_CELLS_NOTED", 0)
    (kernel,) = facts_of(text).kernels
    assert "step-limit" in [n.reason.code for n in kernel.not_analysed]


GUARDED = """
__device__ void scaled(int n, int &st) { if (n < 7) return; st = 2; }
__device__ void fetched(const float *g, float &x, int n) { if (n < 7) return; x = g[n]; }
__device__ int early(int n, int t) { if (n + t < 5) return 5; return 7; }
"""


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("scaled(n, st);", (outcome("n < 7", False),)),
        ("float x; fetched(g, x, n);", ()),
        ("for (int i = 0; i < 3; i++) { if (n < i) break; g[i] = 7; }", ()),
        ("for (int i = 0; i < 3; i++) { if (n < i) break; st++; }", (outcome("n < i", False),)),
        ("for (int i = 0; i < 3; i++) { if (n < i) return; g[i] = 7; }", (outcome("n < i", False),)),
        ("for (int i = 0; i < n; i++) { if (threadIdx.x > 7) return; g[i] = 7; }", (outcome("i < n", False),)),
        ("if (n > 9) { if (threadIdx.x < 8) return; }", (outcome("n > 9", False),)),
        ("if (n > 9) g[1] = 0; else if (threadIdx.x < 8) return;", (outcome("n > 9", True),)),
        ("if (n > 9) { if (n > 20) return; g[1] = 0; }", (outcome("n > 20", False),)),
        ("if (n > 9) { if (n > 20) return; g[1] = 0; } else return;", (outcome("n > 9", True), outcome("n > 20", False))),
        ("switch (n) { case 1: if (threadIdx.x < 8) return; }", (Assumption(Topic.CONDITION, "`n` is no case", "n"),)),
        ("switch (n) { case 1: if (threadIdx.x < 8) return; default: g[0] = 1; }", (Assumption(Topic.CONDITION, "`n` is no case", "n"),)),
        ("switch (n) { case 1: if (n > g[0]) return; break; default: g[0] = 1; }", (outcome("n > g[0]", False),)),
    ],
)  # fmt: skip
def test_behind_a_guard_it_is_told_if_who_goes_on_or_what_is_known_hangs_on_it(text, conditions):
    store, *_ = accesses_of(HELPERS + GUARDED + KERNEL % (text, "threadIdx.x * st"))
    assert store.wavefronts is not None
    assert store.conditions == conditions


def test_what_each_thread_returned_early_is_not_one_number_for_all():
    (store, *_) = accesses_of(
        HELPERS + GUARDED + KERNEL % ("at = early(n, threadIdx.x);", "at + n")
    )
    assert (store.wavefronts, store.reason.code) == (None, "unknown-condition")


def test_what_is_not_known_before_a_loop_that_may_not_run_is_not_known_behind_it():
    text = "for (int j = 0; j < 2; j++) for (int i = 0; i < n; i++) at = 2 * threadIdx.x;"
    (store, *_) = accesses_of(HELPERS + KERNEL % (text, "at"))
    assert store.wavefronts is None
    assert store.reason.code == "loop"


def test_a_counter_that_one_thread_sets_anew_is_known_to_it():
    """As old kernels do that declare `i` once: unknown after one loop, a counter in the next."""
    text = """at = n % (threadIdx.x + 1);
  if (threadIdx.x == 0) for (at = 0; at < n; at++)
    g[2] = s[at];
  at = 0;"""
    (load, *_) = accesses_of(HELPERS + KERNEL % (text, "threadIdx.x"))
    assert (load.kind, load.wavefronts.mean) == ("load", 1.0)
    assert [a.subject for a in load.conditions] == ["at < n"]


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("for (int i = 0; i < n; i++) st = 3;", True),
        ("for (int i = threadIdx.x; i < n; i++) st = 3;", False),
        ("for (float x = -3; x <= 3; x++) st++;", True),
        ("for (float x = g[0]; x <= 3; x++) st++;", False),
        ("while (true) { st = 3; if (n-- < 5) break; }", True),
        ("int i = threadIdx.x; while (true) { st++; if (i++ > n) break; }", False),
    ],
)
def test_threads_that_leave_a_loop_one_by_one_bring_no_common_number(text, is_known):
    (store, *_) = accesses_of(HELPERS + KERNEL % (text, "threadIdx.x + st"))
    assert (store.wavefronts is not None) is is_known
    if not is_known:
        assert store.reason.code == "unknown-condition"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for (int i = threadIdx.x; i < n; i++) p += 3;", "unknown-condition"),
        ("for (int i = 0; i < n; i++) p += threadIdx.x;", "residues"),
        ("if (n > threadIdx.x) { if (!(n != 3)) p += 4; }", "unknown-condition"),
    ],
)  # fmt: skip
def test_a_pointer_that_moved_by_what_is_not_known_is_still_one_into_its_array(text, reason):
    body = KERNEL.replace("s[%s]", "p[threadIdx.x]") % f"float *p = s; {text}"
    (store, *_) = accesses_of(HELPERS + body)
    assert (store.array.name, store.wavefronts, store.reason.code) == ("s", None, reason)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if (n) goto end; s[4 * t] = 1; end: s[2 * t + 1] = 2;", [(4, "assumed"), (2, "assumed")]),
        ("if (t >= 16) goto end; s[8 * t] = 1; end: s[t] = 2;", [(4, "assumed"), (1, "assumed")]),
        ("int i = 0; again: s[2 * t + i] = i; if (++i < 3) goto again;", [(2, "sampled")]),
    ],
)
def test_kernels_jump_forward_and_other_jumps_make_figures_samples(body, found) -> None:
    text = f"""
__global__ void k(int n) {{ __shared__ float s[4096]; int t = threadIdx.x; {body} }}
void f(int n) {{ k<<<1, 32>>>(n); }}
"""
    assert [(a.wavefronts.mean, a.certainty) for a in accesses_of(text)] == found
