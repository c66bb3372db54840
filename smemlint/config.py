"""Settings: defaults, the nearest configuration file, then the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from smemlint.errors import ConfigError
from smemlint.options import OPTIONS, Block, option_named, read_block

FILE_NAMES = ("smemlint.toml", ".smemlint.toml", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """What the configuration says of one kernel: `[tool.smemlint.kernels.NAME]`.

    Attributes:
        block: its block shape.
        template: values of template parameters, as C++ spells them.
    """

    block: Block | None = None
    template: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settled settings of a run; one attribute for every row of the option table."""

    arch: str = "sm_90"
    block_dim: Block | None = None
    define: Mapping[str, str] = field(default_factory=dict)
    undefine: tuple[str, ...] = ()
    include_dir: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    max_ways: float = 1.0
    fail_on: str = "warning"
    exit_zero: bool = False
    pedantic: bool = False
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    statistics: bool = False
    color: str = "auto"
    kernels: Mapping[str, KernelSettings] = field(default_factory=dict)
    origin: str = ""

    @property
    def defines(self) -> Mapping[str, str]:
        """Macros that are defined."""
        return self.define

    @property
    def undefines(self) -> frozenset[str]:
        """Macros that are known not to be."""
        return frozenset(self.undefine)

    @property
    def include_dirs(self) -> tuple[str, ...]:
        """Where quoted includes are looked for."""
        return self.include_dir


def load_settings(start: Path, overrides: Mapping[str, Any], *, isolated: bool = False) -> Settings:
    """Settings for a run that begins in `start`.

    Args:
        start: a directory; the nearest configuration file at or above it counts, up to the root of
            the repository.
        overrides: values from the command line by option name; None where not given.
        isolated: read no file.

    Raises:
        ConfigError: a file or value cannot be used.
    """
    settings = Settings()
    path = None if isolated else find_config(start)
    if path is not None:
        settings = _from_file(settings, path)
    for name, value in overrides.items():
        option = option_named(name)
        if option is None or value is None:
            continue
        values = value if isinstance(value, list) else [value]
        settings = _with(settings, name, values, where=f"--{name}")
    return settings


def find_config(start: Path) -> Path | None:
    """The nearest configuration file at or above a directory, inside the repository."""
    for folder in (start.resolve(), *start.resolve().parents):
        for name in FILE_NAMES:
            path = folder / name
            if path.is_file() and (name != "pyproject.toml" or _table(path) is not None):
                return path
        if (folder / ".git").exists():
            return None
    return None


def _table(path: Path) -> dict[str, Any] | None:
    """The settings of a file; None when a pyproject.toml has none."""
    import tomllib

    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is not TOML: {error}", where=str(path)) from error
    if path.name != "pyproject.toml":
        return data
    table = data.get("tool", {}).get("smemlint")
    return table if isinstance(table, dict) else None


def _from_file(settings: Settings, path: Path) -> Settings:
    for key, value in (_table(path) or {}).items():
        if key == "kernels":
            settings = replace(settings, kernels=_kernels(value, path))
            continue
        option = option_named(key)
        if option is None or not option.key:
            raise _unknown(key, path)
        settings = _with(settings, key, [value], where=_where(path, key))
    return replace(settings, origin=str(path))


def _with(settings: Settings, name: str, values: list[Any], where: str) -> Settings:
    option = option_named(name)
    assert option is not None
    result: Any = None
    for value in values:
        try:
            read = option.read(value)
        except ValueError as error:
            raise ConfigError(str(error), where=where) from error
        if isinstance(read, dict):
            result = {**(result or getattr(settings, option.attribute)), **read}
        elif option.repeated and isinstance(read, tuple):
            result = (*(result or ()), *read)
        else:
            result = read
    return replace(settings, **{option.attribute: result})


def _kernels(value: Any, path: Path) -> dict[str, KernelSettings]:
    where = _where(path, "kernels")
    if not isinstance(value, dict):
        raise ConfigError("`kernels` is not a table", where=where)
    found = {}
    for name, table in value.items():
        if not isinstance(table, dict):
            raise ConfigError(f"`kernels.{name}` is not a table", where=where)
        unknown = set(table) - {"block", "template"}
        if unknown:
            raise ConfigError(
                f"`kernels.{name}` has no key `{min(unknown)}`: block, template", where=where
            )
        try:
            block = read_block(table["block"]) if "block" in table else None
        except ValueError as error:
            raise ConfigError(str(error), where=where) from error
        template = {str(k): str(v) for k, v in dict(table.get("template", {})).items()}
        found[name] = KernelSettings(block, template)
    return found


def _unknown(key: str, path: Path) -> ConfigError:
    import difflib

    known = [o.name for o in OPTIONS if o.key] + ["kernels"]
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
    hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}"
    return ConfigError(f"unknown key `{key}`", where=_where(path, key), hint=hint)


def _where(path: Path, key: str) -> str:
    """`path:line` of a key."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip().removeprefix("[").lstrip('"').startswith(key):
            return f"{path}:{number}"
        if line.strip().startswith("[") and f".{key}" in line:
            return f"{path}:{number}"
    return str(path)
