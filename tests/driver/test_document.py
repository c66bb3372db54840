"""A run for one document: what is found in it is what a run for all files finds there."""

from __future__ import annotations

import pytest

from smemlint.config.settings import Configuration
from smemlint.driver.request import Request
from smemlint.driver.run import conclude, find
from smemlint.driver.schedule import IN_PROCESS
from smemlint.facts import Span
from smemlint.lint.result import Result
from smemlint.sources.source import Source

STORE = "s[threadIdx.x * 2] = *g; *g = s[threadIdx.x ^ 1];"
FILES = {
    "put.cuh": f"__device__ void put(float *g) {{ __shared__ float s[2048]; {STORE} }}\n",
    "own.cuh": f"__global__ void own(float *g) {{ __shared__ float s[2048]; {STORE} }}\n",
    "uses.cuh": '#include "put.cuh"\n__global__ void uses(float *g) { put(g); }\n',
    "main.cu": """#include "own.cuh"
#include "uses.cuh"
__global__ void last(float *g) { put(g); }
void go(float *g) { own<<<1, 64>>>(g); uses<<<1, 64>>>(g); last<<<1, 64>>>(g); }
""",
}


def shown(result: Result) -> list[tuple[Span, str, str, tuple[str, ...]]]:
    """Returns the findings as they are shown."""
    return [(f.span, f.code, f.message, f.notes) for f in result.findings]


@pytest.mark.parametrize(
    ("name", "evaluated"),
    [
        ("put.cuh", ["last", "uses"]),
        ("own.cuh", ["own"]),
        ("main.cu", ["last", "own", "uses"]),
    ],
)
def test_kernels_that_cannot_come_to_a_document_are_not_evaluated(name, evaluated, tmp_path):
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    path = str(tmp_path / name)
    sources = [Source(str(tmp_path / file), text) for file, text in FILES.items()]
    request = Request(sources, Configuration(isolated=True), IN_PROCESS, keep_facts=True)
    whole = conclude(find(request), request)
    request = Request(
        sources, Configuration(isolated=True), IN_PROCESS, document=path, keep_facts=True
    )
    result = conclude(find(request), request)
    assert sorted({k.instance.kernel for k in result.facts.kernels}) == evaluated
    assert shown(result) == [f for f in shown(whole) if f[0].path == path]
    assert bool(result.findings) == (name in ("put.cuh", "own.cuh"))


def test_a_kernel_may_use_the_operators_of_a_document(tmp_path):
    operator = (
        "struct P { float *g; };\n__device__ int operator+(P p, int) "
        "{ float *g = p.g; __shared__ float s[2048]; " + STORE + " return 0; }\n"
    )
    kernel = "__global__ void k(P p) { P q = p; q + 1; }\nvoid go(P p) { k<<<1, 64>>>(p); }\n"
    (tmp_path / "operator.cuh").write_text(operator)
    sources = [
        Source(str(tmp_path / "operator.cuh"), operator),
        Source(str(tmp_path / "main.cu"), f'#include "operator.cuh"\n{kernel}'),
    ]
    path = sources[0].path
    request = Request(sources, Configuration(isolated=True), IN_PROCESS, document=path)
    assert [f.span.line for f in conclude(find(request), request).findings] == [2]
