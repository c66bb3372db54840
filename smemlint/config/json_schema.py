"""The option table as a JSON Schema, for editors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smemlint.config import extends, options
from smemlint.config.options import KERNEL_KEYS, OPTIONS, Option

_STRINGS = {"type": "array", "items": {"type": "string"}}
_BLOCK = {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3, "minItems": 1}
_WAYS = {"type": "number", "minimum": 1}
_KINDS: dict[Callable[[Any], Any], dict[str, Any]] = {
    options.read_arch: {"type": "string", "pattern": r"^(sm|compute)_?\d+[af]?$"},
    options.read_block: {"anyOf": [{"type": "integer"}, {"type": "string"}, _BLOCK]},
    options.read_bool: {"type": "boolean"},
    options.read_text: {"type": "string"},
    options.read_list: {"anyOf": [{"type": "string"}, _STRINGS]},
    options.read_swizzles: {"type": "object", "additionalProperties": {"type": "string"}},
    options.read_numbers: {
        "type": "object",
        "additionalProperties": {"type": ["number", "boolean"]},
    },
    options.read_lists: {
        "type": "object",
        "additionalProperties": {"anyOf": [{"type": "string"}, _STRINGS]},
    },
    options.read_defines: {
        "anyOf": [
            {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
            _STRINGS,
        ]
    },
    options.read_preconditions: _STRINGS,
    options.read_ways: {"anyOf": [_WAYS, {"type": "object", "additionalProperties": _WAYS}]},
    options.read_seconds: {"type": "number", "exclusiveMinimum": 0},
    options.read_jobs: {"type": "integer", "minimum": 0},
    float: {"type": "number"},
    int: {"type": "integer"},
    str: {"type": "string"},
}


def schema() -> dict[str, Any]:
    """Returns the JSON Schema of smemlint.toml and of `[tool.smemlint]`."""
    kernel = {
        key: {**_KINDS[read], "description": help} for key, (read, help) in KERNEL_KEYS.items()
    }
    properties = {o.name: _described(o) for o in OPTIONS if o.key}
    properties[extends.KEY] = {"description": extends.HELP, "type": "string"}
    properties["kernels"] = {
        "description": "what the sources do not say of a kernel, by its name",
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": kernel,
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "smemlint",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _described(option: Option) -> dict[str, Any]:
    kind = {"enum": list(option.choices)} if option.choices else _KINDS[option.read]
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    described = {**kind, "description": option.help}
    return described if default is None else {**described, "default": default}
