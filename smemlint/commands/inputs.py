"""What a command works on: the settled settings and the sources."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.config import Settings, load_settings
from smemlint.errors import SourceError
from smemlint.options import OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from smemlint.source import Source


def prepare(arguments: argparse.Namespace) -> tuple[Settings, list[Source], bool]:
    """Settings and sources, and whether `--show-…` already said all that was asked for."""
    from smemlint.files import find_sources
    from smemlint.source import Source

    overrides = {o.name: getattr(arguments, o.attribute, None) for o in OPTIONS}
    first = Path(arguments.paths[0]) if arguments.paths else Path()
    start = first if first.is_dir() else first.parent
    settings = load_settings(start, overrides, isolated=arguments.isolated)
    if arguments.show_settings:
        for option in OPTIONS:
            print(f"{option.name} = {getattr(settings, option.attribute)!r}")
        print(f"origin = {settings.origin!r}")
        return settings, [], True
    if arguments.paths == ["-"]:
        sources = [
            Source(arguments.stdin_filename, sys.stdin.buffer.read().decode("utf-8", "replace"))
        ]
    else:
        sources = find_sources(
            arguments.paths, settings.exclude, force_exclude=settings.force_exclude
        )
        _require_readable(arguments.paths, sources)
    if arguments.show_files:
        for source in sources:
            print(source.path)
        return settings, sources, True
    if not sources:
        print("smemlint: warning: no files to check", file=sys.stderr)
    return settings, sources, False


def _require_readable(paths: Sequence[str], sources: Sequence[Source]) -> None:
    """A file that was named must be readable; one that was met while walking is only noted."""
    named = {p.replace("\\", "/") for p in paths}
    for source in sources:
        if source.path in named:
            source.text  # noqa: B018 - reading finds the problem
            if source.problem.startswith("cannot be read"):
                raise SourceError(source.problem, where=source.path)
