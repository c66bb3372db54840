"""The files of a run and the translation units that are read from them."""

from __future__ import annotations

import gc
import posixpath
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.program.included_files import IncludedFiles
from smemlint.config.settings import Settings
from smemlint.facts import NotAnalysed, Span
from smemlint.files.sandbox import AccessDenied, Sandbox
from smemlint.frontend.cuda.build_system import makefile
from smemlint.frontend.cuda.build_system.lookup import Build, build_of
from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.frontend.line_searches import includes, without_comments, words_outside_comments
from smemlint.frontend.program import Unit
from smemlint.limits.budgets import (
    MAX_BUILDS,
    MAX_EARLIER_CHARACTERS,
    MAX_FILES_ELSEWHERE,
    MAX_FOLDERS_UP,
)
from smemlint.limits.steps import current, spend
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic
from smemlint.sources.languages import is_python_path
from smemlint.sources.source import Source


class ProgramIndex:
    """The files and units of a run, each read once.

    Attributes:
        dependencies: of the result under way.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        settings: Settings,
        load: Callable[[str, str, LoadOptions], Unit],
    ) -> None:
        self.settings = settings
        self._load_unit = load
        self.sources = {posixpath.normpath(s.path): s for s in sources}
        self._units: dict[str, Unit] = {}
        self._texts: dict[str, str | None] = {}
        self._refusals: dict[str, tuple[str, bool]] = {}  # why, and whether the path says so
        self._includes: dict[str, tuple[str, ...]] = {}
        self._searches: dict[tuple[str, ...], tuple[list[str], Iterator[str]]] = {}
        self._near: dict[tuple[tuple[str, ...], str, bool], list[str]] = {}
        self._builds: dict[str, Build] = {}
        self.dependencies = Dependencies()
        self._dependencies_of: dict[str, Dependencies] = {}
        self._steps: dict[str, int] = {}
        self._charged: set[str] = set()
        self._dropped = 0  # characters of units that may still be in memory

    def read(self, path: str) -> str | None:
        """Returns the text of a file of the run, or of one that it includes; see `refusal`."""
        path = posixpath.normpath(path)
        self.dependencies.reads[path] = None
        if path not in self._texts:
            source = self.sources.get(path)
            self._texts[path] = source.text if source is not None else self._read(path)
        return self._texts[path]

    def refusal(self, path: str, *, is_written: bool = True) -> str:
        """Returns why a file that was asked for is not read; empty where it was, or is not there.

        Args:
            path: of the file.
            is_written: the source names this path; else it is one of several that were tried, and
                those that are only spelled outside do not count.
        """
        reason, is_spelled = self._refusals.get(posixpath.normpath(path), ("", False))
        return "" if is_spelled > is_written else reason

    def _read(self, path: str) -> str | None:
        try:
            return self._sandbox.read(path).decode("utf-8", "replace")
        except AccessDenied as error:
            self._refusals[path] = error.strerror, error.is_spelled  # it holds all that runs
        except OSError:
            pass
        return None

    @cached_property
    def _sandbox(self) -> Sandbox:
        """What the files of the run may read, and the include folders of the settings."""
        own = (source.sandbox for source in self.sources.values())
        given = self.settings.build_path if "build-path" in self.settings.given else ""
        return Sandbox.joined(own, *self.settings.include_dir, given)

    def unit(self, path: str) -> Unit:
        """Returns the translation unit with this root, with includes from elsewhere in the run.

        Each task spends the steps of reading it, also where an earlier one has read it.
        """
        if path not in self._units:
            outer, self.dependencies = self.dependencies, Dependencies()
            before = current().spent
            self._builds.pop(path, None)  # what it was read from is a dependency of the unit
            try:
                unit: Unit = self._load(path)
                self._dependencies_of[path] = self.dependencies
                self._steps[path] = current().spent - before
                self._units[path] = unit
            finally:
                self.dependencies = outer
        else:
            self._units[path] = self._units.pop(path)  # the latest stands last
            if path not in self._charged:
                spend(self._steps[path])
        self._charged.add(path)
        self.dependencies.add(self._dependencies_of[path])
        return self._units[path]

    def characters(self, unit: Unit) -> int:
        """Returns how long the files of a unit are together."""
        return sum(len(self._texts.get(file) or "") for file in unit.files)

    def begin_task(self) -> Dependencies:
        """Begins a result of its own; returns what it will rest on.

        Of the units that earlier tasks read, keeps the latest: others would fill memory, as old
        garbage, too, which the collector comes to once in a hundred times.

        What is kept does not tell which tasks this process had: a task takes as many steps in any.
        """
        self.dependencies = Dependencies()
        self._charged.clear()
        kept = 0
        for path in reversed(tuple(self._units)):
            size = self.characters(self._units[path])
            kept += size
            if kept > MAX_EARLIER_CHARACTERS:
                del self._units[path], self._dependencies_of[path]
                self._dropped += size
            else:
                self._units[path].memory.clear()
        if self._dropped > MAX_EARLIER_CHARACTERS:
            self._dropped = 0
            gc.collect()
        return self.dependencies

    def renewed(self) -> ProgramIndex:
        """Returns an index with the same texts, without units that may be left half read."""
        fresh = ProgramIndex(tuple(self.sources.values()), self.settings, self._load_unit)
        fresh._texts, fresh._includes = self._texts, self._includes
        fresh._refusals = self._refusals
        return fresh

    def _load(self, path: str) -> Unit:
        if is_python_path(path):
            from smemlint.analysis.python.interpreter.module_constants import module_constants
            from smemlint.frontend.python.jit.unit import load_python_unit

            is_caller = path in self.sources and path != next(iter(self.sources))
            text = self.read(path) or ""
            return load_python_unit(path, text, self.read, module_constants, is_caller=is_caller)
        settings, flags = self.settings, self._build(path).flags
        options = LoadOptions(
            arch=settings.arch if "arch" in settings.given else flags.arch(settings.arch),
            defines={**flags.defines, **settings.define},
            undefines=(flags.undefines | settings.undefines) - settings.define.keys(),
            include_dirs=(*settings.include_dir, *flags.include_dirs),
            forced_includes=flags.forced_includes,
            read=self.read,
            refusal=self.refusal,
            home=partial(self.home, path=path),
        )
        return self._load_unit(path, self.read(path) or "", options)

    def _build(self, path: str) -> Build:
        """Returns how a root is built, found out once each time that its unit is read."""
        if path not in self._builds:
            self._builds[path] = Build()
            if not is_python_path(path):
                folder, number = self.settings.build_path, self.settings.build or 0
                self._builds[path] = build_of(path, folder, self.read, number)
        return self._builds[path]

    def unused_builds(self, path: str) -> Iterator[NotAnalysed]:
        """Yields notes on what is not used of a root's build, and why."""
        build = self._build(path)
        if build.problem:
            yield NotAnalysed(
                Span(path, 1, 1, 1, 1), "", Reason(ReasonCode.UNREADABLE, build.problem)
            )
        analysed = 1 if self.settings.build is None else MAX_BUILDS
        if build.others >= analysed:
            others = build.others + 1 - analysed
            builds = "another build" if others == 1 else f"{others} other builds"
            first = "first is" if analysed == 1 else f"first {analysed} are"
            text = f"{build.origin} has {builds} of this file: the {first} analysed"
            reason = Reason(ReasonCode.LEFT_OUT, text)
            yield NotAnalysed(Span(path, 1, 1, 1, 1), "", reason)
        for name in makefile.NAMES:
            refusal = self.refusal(posixpath.join(posixpath.dirname(path), name))
            if refusal:
                yield NotAnalysed(
                    Span(path, 1, 1, 1, 1),
                    "",
                    Reason(ReasonCode.REFUSED, f"{name} is not read: {refusal}"),
                )

    def built_with(self, unit: Unit) -> tuple[Assumption, ...]:
        """Returns what a unit takes from its build."""
        build = self._build(unit.path)
        decided = {*self.settings.define, *self.settings.undefines}
        return tuple(
            Assumption(Topic.BUILD, f"`{name}` is `{value}`: {build.origin} says so", name)
            for name, value in build.flags.defines.items()
            if name not in decided and unit.mentions(name)
        )

    def home(self, name: str, path: str) -> str | None:
        """Returns the folder that an include was written for; None where no file may be it.

        Args:
            name: as it is written, brackets included; of a quoted one the nearest file is taken.
            path: of the includer.
        """
        found = self.dependencies.homes[name, path] = self._home(name, path)
        return found

    def _home(self, name: str, path: str) -> str | None:
        is_bracketed, name = name.startswith("<"), name.strip("<>")
        files = self._included_files
        nearest = files.only(name) if is_bracketed else files.nearest(name, path)
        if nearest is None:
            return None if is_bracketed else _home_above(name, path, self._sandbox)
        return nearest[: -len(posixpath.normpath(name)) - 1]

    @cached_property
    def _included_files(self) -> IncludedFiles:
        def given(path: str) -> tuple[str, ...]:
            return (*self.settings.include_dir, *self._build(path).flags.include_dirs)

        return IncludedFiles(self.sources, given)

    def unit_of(self, path: str) -> Unit:
        """Returns a unit that holds a file, of those that this task read."""
        for root, unit in self._units.items():
            if root in self._charged and path in unit.files:
                self.dependencies.add(self._dependencies_of[root])
                return unit
        return self.unit(path)

    def includes(self, path: str) -> tuple[str, ...]:
        """Returns the files of the run that a file includes, as the preprocessor finds them.

        Python files that hold CUDA text include none: their text is compiled in another folder.
        """
        if path not in self._includes:
            text = "" if is_python_path(path) else self.read(path) or ""
            find = self._included_files.find
            found = (find(name, path, is_quoted=quoted) for name, quoted in includes(text))
            self._includes[path] = tuple(dict.fromkeys(filter(None, found)))
        return self._includes[path]

    def files_below(self, path: str) -> list[str]:
        """Returns a file, and all files of the run that it includes, directly or not."""
        return list(reachable((path,), self.includes))

    def mentioning(
        self, names: Iterable[str], near: str, declared_in: Collection[str] = ()
    ) -> list[str]:
        """Returns files of a file's folder that name one of `names`.

        Where none but the file does, and those where a declaration is no use of it, other folders
        are looked through as well.
        """
        words = tuple(n for n in names if n)
        if not words:
            return []
        reads = dict(self.dependencies.reads)  # what holds no word matters only once it does
        folder, is_python = posixpath.dirname(near), is_python_path(near)
        key = words, folder, is_python
        if key not in self._near:
            names_one = self._mention_of(words)
            by_folder = self._by_folder[is_python]
            files = chain(*by_folder.values()) if is_python else by_folder.get(folder, ())
            self._near[key] = [p for p in files if names_one(p)]
        found = list(self._near[key])
        if not is_python and all(p == near or p in declared_in for p in found):
            others = (p for p in self._naming(words) if posixpath.dirname(p) != folder)
            found += islice(others, MAX_FILES_ELSEWHERE)
        self.dependencies.reads = reads
        before = self.dependencies.searches.get(words, ())  # with others in `declared_in`
        self.dependencies.searches[words] = tuple(dict.fromkeys((*before, *found)))
        return found

    @cached_property
    def _by_folder(self) -> dict[bool, dict[str, list[str]]]:
        """The files of the run by whether they are Python's, and by folder."""
        found: dict[bool, dict[str, list[str]]] = {True: {}, False: {}}
        for path in self.sources:
            folders = found[is_python_path(path)]
            folders.setdefault(posixpath.dirname(path), []).append(path)
        return found

    def _naming(self, words: tuple[str, ...]) -> Iterator[str]:
        """Yields the files that name one of some words, but for Python's.

        Each is looked through once for the same words, however many searches ask.
        """
        if words not in self._searches:
            cuda = (p for p in self.sources if not is_python_path(p))
            self._searches[words] = [], filter(self._mention_of(words), cuda)
        known, further = self._searches[words]
        yield from known
        for path in further:
            known.append(path)
            yield path

    def _mention_of(self, words: Sequence[str]) -> Callable[[str], bool]:
        """Returns what tells whether a file names one of some words, in C++ outside of comments."""
        pattern = mention_of(words)
        are_words = all(map(str.isidentifier, words))

        def names_one(path: str) -> bool:
            text = self.read(path) or ""
            if not any(w in text for w in words):
                return False
            if is_python_path(path) or not are_words:
                text = text if is_python_path(path) else without_comments(text)
                return pattern.search(text) is not None
            return not words_outside_comments(text).isdisjoint(words)

        return names_one


def reachable(starts: Iterable[str], edges: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Returns some files, and all that edges lead to from them, each with the fewest edges."""
    found = dict.fromkeys(starts, 0)
    worklist = deque(found)
    while worklist:
        current = worklist.popleft()
        new = [p for p in edges(current) if p not in found]
        found.update(dict.fromkeys(new, found[current] + 1))
        worklist += new
    return found


def mention_of(words: Iterable[str]) -> re.Pattern[str]:
    """Returns what finds one of some words."""
    return re.compile(r"\b(?:" + "|".join(map(re.escape, words)) + r")\b")


def use_of(functions: Iterable[str]) -> re.Pattern[str]:
    """Returns what finds a use of one of some functions; their names in paths are none."""
    return re.compile(r"\b(?:" + "|".join(map(re.escape, functions)) + r")\b[ \t]*+[<(),;&}]")


def _home_above(name: str, path: str, sandbox: Sandbox) -> str | None:
    """Returns the one folder with the include beside the includer or above; at most three up.

    Where two folders at the same height have it, which one the build names is not known.
    """
    folder = Path(path).parent
    for _ in range(MAX_FOLDERS_UP + 1):
        if not sandbox.spells(str(folder)):
            return None
        try:
            beside = [f for f in folder.iterdir() if sandbox.stamp(str(f / name)) is not None]
        except OSError:
            return None
        if beside:
            return posixpath.normpath(beside[0].as_posix()) if len(beside) == 1 else None
        if (folder / ".git").exists() or folder == folder.parent:
            return None
        folder = folder.parent
    return None
