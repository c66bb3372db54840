"""Parameters of Python functions with their defaults, and what calls give them."""

from __future__ import annotations

import ast

from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that callers give by position or name.

    Attributes:
        arg: where it stands.
        is_keyword: it is given by name only.
    """

    arg: ast.arg
    default: ast.expr | None
    is_keyword: bool = False

    @property
    def name(self) -> str:
        """Returns the name in the source."""
        return self.arg.arg


def parameters_of(spec: ast.arguments) -> tuple[Parameter, ...]:
    """Returns the parameters in order, but for `*args` and `**kwargs`."""
    plain = (*spec.posonlyargs, *spec.args)
    defaults = (*(None,) * (len(plain) - len(spec.defaults)), *spec.defaults)
    keywords = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    return (
        *(Parameter(arg, default) for arg, default in zip(plain, defaults, strict=True)),
        *(Parameter(arg, default, is_keyword=True) for arg, default in keywords),
    )


def argument_of(call: ast.Call, name: str, at: int | None = None) -> ast.expr | None:
    """Returns what a call gives a parameter; None where that is nothing, or hidden in `*args`."""
    if at is not None and at < len(call.args):
        is_hidden = any(isinstance(argument, ast.Starred) for argument in call.args[: at + 1])
        return None if is_hidden else call.args[at]
    return next((k.value for k in call.keywords if k.arg == name), None)
