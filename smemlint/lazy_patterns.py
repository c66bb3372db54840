"""Regular expressions that are compiled when they are first used: a run uses few of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:
        """Stands for what `re.compile` returns; each attribute of it is looked up once."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._given = text, flags

        def __getattr__(self, name: str) -> Any:
            """Returns an attribute of the compiled pattern, and keeps it."""
            value = getattr(re.compile(*self._given), name)
            setattr(self, name, value)
            return value


__all__ = ["pattern"]
