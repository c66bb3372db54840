"""`smemlint config`: the settings there are, as a list or as a JSON Schema."""

from __future__ import annotations

import argparse
import re
from typing import Any

from smemlint.config.options import Option

_LONGEST_DEFAULT = 20


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    command.add_argument("name", nargs="?", metavar="SETTING", help="explain this one")
    command.add_argument("--schema", action="store_true", help="print the JSON Schema")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the schema, one setting, or all."""
    from smemlint.config import extends
    from smemlint.config.options import KERNEL_KEYS, OPTIONS
    from smemlint.errors import CLEAN, ConfigError, suggestion

    if arguments.schema:
        import json

        from smemlint.config.json_schema import schema

        print(json.dumps(schema(), indent=2))
        return CLEAN
    known = {o.name: _described(o) for o in OPTIONS if o.key}
    known[extends.KEY] = f"{extends.HELP}\nin configuration files only, relative to their folder"
    for key, (_, help) in KERNEL_KEYS.items():
        known[f"kernels.NAME.{key}"] = f"{help}\nin configuration files and --config only"
    expected = re.sub(r"^kernels\.[^.]+\.", "kernels.NAME.", arguments.name or "")
    listed = [name for name in known if not expected or name.startswith(f"{expected}.")]
    if expected in known:
        print(known[expected])
    elif listed:
        defaults = {o.name: shown(o.default) for o in OPTIONS if o.key}
        short = {name: defaults.get(name, "") for name in listed}
        short = {n: d if len(d) <= _LONGEST_DEFAULT else "[...]" for n, d in short.items()}
        width, beside = max(map(len, listed)), max(map(len, short.values()))
        for name in listed:
            default = f"  {short[name]:{beside}}" if beside else ""
            print(f"{name:{width}}{default}  {known[name].splitlines()[0]}")
    else:
        hint = suggestion(arguments.name, known, "settings", where="smemlint config")
        raise ConfigError(f"unknown setting `{arguments.name}`", hint=hint)
    return CLEAN


def _described(option: Option) -> str:
    flag = f"--{option.name}" + (f" {option.metavar}" if option.metavar else "")
    if option.denied:
        flag = f"--no-{option.name}"
    lines = [option.help, f"default: {shown(option.default)}", f"on the command line: {flag}"]
    if option.choices:
        lines.append(f"one of: {', '.join(option.choices)}")
    return "\n".join(lines)


def shown(value: Any) -> str:
    """Returns a value as TOML spells it, near enough to copy."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "not set"
    if value == {}:
        return "{}"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {shown(v)}" for k, v in value.items()) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(shown(v) for v in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _key(key: str) -> str:
    return key if key.replace("_", "a").replace("-", "a").isalnum() else f'"{key}"'
