"""Settings: defaults, the nearest configuration file, then the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from smemlint.config import build_database, extends
from smemlint.config.files import ConfigFile, config_in, is_repository, parse_toml, read_config
from smemlint.config.options import KERNEL_KEYS, NOT_OURS, OPTIONS, Block, Option, option_named
from smemlint.errors import ConfigError, suggestion
from smemlint.facts import Certainty
from smemlint.files.sandbox import AccessDenied, Sandbox
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """What the configuration says of one kernel: `[tool.smemlint.kernels.NAME]`.

    Attributes:
        template: values of template parameters, as C++ spells them.
        swizzle: declared swizzles by array, e.g. `3,4,3 bytes`.
        arguments: numbers that `--verify-gpu=kernel` calls it with, by parameter.
        assume: what holds for its arguments, e.g. `K % 8 == 0`.
    """

    block: Block | None = None
    template: Mapping[str, str] = field(default_factory=dict)
    swizzle: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, float] = field(default_factory=dict)
    assume: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """The settled settings of a file; one attribute for every row of the option table.

    Attributes:
        build_path: in the settings of a file, the compilation database that is found for it.
        given: names of the options that something sets.
        further_archs: targets besides `arch`, which is the first where several are given.
        build: which build of a file is analysed, from 0; None if it is the first alone.
        origin: the configuration file, or empty.
        root: the folder that globs are relative to; empty for the working directory.
    """

    arch: str = "sm_90"
    block_dim: Block | None = None
    define: Mapping[str, str] = field(default_factory=dict)
    undefine: tuple[str, ...] = ()
    include_dir: tuple[str, ...] = ()
    build_path: str = ""
    ptx: tuple[str, ...] = ()
    compile: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_ways: Mapping[str, float] = field(default_factory=dict)
    min_certainty: str = "assumed"
    pedantic: bool = False
    fail_on: str = "warning"
    exit_zero: bool = False
    strict: bool = False
    require_reason: bool = False
    baseline: str = ""
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    exclude: tuple[str, ...] = NOT_OURS
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    jobs: int = 0
    time_limit: float = 30.0
    cache_dir: str = ".smemlint_cache"
    no_cache: bool = False
    quiet: bool = False
    show_notes: bool = False
    statistics: bool = False
    verify_gpu: str = ""
    verify_all: bool = False
    verify_timeout: float = 120.0
    device: int = 0
    color: str = "auto"
    kernels: Mapping[str, KernelSettings] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    further_archs: tuple[str, ...] = ()
    build: int | None = None
    origin: str = ""
    root: str = ""

    @property
    def archs(self) -> tuple[str, ...]:
        """All targets, the first one first."""
        return (self.arch, *self.further_archs)

    @property
    def undefines(self) -> frozenset[str]:
        """Macros that are known not to be."""
        return frozenset(self.undefine)

    def most_ways(self, code: str, name: str) -> float:
        """Returns how many ways a rule accepts without a finding; 1 unless something is set."""
        table = self.max_ways
        return next((table[key] for key in (name, code, "*") if key in table), 1.0)

    def is_sure_enough(self, certainty: Certainty) -> bool:
        """Returns whether rules may report what is known with this certainty."""
        if self.pedantic or self.min_certainty == "sampled":
            return True
        return certainty.is_decided and self.min_certainty in ("assumed", certainty)


RuleCheck = Callable[[Any, str], None]
"""Looks at the rules that the value of an option names, given with its place."""


def accept_rules(value: Any, where: str) -> None:
    """Accepts every name: who does not know the rules cannot tell which exist."""


class Configuration:
    """The settings of every file of a run: those of its nearest configuration file.

    Args:
        overrides: values of the command line by option name; None where not given.
        given: `--config` values, each a file or `KEY=VALUE`; a file replaces all that are found.
        isolated: read no file.
        above: settings that come before those of any file, e.g. those of an editor.
        require_rules: raises a ConfigError for a value with a rule that does not exist.

    Raises:
        ConfigError: something on the command line cannot be used.
    """

    def __init__(
        self,
        overrides: Mapping[str, Any] | None = None,
        given: Sequence[str] = (),
        *,
        isolated: bool = False,
        above: Sequence[ConfigFile] = (),
        require_rules: RuleCheck = accept_rules,
    ) -> None:
        self._require_rules = require_rules
        self._above = above
        self._overrides = {k: v for k, v in (overrides or {}).items() if v is not None}
        self._lines = [g for g in given if "=" in g and not Path(g).is_file()]
        files = [g for g in given if g not in self._lines]
        if len(files) > 1:
            raise ConfigError("more than one file", where="--config", hint="give one file")
        self._file: ConfigFile | None = _named_file(Path(files[0])) if files else None
        self._searches = not isolated and self._file is None
        self._folders: dict[Path, Settings] = {}
        self._shown: dict[Path, Settings] = {}
        self._databases: dict[Path, str] = {}
        self._with_database: dict[tuple[int, str], Settings] = {}
        self._named: dict[str, Settings] = {}
        self._base: Settings | None = None
        self._build: int | None = None

    @classmethod
    def uniform(cls, settings: Settings) -> Configuration:
        """Returns a configuration that gives every file the same settings."""
        configuration = cls(isolated=True)
        configuration._base = settings
        return configuration

    def for_target(self, arch: str) -> Configuration:
        """Returns the same configuration for one target."""
        result = copy(self)
        result._overrides = {**self._overrides, "arch": arch}
        result._folders, result._shown, result._with_database, result._named = {}, {}, {}, {}
        if self._base is not None:
            result._base = replace(self._base, arch=arch, further_archs=())
        return result

    def for_build(self, number: int) -> Configuration:
        """Returns the same configuration for one of the builds of each file."""
        result = copy(self)
        result._build = number
        result._shown, result._with_database, result._named = {}, {}, {}
        return result

    def for_file(self, path: str) -> Settings:
        """Returns the settings of a file.

        Raises:
            ConfigError: its configuration file cannot be used.
        """
        folder = os.path.dirname(path)  # noqa: PTH120 - thousands of files in few folders
        if folder not in self._named:
            self._named[folder] = self.for_folder(Path(folder))
        return self._named[folder]

    def for_folder(self, folder: Path) -> Settings:
        """Returns the settings of the files in a folder."""
        if folder not in self._shown:
            absolute = folder.resolve()
            settings = self._for_absolute(absolute)
            self._shown[folder] = self._built(settings, absolute)
        return self._shown[folder]

    def _built(self, settings: Settings, folder: Path) -> Settings:
        """Returns the settings with the compilation database of the files in a folder."""
        if settings.build_path == build_database.NONE:
            database = ""
        elif settings.build_path:
            database = build_database.named_database(settings.build_path)
        else:
            known = self._databases
            database = build_database.database_above(folder, known) if self._searches else ""
        if database == settings.build_path and settings.build == self._build:
            return settings
        key = id(settings), database
        if key not in self._with_database:
            self._with_database[key] = replace(settings, build_path=database, build=self._build)
        return self._with_database[key]

    def _for_absolute(self, folder: Path) -> Settings:
        """Returns the settings of the nearest configuration file at or above a folder."""
        passed: list[Path] = []
        settings: Settings | None = None
        for here in (folder, *folder.parents):
            settings = self._folders.get(here)
            if settings is not None:
                break
            passed.append(here)
            found = config_in(here) if self._searches else None
            if found is not None:
                settings = self._settled(found)
                break
            if not self._searches or is_repository(here):
                break
        settings = settings or self._outermost()
        self._folders |= dict.fromkeys(passed, settings)
        return settings

    def _outermost(self) -> Settings:
        """Returns the settings where no configuration file is found."""
        if self._base is None:
            self._base = self._settled(self._file)
        return self._base

    def _settled(self, file: ConfigFile | None) -> Settings:
        settings = Settings()
        if file is not None:
            for extended in extends.chain(file):
                settings = _moved(settings, extended, file.path.parent)
                settings = from_file(settings, extended, self._require_rules, is_extending=True)
        for given in (*self._above, *map(_from_line, self._lines)):
            settings = replace(
                from_file(settings, given, self._require_rules),
                origin=settings.origin,
                root=settings.root,
            )
        for name, value in self._overrides.items():
            option = option_named(name)
            if option is not None:
                values = value if isinstance(value, list) else [value]
                settings = _with(
                    settings, option, values, where=f"--{name}", require_rules=self._require_rules
                )
        first, *others = settings.arch.split(",")
        return replace(settings, arch=first, further_archs=tuple(others))


def _moved(settings: Settings, file: ConfigFile, root: Path) -> Settings:
    """Returns settings of extended files, their globs as they are spelled from the next folder."""
    if not settings.origin:
        return settings
    folder, here = Path(settings.origin).parent.resolve(), file.path.parent.resolve()
    target = here if here.is_relative_to(folder) else root.resolve()
    given = settings.per_file_ignores.items()
    ignores = {g: rules for old, rules in given for g in extends.rebased((old,), folder, target)}
    return replace(
        settings,
        exclude=extends.rebased(settings.exclude, folder, target),
        extend_exclude=extends.rebased(settings.extend_exclude, folder, target),
        per_file_ignores=ignores,
    )


def from_file(
    settings: Settings,
    file: ConfigFile,
    require_rules: RuleCheck = accept_rules,
    *,
    is_extending: bool = False,
) -> Settings:
    """Returns the settings with those of a file laid over them.

    Args:
        settings: from before.
        file: a table of options.
        require_rules: raises a ConfigError for a value with a rule that does not exist.
        is_extending: settings from before are of files that it extends: `extend-` lists add up.

    Raises:
        ConfigError: a key is unknown or its value cannot be used; says the line.
    """
    root = _shown_folder(file.path.parent)
    for key, value in file.table.items():
        if key == "kernels":
            kernels = _kernels(value, file)
            settings = replace(settings, kernels={**settings.kernels, **kernels})
            continue
        if key == extends.KEY and is_extending:
            continue
        option = option_named(key)
        if option is None or not option.key:
            raise ConfigError(f"unknown key `{key}`", where=file.where(key), hint=_nearest_key(key))
        before = getattr(settings, option.attribute)
        settings = _with(settings, option, [value], file.where(key), require_rules)
        if is_extending and option.name.startswith("extend-"):
            both: Any = tuple(dict.fromkeys((*before, *getattr(settings, option.attribute))))
            settings = replace(settings, **{option.attribute: both})
        if option.is_path:
            content = getattr(settings, option.attribute)
            joined: Any = _joined(root, content) if isinstance(content, str) else None
            joined = tuple(_joined(root, h) for h in content) if joined is None else joined
            if not file.is_given:
                _require_inside([joined] if isinstance(joined, str) else joined, key, file)
            settings = replace(settings, **{option.attribute: joined})
    return replace(settings, origin=str(file.path), root=root)


def _require_inside(paths: Sequence[str], key: str, file: ConfigFile) -> None:
    """Checks that what a file of the repository names is inside of the repository."""
    sandbox = Sandbox.around(str(file.path))
    for path in filter(None, paths):
        try:
            sandbox.resolve(path)
        except AccessDenied as error:
            hint = f"give it on the command line: --{key}"
            message = f"`{key}` is not used: its path is {error.strerror}"
            raise ConfigError(message, where=file.where(key), hint=hint) from error


def _nearest_key(key: str) -> str:
    if key == extends.KEY:
        return "`extend` is for configuration files only"
    if option_named(key) is not None or key in ("output-format", "output-file"):
        return f"`--{key}` is for the command line only"
    return suggestion(key, [*(o.name for o in OPTIONS if o.key), "kernels", extends.KEY], "keys")


def _named_file(path: Path) -> ConfigFile:
    found = read_config(path, is_given=True)
    if found is None:
        raise ConfigError("has no table [tool.smemlint]", where=str(path))
    return found


def _from_line(line: str) -> ConfigFile:
    """Returns what `--config KEY=VALUE` sets."""
    where = f"--config {line}"
    return ConfigFile(Path(where), parse_toml(_quoted(line), where), "")


def _quoted(line: str) -> str:
    """Returns `KEY=VALUE` as TOML; a value that is no TOML is taken as a string."""
    key, _, value = line.partition("=")
    try:
        parse_toml(f"{key} = {value}", "")
    except ConfigError:
        text = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{key} = "{text}"'
    return f"{key} = {value}"


def _with(
    settings: Settings, option: Option, values: Sequence[Any], where: str, require_rules: RuleCheck
) -> Settings:
    result: Any = None
    for value in values:
        try:
            read = option.read(value)
        except ValueError as error:
            raise ConfigError(str(error), where=where) from error
        if option.names_rules:
            require_rules(read, where)
        if isinstance(read, dict):
            result = {**(result or getattr(settings, option.attribute)), **read}
        elif option.repeated and isinstance(read, tuple):
            result = (*(result or ()), *read)
        else:
            result = read
    given = tuple(sorted({*settings.given, option.name}))
    return replace(settings, given=given, **{option.attribute: result})


def _kernels(value: Any, file: ConfigFile) -> dict[str, KernelSettings]:
    if not isinstance(value, dict):
        raise ConfigError("`kernels` is not a table", where=file.where("kernels"))
    found = {}
    for name, table in value.items():
        if not isinstance(table, dict):
            raise ConfigError(f"`kernels.{name}` is not a table", where=file.where("kernels", name))
        read = {}
        for key, content in table.items():
            where = file.where("kernels", name, key)
            if key not in KERNEL_KEYS:
                hint = suggestion(key, KERNEL_KEYS, "keys of a kernel")
                raise ConfigError(f"unknown key `{key}` of a kernel", where=where, hint=hint)
            try:
                read[key] = KERNEL_KEYS[key][0](content)
            except ValueError as error:
                raise ConfigError(str(error), where=where) from error
        found[name] = KernelSettings(**read)
    return found


def _shown_folder(folder: Path) -> str:
    """Returns a folder from the working directory where it lies below it; empty for itself."""
    absolute, here = folder.resolve(), Path.cwd()
    shown = absolute.relative_to(here) if absolute.is_relative_to(here) else absolute
    return "" if shown == Path() else shown.as_posix()


def _joined(root: str, path: str) -> str:
    return path if not root or not path or Path(path).is_absolute() else f"{root}/{path}"
