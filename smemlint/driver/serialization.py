"""Findings as JSON and back: what the cache keeps between runs.

Only the plain dataclasses and enumerations of `facts`, `finding` and `reasons` are written and
read, so that a file that somebody else wrote can give nothing but such data. Sequences come back
as tuples.
"""

from __future__ import annotations

import base64
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Any

from smemlint import facts, finding, reasons


class CodecError(Exception):
    """A value that cannot be written, or data that is none of ours."""


def encode(value: Any) -> Any:
    """Returns a value as JSON data.

    Raises:
        CodecError: it holds something else than plain data.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (tuple, list):
        return [encode(item) for item in value]
    if isinstance(value, Enum):
        return {"e": type(value).__name__, "v": value.value}
    if is_dataclass(value):
        kind: Any = type(value)
        return {"c": kind.__name__, "v": [encode(getattr(value, n)) for n in _field_names(kind)]}
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        data = base64.b64encode(value.tobytes()).decode("ascii")
        return {"a": value.dtype.str, "s": list(value.shape), "v": data}
    if hasattr(value, "dtype") and hasattr(value, "item"):
        return value.item()
    raise CodecError(f"{type(value).__name__} is no plain data")


def decode(data: Any) -> Any:
    """Returns a value from JSON data.

    Raises:
        CodecError: it is none of ours.
    """
    if isinstance(data, list):
        return tuple([decode(item) for item in data])
    if not isinstance(data, dict):
        return data
    try:
        if "c" in data:
            return _classes()[data["c"]](*[decode(item) for item in data["v"]])
        if "e" in data:
            return _classes()[data["e"]](data["v"])
        return _array(data)
    except (KeyError, TypeError, ValueError) as error:
        raise CodecError(str(error)) from error


def _array(data: dict[str, Any]) -> Any:
    import numpy as np

    if data["a"] not in ("<i8", "|b1"):
        raise CodecError(f"{data['a']!r} is no array of ours")
    flat = np.frombuffer(base64.b64decode(data["v"]), dtype=data["a"])
    return flat.reshape(data["s"])


@cache
def _classes() -> dict[str, Any]:
    def of(module: ModuleType) -> dict[str, Any]:
        return {
            name: kind
            for name, kind in vars(module).items()
            if isinstance(kind, type)
            and kind.__module__.startswith(module.__name__)
            and (is_dataclass(kind) or issubclass(kind, Enum))
        }

    return {**of(facts), **of(finding), **of(reasons)}


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    known: Any = _classes().get(getattr(kind, "__name__", ""))
    if known is None or known is not kind:
        raise CodecError(f"{kind} is no class of ours")
    return tuple(f.name for f in fields(known))
