"""The kernels that CuPy makes of pieces: element-wise and reduction kernels as CUDA texts.

Only what pieces say about shared memory matters here, so parameters are plain scalars and pointers
and a reduction is a loop without its tree. Source: cupy/_core/_kernel.pyx of CuPy 14
(`_get_simple_elementwise_kernel_code`, `ElementwiseKernel.__call__`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from smemlint.analysis.python.cupy.source_map import MappedText, joined
from smemlint.analysis.python.interpreter.values import Scope, Value
from smemlint.lazy_dataclasses import dataclass

BLOCK = 128
"""Threads of an element-wise kernel's block, unless a call says `block_size=`."""
_ELEMENTWISE = (
    "in_params", "out_params", "operation", "name", "reduce_dims", "preamble", "no_return",
    "return_tuple",
)  # fmt: skip
_REDUCTION = (
    "in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "identity", "name",
    "reduce_type", "reduce_dims", "preamble", "options",
)  # fmt: skip
_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long", "float16": "half", "float32": "float", "float64": "double",
}  # fmt: skip
_PARAMETER = re.compile(r"\s*(?P<raw>raw\s+)?(?P<type>\w+)\s+(?P<name>\w+)\s*$")
NAMES = frozenset(("ElementwiseKernel", "ReductionKernel"))


@dataclass(frozen=True, slots=True)
class GeneratedKernel:
    """A kernel made of pieces.

    Attributes:
        text: the CUDA text; None where a piece is not known.
        block: threads of its blocks; None where CuPy chooses.
        known: what is known of the pieces.
    """

    text: MappedText | None
    name: str
    block: int | None
    known: str


def kernel_of(class_name: str, arguments: Sequence[Value], named: Scope) -> GeneratedKernel:
    """Returns what `ElementwiseKernel` or `ReductionKernel` makes of its arguments."""
    is_elementwise = class_name == "ElementwiseKernel"
    names = _ELEMENTWISE if is_elementwise else _REDUCTION
    given = dict(zip(names, arguments, strict=False)) | named
    known = "\n".join(str(v) for v in given.values() if isinstance(v, str))
    name = given.get("name", "kernel" if is_elementwise else "reduce_kernel")
    bodies = ("operation",) if is_elementwise else ("map_expr",)
    values = [given.get(n, "") for n in ("preamble", "loop_prep", *bodies, "after_loop")]
    declared = [given.get("in_params"), given.get("out_params")]
    block = BLOCK if is_elementwise else None
    pieces = [v for v in values if isinstance(v, str)]
    parameters = [v for v in declared if isinstance(v, str)]
    if len(pieces) < len(values) or len(parameters) < 2 or not isinstance(name, str):
        return GeneratedKernel(None, "", block, known)
    heads, loads = _parameters(",".join(parameters))
    preamble, prepared, body, after = pieces
    start = f'\nextern "C" __global__ void {name}({", ".join([*heads, "long long _size"])}) {{\n'
    loop = (
        ";\nfor (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < _size; "
        f"i += (long long)blockDim.x * gridDim.x) {{\n{' '.join(loads)}\n"
    )
    text = joined([preamble, start, prepared, loop, body, ";\n}\n", after, ";\n}\n"])
    return GeneratedKernel(text, str(name), block, known)


def _parameters(declared: str) -> tuple[list[str], list[str]]:
    """Returns the kernel's parameters and what loads an element of each, unknown types left out.

    A name that nobody declares stands for what is not known.
    """
    heads, loads = [], []
    for match in map(_PARAMETER.match, declared.split(",")):
        if match is None or match["type"] not in _TYPES:
            continue
        word, variable = _TYPES[match["type"]], match["name"]
        if match["raw"]:
            heads.append(f"{word} *{variable}")
        else:
            heads.append(f"{word} *_raw_{variable}")
            loads.append(f"{word} {variable} = _raw_{variable}[i];")
    return heads, loads
