"""Tables of handlers, which decorators fill."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Key = TypeVar("Key")
Handler = TypeVar("Handler", bound=Callable[..., Any])


def registers(table: dict[Key, Any], keys: Iterable[Key]) -> Callable[[Handler], Handler]:
    """Returns a decorator that enters a function into a table."""

    def register(handler: Handler) -> Handler:
        table.update(dict.fromkeys(keys, handler))
        return handler

    return register
