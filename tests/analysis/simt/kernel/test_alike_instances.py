"""Instances that differ in the names of small floating-point types alone are evaluated once.

In each adversarial pair the two types reach an address, a mask, a width or a text by another way, and
the figures of the second instance are its own.
"""

from __future__ import annotations

from dataclasses import fields

import pytest
from conftest import facts_of

from smemlint.analysis.simt import analyze
from smemlint.analysis.simt.kernel import evaluate
from smemlint.analysis.simt.launches import instance_budget

HEAD = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
"""
PAIR = ("half", "__nv_bfloat16")
COPIES = """
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T x[N]; };
template <class T> __global__ void k(const T *g, T *out) {
  __shared__ Vec<T, 4> tile[32][PITCH];
  const Vec<T, 4> *from = reinterpret_cast<const Vec<T, 4> *>(g);
  tile[threadIdx.y][threadIdx.x] = from[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  reinterpret_cast<Vec<T, 4> *>(out)[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""


def launched(types, block="dim3(32, 8)", arguments="(const {0} *)g, ({0} *)g"):
    lines = (f"k<{t}><<<1, {block}>>>({arguments.format(t)});" for t in types)
    return "void run(void *g) {\n" + "\n".join(lines) + "\n}\n"


def described(facts):
    """All that is stated of the accesses of each instance."""

    def plain(value):
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if hasattr(value, "tolist"):
            return value.tolist()
        if type(value).__module__.startswith("smemlint.facts") and hasattr(value, "__slots__"):
            return type(value).__name__, *(plain(getattr(value, f.name)) for f in fields(value))
        return value

    kernels = [(plain(k.instance), plain(k.arrays), plain(k.accesses)) for k in facts.kernels]
    return kernels, plain(facts.not_analysed)


def ways(facts):
    """(first template value, wavefronts of each access in source order) of every instance."""
    found = []
    for kernel in facts.kernels:
        known = (a.wavefronts.mean if a.wavefronts else None for a in kernel.accesses)
        found.append((kernel.instance.template[0][1], tuple(known)))
    return sorted(found)


@pytest.fixture
def runs(monkeypatch):
    """The template arguments of every evaluation that was begun."""
    begun = []
    run = evaluate._run_facts

    def counted(unit, task, arch, given):
        begun.append(task.scope)
        return run(unit, task, arch, given)

    monkeypatch.setattr(evaluate, "_run_facts", counted)
    return begun


def both(text, monkeypatch):
    """The facts of a text, which are those without any sharing."""
    shared = facts_of(HEAD + text)
    with monkeypatch.context() as alone:
        alone.setattr(analyze, "with_alike", lambda groups: groups)
        assert described(facts_of(HEAD + text)) == described(shared)
    return shared


@pytest.mark.parametrize("types", [PAIR, ("__nv_fp8_e4m3", "__nv_fp8_e5m2")])
def test_copies_of_vectors_are_evaluated_once(types, runs, monkeypatch):
    text = COPIES.replace("PITCH", "33") + launched(types)
    facts = facts_of(HEAD + text)
    assert len(runs) == 1 and len(facts.kernels) == 2
    assert len({row for _, row in ways(facts)}) == 1
    elements = {array.element for kernel in facts.kernels for array in kernel.arrays}
    assert elements == {"Vec"}
    both(text, monkeypatch)


def test_arrays_keep_the_names_of_their_types(runs, monkeypatch):
    text = """
template <class T> __global__ void k(const T *g, T *out) {
  __shared__ T tile[2048];
  tile[threadIdx.y * 64 + threadIdx.x] = g[threadIdx.x];
}
"""
    facts = facts_of(HEAD + text + launched(PAIR))
    assert len(runs) == 1
    assert [k.arrays[0].element for k in facts.kernels] == list(PAIR)
    both(text + launched(PAIR), monkeypatch)


def test_three_types_of_which_two_are_alike(runs):
    facts = facts_of(HEAD + COPIES.replace("PITCH", "33") + launched((*PAIR, "float")))
    assert len(runs) == 2 and len(facts.kernels) == 3


def test_instances_that_cost_nothing_are_not_left(monkeypatch):
    """A budget that suffices for one instance suffices for those that are alike."""
    monkeypatch.setattr(instance_budget, "MAX_STEPS_OF_INSTANCES", 1)
    types = ("half", "__nv_fp8_e4m3", "__nv_bfloat16", "__nv_fp8_e5m2", "float")
    facts = facts_of(HEAD + COPIES.replace("PITCH", "33") + launched(types))
    assert [k.instance.template[0][1] for k in facts.kernels] == ["half", "__nv_bfloat16"]
    assert [k.steps > 0 for k in facts.kernels] == [True, False]


BODY = """
template <class T{more}> __global__ void k(const T *g, T *out) {{
  __shared__ float tile[32 * 64];
  {before}
  tile[threadIdx.x * ({pitch})] = threadIdx.y;
}}
"""
IS_HALF = "template <class T> struct Is { static constexpr int v = 32; };\n"
PITCHES = {
    "a specialization": (
        IS_HALF + "template <> struct Is<half> { static constexpr int v = 33; };",
        BODY.format(more="", before="", pitch="Is<T>::v"),
    ),
    "an overload": (
        "__device__ int pitch(half x) { return 33; }\n"
        "__device__ int pitch(__nv_bfloat16 x) { return 32; }",
        BODY.format(more="", before="T x = g[0];", pitch="pitch(x)"),
    ),
    "a specialized function": (
        "template <class T> __device__ constexpr int pitch() { return 32; }\n"
        "template <> __device__ constexpr int pitch<half>() { return 33; }",
        BODY.format(more="", before="", pitch="pitch<T>()"),
    ),
    "is_same": (
        "#include <type_traits>",
        BODY.format(more="", before="", pitch="std::is_same_v<T, half> ? 33 : 32"),
    ),
    "constexpr if": (
        "#include <type_traits>",
        BODY.format(
            more="",
            before="int p = 32; if constexpr (std::is_same<T, half>::value) { p = 33; }",
            pitch="p",
        ),
    ),
    "a static member of a class of the type": (
        IS_HALF + "template <> struct Is<half> { static constexpr int v = 33; };\n"
        "template <class T> struct Traits { using E = T; static constexpr int v = Is<E>::v; };",
        BODY.format(more="", before="", pitch="Traits<T>::v"),
    ),
    "a default argument": (
        IS_HALF + "template <> struct Is<half> { static constexpr int v = 33; };",
        BODY.format(more=", int P = Is<T>::v", before="", pitch="P"),
    ),
    "two classes that are one": (
        "#include <type_traits>\ntemplate <class T> struct Box { T x; };",
        BODY.format(
            more="", before="", pitch="std::is_same<Box<T>, Box<half>>::value ? 33 : 32"
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", PITCHES)
def test_an_address_that_depends_on_the_type(why, monkeypatch):
    before, kernel = PITCHES[why]
    facts = both(f"{before}\n{kernel}{launched(PAIR)}", monkeypatch)
    assert ways(facts) == [("__nv_bfloat16", (32.0,)), ("half", (1.0,))]


@pytest.mark.parametrize("box", ["T x;", "T *x;", "using E = T;", "struct { T x; } y;"])
def test_a_class_of_a_type_that_is_an_argument_beside_it(box, monkeypatch):
    """Box<T> and P are one class in the first instance alone."""
    kernel = """
#include <type_traits>
template <class T> struct Box { BOX };
template <class T, class P> __global__ void k(const T *g, P *out) {
  __shared__ float tile[32 * 64];
  tile[threadIdx.x * (std::is_same<Box<T>, P>::value ? 33 : 32)] = 1;
}
void run() { k<half, Box<half>><<<1, 32>>>(0, 0); k<__nv_bfloat16, Box<half>><<<1, 32>>>(0, 0); }
"""
    facts = both(kernel.replace("BOX", box), monkeypatch)
    assert ways(facts) == [("__nv_bfloat16", (32.0,)), ("half", (1.0,))]


def test_types_of_other_sizes(monkeypatch):
    facts = both(COPIES.replace("PITCH", "32") + launched(("half", "float")), monkeypatch)
    assert len({row for _, row in ways(facts)}) == 2


@pytest.mark.parametrize(
    "row", ["Row { alignas(Is<T>::v) T x[6]; }", "alignas(2 * Is<T>::v / 2) Row { T x[6]; }"]
)
def test_types_of_other_alignment(row, monkeypatch):
    kernel = """
template <class T> struct Is { static constexpr int v = 4; };
template <> struct Is<half> { static constexpr int v = 16; };
template <class T> struct ROW;
template <class T> __global__ void k(const T *g, T *out) {
  __shared__ Row<T> tile[64];
  tile[threadIdx.x].x[0] = g[0];
}
"""
    facts = both(kernel.replace("ROW", row) + launched(PAIR), monkeypatch)
    assert ways(facts) == [("__nv_bfloat16", (1.0,)), ("half", (4.0,))]


def test_blocks_in_an_address(monkeypatch):
    kernel = BODY.format(more="", before="", pitch="blockDim.y")
    launches = launched(PAIR[:1], "dim3(32, 1)") + launched(PAIR[1:], "dim3(32, 8)").replace(
        "run", "other"
    )
    facts = both(kernel + launches, monkeypatch)
    assert ways(facts) == [("__nv_bfloat16", (8.0,)), ("half", (1.0,))]


def test_numbers_in_an_extent(monkeypatch):
    kernel = """
template <class T, int N> __global__ void k(const T *g, T *out) {
  __shared__ float tile[32][N];
  tile[threadIdx.x][0] = 1;
}
"""
    calls = "k<half, 33><<<1, 32>>>(0, 0); k<__nv_bfloat16, 32><<<1, 32>>>(0, 0);"
    facts = both(f"{kernel}void run() {{ {calls} }}", monkeypatch)
    assert ways(facts) == [("__nv_bfloat16", (32.0,)), ("half", (1.0,))]


def test_loads_that_the_compiler_may_extend(monkeypatch):
    """Two bytes of __nv_bfloat16 are LDS.U16 or LDS.64, depending on their use: half is LDS.64."""
    kernel = """
template <class T> __global__ void k(const T *g, T *out) {
  __shared__ T tile[4096];
  for (int i = 0; i < 4; i++) tile[threadIdx.x * 4 + i] = g[i];
  __syncthreads();
  for (int i = 0; i < 4; i++) out[i] = tile[threadIdx.x * 4 + i];
}
"""
    both(kernel + launched(PAIR), monkeypatch)


def test_two_types_in_another_order(runs, monkeypatch):
    """(half, half) is not (half, __nv_bfloat16): what is one type there is two here."""
    kernel = """
#include <type_traits>
template <class T, class U> __global__ void k(const T *g, U *out) {
  __shared__ float tile[32 * 64];
  tile[threadIdx.x * (std::is_same<T, U>::value ? 33 : 32)] = 1;
}
"""
    pairs = (
        "half, half",
        "half, __nv_bfloat16",
        "__nv_bfloat16, half",
        "__nv_bfloat16, __nv_bfloat16",
    )
    calls = "".join(f"k<{pair}><<<1, 32>>>(0, 0);" for pair in pairs)
    text = f"{kernel}void run() {{ {calls} }}"
    facts = facts_of(HEAD + text)
    assert len(runs) == 2
    found = {k.instance.template: k.accesses[0].wavefronts.mean for k in facts.kernels}
    assert sorted(found.values()) == [1.0, 1.0, 32.0, 32.0]
    both(text, monkeypatch)
