"""Macros of PyTorch's headers, which extensions use and no checkout has.

`AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { k<scalar_t><<<g, b>>>(..); })` runs a lambda
with `scalar_t` the type of a tensor's elements: one case for each type that it may have, as
ATen/Dispatch.h (2.5) has them.
"""

from __future__ import annotations

from functools import cache

from smemlint.frontend.cuda.preprocessor.macros import Macro, macros_of

_FLOATING = ("Double", "Float")
_INTEGRAL = ("Byte", "Char", "Int", "Long", "Short")
_REDUCED = ("Half", "BFloat16")
_COMPLEX = ("ComplexDouble", "ComplexFloat")
_GROUPS = {
    "FLOATING_TYPES": _FLOATING,
    "FLOATING_TYPES_AND_HALF": (*_FLOATING, "Half"),
    "REDUCED_FLOATING_TYPES": _REDUCED,
    "INTEGRAL_TYPES": _INTEGRAL,
    "ALL_TYPES": (*_INTEGRAL, *_FLOATING),
    "COMPLEX_TYPES": _COMPLEX,
    "FLOATING_AND_COMPLEX_TYPES": (*_FLOATING, *_COMPLEX),
    "ALL_TYPES_AND_COMPLEX": (*_INTEGRAL, *_FLOATING, *_COMPLEX),
    "INDEX_TYPES": ("Int", "Long"),
}
_MOST_ADDED = 8
"""Types that a macro `.._AND8` adds to its group's."""
_PREFIXES = ("AT_DISPATCH_", "AT_PRIVATE_CASE_", "C10_")
"""Of the names of all macros."""
_OTHERS = """
C10_WARP_SIZE 32
C10_HOST_DEVICE __host__ __device__
C10_DEVICE __device__
C10_HOST __host__
C10_MAX_THREADS_PER_BLOCK(n) (((n) <= 1024) ? (n) : 256)
C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
C10_LAUNCH_BOUNDS_1(n) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(n))
C10_LAUNCH_BOUNDS_2(n, blocks) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(n), blocks)
AT_DISPATCH_SWITCH(TYPE, NAME, ...) [&] { switch (TYPE) { __VA_ARGS__ } }()
AT_DISPATCH_CASE(ENUM, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(ENUM, scalar_t, __VA_ARGS__)
AT_PRIVATE_CASE_TYPE_USING_HINT(ENUM, HINT, ...) \
case ENUM: { using HINT = c10::impl::ScalarTypeToCPPTypeT<ENUM>; return __VA_ARGS__(); }
"""


def may_name_pytorch(text: str) -> bool:
    """Returns whether a text may name one of the macros."""
    return any(prefix in text for prefix in _PREFIXES)


@cache
def pytorch_macros() -> dict[str, Macro]:
    """Returns the macros by name."""
    lines = [*_OTHERS.replace("\\\n", "").split("\n")]
    for group, types in _GROUPS.items():
        lines += _dispatching(group, types)
    return macros_of(lines)


def _dispatching(group: str, types: tuple[str, ...]) -> list[str]:
    """Returns the definitions of a group of types, with up to 8 further types."""
    hint = "index_t" if group.startswith("INDEX") else "scalar_t"
    cases = " ".join(
        f"AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::{t}, {hint}, __VA_ARGS__)" for t in types
    )
    found = [f"AT_DISPATCH_CASE_{group}(...) {cases}"]
    for added in range(_MOST_ADDED + 1):
        names = [f"TYPE{n}" for n in range(added)]
        suffix = f"_AND{added if added > 1 else ''}" if added else ""
        more = " ".join(f"AT_DISPATCH_CASE({n}, __VA_ARGS__)" for n in names)
        heads = "".join(f"{n}, " for n in names)
        found.append(
            f"AT_DISPATCH_{group}{suffix}({heads}TYPE, NAME, ...) "
            f"AT_DISPATCH_SWITCH(TYPE, NAME, {cases} {more})"
        )
    return found
