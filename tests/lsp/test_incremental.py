"""Analyses that remember say what analyses without a past say."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from smemlint.config.settings import Configuration
from smemlint.lsp import incremental
from smemlint.lsp.analysis import Analysis
from smemlint.lsp.document_run import analyses
from smemlint.lsp.incremental import IncrementalMemo
from smemlint.lsp.lru import LruCache
from smemlint.sources.source import Source

KERNELS = Path(__file__).resolve().parents[2] / "fixtures" / "kernels"
TWO = """\
#define PAD 0
#define PITCH (32 + PAD)
__global__ void rows(float *out) {
  __shared__ float s[32 * PITCH];
  out[threadIdx.x] = s[threadIdx.x * PITCH];
}
__global__ void columns(float *out) {
  __shared__ float t[32][32];
  out[threadIdx.x] = t[threadIdx.x][1];
}
void run(float *out) {
  rows<<<1, 32>>>(out); columns<<<1, 32>>>(out);
}
"""


def found(text: str, memory: IncrementalMemo) -> list[object]:
    source = Source("k.cu", text)
    first = next(analyses("k.cu", [source], Configuration(isolated=True), memory))
    findings = [(f.code, f.span, f.message, f.notes, f.certainty) for f in first.findings]
    return [*findings, *((a.span, a.ways, a.certainty, a.assumptions) for a in first.accesses)]


def figures(rows: list[object]) -> list[object]:
    """Without the notes, which name the bank."""
    return [row[:3] for row in rows]  # type: ignore[index]


def test_a_kernel_is_not_evaluated_again_when_another_one_changes():
    memory = IncrementalMemo()
    before = found(TWO, memory)
    assert memory.hits == 0
    after = found(TWO.replace("[1];", "[2];"), memory)
    assert memory.hits == 1 and figures(after) == figures(before)


PASSED = """\
__global__ void k(float *o, int n) {
  __shared__ float s[4096];
  s[threadIdx.x * n] = o[threadIdx.x];
}
void f(float *o) {
  k<<<1, 32>>>(o, 1);
  k<<<1, 32>>>(o, 4);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "ways"),
    [
        ("(o, 4)", "(o, 8)", [1, 8]),
        ("(o, 1)", "(o, 2)", [2, 4]),
        ("(o, 4);", "(o, 4); k<<<1, 32>>>(o, 16);", [1, 4, 16]),
        ("  k<<<1, 32>>>(o, 4);\n", "", [1]),
        ("*o) {\n", "*o) {\n\n", [1, 4]),
    ],
)
def test_numbers_that_launches_pass_count(old, new, ways):
    memory = IncrementalMemo()
    found(PASSED, memory)
    text = PASSED.replace(old, new)
    source = Source("k.cu", text)
    analysis = next(analyses("k.cu", [source], Configuration(isolated=True), memory))
    assert [access.ways for access in analysis.accesses] == ways
    assert found(text, memory) == found(text, IncrementalMemo())


@pytest.mark.parametrize(
    ("old", "new", "ways"),
    [
        ("PAD 0", "PAD 1", {"s": 1.0, "t": 32.0}),
        ("rows<<<1, 32>>>", "rows<<<1, 16>>>", {"s": 16.0, "t": 32.0}),
        ("t[32][32]", "t[32][33]", {"s": 32.0, "t": 1.0}),
        ("[1];\n", "[1];\n#undef PITCH\n#define PITCH 33\n", {"s": 32.0, "t": 32.0}),
    ],
)
def test_what_a_kernel_depends_on_counts(old, new, ways):
    memory = IncrementalMemo()
    found(TWO, memory)
    source = Source("k.cu", TWO.replace(old, new))
    analysis = next(analyses("k.cu", [source], Configuration(isolated=True), memory))
    assert {a.array.name: a.ways for a in analysis.accesses} == ways


MOVED = [
    ("a comment in a kernel", "  out[threadIdx.x] = t", "  // more\n  out[threadIdx.x] = t", 0),
    ("a comment in front of all", "#define PAD", "/* more\n */\n#define PAD", 0),
    ("a comment inside of a line", "s[threadIdx.x *", "s[ /* more */ threadIdx.x *", 0),
    ("a comment that names a kernel", "#define PAD", "// rows\n#define PAD", 0),
    ("another number in host code", "<<<1, 32>>>(out); columns", "<<<2, 32>>>(out); columns", 0),
    ("a line in host code", "void run(float *out) {", "void run(float *out) {\n\n", 0),
    ("another statement in a kernel", "  out[threadIdx.x] = s", "  ;\n  out[threadIdx.x] = s", 1),
    ("a directive in a kernel", "  out[threadIdx.x] = s", "#pragma unroll\n  out[threadIdx.x] = s", 1),
]  # fmt: skip


def noting() -> tuple[IncrementalMemo, list[str]]:
    """A memory, and the kernels that are evaluated under it."""
    memory, evaluated = IncrementalMemo(), []
    memory.evaluating = lambda instance: evaluated.append(instance.kernel)
    return memory, evaluated


@pytest.mark.parametrize(("old", "new", "count"), [m[1:] for m in MOVED], ids=[m[0] for m in MOVED])
def test_what_only_moves_is_moved(old, new, count):
    memory, evaluated = noting()
    found(TWO, memory)
    assert sorted(evaluated) == ["columns", "rows"]
    text = TWO.replace(old, new)
    assert text != TWO
    assert found(text, memory) == found(text, IncrementalMemo())
    assert len(evaluated) == 2 + count


def test_fixes_move_with_a_comment():
    def fixed(text: str, memory: IncrementalMemo) -> list[object]:
        *_, last = analyses("k.cu", [Source("k.cu", text)], Configuration(isolated=True), memory)
        assert last.has_fixes
        return [(f.help, f.fix and (f.fix.title, f.fix.edits)) for f in last.findings]

    memory, evaluated = noting()
    before = fixed(TWO, memory)
    assert any(fix for _, fix in before)
    count = len(evaluated)
    for text in (f"// a\n{TWO}", TWO.replace("[32][32]", "[32] /* b */ [32]")):
        assert fixed(text, memory) == fixed(text, IncrementalMemo())
    assert len(evaluated) == count


SHARED_HELPER = """\
__device__ int pitch() {
  int wide = 32;
  return wide;
}
static int length() {
  int many = 32;
  return many;
}
__global__ void rows(float *out) {
  __shared__ float s[2048];
  out[threadIdx.x] = s[threadIdx.x * pitch()];
}
void run(float *out) {
  rows<<<1, length()>>>(out);
}
"""


def test_what_a_kernel_calls_and_what_calls_it_count():
    memory = IncrementalMemo()
    assert found(SHARED_HELPER, memory) == found(SHARED_HELPER, IncrementalMemo())
    for old, new in (("wide = 32", "wide = 33"), ("many = 32", "many = 16")):
        text = SHARED_HELPER.replace(old, new)
        assert (
            found(text, memory)
            == found(text, IncrementalMemo())
            != found(SHARED_HELPER, IncrementalMemo())
        )
    assert memory.hits == 0


@pytest.mark.parametrize("name", ["transpose", "dynamic_shared", "choices", "constants"])
def test_random_edits_are_seen_as_without_a_past(name):
    chosen, (memory, evaluated) = random.Random(name), noting()
    text = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    found(text, memory)
    count = 0
    for _ in range(12):
        text = _edited(text, chosen)
        fresh, all_of_it = noting()
        assert found(text, memory) == found(text, fresh)
        count += len(all_of_it)
    assert len(evaluated) < count


def _edited(text: str, chosen: random.Random) -> str:
    """Another number somewhere, a line more, a line less, or a character lost."""
    kind = chosen.choice(("number", "number", "number", "more", "more", "less", "lost"))
    if kind == "number":
        at = chosen.choice([m.span() for m in re.finditer(r"\d+", text)])
        return text[: at[0]] + str(chosen.choice((1, 2, 8, 32, 33))) + text[at[1] :]
    lines = text.split("\n")
    at = chosen.randrange(len(lines))
    if kind == "more":
        lines.insert(at, "  // a comment")
    elif kind == "less":
        del lines[at]
    else:
        lines[at] = lines[at][:-1]
    return "\n".join(lines)


def test_what_was_not_used_for_longest_is_forgotten():
    recent: LruCache[str] = LruCache(10, len)
    recent.keep("a", "1234")
    recent.keep("b", "123456")
    assert recent.get("a") == "1234"
    recent.keep("c", "12")
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == ("1234", None, "12")
    recent.keep("d", "x" * 20)  # the newest stays, however large it is
    assert [*recent] == ["x" * 20]
    recent.keep("d", "x")
    recent.keep("e", "x" * 9)
    assert [*recent] == ["x", "x" * 9]


def test_memory_of_many_edits_is_bounded(monkeypatch):
    """A thousand numbers suffice for some kernels of this text, not for those of 40 edits."""
    monkeypatch.setattr(incremental, "MAX_REMEMBERED_NUMBERS", 1_000)
    memory = IncrementalMemo()
    for number in range(40):
        text = TWO.replace("[1];", f"[{number % 32}];").replace("PAD 0", f"PAD {number}")
        assert found(text, memory) == found(text, IncrementalMemo())
        for known in (memory.kernels, memory.runs):
            assert sum(entry.numbers() for entry in known) <= 1_000
    assert 2 <= len([*memory.kernels]) < 40


TEMPLATES = """\
template <typename T, int N> __global__ void rows(T *out, int n) {
  extern __shared__ char bytes[];
  T *s = reinterpret_cast<T *>(bytes);
  out[threadIdx.x] = s[threadIdx.x * N + n];
}
template <typename T> __global__ void columns(T *out) {
  __shared__ T t[32][32];
  out[threadIdx.x] = t[threadIdx.x][1];
}
template <typename T, int N> void go(T *out, int n) {
  const int threads = 4 * 32;
  rows<T, N><<<1, threads, N * 32 * sizeof(T)>>>(out, n);
}
template <typename T> void nobody(T *out) {
  columns<T><<<1, 32>>>(out);
}
void all(double *a, int *b, Missing *c) {
  go<double, 8>(a, 3);
  go<Missing, 16>(c, 1);
  columns<Missing><<<1, 64>>>(c);
}
void some(float *a) {
  int unused = 4;
  go<float, 4>(a, unused);
}
template void nobody<float>(float *);
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_edits_of_templates_and_launches(seed):
    chosen, (memory, evaluated), text = random.Random(seed), noting(), TEMPLATES
    count = 0
    words = ["float", "double", "Missing", "int", "rows", "columns", "go", "nobody", "out", "N"]
    for _ in range(12):
        if chosen.random() < 0.5:
            at = chosen.choice([m.span() for m in re.finditer(rf"\b({'|'.join(words)})\b", text)])
            text = text[: at[0]] + chosen.choice(words) + text[at[1] :]
        else:
            text = _edited(text, chosen)
        fresh, all_of_it = noting()
        assert found(text, memory) == found(text, fresh)
        count += len(all_of_it)
        if chosen.random() < 0.2:
            text = TEMPLATES
    assert len(evaluated) < count


def test_first_kernels_are_shown_before_the_last_is_evaluated():
    shown: list[tuple[int, set[str]]] = []
    memory, evaluated = noting()

    def partial(analysis: Analysis) -> None:
        shown.append((len(evaluated), {a.array.name for a in analysis.accesses}))

    source = Source("k.cu", TWO)
    first = next(analyses("k.cu", [source], Configuration(isolated=True), memory, partial))
    assert shown == [(1, {"s"}), (2, {"s", "t"})]
    assert len(first.accesses) == 2


def test_what_an_edit_leaves_alone_is_shown_with_the_first_kernel_that_it_changes():
    shown: list[list[int]] = []
    memory, evaluated = noting()

    def run(text: str) -> Analysis:
        def partial(analysis: Analysis) -> None:
            shown.append([f.span.line for f in analysis.findings])

        source = Source("k.cu", text)
        return next(analyses("k.cu", [source], Configuration(isolated=True), memory, partial))

    run(TWO)
    del shown[:], evaluated[:]
    edited = TWO.replace("  out[threadIdx.x] = s", "  ;\n  out[threadIdx.x] = s")
    assert [f.span.line for f in run(edited).findings] == [6, 10]
    assert shown == [[6, 10]] and evaluated == ["rows"]
    del shown[:], evaluated[:]
    healed = edited.replace("PAD 0", "PAD 1")
    assert [f.span.line for f in run(healed).findings] == [10]
    assert shown[0] == shown[-1] == [10] and evaluated == ["rows", "columns"]


def test_nothing_is_shown_before_the_rest_where_nothing_is_evaluated():
    shown: list[Analysis] = []
    memory, evaluated = noting()
    other = TWO.replace("[1];", "[2];")
    for text in (TWO, other, TWO):
        del shown[:], evaluated[:]
        source = Source("k.cu", text)
        next(analyses("k.cu", [source], Configuration(isolated=True), memory, shown.append))
    assert not shown and not evaluated


VECTORS = """\
template <typename V> __global__ void rows(V *out) {
  __shared__ V s[1024];
  out[threadIdx.x] = s[threadIdx.x * 32];
}
static void swizzle(float4 *out) {
  int swizzled = 1;
  rows<float4><<<1, 32>>>(out);
}
"""


def test_host_code_does_not_concern_kernels_of_vectors_whatever_its_names_are():
    memory, evaluated = noting()
    before = found(VECTORS, memory)
    text = VECTORS.replace("swizzled = 1", "swizzled = 2")
    assert found(text, memory) == before and evaluated == ["rows"]
