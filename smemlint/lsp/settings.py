"""What a client configures: the keys of `smemlint.toml`, and above those of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smemlint.config.files import ConfigFile
from smemlint.config.options import option_named
from smemlint.config.settings import Settings, from_file
from smemlint.errors import ConfigError
from smemlint.lint.selection import require_known_rules

_WHERE = "settings of the editor"


class _Given(ConfigFile):
    """Settings without lines: the key is where they are wrong."""

    def where(self, *keys: str) -> str:
        return f"{self.path}: {'.'.join(keys)}"


def settings_from(given: Any) -> ConfigFile:
    """Returns the client's settings as those of a file.

    Raises:
        ConfigError: a key or a rule does not exist, or a value cannot be used.
    """
    table = given["smemlint"] if isinstance(given, dict) and "smemlint" in given else given
    if table is None:
        table = {}
    if not isinstance(table, dict):
        raise ConfigError("is not a table", where=_WHERE)
    set_keys = {key: value for key, value in table.items() if value is not None}
    file = _Given(Path(_WHERE), set_keys, "")
    from_file(Settings(), file, require_known_rules)
    return file


def are_ours(given: Any) -> bool:
    """Returns whether settings are for smemlint: some clients send those of all servers."""
    if not isinstance(given, dict):
        return False
    return "smemlint" in given or any(
        key == "kernels" or option_named(key) is not None for key in given
    )
