"""Asynchronous copies on a GPU: Nsight Compute counts them, for time does not tell wavefronts.

A program of our own makes each distinct pattern, each on a line of its own, with the recorded
addresses moved to the start of its memory. No text of the linted files is in it.

The profiler counts nothing for some copies past L1, always those at certain places of the code: 69
of 505 on an H100, which it did count elsewhere. So all copies are made again at other places, and
a count of 0 says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smemlint.facts import AccessKind
from smemlint.finding import Measurement, Verdict
from smemlint.lazy_dataclasses import dataclass
from smemlint.verify.device import Engine, GpuError
from smemlint.verify.verdict import unmeasured

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from smemlint.config.settings import Settings
    from smemlint.facts import Access, WarpPattern

_LINE = 128
_MOST = 512
"""Patterns of one program; the others are not replayed, with a note."""
_FILE = "copies.cu"
_FIRST = 1000
"""The line of the program that makes the first copy; the next ones follow."""
_ROUNDS = 4
"""How often all copies are made, each time one line further on."""
_NO_SOURCE = "what the copy reads is not known"


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a warp.

    Attributes:
        form: `cg` or `ca`.
        width: bytes a lane.
        to, source: byte offsets of the lanes that take part; -1 for the others.
    """

    form: str
    width: int
    to: tuple[int, ...]
    source: tuple[int, ...]


def copy_of(access: Access, pattern: WarpPattern) -> Copy | None:
    """Returns the replay of a pattern; None where what it reads is not known."""
    if pattern.source is None or not pattern.wavefronts:
        return None
    sides = [_moved(side, pattern.active) for side in (pattern.addresses, pattern.source)]
    return Copy(access.note.rpartition(".")[2], pattern.width, *sides)


def _moved(addresses: NDArray[np.int64], active: NDArray[np.bool_]) -> tuple[int, ...]:
    """Returns the addresses with their 128-byte lines in order, and none between them."""
    lines = np.unique(addresses[active] // _LINE)
    near = np.searchsorted(lines, addresses // _LINE) * _LINE + addresses % _LINE
    return tuple(int(a) if on else -1 for a, on in zip(near, active, strict=True))


def copy_verdicts(
    accesses: Iterable[Access], settings: Settings, engine: Engine
) -> dict[int, Measurement]:
    """Returns what was counted of asynchronous copies, by the identity of the access."""
    copies = [a for a in accesses if a.kind is AccessKind.ASYNC_COPY]
    if not copies:
        return {}
    distinct = dict.fromkeys(c for a in copies for p in a.patterns if (c := copy_of(a, p)))
    chosen = list(distinct)[:_MOST]
    if not chosen:
        return {id(a): unmeasured(a, _NO_SOURCE) for a in copies}
    try:
        answer = engine(_request(chosen, settings))
    except GpuError as error:
        return {id(a): unmeasured(a, str(error)) for a in copies}
    if "failed" in answer:
        return {id(a): unmeasured(a, str(answer["failed"])) for a in copies}
    about = answer["about"]
    found = counts(chosen, answer["rows"])
    device = f"{about['device']}, {about['arch']}"
    return {id(a): _judged(a, found, device) for a in copies}


def counts(copies: Sequence[Copy], rows: Iterable[Mapping[str, Any]]) -> dict[Copy, float]:
    """Returns the wavefronts of each copy that was counted, and always alike."""
    by_line = {row["line"]: row for row in rows if row["op"] == "LDGSTS"}
    found = {}
    for k, copy in enumerate(copies):
        lines = (by_line.get(_line(len(copies), turn, k)) for turn in range(_ROUNDS))
        seen = {row["wavefronts"] / row["inst"] for row in lines if row and row["inst"]} - {0}
        if len(seen) == 1:
            found[copy] = seen.pop()
    return found


def _line(count: int, turn: int, k: int) -> int:
    """Returns the line of the program on which copy k is made for the n-th time."""
    return _FIRST + turn * (count + 1) + k


def _judged(access: Access, counted: Mapping[Copy, float], device: str) -> Measurement:
    """Returns the verdict on an access: its worst pattern's, or that of one that is refuted."""
    found: list[Measurement] = []
    for pattern in sorted(access.patterns, key=lambda p: p is not access.worst):
        copy = copy_of(access, pattern)
        seen = counted.get(copy) if copy is not None else None
        if seen is not None:
            is_equal = seen == pattern.wavefronts
            verdict = Verdict.CONFIRMED if is_equal else Verdict.REFUTED
            found.append(Measurement(verdict, pattern.wavefronts, seen, 0.0, device))
    if not found:
        return unmeasured(access, "the profiler did not count the copy")
    return next((m for m in found if m.verdict is Verdict.REFUTED), found[0])


def _request(copies: Sequence[Copy], settings: Settings) -> dict[str, Any]:
    return {
        "files": {_FILE: program(copies)},
        "build": ("nvcc", "-O3", "-lineinfo", f"-arch={settings.arch}", "-o", "program", _FILE),
        "run": ("./program",),
        "device": settings.device,
        "timeout": settings.verify_timeout,
    }


def program(copies: Sequence[Copy]) -> str:
    """Returns the CUDA program that makes the copies several times, in a block of one warp.

    Args:
        copies: the one at index k is made on line 1000 + k for the first time.
    """
    room = [max(max(side) for side in sides) + _LINE for sides in _sides(copies)]
    tables = [
        "{" + ",".join("{" + ",".join(map(str, side)) + "}" for side in sides) + "}"
        for sides in _sides(copies)
    ]
    once = [_call(k, c) for k, c in enumerate(copies)]
    calls = "".join(line for _ in range(_ROUNDS) for line in (*once, once[0]))
    head = _PROGRAM.format(n=len(copies), to=tables[0], source=tables[1])
    tail = _MAIN.format(shared=room[0], memory=room[1])
    return f'{head}#line {_FIRST} "{_FILE}"\n{calls}{tail}'


def _call(k: int, copy: Copy) -> str:
    """Returns the line that makes a copy, in the lanes that take part."""
    condition = f"if (to[{k}][lane] >= 0) " if min(copy.to) < 0 else ""
    return f"  {condition}COPY({copy.form}, {copy.width}, {k})\n"


def _sides(copies: Sequence[Copy]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    return [c.to for c in copies], [c.source for c in copies]


_PROGRAM = """\
#include <cstdio>
#include <cuda_runtime.h>
__device__ const int to[{n}][32] = {to};
__device__ const int source[{n}][32] = {source};
#define COPY(form, width, k) \\
  asm volatile("cp.async." #form ".shared.global [%0], [%1], " #width ";" \\
               :: "r"(shared + to[k][lane]), "l"(memory + source[k][lane]) : "memory");
__global__ void smemlint_copies(const char *memory) {{
  extern __shared__ __align__(128) char block[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(block), lane = threadIdx.x;
"""
_MAIN = """\
  asm volatile("cp.async.wait_all;" ::: "memory");
}}
int main() {{
  char *memory;
  cudaMalloc(&memory, {memory});
  cudaFuncSetAttribute(smemlint_copies, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared});
  smemlint_copies<<<1, 32, {shared}>>>(memory);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "\\nsmemlint: %s\\n", cudaGetErrorName(error));
  return error != cudaSuccess;
}}
"""
