"""What a launch gives a Triton kernel: its own arguments, and those of an autotuner's choices."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field, replace
from typing import NamedTuple

from smemlint.analysis.python.interpreter.values import Launch, ModelValue, Scope, Value
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CONFIGURATIONS

_OPTIONS = ("num_warps", "num_stages")


@dataclass(frozen=True, slots=True)
class Config(ModelValue):
    """`triton.Config`: arguments and options that an autotuner tries."""

    arguments: Scope = field(hash=False)
    options: Scope = field(hash=False)


def config(arguments: list[Value], named: Scope) -> Config:
    """Returns the value of `triton.Config(kwargs, num_warps=.., num_stages=..)`."""
    given = dict(zip(("kwargs", *_OPTIONS), arguments, strict=False)) | named
    kwargs = given.get("kwargs")
    known = kwargs if isinstance(kwargs, dict) else {}
    options = {name: given[name] for name in _OPTIONS if name in given}
    return Config({k: v for k, v in known.items() if isinstance(k, str)}, options)


class Choices(NamedTuple):
    """Launches with the first choices of an autotuner, and how many others there are."""

    launches: list[Launch]
    left: int


def choices_of(launch: Launch, evaluate: Callable[[ast.expr], Value]) -> Choices:
    """Returns the launch with the choices of the kernel's autotuner, itself where there are none.

    An autotuner leaves out what does not fit: how deep a pipeline is, no choice tells for sure.
    """
    configs: list[Config] = []
    is_tuned = False
    for decorator in launch.function.node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("autotune"):
            is_tuned = True
            named = (k.value for k in decorator.keywords if k.arg == "configs")
            listed = next(named, decorator.args[0] if decorator.args else None)
            found = evaluate(listed) if listed is not None else ()
            if isinstance(found, list | tuple):
                configs += (c for c in found if isinstance(c, Config))
    if not configs:
        options = {**launch.options, "num_stages": None} if is_tuned else launch.options
        return Choices([replace(launch, options=options)], 0)
    launches = []
    for choice in configs[:MAX_CONFIGURATIONS]:
        arguments = {**launch.arguments, **choice.arguments}
        options = {**launch.options, **choice.options}
        if len(configs) > 1:
            options["num_stages"] = None
        launches.append(replace(launch, arguments=arguments, options=options))
    return Choices(launches, len(configs) - len(launches))
