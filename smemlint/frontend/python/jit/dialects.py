"""What `cupyx.jit` and `numba.cuda` call things, and how their integers behave.

Names are resolved ones (see `imports`); both APIs are tables, so that the lowering is one.
Sources: cupyx/jit/_builtin_funcs.py of CuPy 14.2, the CUDA Python reference of numba-cuda 0.30.
"""

from __future__ import annotations

from collections.abc import Mapping

from smemlint.frontend.heuristics import is_numba, numba_member
from smemlint.lazy_dataclasses import dataclass

COORDINATES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write kernels in Python.

    Attributes:
        name: as a reader knows it.
        prefixes: modules whose members are meant, without the final dot.
        decorators: members that make a function a kernel.
        shared, local: members that declare arrays.
        has_wide_integers: every integer is an `int64`, coordinates too; else C's rules hold.
        wraps_negative_indices: `a[-1]` is the last element.
        functions: member -> built-in function of the evaluator, called with the same arguments.
        atomics: member -> atomic function; called with array, index and value.
    """

    name: str
    prefixes: tuple[str, ...]
    decorators: frozenset[str]
    shared: frozenset[str]
    local: frozenset[str]
    has_wide_integers: bool
    wraps_negative_indices: bool
    functions: Mapping[str, str]
    atomics: Mapping[str, str]

    def member(self, name: str) -> str:
        """Returns the part of a resolved name behind its module; empty for other modules."""
        for prefix in self.prefixes:
            if name.startswith(prefix + "."):
                return name[len(prefix) + 1 :]
        return numba_member(name) if self is NUMBA else ""


_SYNCHRONIZATION = {"syncthreads": "__syncthreads", "syncwarp": "__syncwarp"}
_ATOMICS = {
    "add": "atomicAdd", "sub": "atomicSub", "exch": "atomicExch", "min": "atomicMin",
    "max": "atomicMax", "inc": "atomicInc", "dec": "atomicDec", "cas": "atomicCAS",
    "and": "atomicAnd", "or": "atomicOr", "xor": "atomicXor",
}  # fmt: skip

CUPYX = Dialect(
    name="cupyx.jit",
    prefixes=("cupyx.jit",),
    decorators=frozenset(("rawkernel",)),
    shared=frozenset(("shared_memory",)),
    local=frozenset(),
    has_wide_integers=False,
    wraps_negative_indices=False,
    functions={
        **_SYNCHRONIZATION,
        "laneid": "__laneid",
        "shfl_sync": "__shfl_sync",
        "shfl_up_sync": "__shfl_up_sync",
        "shfl_down_sync": "__shfl_down_sync",
        "shfl_xor_sync": "__shfl_xor_sync",
        "cg.this_thread_block": "this_thread_block",
    },
    atomics={f"atomic_{name}": function for name, function in _ATOMICS.items()},
)
NUMBA = Dialect(
    name="numba.cuda",
    prefixes=("numba.cuda", "numba_cuda.numba.cuda"),
    decorators=frozenset(("jit",)),
    shared=frozenset(("shared.array",)),
    local=frozenset(("local.array",)),
    has_wide_integers=True,
    wraps_negative_indices=True,
    functions={
        **_SYNCHRONIZATION,
        "syncthreads_count": "__syncthreads_count",
        "syncthreads_and": "__syncthreads_and",
        "syncthreads_or": "__syncthreads_or",
        "threadfence": "__threadfence",
        "threadfence_block": "__threadfence_block",
        "threadfence_system": "__threadfence_system",
        "shfl_sync": "__shfl_sync",
        "shfl_up_sync": "__shfl_up_sync",
        "shfl_down_sync": "__shfl_down_sync",
        "shfl_xor_sync": "__shfl_xor_sync",
        "popc": "__popc",
        "clz": "__clz",
        "ffs": "__ffs",
        "brev": "__brev",
        "fma": "fma",
    },
    atomics={
        **{
            f"atomic.{name}": function
            for name, function in _ATOMICS.items()
            if name not in ("and", "or")
        },
        "atomic.and_": "atomicAnd",
        "atomic.or_": "atomicOr",
    },
)
DIALECTS = (CUPYX, NUMBA)

_WORDS = {
    "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
    "float16": "half", "float32": "float", "float64": "double",
    "bool_": "bool", "boolean": "bool", "bool": "bool", "intp": "int64_t", "uintp": "uint64_t",
    "byte": "int8_t", "ubyte": "uint8_t", "short": "int16_t", "ushort": "uint16_t",
    "intc": "int32_t", "uintc": "uint32_t", "longlong": "int64_t", "ulonglong": "uint64_t",
    "half": "half", "single": "float", "double": "double",
    "i1": "int8_t", "i2": "int16_t", "i4": "int32_t", "i8": "int64_t",
    "u1": "uint8_t", "u2": "uint16_t", "u4": "uint32_t", "u8": "uint64_t",
    "f2": "half", "f4": "float", "f8": "double", "b1": "bool",
    "complex64": "float2", "complex128": "double2", "c8": "float2", "c16": "double2",
}  # fmt: skip
_LIBRARIES = frozenset(("numpy", "cupy", ""))


def element_type(name: str) -> str | None:
    """Returns the C type of a resolved name of a dtype (`numpy.float32`, `int`, `f4`), if known.

    Vector types are left out. A complex number is moved as one (numba-cuda 0.30.4, sm_90).
    """
    module, _, last = name.rpartition(".")
    if not module and last in ("int", "float"):
        return "int64_t" if last == "int" else "double"
    return _WORDS.get(last) if module in _LIBRARIES or is_numba(module) else None
