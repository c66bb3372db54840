"""CUDA text in CuPy's calls: what is not read is said where it stands."""

from __future__ import annotations

import pytest

from smemlint.config import Settings
from smemlint.engine import analyze
from smemlint.source import Source

_SHARED = "'__global__ void f() { __shared__ float s[32]; }'"


def _notes(text: str) -> list[tuple[int, int, str]]:
    facts, crashed = analyze([Source("k.py", text)], Settings())
    assert not crashed
    return [(n.span.line, n.span.column, n.reason) for n in facts.not_analysed]


def test_texts_with_shared_memory_are_said_at_their_call() -> None:
    text = f"import cupy as cp\nk = cp.RawKernel({_SHARED}, 'f')\n  \n"
    assert _notes(text) == [(2, 5, "the CUDA text of `RawKernel` is not read yet")]


@pytest.mark.parametrize("argument", ["code=TEXT", "TEXT", "path='a.cubin'", "f'{TEXT}'"])
def test_texts_that_are_no_literals_may_use_it(argument: str) -> None:
    found = _notes(f"m = cupy.RawModule({argument})\n")
    assert found == [(1, 5, "the CUDA text of `RawModule` is not read yet")]


@pytest.mark.parametrize(
    "call",
    [
        "cp.RawKernel('__global__ void f() {}', 'f')",
        "cp.RawModule(code='__global__ void f() {}')",
        "cp.ElementwiseKernel('T x', 'T y', OPERATION, 'f')",
        "RawKernel",
    ],
)
def test_texts_without_it_are_not_mentioned(call: str) -> None:
    assert _notes(f"k = {call}\n") == []


def test_preambles_with_it_are_said() -> None:
    text = (
        f"k = cp.ReductionKernel('T x', 'T y', 'x', 'a+b', 'y=a', '0', 'n', preamble={_SHARED})\n"
    )
    assert _notes(text) == [(1, 5, "the CUDA text of `ReductionKernel` is not read yet")]
