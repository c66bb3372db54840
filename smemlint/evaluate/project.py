"""Evaluates the sources of a run: which units to read, which instances of which kernels to run."""

from __future__ import annotations

import posixpath
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.assumption import read_assumption
from smemlint.evaluate.effort import Effort
from smemlint.evaluate.instances import Instances
from smemlint.evaluate.journal import Journal
from smemlint.evaluate.kernel import evaluate_kernel
from smemlint.evaluate.launch import launches_of
from smemlint.evaluate.limits import OutOfTime, broke_off
from smemlint.evaluate.written_layouts import MENTION, written_layouts
from smemlint.facts import Certainty, Facts, KernelFacts, NotAnalysed, Span
from smemlint.frontend.cuda import makefile
from smemlint.frontend.cuda.load import LoadOptions, load_unit
from smemlint.layout.declared import DeclaredSwizzle, declared_in, read_declared
from smemlint.pragmas import MARK, CommentStyle, Pragma, pragmas_in
from smemlint.source import is_python_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from smemlint.assumption import Assumption
    from smemlint.config import Settings
    from smemlint.evaluate.kernel import Task
    from smemlint.evaluate.launch import Launch
    from smemlint.facts import Access, LayoutUse, SharedArray
    from smemlint.frontend.cuda.unit import Function, Unit
    from smemlint.source import Source

_SHARED = re.compile(r"__shared__|\bldmatrix|\.shared\b|__cvta_generic_to_shared")
_LAUNCHES = re.compile(r"<<<|cudaLaunch\w*Kernel")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)
_MOST_FOLDERS_UP = 3
_MOST_ELSEWHERE = 4
"""Files of other folders that are looked into for a launch."""
_KEPT_CHARACTERS = 20_000_000
"""Of the units of earlier tasks, which the next may ask for: each takes some 30 bytes of memory."""
_MAX_RECURSION = 6000
_MAX_ROOTS = 3
"""Translation units that one file is evaluated in at the most."""


@dataclass(frozen=True, slots=True)
class Part:
    """What to evaluate of a run.

    Attributes:
        path: a file; only units that hold it are read.
        kernels: names of the kernels.
    """

    path: str
    kernels: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What takes long, and what an editor remembers of it.

    Attributes:
        evaluate: gives the facts of one kernel instance.
        launches: gives the launches that one host function makes.
        load: reads a unit.
    """

    evaluate: Callable[[Unit, Task, str], KernelFacts] = evaluate_kernel
    launches: Callable[[Unit, Sequence[Unit], Function, frozenset[str]], list[Launch]] = launches_of
    load: Callable[[str, str, LoadOptions], Unit] = load_unit


def evaluate_project(
    sources: Sequence[Source],
    settings: Settings,
    crashed: Callable[[NotAnalysed], None] | None = None,
    part: Part | None = None,
    work: Work | None = None,
) -> Facts:
    """The facts of all kernels in `sources` that touch shared memory.

    A file that others include is evaluated in up to three of the units that include it, since its
    macros and launches may be theirs; each kernel instance is reported once.

    Args:
        sources: the files of the run.
        settings: see `smemlint.config.Settings`.
        crashed: told of every kernel that an internal error cost; without it, errors are raised.
        part: what to evaluate; everything by default.
        work: what is known from before; everything is done anew without it.
    """
    return Project(sources, settings, crashed, part, work).facts()


class Project:
    """The files of a run and what is known across them."""

    def __init__(
        self,
        sources: Sequence[Source],
        settings: Settings,
        crashed: Callable[[NotAnalysed], None] | None = None,
        part: Part | None = None,
        work: Work | None = None,
    ) -> None:
        self.settings = settings
        self.work = work or Work()
        self._part = part
        self._crashed = crashed
        self.sources = {posixpath.normpath(s.path): s for s in sources}
        self._units: dict[str, Unit] = {}
        self._texts: dict[str, str | None] = {}
        self._includes: dict[str, tuple[str, ...]] = {}
        self._seen: set[tuple[Span, object, object]] = set()
        self._declared: dict[str, dict[int, DeclaredSwizzle]] = {}
        self._stopped: list[NotAnalysed] = []
        self.has_run_out = False
        self.journal = Journal()
        self._journals: dict[str, Journal] = {}

    def renewed(self) -> Project:
        """The same project without what an evaluation that broke off may have left half done."""
        sources = tuple(self.sources.values())
        fresh = Project(sources, self.settings, self._crashed, self._part, self.work)
        fresh._texts, fresh._includes = self._texts, self._includes
        if "_chosen" in self.__dict__:
            fresh.__dict__["_chosen"] = self._chosen
        return fresh

    # ---- files

    def read(self, path: str) -> str | None:
        """The text of a file of the run, or of one that it includes."""
        path = posixpath.normpath(path)
        self.journal.reads[path] = None
        if path not in self._texts:
            source = self.sources.get(path)
            self._texts[path] = source.text if source is not None else _read(path)
        return self._texts[path]

    def unit(self, path: str) -> Unit:
        """The translation unit with this root; includes that lie elsewhere in the run are found."""
        if path not in self._units:
            outer, self.journal = self.journal, Journal()
            try:
                unit: Unit = self._load(path, ())
                homes = (self.home(name, path) for name in unit.not_found)
                folders = tuple(dict.fromkeys(f for f in homes if f))
                unit = self._load(path, folders) if folders else unit
                self._journals[path] = self.journal
                self._units[path] = unit
            finally:
                self.journal = outer
        else:
            self._units[path] = self._units.pop(path)  # the latest stands last
        self.journal.add(self._journals[path])
        return self._units[path]

    def _forget_units(self) -> None:
        """Of the units that earlier tasks read, keeps the latest: others would fill memory."""
        kept = 0
        for path in reversed(tuple(self._units)):
            kept += sum(len(self._texts.get(file) or "") for file in self._units[path].files)
            if kept > _KEPT_CHARACTERS:
                del self._units[path], self._journals[path]

    def _load(self, path: str, folders: tuple[str, ...]) -> Unit:
        if is_python_path(path):
            from smemlint.frontend.python.unit import load_python_unit

            return load_python_unit(path, self.read(path) or "", self.read)
        s = self.settings
        options = LoadOptions(
            arch=s.arch,
            defines={**self._built_with(path), **s.defines},
            undefines=s.undefines,
            include_dirs=(*s.include_dirs, *folders),
            read=self.read,
        )
        return self.work.load(path, self.read(path) or "", options)

    def _built_with(self, path: str) -> Mapping[str, str]:
        """Macros that a Makefile in the file's folder defines for every build."""
        if is_python_path(path):
            return {}
        folder = posixpath.dirname(path)
        texts = (self.read(posixpath.join(folder, name)) for name in makefile.NAMES)
        return makefile.macros_of(next((t for t in texts if t is not None), ""))

    def built_with(self, unit: Unit) -> tuple[str, ...]:
        """What a unit takes from its Makefile, in words."""
        told = {*self.settings.defines, *self.settings.undefines}
        return tuple(
            f"`{name}` is `{value}`: the Makefile says so"
            for name, value in self._built_with(unit.path).items()
            if name not in told and unit.mentions(name)
        )

    def home(self, name: str, path: str) -> str | None:
        """The folder that a quoted include was written for: the one nearest to the includer."""
        found = self.journal.homes[name, path] = self._home(name, path)
        return found

    def _home(self, name: str, path: str) -> str | None:
        ending = "/" + posixpath.normpath(name)
        found = [p for p in self.sources if p.endswith(ending)]
        if not found:
            return _home_above(name, path)
        nearest = max(found, key=lambda p: len(posixpath.commonprefix((p, path))))
        return nearest[: -len(ending)]

    def launch_pragma(self, function: Function) -> Pragma | None:
        """The last `launch(..)` pragma in front of a kernel."""
        found = self._pragmas_before(function, "launch")
        return found[-1] if found else None

    def assumptions(self, function: Function) -> tuple[Assumption, ...]:
        """What the user assumes of a kernel's arguments, in the configuration or in pragmas."""
        own = self.settings.kernels.get(function.name)
        said = list(own.assume) if own is not None else []
        for pragma in self._pragmas_before(function, "assume"):
            said += pragma.arguments
        return tuple(read_assumption(text) for text in dict.fromkeys(said))

    def _pragmas_before(self, function: Function, name: str) -> list[Pragma]:
        """The sound pragmas of a name in front of a kernel, behind the kernel before it."""
        path = posixpath.normpath(function.span.path)
        text = self.read(path) or ""
        if MARK not in text:
            return []
        kernels = [
            f.span.line
            for f in self.unit_of(path).functions
            if f.is_kernel and posixpath.normpath(f.span.path) == path
        ]
        before = max((k for k in kernels if k < function.span.line), default=0)
        return [
            p
            for p in pragmas_in(text, _comments(path))
            if p.name == name and not p.problem and before < p.line <= function.span.line
        ]

    def declared_swizzle(self, kernel: str, array: SharedArray) -> DeclaredSwizzle | None:
        """The swizzle that the configuration, or a pragma at its declaration, gives an array."""
        own = self.settings.kernels.get(kernel)
        if own is not None and array.name in own.swizzle:
            return declared_in(own.swizzle[array.name])
        path = posixpath.normpath(array.span.path)
        for line, declared in self._swizzle_pragmas(path).items():
            if array.span.line <= line <= array.span.end_line:
                self.journal.swizzles[path, line] = None
                return declared
        return None

    def _swizzle_pragmas(self, path: str) -> dict[int, DeclaredSwizzle]:
        """Declared swizzles by the line that they speak of."""
        if path not in self._declared:
            text = self.read(path) or ""
            said = pragmas_in(text, _comments(path))
            found = (p for p in said if p.name == "swizzle" and not p.problem)
            self._declared[path] = {
                p.target: read_declared(p.arguments, p.reason.split(" ", 1)[0]) for p in found
            }
        return self._declared[path]

    def idle_swizzles(self, used: Collection[tuple[str, int]]) -> Iterator[NotAnalysed]:
        """Pragmas that stand at no shared array that was accessed; `used` are those that do."""
        said = "this `swizzle` stands at no shared array that a kernel was seen to access"
        for path in self.sources:
            for line in self._swizzle_pragmas(path):
                if (path, line) not in used:
                    yield NotAnalysed(Span(path, line, 1, line, 1), "", said)

    def unit_of(self, path: str) -> Unit:
        """A unit that holds a file."""
        for root, unit in self._units.items():
            if path in unit.files:
                self.journal.add(self._journals[root])
                return unit
        return self.unit(path)

    def includes(self, path: str) -> tuple[str, ...]:
        """Files of the run that a file includes by a quoted path."""
        if path not in self._includes:
            text = self.read(path) or ""
            folder = posixpath.dirname(path)
            found = (posixpath.normpath(posixpath.join(folder, m)) for m in _INCLUDE.findall(text))
            self._includes[path] = tuple(f for f in dict.fromkeys(found) if f in self.sources)
        return self._includes[path]

    @cached_property
    def _chosen(self) -> dict[str, tuple[str, ...]]:
        """For every file with shared memory the roots of the units to evaluate it in."""
        if self._part is not None:
            shared = [posixpath.normpath(self._part.path)]
        else:
            shared = [p for p in self.sources if _holds_shared(p, self.read(p) or "")]
        includers: dict[str, list[str]] = {}
        for path in self.sources if shared else ():
            for target in self.includes(path):
                includers.setdefault(target, []).append(path)
        chosen: dict[str, tuple[str, ...]] = {}
        for path in shared:
            tops = self._tops(path, includers)
            tops.sort(key=lambda p: (not _LAUNCHES.search(self.read(p) or ""), p))
            chosen[path] = tuple(tops[:_MAX_ROOTS]) or (path,)
        return chosen

    @cached_property
    def _roots(self) -> dict[str, None]:
        return dict.fromkeys(root for roots in self._chosen.values() for root in roots)

    def roots(self) -> list[str]:
        """Roots of the units to evaluate."""
        return list(self._roots)

    def is_evaluated_in(self, path: str, root: str) -> bool:
        """Whether the kernels of a file are evaluated in the unit with this root.

        A file that holds no shared memory itself goes with every unit that includes it.
        """
        return root in self._chosen.get(path, (root,))

    def _tops(self, path: str, includers: Mapping[str, Sequence[str]]) -> list[str]:
        seen, tops, work = {path}, [], [path]
        while work:
            current = work.pop()
            above = [p for p in includers.get(current, ()) if p not in seen]
            if not includers.get(current):
                tops.append(current)
            seen.update(above)
            work.extend(above)
        return tops

    def mentioning(self, names: Iterable[str], near: str) -> list[str]:
        """Files in the folder of `near` (then of the run) that name one of `names`."""
        words = [n for n in names if n]
        if not words:
            return []
        pattern = mention_of(words)
        reads = dict(self.journal.reads)  # what holds no word matters only once it does
        folder, is_python = posixpath.dirname(near), is_python_path(near)
        alike = [p for p in self.sources if is_python_path(p) == is_python]
        same = [p for p in alike if posixpath.dirname(p) == folder]
        others = [p for p in alike if posixpath.dirname(p) != folder and not is_python]

        def names_one(path: str) -> bool:
            text = self.read(path) or ""
            return any(w in text for w in words) and pattern.search(text) is not None

        found = [p for p in same if names_one(p)]
        if not found or found == [near]:
            found += islice((p for p in others if names_one(p)), _MOST_ELSEWHERE)
        self.journal.reads = reads
        self.journal.searches[tuple(words)] = tuple(found)
        return found

    # ---- evaluation

    def facts(self) -> Facts:
        """Evaluates every unit."""
        kernels: list[KernelFacts] = []
        notes: list[NotAnalysed] = []
        layouts: list[LayoutUse] = []
        seen: set[Span] = set()
        for path in self.tasks():
            part = self.facts_of(path)
            kernels += part.kernels
            notes += part.not_analysed
            layouts += (use for use in part.layouts if use.span not in seen)
            seen.update(use.span for use in part.layouts)
        notes += self.idle_swizzles(self.journal.swizzles)
        return Facts(tuple(kernels), tuple(dict.fromkeys(notes)), tuple(layouts))

    def tasks(self) -> list[str]:
        """What is evaluated one by one: roots of units, then files that write swizzles down."""
        written = [] if self._part is not None else self._writing()
        return list(dict.fromkeys((*self._roots, *written)))

    def instances_of(self, kernel: Span) -> list[tuple[Unit, Task]]:
        """The instances of the kernel whose name stands there, in all units that hold it."""
        with _deep_recursion():
            return [
                (unit, task)
                for unit in map(self.unit, self._roots)
                for function in unit.functions
                if function.is_kernel and function.span == kernel
                for group in Instances(self, unit).of(function)
                for task in group
            ]

    def _writing(self) -> list[str]:
        return [p for p in self.sources if MENTION.search(self.read(p) or "")]

    def facts_of(self, path: str) -> Facts:
        """One task: kernel instances that none before it had, and the swizzles written down."""
        kernels: list[KernelFacts] = []
        notes: list[NotAnalysed] = []
        layouts: list[LayoutUse] = []
        with _deep_recursion(), self._guarded(path):
            if path in self._roots:
                self._evaluate_unit(self.unit(path), kernels, notes)
        layouts += (use for kernel in kernels for use in kernel.layouts)
        if MENTION.search(self.read(path) or ""):
            with self._guarded(path):
                layouts += (u for u in written_layouts(self.unit(path)) if self._is_of_the_run(u))
        notes += self._stopped
        self._stopped = []
        return Facts(tuple(kernels), tuple(dict.fromkeys(notes)), tuple(layouts))

    def alone(self, path: str) -> tuple[Facts, Journal]:
        """One task as if it were the first, and what its facts rest on."""
        self._forget_units()
        self._seen.clear()
        self.journal = journal = Journal()
        facts = self.facts_of(path)
        self.journal = Journal()
        return facts, journal

    def _is_of_the_run(self, use: LayoutUse) -> bool:
        return posixpath.normpath(use.span.path) in self.sources

    def _evaluate_unit(
        self, unit: Unit, kernels: list[KernelFacts], notes: list[NotAnalysed]
    ) -> None:
        """Adds the facts of a unit, kernel by kernel: what is found stays when time runs out."""
        notes += [NotAnalysed(n.span, "", n.reason) for n in unit.notices]
        functions = [f for f in unit.functions if f.is_kernel and self._is_wanted(f, unit)]
        if not functions:
            return
        if unit.not_found:
            missing_files = ", ".join(unit.not_found)
            where = Span(unit.path, 1, 1, 1, 1)
            notes.append(NotAnalysed(where, "", f"includes were not found: {missing_files}"))
        instances = Instances(self, unit)
        for function in functions:
            groups: list[list[Task]] = []
            with self._guarded(unit.path, function):
                groups = instances.of(function)
            effort = Effort()
            for tasks in groups:
                instance = tasks[0].instance
                if effort.leaves(instance.block):
                    continue
                key = (function.span, instance.template, instance.block)
                if key in self._seen:
                    continue
                self._seen.add(key)
                with self._guarded(unit.path, function):
                    facts = self._evaluated(unit, tasks)
                    kernels.append(_agreed(facts, tasks))
                    effort.add(kernels[-1], sum(f.steps for f in facts))
            if effort.left:
                said = f"{effort.left} further instances are not evaluated"
                notes.append(NotAnalysed(function.span, function.name, said))

    def _evaluated(self, unit: Unit, tasks: Sequence[Task]) -> list[KernelFacts]:
        """The facts of an instance, or of each guess at it as long as one decides anything."""
        first, *others = tasks
        facts = [self.work.evaluate(unit, first, self.settings.arch)]
        if any(a.certainty.is_decided for a in facts[0].accesses):
            facts += [self.work.evaluate(unit, t, self.settings.arch) for t in others]
        return facts

    @contextmanager
    def _guarded(self, path: str, function: Function | None = None) -> Iterator[None]:
        """An internal error, or a limit, costs one kernel or file, which is said."""
        span = function.span if function is not None else Span(path, 1, 1, 1, 1)
        name = function.name if function is not None else ""
        try:
            yield
        except OutOfTime as spent:
            self.has_run_out = True
            self._stopped.append(NotAnalysed(span, name, str(spent)))
        except MemoryError:
            self._stopped.append(NotAnalysed(span, name, "evaluation stopped: out of memory"))
        except OverflowError:
            said = "evaluation stopped: a number has more than 64 bits"
            self._stopped.append(NotAnalysed(span, name, said))
        except Exception as error:
            self.has_run_out |= broke_off(error)
            if self.has_run_out:  # it broke off anywhere, and left things half done
                self._stopped.append(NotAnalysed(span, name, "evaluation stopped before"))
                return
            if self._crashed is None:
                raise
            what = f"internal error: {type(error).__name__}: {error}"
            self._crashed(NotAnalysed(span, name, what))

    def _is_wanted(self, function: Function, unit: Unit) -> bool:
        """Whether the kernel is evaluated in this unit and may touch shared memory."""
        path = posixpath.normpath(function.span.path)
        if path not in self.sources:
            return False
        is_of_unit = self.is_evaluated_in(path, unit.path)
        self.journal.units[path, unit.path] = is_of_unit
        if not is_of_unit:
            return False
        if self._part is not None and function.name not in self._part.kernels:
            return False
        return touches_shared(function, unit)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Lets inlined calls nest: one of the language is some forty of the interpreter."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _MAX_RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def mention_of(words: Iterable[str]) -> re.Pattern[str]:
    """What finds one of some words."""
    return re.compile(r"\b(?:" + "|".join(map(re.escape, words)) + r")\b")


def touches_shared(function: Function, unit: Unit) -> bool:
    """Whether a function or one that it may call names shared memory."""
    shared = {"__shared__", "ldmatrix", "__cvta_generic_to_shared"}
    for group in unit.declarations.values():
        for declaration in group:
            if declaration.kind == "variable" and "__shared__" in declaration.specifiers:
                shared.add(declaration.name)
    seen: set[str] = set()
    work = [function]
    while work:
        current = work.pop()
        words = current.words
        if words & shared or any("shared" in w for w in words):
            return True
        for word in words - seen:
            seen.add(word)
            work.extend(unit.functions_named(word))
            for record in unit.records.get(word, ()):
                work.extend(f for f in unit.functions if f.record == record.name)
    return False


def _comments(path: str) -> CommentStyle:
    return CommentStyle.PYTHON if is_python_path(path) else CommentStyle.C


def _holds_shared(path: str, text: str) -> bool:
    """Whether a file's own code may declare or touch shared memory."""
    return is_python_path(path) or _SHARED.search(text) is not None


def _agreed(facts: Sequence[KernelFacts], tasks: Sequence[Task]) -> KernelFacts:
    """The first of several guesses; an access on which they differ is only a sample."""
    first = facts[0]
    outside = None if first.instance.origin else next(filter(_begins_outside, first.accesses), None)
    if outside is not None and outside.array is not None:
        reason = f"the block shape is not known: the guess reaches outside `{outside.array.name}`"
        return _only_sampled(first, reason)
    if len(facts) == 1:
        return first
    others = [{(a.span, a.kind): a for a in f.accesses} for f in facts[1:]]
    accesses = []
    for access in first.accesses:
        differing = [o.get((access.span, access.kind)) for o in others]
        if access.certainty.is_decided and not all(_alike(access, d) for d in differing):
            reason = "the block shape is not known, and the figure depends on it"
            access = replace(access, certainty=Certainty.SAMPLED, reason=reason)
        accesses.append(access)
    return replace(first, accesses=tuple(accesses))


def _begins_outside(access: Access) -> bool:
    """Whether the first warp leaves the array: no block has that shape, or the lanes it has."""
    array = access.array
    if array is None or array.bytes is None or access.conditions:
        return False
    for pattern in access.patterns:
        offsets = pattern.addresses[pattern.active] - array.base
        if pattern.warp > 0 or not offsets.size:
            continue
        first = int(offsets.min()) if pattern.exact else 0
        last = first + int(offsets.max()) - int(offsets.min()) + pattern.width
        if first < 0 or last > array.bytes:
            return True
    return False


def _only_sampled(facts: KernelFacts, reason: str) -> KernelFacts:
    """The facts of one guess, none of them to be relied on."""
    accesses = tuple(
        replace(a, certainty=Certainty.SAMPLED, reason=reason) if a.certainty.is_decided else a
        for a in facts.accesses
    )
    return replace(facts, accesses=accesses)


def _alike(a: Access, b: Access | None) -> bool:
    if (
        b is None
        or b.wavefronts is None
        or a.wavefronts is None
        or a.ideal is None
        or b.ideal is None
    ):
        return b is not None and a.wavefronts is None and b.wavefronts is None
    return abs(a.wavefronts.mean / a.ideal.mean - b.wavefronts.mean / b.ideal.mean) < 1e-9


def _home_above(name: str, path: str) -> str | None:
    """A folder beside one of the includer's folders that holds the include; at most three up."""
    folder = Path(path).parent
    for _ in range(_MOST_FOLDERS_UP):
        folder = folder.parent
        try:
            for beside in sorted(folder.iterdir()):
                if (beside / name).is_file():
                    return posixpath.normpath(beside.as_posix())
        except OSError:
            return None
        if (folder / ".git").exists() or folder == folder.parent:
            return None
    return None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
