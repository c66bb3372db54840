"""What a run found, kept for the next one: nothing is evaluated whose answers cannot have changed.

A run with the same paths, settings and program leaves two files: `.json` with the outcome and the
times and sizes of all files that it read, which is all that an unchanged tree needs; and
`.units.json` with the outcome of every unit, the hashes of the files and the questions that the
unit asked of the run. A unit holds while the files that it read are the same, and no changed file
bears on what it searched for.

Files are written whole and then renamed, and carry a keyed hash: what is half written, damaged or
made by somebody else is as good as absent (see `cache_folder`). They hold JSON of plain data only
(see `serialization`), so they cannot make anything run.
"""

from __future__ import annotations

import os
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smemlint import __version__
from smemlint.analysis.compiled.files import is_compiled
from smemlint.digests import blake2b
from smemlint.driver.cache_folder import CacheFolder
from smemlint.driver.results import ResultStore, RunResult, UnitResult
from smemlint.files.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from smemlint.analysis.simt.analyze import Project
    from smemlint.config.settings import Configuration, Settings
    from smemlint.facts import Access, Span
    from smemlint.finding import Finding
    from smemlint.sources.source import Source

_FORMAT = 1
_MOST_PLACES = 1 << 31
_NO_ENTRY = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError)
"""What reading an entry may raise that is none of this version."""
_RECENT_NS = 2_000_000_000
"""A file this young may change again within the clock's step: its time says nothing."""
_OF_THE_RUN = frozenset((
    "jobs", "fix", "diff", "unsafe_fixes", "verify_gpu", "verify_all", "verify_timeout", "device",
    "cache_dir", "no_cache", "quiet", "show_notes", "statistics", "color", "fail_on", "exit_zero",
    "strict", "select", "ignore", "extend_select", "extend_ignore", "per_file_ignores", "exclude",
    "extend_exclude", "force_exclude", "respect_gitignore", "baseline", "require_reason", "origin",
    "root",
))  # fmt: skip
"""Settings that do not touch what is kept."""

Stamp = tuple[int, int] | None
"""Time of change in nanoseconds and size in bytes; None for a file that is not there."""


class Cache(ResultStore):
    """The kept results of one kind of run.

    Args:
        name: what was asked for, e.g. the paths of the command line.
        sources: the files of the run, not read so far.
        configuration: their settings.
        settings: those of the run: where the cache lies.
    """

    def __init__(
        self, name: str, sources: Sequence[Source], configuration: Configuration, settings: Settings
    ) -> None:
        self._name = name
        self._sources = sources
        self._configuration = configuration
        self._folder = CacheFolder(settings.cache_dir)
        self._key = ""
        self._began = time.time_ns()
        self._by_path = {source.path: source for source in sources}
        include_dirs = {d for s in sources for d in configuration.for_file(s.path).include_dir}
        own = (source.sandbox for source in sources)
        self._sandbox = Sandbox.joined(own, *sorted(include_dirs))
        self._stamps = {path: self._sandbox.stamp(path) for path in self._by_path}

    # ---- reading

    def unchanged(self) -> RunResult | None:
        """Returns the last run's outcome, when every file has the time and size of then."""
        head = self._load(".json")
        try:
            return self._run_result(head) if head is not None else None
        except _NO_ENTRY:
            return None

    def _run_result(self, head: Mapping[str, Any]) -> RunResult | None:
        """Returns what an entry says, if all files are as it knows them."""
        if head["sources"] != list(self._by_path):
            return None
        for path, kept in head["files"].items():
            if self._stamp(path) != (kept and tuple(kept)):
                return None

        merged = UnitResult(_findings_from(head["findings"]), _sites_from(head["sites"]))
        with_pragmas = tuple(path for path in head["with_pragmas"] if path in self._by_path)
        return RunResult(merged, _findings_from(head["notices"]), with_pragmas)

    def valid_results(self, tasks: Sequence[str], program: Project) -> dict[str, UnitResult]:
        """Returns the results of the last run that nothing since bears on, by their tasks."""
        kept = self._load(".units.json")
        if kept is None:
            return {}
        try:
            changed = self._changed(kept)
            known = {
                path: result
                for path, data in kept["results"].items()
                if path in tasks and (result := _unit_from(data, changed, program)) is not None
            }
        except _NO_ENTRY:
            return {}
        from smemlint.driver.invalidation import with_valid_fixes

        return with_valid_fixes(known, tasks, program)

    def _changed(self, kept: Mapping[str, Any]) -> set[str]:
        """Returns files of then or now that are not the same."""
        now, before = {s.path for s in self._sources}, set(kept["sources"])
        changed = now ^ before
        for path, (stamp, digest) in kept["files"].items():
            if path in changed:
                continue
            if stamp is not None and self._stamp(path) == tuple(stamp):
                continue
            if _digest(self._text(path)) != digest:
                changed.add(path)
        return changed

    def _load(self, ending: str) -> dict[str, Any] | None:
        import json

        body = self._folder.load(self._identity() + ending)
        try:
            loaded = json.loads(body) if body is not None else None
        except (ValueError, RecursionError):
            return None
        return loaded if isinstance(loaded, dict) else None

    # ---- writing

    def store(self, results: Mapping[str, UnitResult], run: RunResult | None) -> None:
        """Keeps the outcome; a folder that cannot be written is no error."""
        from smemlint.driver.serialization import CodecError, encode

        paths = [s.path for s in self._sources]
        along = (path for result in results.values() for path in result.dependencies.reads)
        read = dict.fromkeys((*paths, *along))
        stamps = {path: self._certain_stamp(path) for path in read}
        files = {path: (stamps[path], _digest(self._text(path))) for path in read}
        try:
            kept = {
                path: _unit_data(result)
                for path, result in results.items()
                if not (result.crashed or result.is_lost or result.is_joined)
            }
            self._save(".units.json", {"sources": paths, "files": files, "results": kept})
            is_complete = not any(r.crashed or r.is_lost for r in results.values())
            if run is None or run.merged.crashed or not is_complete:
                return
            head = {
                "sources": paths,
                "files": stamps,
                "findings": encode(_reported(run.merged.findings)),
                "sites": _sites_data(run.merged.sites),
                "notices": encode(run.notices),
                "with_pragmas": run.with_pragmas,
            }
            self._save(".json", head)
        except (OSError, CodecError):
            return

    def _certain_stamp(self, path: str) -> Stamp | tuple[int, int]:
        """Returns a file's stamp; one that nothing equals where the file is too young."""
        stamp = self._stamp(path)
        if stamp is not None and stamp[0] > self._began - _RECENT_NS:
            return (-1, stamp[1])
        return stamp

    def _save(self, ending: str, data: object) -> None:
        import json

        body = json.dumps(data, separators=(",", ":")).encode()
        self._folder.save(self._identity() + ending, body)

    @property
    def refused(self) -> str:
        """Why nothing is kept; empty when it is."""
        return self._folder.refused

    def _stamp(self, path: str) -> Stamp:
        return self._stamps[path] if path in self._stamps else self._sandbox.stamp(path)

    def _text(self, path: str) -> str | None:
        source = self._by_path.get(path)
        return source.text if source is not None else self._sandbox.text(path)

    def _identity(self) -> str:
        """Returns what tells such runs from others: paths, settings, and the program itself."""
        if not self._key:
            by_folder = {
                os.path.dirname(s.path): self._configuration.for_file(s.path)  # noqa: PTH120
                for s in self._sources
            }
            distinct = {id(settings): _essence(settings) for settings in by_folder.values()}
            contents: object = sorted(distinct.values())
            if len(distinct) > 1:
                contents = sorted((folder, distinct[id(s)]) for folder, s in by_folder.items())
            compiled = [(s.path, _digest(s.text)) for s in self._sources if is_compiled(s)]
            identity = (
                _FORMAT, __version__, _program(), str(Path.cwd()), self._name, contents, compiled
            )  # fmt: skip
            text = repr(identity).encode("utf-8", "surrogatepass")
            self._key = blake2b(text, digest_size=12).hexdigest()
        return self._key


def _essence(settings: Settings) -> str:
    return repr(
        [(f.name, getattr(settings, f.name)) for f in fields(settings) if f.name not in _OF_THE_RUN]
    )


def _program() -> list[tuple[str, int, int]]:
    """Names, times and sizes of the program's own files: a changed rule makes all results old."""
    from smemlint.lint.registry import folder_of_rules

    found = []
    for top in (Path(__file__).parents[1], folder_of_rules()):
        for folder, folders, files in os.walk(top):
            folders[:] = [f for f in folders if f != "__pycache__"]
            for name in files:
                if name.endswith(".py"):
                    status = os.stat(f"{folder}/{name}")  # noqa: PTH116 - hundreds of them
                    found.append((f"{folder}/{name}", status.st_mtime_ns, status.st_size))
    return sorted(found)


def _digest(text: str | None) -> str:
    if text is None:
        return ""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# ---- results as JSON data


def _unit_data(result: UnitResult) -> dict[str, Any]:
    from smemlint.driver.serialization import encode

    return {
        "findings": encode(_reported(result.findings)),
        "sites": _sites_data(result.sites),
        "reads": list(result.dependencies.reads),
        "searches": [[list(w), list(found)] for w, found in result.dependencies.searches.items()],
        "swizzles": [list(place) for place in result.dependencies.swizzles],
        "compiled": list(result.dependencies.compiled),
        "homes": [[*asked, answer] for asked, answer in result.dependencies.homes.items()],
        "units": [[*asked, answer] for asked, answer in result.dependencies.units.items()],
        "reached": [_row(span) for span in result.reached],
    }


def _unit_from(data: Mapping[str, Any], changed: set[str], program: Project) -> UnitResult | None:
    """Returns the share, unless a changed file bears on it."""
    from smemlint.analysis.program.dependencies import Dependencies
    from smemlint.driver.invalidation import is_valid

    dependencies = Dependencies(
        dict.fromkeys(data["reads"]),
        {tuple(words): tuple(found) for words, found in data["searches"]},
        dict.fromkeys(data["swizzles"]),
        {(name, path): answer for name, path, answer in data["homes"]},
        dict.fromkeys(data["compiled"]),
        {(path, root): answer for path, root, answer in data["units"]},
    )
    if not is_valid(dependencies, changed, program):
        return None
    findings = _findings_from(data["findings"])
    sites, reached = _sites_from(data["sites"]), tuple(map(_span_from, data["reached"]))
    return UnitResult(findings, sites, dependencies=dependencies, reached=reached)


def _findings_from(data: object) -> tuple[Finding, ...]:
    """Reads findings, whatever the data holds.

    Raises:
        ValueError: it holds something else.
    """
    from smemlint.driver.serialization import CodecError, decode
    from smemlint.finding import Finding

    try:
        findings = decode(data)
    except CodecError as error:
        raise ValueError(str(error)) from error
    if not isinstance(findings, tuple) or not all(isinstance(f, Finding) for f in findings):
        raise ValueError("no findings")
    for finding in findings:
        _require_span(finding.span)
    return findings


def _require_span(span: Span) -> None:
    """Raises ValueError for a place that no file has."""
    numbers = (span.line, span.column, span.end_line, span.end_column)
    are_numbers = all(type(n) is int and 0 < n < _MOST_PLACES for n in numbers)
    if type(span.path) is not str or not are_numbers or numbers[:2] > numbers[2:]:
        raise ValueError(f"{span} is no place")


def _reported(findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings with what reports show of their accesses: of all patterns, the worst."""

    def cut(access: Access) -> Access:
        return replace(access, patterns=(access.worst,) if access.worst is not None else ())

    found = []
    for finding in findings:
        fix = finding.fix
        if fix is not None and fix.after is not None:
            fix = replace(fix, after=cut(fix.after))
        access = cut(finding.access) if finding.access is not None else None
        found.append(replace(finding, access=access, fix=fix))
    return found


def _sites_data(sites: Sequence[Any]) -> list[list[Any]]:
    return [[*_row(s), str(kind), decided] for s, kind, decided in sites]


def _sites_from(data: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    from smemlint.facts import AccessKind

    kinds = {str(kind): kind for kind in AccessKind}
    return tuple([(_span_from(row[:5]), kinds[row[5]], bool(row[6])) for row in data])


def _row(span: Span) -> list[Any]:
    return [span.path, span.line, span.column, span.end_line, span.end_column]


def _span_from(row: Sequence[Any]) -> Span:
    from smemlint.facts import Span

    span = Span(*row)
    _require_span(span)
    return span
