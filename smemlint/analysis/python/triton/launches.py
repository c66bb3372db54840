"""What a launch gives a Triton kernel: its own arguments, and those of an autotuner's choices."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smemlint.analysis.python.interpreter.values import Launch, Value

_MOST_CHOICES = 4
_OPTIONS = ("num_warps", "num_stages")


@dataclass(frozen=True, slots=True)
class Config:
    """`triton.Config`: arguments and options that an autotuner tries.

    Attributes:
        arguments: values of the kernel's parameters.
        options: of the launch.
    """

    arguments: dict[str, Value] = field(hash=False)
    options: dict[str, Value] = field(hash=False)


def config(arguments: list[Value], named: dict[str, Value]) -> Config:
    """The value of `triton.Config(kwargs, num_warps=.., num_stages=..)`."""
    given = dict(zip(("kwargs", *_OPTIONS), arguments, strict=False)) | named
    held = given.get("kwargs")
    options = {name: given[name] for name in _OPTIONS if name in given}
    return Config(held if isinstance(held, dict) else {}, options)


def choices_of(launch: Launch, value: Callable[[ast.expr], Value]) -> Iterator[Launch]:
    """The launch with each of the first choices of the kernel's autotuner; else the launch itself.

    An autotuner leaves out what does not fit: how deep a pipeline is, no choice tells for sure.

    Args:
        launch: of a kernel.
        value: the value of an expression of the kernel's decorators.
    """
    configs: list[Config] = []
    is_tuned = False
    for decorator in launch.function.node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("autotune"):
            is_tuned = True
            named = (k.value for k in decorator.keywords if k.arg == "configs")
            listed = next(named, decorator.args[0] if decorator.args else None)
            held = value(listed) if listed is not None else ()
            if isinstance(held, list | tuple):
                configs += (c for c in held if isinstance(c, Config))
    if not configs:
        options = {**launch.options, "num_stages": None} if is_tuned else launch.options
        yield replace(launch, options=options)
    for choice in configs[:_MOST_CHOICES]:
        arguments = {**launch.arguments, **choice.arguments}
        options = {**launch.options, **choice.options}
        if len(configs) > 1:
            options["num_stages"] = None
        yield replace(launch, arguments=arguments, options=options)
