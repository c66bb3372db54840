"""Signatures that kernels of Numba are declared with: `@cuda.jit("void(float32[:, :], int32)")`.

An array that a launch passes lies in rows, of which the compiler knows that they are global memory.
Of one that a signature declares without `::1` it computes the address from strides, in integers,
and no longer knows: a load from it may read shared memory, a store to it may write there
(numba-cuda 0.30.4, NVVM and ptxas 13.5.37, sm_90; 56 own kernels).

| between four neighbours in a row | of `float32[::1]` | of `float32[:]` |
| --- | --- | --- |
| a load `a[t + k]`, behind each store `s[t, k] = ..` | one STS.128 | four STS |
| a load, behind each load of `s[t, k]` | one LDS.128 | one LDS.128 |
| a store `a[t + k] = ..` | one STS.128, one LDS.128 | four STS, four LDS |
"""

from __future__ import annotations

import ast

from smemlint.frontend.python.jit.definitions import Definition
from smemlint.frontend.python.jit.dialects import NUMBA
from smemlint.frontend.python.jit.ir_builder import Builder
from smemlint.frontend.python.parameters import argument_of
from smemlint.lazy_patterns import pattern

_SIGNATURE = pattern(r"\s*[\w.]*\s*[(\[]([^()'\"]*)[)\]]\s*$")
_TYPE = pattern(r"[\w.]+\s*(?:\[([^\[\]]*)\])?")


def arrays_with_strides(definition: Definition, make: Builder) -> dict[str, int]:
    """Returns the parameters that are arrays of any strides, with how many dimensions they have."""
    call = definition.decorator
    if call is None or definition.dialect is not NUMBA or not definition.is_kernel:
        return {}
    node = argument_of(call, "argtypes", 0)
    text = node.value if isinstance(node, ast.Constant) else node and make.spelling(node)
    signature = _SIGNATURE.match(text) if isinstance(text, str) else None
    types = _TYPE.findall(signature[1]) if signature is not None else []
    return {
        parameter.name: axes.count(":")
        for parameter, axes in zip(definition.parameters, types, strict=False)
        if ":" in axes and "1" not in axes and parameter.name not in definition.assigned
    }
