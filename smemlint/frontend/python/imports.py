"""Which library a name in a Python module comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from smemlint.frontend.python.tree import walk


@dataclass(frozen=True, slots=True)
class Imports:
    """What a module imports, wherever in it; `targets` maps local names to dotted ones."""

    targets: Mapping[str, str]

    @staticmethod
    def of(module: cst.Module) -> Imports:
        """The imports of a module; relative ones begin with their dots."""
        targets: dict[str, str] = {}
        for node in walk(module, into=lambda n: not isinstance(n, cst.BaseExpression)):
            if isinstance(node, cst.Import):
                for alias in node.names:
                    name = dotted(alias.name) or ""
                    local = _local(alias)
                    targets[local or name.split(".", 1)[0]] = (
                        name if local else name.split(".", 1)[0]
                    )
            elif isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
                base = "." * len(node.relative) + (dotted(node.module) or "")
                for alias in node.names:
                    name = dotted(alias.name) or ""
                    targets[_local(alias) or name] = f"{base}.{name}"
        return Imports(targets)

    def resolve(self, node: cst.BaseExpression) -> str:
        """The dotted name an expression stands for, e.g. `numba.cuda.grid`; empty for others."""
        name = dotted(node)
        if name is None:
            return ""
        head, dot, rest = name.partition(".")
        return self.targets.get(head, head) + dot + rest


def dotted(node: cst.CSTNode | None) -> str | None:
    """`a.b.c` as a text; None for any other expression."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr.value}"
    return None


def _local(alias: cst.ImportAlias) -> str | None:
    name = alias.asname.name if alias.asname is not None else None
    return name.value if isinstance(name, cst.Name) else None
