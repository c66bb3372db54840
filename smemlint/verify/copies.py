"""Asynchronous copies on a GPU: Nsight Compute counts them, for time does not tell wavefronts.

A program of our own makes one copy of each distinct pattern, each on a line of its own, with the
recorded addresses moved to the start of its memory. No text of the linted files is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smemlint.facts import AccessKind
from smemlint.finding import Measurement, Verdict
from smemlint.verify.device import Engine, GpuError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from smemlint.config.settings import Settings
    from smemlint.facts import Access, WarpPattern

_LINE = 128
_MOST = 512
"""Patterns of one program; the others are not replayed, which is said."""
_FILE = "copies.cu"
_FIRST = 1000
"""The line of the program that makes the first copy; the next ones follow."""
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
    """The addresses with their lines of 128 bytes in the same order, and none between them."""
    lines = np.unique(addresses[active] // _LINE)
    near = np.searchsorted(lines, addresses // _LINE) * _LINE + addresses % _LINE
    return tuple(int(a) if on else -1 for a, on in zip(near, active, strict=True))


def copy_verdicts(
    accesses: Iterable[Access], settings: Settings, engine: Engine
) -> dict[int, Measurement]:
    """Returns what was counted of asynchronous copies, by the identity of the access.

    Args:
        accesses: of any kind; others than copies are passed over.
        settings: target and time.
        engine: builds, runs and profiles a program.
    """
    copies = [a for a in accesses if a.kind is AccessKind.ASYNC_COPY]
    if not copies:
        return {}
    wanted = dict.fromkeys(c for a in copies for p in a.patterns if (c := copy_of(a, p)))
    chosen = list(wanted)[:_MOST]
    if not chosen:
        return {id(a): _untold(a, _NO_SOURCE) for a in copies}
    try:
        answer = engine(_request(chosen, settings))
    except GpuError as error:
        return {id(a): _untold(a, str(error)) for a in copies}
    if "failed" in answer:
        return {id(a): _untold(a, str(answer["failed"])) for a in copies}
    about = answer["about"]
    counted = {row["line"] - _FIRST: row for row in answer["rows"] if row["op"] == "LDGSTS"}
    found = {copy: counted[k] for k, copy in enumerate(chosen) if k in counted}
    device = f"{about['device']}, {about['arch']}"
    return {id(a): _judged(a, found, device) for a in copies}


def _judged(access: Access, counted: Mapping[Copy, Mapping[str, Any]], device: str) -> Measurement:
    """The verdict on an access: its worst pattern's, or that of one that is refuted."""
    found: list[Measurement] = []
    for pattern in sorted(access.patterns, key=lambda p: p is not access.worst):
        copy = copy_of(access, pattern)
        row = counted.get(copy) if copy is not None else None
        if row is not None:
            seen = row["wavefronts"] / max(row["inst"], 1)
            is_equal = seen == pattern.wavefronts
            verdict = Verdict.CONFIRMED if is_equal else Verdict.REFUTED
            found.append(Measurement(verdict, pattern.wavefronts, seen, 0.0, device))
    if not found:
        return _untold(access, _NO_SOURCE)
    return next((m for m in found if m.verdict is Verdict.REFUTED), found[0])


def _untold(access: Access, reason: str) -> Measurement:
    worst = access.worst
    predicted = worst.wavefronts if worst is not None else 0
    return Measurement(Verdict.NOT_REPLAYABLE, predicted, None, 0.0, "", reason)


def _request(copies: Sequence[Copy], settings: Settings) -> dict[str, Any]:
    return {
        "files": {_FILE: program(copies)},
        "build": ("nvcc", "-O3", "-lineinfo", f"-arch={settings.arch}", "-o", "program", _FILE),
        "run": ("./program",),
        "device": settings.device,
        "timeout": settings.verify_timeout,
    }


def program(copies: Sequence[Copy]) -> str:
    """Returns the CUDA program that makes each copy once, in a block of one warp.

    Args:
        copies: the one at index k is made on line 1000 + k.
    """
    room = [max(max(side) for side in sides) + _LINE for sides in _sides(copies)]
    tables = [
        "{" + ",".join("{" + ",".join(map(str, side)) + "}" for side in sides) + "}"
        for sides in _sides(copies)
    ]
    calls = "\n".join(
        f"  if (to[{k}][lane] >= 0) COPY({c.form}, {c.width}, {k})" for k, c in enumerate(copies)
    )
    head = _PROGRAM.format(n=len(copies), to=tables[0], source=tables[1])
    tail = _MAIN.format(shared=room[0], memory=room[1])
    return f'{head}#line {_FIRST} "{_FILE}"\n{calls}\n{tail}'


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
