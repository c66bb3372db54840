"""Arithmetic that compilers give branches, which part the accesses before from those behind.

Measured with nvcc 13.0.88 (sm_90, -O3, no -use_fast_math) on four stores `s[4 * t + i] = f(x)` and
four loads `a += f(s[4 * t + i])`, for float and (two) for double, plain arrays and `__align__(16)`:

| function | stores | loads |
| --- | --- | --- |
| exp of float, tanh of float, `x * y`, `x / 2.f`, __expf, fmin, floor | one STS.128 | one LDS.128 |
| log, pow of float, exp of double | four STS | one LDS.128 |
| sin, cos, tan, fmod, atan2, pow of double | four STS | four LDS |
| `x / y`, `1 / x`, sqrt | four STS, one of an aligned array | four LDS, one of an aligned array |

Operators and conversions of half, __nv_bfloat16 and their pairs are inline assembly in CUDA's
headers, across which LLVM fuses nothing: of eight `a += __half2float(s[128 * t + i])` of a
`__align__(16)` array two LDS.64, of eight `o[128 * i + t] = s[128 * t + i]` one LDS.128; of eight
`s[t][i] = __float2half(x), r[t][i] = __float2half(y)` 16 STS.U16, with halves x and y two STS.128.
From sm_100 on nvcc has another LLVM, which fuses across it: an LDS.128 and two STS.128. (There it
knows logf, log2f and their like without branches, too, which is not modelled.)

Equal quotients of a loop are computed once, in front of it, and with -use_fast_math most of these
have no branch: that neighbours stay apart is no more certain than that they fuse.

Of integers, `x / n` and `x % n` with a divisor that is no constant, plain arrays:

| divisor | stores | loads |
| --- | --- | --- |
| int, also in an index as of `in[(b + i) / n]` | four STS | one LDS.128 |
| unsigned int | one STS.128 | one LDS.128 |
| 64 bits | four STS | four LDS |
"""

from __future__ import annotations

from enum import IntEnum

from smemlint.analysis.simt.domain.ctypes import I32, CType, FloatType, RecordType, common
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, FloatValue, Unknown, Value
from smemlint.hardware.arch import architecture
from smemlint.lazy_patterns import pattern

_NEW_LLVM = (10, 0)
"""The first compute capability that nvcc 13 compiles with it."""


class SlowPath(IntEnum):
    """Which accesses stay apart, in LLVM and in ptxas."""

    VALUE = 0
    """Stores: loads move up across the branches that compute a value."""
    BRANCH = 1
    """Loads and stores."""
    EXPANSION = 2
    """Loads and stores in ptxas, which makes the branches; LLVM sees one instruction."""
    ASSEMBLY = 3
    """Loads and stores in LLVM; ptxas sees one instruction."""
    CHOICE = 4
    """Surely stores: an arm of a branch that is a block of its own computes a value, or a load
    between them may read shared memory."""
    FETCH = 5
    """Surely stores, in LLVM: four bytes that `tex2D` gives are four STS.U8, four floats one
    STS.128 (nvcc 13.5.37, sm_90 and sm_100)."""


_OF_FLOAT = {
    SlowPath.VALUE: "asinh acosh atan atanh cospi erf erfinv lgamma log log10 log1p log2 logb "
    "normcdf pow sinpi tgamma",
    SlowPath.BRANCH: "atan2 cos fmod j0 j1 remainder sin sincos tan y0 y1",
    SlowPath.EXPANSION: "hypot sqrt",
}
_OF_DOUBLE = {
    SlowPath.VALUE: "acos asin atan cbrt cosh cospi erfc exp exp10 exp2 expm1 log log10 log2 logb "
    "normcdf rcbrt sinpi tanh",
    SlowPath.BRANCH: "acosh asinh atan2 atanh cos erfinv fmod j0 j1 lgamma log1p pow remainder sin "
    "sincos sinh tan tgamma y0 y1",
    SlowPath.EXPANSION: "rsqrt sqrt __drcp_rn __ddiv_rn __dsqrt_rn __frcp_rn __fdiv_rn __fsqrt_rn",
}
_FLOATS = {name: path for path, names in _OF_FLOAT.items() for name in names.split()}
_DOUBLES = {name: path for path, names in _OF_DOUBLE.items() for name in names.split()}
_SUFFIXED = {f"{name}f": path for name, path in _FLOATS.items()}

_FETCH = pattern(r"(?:tex|surf)(?:[123]D|Cubemap)\w*$")
NAMES = _DOUBLES | _SUFFIXED
"""The paths of functions by their names, those without a suffix taken for functions of double."""


def slow_path(name: str, result: CType | None) -> SlowPath | None:
    """Returns what a function of this name does to the accesses around it; None for nothing."""
    is_float = isinstance(result, FloatType) and result.size == 4
    if name in _SUFFIXED:
        return _SUFFIXED[name]
    return (_FLOATS if is_float and not name.startswith("__") else _DOUBLES).get(name)


def fetch_path(name: str) -> SlowPath | None:
    """Returns what a function of this name does if it reads a texture or a surface."""
    return SlowPath.FETCH if _FETCH.match(name) else None


def harmless_paths(arch: str) -> frozenset[SlowPath]:
    """Returns the paths at which nvcc parts nothing for a target, e.g. `sm_100`."""
    is_new = architecture(arch).capability >= _NEW_LLVM
    return frozenset((SlowPath.ASSEMBLY,)) if is_new else frozenset()


def conversion_path(*operands: CType | Value) -> SlowPath | None:
    """Returns what arithmetic on these, or a conversion to and from these, does to accesses."""
    kinds = (o.type if isinstance(o, FloatValue | Aggregate) else o for o in operands)
    return SlowPath.ASSEMBLY if any(map(_is_half, kinds)) else None


def _is_half(ctype: CType | Value) -> bool:
    if isinstance(ctype, RecordType):
        return bool(ctype.members) and all(_is_half(member.type) for member in ctype.members)
    return isinstance(ctype, FloatType) and ctype.size == 2


def quotient_path(ctype: CType) -> SlowPath | None:
    """Returns what a division of this type does; half has instructions of its own."""
    return SlowPath.EXPANSION if isinstance(ctype, FloatType) and ctype.size >= 4 else None


def integer_division_path(a: Value, b: Value) -> SlowPath | None:
    """Returns what a division of integers does; by a constant of the compiler, nothing."""
    if isinstance(b, AffineInt) and b.constant is not None and not scev_of(b).terms:
        return None
    types = [value.type for value in (a, b) if isinstance(value, AffineInt)]
    if any(not isinstance(v, AffineInt | Unknown) for v in (a, b)):
        return None
    if not types:  # of loaded values
        return SlowPath.VALUE
    if max(ctype.bits for ctype in types) > 32:
        return SlowPath.BRANCH
    return SlowPath.VALUE if all(common(t, I32).signed for t in types) else None
