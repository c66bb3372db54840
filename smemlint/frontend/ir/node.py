"""What all nodes have: a place, an identity and children."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields
from typing import TypeAlias

from smemlint.lazy_dataclasses import dataclass

_PLAIN_DATA = frozenset(("bool", "int", "str", "str | None", "tuple[str, ...]"))
"""Annotations of fields that hold no node."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A construct of the source; two nodes are equal if they are the same one.

    Attributes:
        at: a number that names the construct in its unit; 0 if no place in the source has it. In
            CUDA 1 + the number of the token that it begins with, or that is the name which it
            declares; in Python the number of a node of the module's syntax tree.
    """

    at: int = field(default=0, kw_only=True)

    def children(self) -> list[Node]:
        """Returns the nodes directly below, in the order of the fields."""
        found: list[Node] = []
        for name in _node_fields(type(self)):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, tuple):
                found += value
            else:
                found.append(value)
        return found

    def walk(self) -> Iterator[Node]:
        """Yields the node and all below it, in the order of the source."""
        worklist: list[Node] = [self]
        while worklist:
            node = worklist.pop()
            yield node
            worklist += reversed(node.children())


_NODE_FIELDS: dict[type[Node], tuple[str, ...]] = {}


def _node_fields(kind: type[Node]) -> tuple[str, ...]:
    """Returns the names of the fields that hold children."""
    known = _NODE_FIELDS.get(kind)
    if known is None:
        known = _NODE_FIELDS[kind] = tuple(
            f.name
            for f in fields(kind)
            if f.type not in _PLAIN_DATA and f.metadata.get("is_child", True)
        )
    return known


@dataclass(frozen=True, slots=True, eq=False)
class Statement(Node):
    """What stands in a block and has no value: a statement or a declaration."""


@dataclass(frozen=True, slots=True, eq=False)
class Expression(Node):
    """What has a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Type(Node):
    """A type, or a declarator around one."""


BlockItem: TypeAlias = Statement | Expression
"""What can stand in a block; the value of an expression there is not used."""
