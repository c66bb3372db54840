"""Structs and grids that launches pass: their numbers count where an access hangs on them."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.facts import Certainty
from smemlint.sources.source import Source

KERNEL = """
struct Shape { int rows, stride; };
struct Params { float *out; Shape shape; union { int flag; float scale; }; };
__global__ void k(%s) {
  extern __shared__ float s[];
  %s
}
"""
STRIDED = "s[threadIdx.x * %s] = 1.f;"


def stores_of(text):
    return [access for kernel in facts_of(text).kernels for access in kernel.accesses]


@pytest.mark.parametrize(
    ("parameter", "stride", "host"),
    [
        ("Params p", "p.shape.stride", "Params p; p.shape.stride = 8; k<<<1, 32>>>(p);"),
        ("const Params p", "p.shape.stride", "Params p{o, {4, 8}}; k<<<n, 32>>>(p);"),
        (
            "Params p",
            "p.shape.stride",
            "Params p; p.shape = Shape{1, 8}; void *a[] = {&p};"
            " cudaLaunchKernel((void *)k, 1, 32, a, 0, 0);",
        ),
        (
            "float *o, int n",
            "n",
            "int m = 8; void *a[] = {&o, &m}; cudaLaunchKernel((void *)k, 1, 32, a, 0, 0);",
        ),
        ("float *o", "gridDim.y", "k<<<dim3(n, 8), 32>>>(o);"),
        ("float *o", "(8 + blockIdx.y * gridDim.z)", "k<<<dim3(n, 1, 3), 32>>>(o);"),
    ],
)
def test_eight_words_apart_are_eight_ways(parameter, stride, host):
    text = KERNEL % (parameter, STRIDED % stride) + f"void run(float *o, int n) {{ {host} }}"
    (store,) = stores_of(text)
    assert store.wavefronts is not None
    assert store.wavefronts.mean == 8
    assert store.certainty is Certainty.ASSUMED


@pytest.mark.parametrize(
    "host",
    [
        "Params p; p.shape.stride = n; k<<<1, 32>>>(p);",
        "Params p; fill(&p); k<<<1, 32>>>(p);",
        "Params p; p.flag = 8; k<<<1, 32>>>(p);",
        "void *a[] = {o, o}; cudaLaunchKernel((void *)k, 1, 32, a, 0, 0);",
    ],
)
def test_what_is_not_known_stays_open(host):
    text = KERNEL % ("Params p", STRIDED % "p.shape.stride")
    (store,) = stores_of(text + f"void run(float *o, int n) {{ {host} }}")
    assert store.wavefronts is None


def test_a_copy_of_a_struct_has_the_members_that_were_passed():
    body = "Params q = p; Shape t = q.shape; int w = p.shape.rows; s[threadIdx.x * t.stride] = w;"
    text = KERNEL % ("Params p", body)
    (store,) = stores_of(text + "void run() { Params p; p.shape = Shape{3, 4}; k<<<1, 32>>>(p); }")
    assert store.wavefronts is not None
    assert store.wavefronts.mean == 4


def test_what_launches_pass_is_noted_of_kernels_of_compiled_code_alone():
    text = "".join(
        f"__global__ void {name}(float *g, int n) {{ __shared__ float s[64];"
        f" s[threadIdx.x] = n; g[0] = s[0]; }}\nvoid run_{name}(float *g) {{"
        f" {name}<<<1, 64>>>(g, 7); }}\n"
        for name in ("named", "other")
    )
    compiled = Source("k.ptx", ".visible .entry _Z5namedPfi() { ret; }")
    kernels = Project([Source("k.cu", text)], Settings(), compiled=(compiled,)).facts().kernels
    assert [[a.value for a in k.passed] for k in kernels] == [[7], []]
