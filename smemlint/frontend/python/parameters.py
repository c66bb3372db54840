"""Parameters of Python functions with their defaults."""

from __future__ import annotations

import ast

from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that callers give by position or name.

    Attributes:
        arg: where it stands.
        default: its default; None without one.
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
