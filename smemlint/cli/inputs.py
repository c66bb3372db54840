"""What a command works on: the settled settings and the sources."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from smemlint.config.options import OPTIONS
from smemlint.config.settings import Configuration, Settings
from smemlint.errors import SourceError
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_COMPILED_BYTES
from smemlint.limits.guard import missing_guards
from smemlint.sources.source import Source
from smemlint.visible import print_lines


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What a command works on.

    Attributes:
        settings: of the run: those of the first path.
        is_done: everything that was asked for has been printed already.
    """

    settings: Settings
    configuration: Configuration
    sources: list[Source]
    is_done: bool = False
    is_stdin: bool = False


def prepare(arguments: argparse.Namespace) -> Inputs:
    """Settles the settings and finds the sources.

    Raises:
        SmemlintError: a setting cannot be used, or a named file cannot be read.
    """
    from smemlint.lint.selection import require_known_rules
    from smemlint.sources.discovery import find_sources, is_excluded
    from smemlint.sources.source import Source

    overrides = {o.name: getattr(arguments, o.attribute, None) for o in OPTIONS}
    configuration = Configuration(
        overrides, arguments.config, isolated=arguments.isolated, require_rules=require_known_rules
    )
    reads_stdin = _reads_stdin(arguments)
    stdin_name = arguments.stdin_filename or "stdin.cu"
    arguments.paths = [*(arguments.paths or ["."]), *(arguments.ptx or ())]
    first = stdin_name if reads_stdin else arguments.paths[0]
    folder = Path(first) if os.path.isdir(first) else Path(first).parent  # noqa: PTH112
    settings = configuration.for_folder(folder)
    if arguments.show_settings:
        _show(settings)
        return Inputs(settings, configuration, [], is_done=True)
    if reads_stdin:
        data = sys.stdin.buffer.read(MAX_COMPILED_BYTES + 1)
        if len(data) > MAX_COMPILED_BYTES:
            most = f"larger than {MAX_COMPILED_BYTES >> 20} MiB"
            raise SourceError(most, where="standard input")
        sources = [Source(stdin_name, data)]
        if settings.force_exclude and is_excluded(stdin_name, settings):
            if settings.fix:  # whoever pipes a text through wants it back
                sys.stdout.buffer.write(data)
                return Inputs(settings, configuration, [], is_done=True)
            sources = []
    else:
        sources = find_sources(arguments.paths, configuration, _warn)
        _require_readable(arguments.paths, sources)
    if arguments.show_files:
        for source in sources:
            print_lines(source.path, stream=sys.stdout)
        return Inputs(settings, configuration, sources, is_done=True)
    if not sources:
        _warn("no files to check")
    elif missing := missing_guards():
        _warn(f"on this system {missing}: SECURITY.md says what that means for hostile files")
    if settings.compile and not reads_stdin:
        from smemlint.driver.compiler import compiled_sources

        sources += compiled_sources(sources, configuration, settings.jobs)
    return Inputs(settings, configuration, sources, is_stdin=reads_stdin)


def _warn(message: str) -> None:
    print_lines(f"smemlint: warning: {message}")


def _reads_stdin(arguments: argparse.Namespace) -> bool:
    """Returns whether `-` or a name for it asks for standard input, which is checked alone."""
    if "-" not in arguments.paths and arguments.stdin_filename is None:
        return False
    others = [path for path in arguments.paths if path != "-"]
    if others:
        hint = "leave one of them out: standard input is checked alone"
        raise SourceError("given together with standard input", where=others[0], hint=hint)
    return True


def _show(settings: Settings) -> None:
    from smemlint.cli.config import shown

    for option in OPTIONS:
        content = getattr(settings, option.attribute)
        value = shown(",".join(settings.archs) if option.name == "arch" else content)
        print_lines(f"{option.name} = {value}", stream=sys.stdout)
    for name, kernel in settings.kernels.items():
        content = {key: getattr(kernel, key) for key in kernel.__slots__ if getattr(kernel, key)}
        print_lines(f"kernels.{name} = {shown(content)}", stream=sys.stdout)
    print_lines(f"# from {settings.origin or 'no configuration file'}", stream=sys.stdout)


def _require_readable(paths: Sequence[str], sources: Sequence[Source]) -> None:
    """Checks that a file that was named is readable; one found by walking is noted."""
    named = {p.replace("\\", "/") for p in paths}
    for source in sources:
        if source.path in named:
            source.text  # noqa: B018 - reading finds the problem
            if source.problem.startswith("cannot be read"):
                raise SourceError(source.problem, where=source.path)
