"""The replay kernels, one for each form of instruction.

16 warps of one block issue one pattern back to back, so that nothing but the data stage of shared
memory limits them: cycles per access are then wavefronts. Every round is timed twice, over few and
over many repeats; the difference is free of what starting and draining the pipeline takes.

One thing else takes time: an 8- or 16-byte access hands over 2 or 4 times 128 bytes, a cycle each,
even where all lanes of such a part are off, which is no wavefront. Handing over goes on while the
banks serve another access, so such patterns are issued in turn with a companion that keeps the
banks busy for longer than that: a 4-byte load of `COMPANION` wavefronts. Both together then take
the sum of their wavefronts (measured on an H200 against the profiler's counters).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, cached_property

from smemlint.hardware.arch import WORD
from smemlint.hardware.atomics import MEASURED
from smemlint.lazy_dataclasses import dataclass

WARPS = 16
UNROLLED = 16
"""Times that the timed loop of a kernel holds its instruction."""
COMPANION = 8
"""Wavefronts of the load that accompanies a pattern; more than any idle part of it takes."""

_PTX_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "v2.u32", 16: "v4.u32"}
_BITWISE = ("exch", "and", "or", "xor", "cas")


@dataclass(frozen=True, order=True)
class Form:
    """One form of shared-memory instruction: everything of a replay but addresses and mask.

    Attributes:
        kind: `load`, `store`, `ldmatrix`, `stmatrix` or `atomic`.
        width: bytes that a lane moves; 16 for matrices, 4 for atomics.
        matrices: 1, 2 or 4, of matrix instructions.
        is_transposed: `.trans`, of matrix instructions.
        operation: of an atomic, as `hardware.atomics` spells it; `.red` at its end asks for the
            form without a result.
        is_accompanied: a companion is issued after each; of 8- and 16-byte loads and stores.
    """

    kind: str
    width: int
    matrices: int = 0
    is_transposed: bool = False
    operation: str = ""
    is_accompanied: bool = False

    @cached_property
    def name(self) -> str:
        """E.g. `load_16`, `ldmatrix_x4_trans`, `atomic_add_u32`; the kernel is called so."""
        if self.kind == "atomic":
            return f"atomic_{self.operation.replace('.', '_')}"
        if self.matrices:
            return f"{self.kind}_x{self.matrices}" + "_trans" * self.is_transposed
        return f"{self.kind}_{self.width}" + "_accompanied" * self.is_accompanied


@cache
def forms() -> dict[str, Form]:
    """Returns all forms there are, by name."""
    plain = [Form(kind, width) for kind in ("load", "store") for width in _PTX_TYPES]
    accompanied = [replace(form, is_accompanied=True) for form in plain if form.width > WORD]
    matrices = [
        Form(kind, 16, count, is_transposed)
        for kind in ("ldmatrix", "stmatrix")
        for count in (1, 2, 4)
        for is_transposed in (False, True)
    ]
    operations = [*MEASURED, "add.u32.red"]
    atomics = [Form("atomic", 4, operation=operation) for operation in operations]
    return {form.name: form for form in (*plain, *accompanied, *matrices, *atomics)}


def source(chosen: Iterable[Form]) -> str:
    """Returns CUDA C++ of the kernels of some forms.

    Each takes the byte offsets (patterns, 32) and the lane masks (patterns), and writes the cycles
    that one block took: (patterns, 2 * rounds), over `few` and `many` repeats in turn. `zero` is
    0, which the compiler cannot know, so that nothing is the same from one repeat to the next.
    """
    return _PRELUDE + "".join(_kernel(form) for form in chosen)


def _kernel(form: Form) -> str:
    if form.is_accompanied:
        return _KERNEL % (form.name, "true", f"{_predicated(form)}\n          {_BESIDE}")
    return _KERNEL % (form.name, "is_active", _access(form))


_PRELUDE = f"""\
// Written by smemlint: replays address patterns; no linted code is in here.
#define WARPS {WARPS}
#define UNROLLED {UNROLLED}
#define COMPANION {COMPANION}
"""

_KERNEL = """
extern "C" __global__ void __launch_bounds__(32 * WARPS) %s(
    const unsigned *offsets, const unsigned *masks, long long *cycles, unsigned *sink,
    unsigned few, unsigned many, unsigned rounds, unsigned zero)
{
  extern __shared__ __align__(1024) unsigned char window[];
  const unsigned lane = threadIdx.x %% 32;
  unsigned at = (unsigned)__cvta_generic_to_shared(window) + offsets[blockIdx.x * 32 + lane];
  const unsigned beside = (unsigned)__cvta_generic_to_shared(window) + lane %% COMPANION * 128;
  const bool is_active = masks[blockIdx.x] >> lane & 1;
  unsigned sum = threadIdx.x;
#pragma unroll 1
  for (unsigned round = 0; round < 2 * rounds; ++round) {
    const unsigned repeats = round & 1 ? many : few;
    __syncthreads();
    const long long begin = clock64();
    if (%s) {
#pragma unroll 1
      for (unsigned repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll
        for (unsigned i = 0; i < UNROLLED; ++i) {
          %s
        }
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) cycles[blockIdx.x * 2 * rounds + round] = clock64() - begin;
  }
  if (zero) sink[0] = sum;
}
"""


def _access(form: Form) -> str:
    """Returns the statement that issues the instruction once and uses what it brings."""
    if form.kind == "atomic":
        return _atomic(form.operation)
    if form.matrices:
        trans = ".trans" * form.is_transposed
        op = f"{form.kind}.sync.aligned.m8n8.x{form.matrices}{trans}.shared.b16"
        count = form.matrices
        # There is no volatile form: an address that may change keeps every one of them.
        before = "at += zero; "
    else:
        op = f"{'ld' if form.kind == 'load' else 'st'}.volatile.shared.{_PTX_TYPES[form.width]}"
        count, before = max(form.width // 4, 1), ""
    if form.kind in ("load", "ldmatrix"):
        return before + _loading(op, count)
    values = ", ".join(f"%{1 + k}" for k in range(count))
    listed = f"{{{values}}}" if count > 1 or form.matrices else values
    inputs = ", ".join(['"r"(at)', *['"r"(sum)'] * count])
    return f'{before}asm volatile("{op} [%0], {listed};" :: {inputs} : "memory");'


_BESIDE = (
    'unsigned other; asm volatile("ld.volatile.shared.u32 %0, [%1];" '
    ': "=r"(other) : "r"(beside) : "memory"); sum ^= other;'
)


def _predicated(form: Form) -> str:
    """Returns an 8- or 16-byte access of the active lanes, from code that all lanes run."""
    op = f"{'ld' if form.kind == 'load' else 'st'}.volatile.shared.{_PTX_TYPES[form.width]}"
    count = form.width // WORD
    condition = f"{{.reg .pred p; setp.ne.u32 p, %{count + 1}, 0; @p {op}"
    if form.kind == "store":
        values = ", ".join(f"%{k}" for k in range(count))
        inputs = ", ".join([*['"r"(sum)'] * count, '"r"(at)', '"r"((unsigned)is_active)'])
        return f'asm volatile("{condition} [%{count}], {{{values}}};}}" :: {inputs} : "memory");'
    names = [f"v{k}" for k in range(count)]
    places = ", ".join(f"%{k}" for k in range(count))
    outputs = ", ".join(f'"+r"({name})' for name in names)
    return (
        f"unsigned {', '.join(f'{name} = 0' for name in names)}; "
        f'asm volatile("{condition} {{{places}}}, [%{count}];}}" : {outputs} '
        f': "r"(at), "r"((unsigned)is_active) : "memory"); '
        f"sum ^= {' ^ '.join(names)};"
    )


def _loading(op: str, count: int) -> str:
    names = [f"v{k}" for k in range(count)]
    places = ", ".join(f"%{k}" for k in range(count))
    listed = f"{{{places}}}" if count > 1 or op.startswith("ldmatrix") else places
    outputs = ", ".join(f'"=r"({name})' for name in names)
    return (
        f"unsigned {', '.join(names)}; "
        f'asm volatile("{op} {listed}, [%{count}];" : {outputs} : "r"(at) : "memory"); '
        f"sum ^= {' ^ '.join(names)};"
    )


def _atomic(operation: str) -> str:
    name, kind, *rest = operation.split(".")
    if name in _BITWISE:
        kind = "b32"
    elif name not in ("min", "max") or kind != "s32":
        kind = "u32"
    value = "1" if "one" in rest else "%1"
    if "red" in rest:
        inputs = '"r"(at)' if "one" in rest else '"r"(at), "r"(sum)'
        return f'asm volatile("red.shared.{name}.{kind} [%0], {value};" :: {inputs} : "memory");'
    values = "%2, %2" if name == "cas" else "%2"
    return (
        f'unsigned v; asm volatile("atom.shared.{name}.{kind} %0, [%1], {values};" '
        f': "=r"(v) : "r"(at), "r"(threadIdx.x) : "memory"); sum ^= v;'
    )
