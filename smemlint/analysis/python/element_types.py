"""Names that Triton and Gluon kernels share with their host code: element types, tensors."""

from __future__ import annotations

from smemlint.analysis.python.interpreter.values import DType

DTYPES = {
    "int8": 8, "uint8": 8, "float8e4nv": 8, "float8e5": 8, "float8e4b8": 8, "float8e4b15": 8,
    "float8e5b16": 8, "int16": 16, "uint16": 16, "float16": 16, "bfloat16": 16, "int32": 32,
    "uint32": 32, "float32": 32, "int64": 64, "uint64": 64, "float64": 64,
}  # fmt: skip
"""Element types of Triton -> bits."""
TORCH_CONSTRUCTORS = frozenset(f"torch.{n}" for n in ("empty", "zeros", "ones", "rand", "randn"))
TORCH_LIKE_CONSTRUCTORS = frozenset(f"{name}_like" for name in TORCH_CONSTRUCTORS)
TORCH_DEFAULT_TYPE = DType("float32", 32)
