"""Command lines of host programs: `argparse`."""

from __future__ import annotations

from dataclasses import field

from smemlint.analysis.python.cute_dsl.execution.call import Call
from smemlint.analysis.python.cute_dsl.execution.libraries.torch import dtype_named
from smemlint.analysis.python.cute_dsl.execution.values import Namespace
from smemlint.analysis.python.interpreter.values import UNKNOWN, ModelValue, Symbol, Value
from smemlint.lazy_dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Parser(ModelValue):
    """An `argparse.ArgumentParser`.

    Attributes:
        options: name -> default.
        choices: name -> the values that it may have.
        flags: those that are either given or not.
    """

    options: dict[str, Value] = field(default_factory=dict)
    choices: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)


def parser_method(call: Call, overrides: dict[str, Value]) -> Value:
    """Returns the result of a method of an `ArgumentParser`."""
    parser = call.owner
    assert isinstance(parser, Parser)
    match call.name:
        case "add_argument":
            _add_option(parser, call)
            return UNKNOWN
        case "parse_args" | "parse_known_args":
            parsed = Namespace(
                {**parser.options, **{k: v for k, v in overrides.items() if k in parser.options}}
            )
            return parsed if call.name == "parse_args" else (parsed, [])
        case "add_argument_group" | "add_mutually_exclusive_group":
            return parser
        case "set_defaults":
            parser.options.update(call.given.named)
    return UNKNOWN


def _add_option(parser: Parser, call: Call) -> None:
    flags = [f for f in call.given.positional if isinstance(f, str)]
    named = call.given.named
    dest = named.get("dest")
    name = (
        dest
        if isinstance(dest, str)
        else next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
    )
    name = name.lstrip("-").replace("-", "_")
    if not name:
        return
    action = named.get("action")
    default = named.get("default", None)
    if action in ("store_true", "store_false"):
        default = named.get("default", action == "store_false")
        parser.flags.add(name)
    if isinstance(default, str) and isinstance(named.get("type"), Symbol):
        kind = named["type"]
        assert isinstance(kind, Symbol)
        if kind.name == "dtype":
            default = dtype_named(default) or UNKNOWN
        elif kind.name == "int" and default.isdigit():
            default = int(default)
    if default != Symbol("argparse.SUPPRESS"):  # else there is no attribute without the option
        parser.options[name] = default
    choices = named.get("choices")
    if isinstance(choices, list | tuple):
        parser.choices[name] = tuple(choices)
