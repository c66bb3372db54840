"""What a client configures: the option table, as on the command line, and above files."""

from __future__ import annotations

from typing import Any

from smemlint.errors import ConfigError, suggestion
from smemlint.options import OPTIONS, option_named

_WHERE = "settings of the editor"


def overrides(given: Any) -> dict[str, Any]:
    """The client's settings by option name, for `Configuration`.

    Args:
        given: a table of options; those under its key `smemlint` where it has one.

    Raises:
        ConfigError: an option does not exist.
    """
    if isinstance(given, dict) and "smemlint" in given:
        given = given["smemlint"]
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ConfigError("is no table", where=_WHERE)
    found = {}
    for key, value in given.items():
        option = option_named(key)
        if option is None or not option.key:
            known = [o.name for o in OPTIONS if o.key]
            raise ConfigError(
                f"unknown key `{key}`", where=_WHERE, hint=suggestion(key, known, "keys")
            )
        if value is not None:
            found[key] = [value]
    return found
