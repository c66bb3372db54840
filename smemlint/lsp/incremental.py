"""What an edit does not touch is kept from one analysis to the next: kernels and launches.

A kernel instance is evaluated again only when something that it may see changed (see `contexts`),
and a host function is run for its launches on the same terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import cast

from smemlint.analysis.program.memo import Memo
from smemlint.analysis.simt.analyze import DIRECT
from smemlint.analysis.simt.domain.ctypes import (
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
    VoidType,
)
from smemlint.analysis.simt.domain.values import AffineInt, Unknown
from smemlint.analysis.simt.kernel.evaluate import evaluate_kernel
from smemlint.analysis.simt.kernel.task import KernelTask, Passed
from smemlint.analysis.simt.launches.host_runs import Host, HostRun, launches_of
from smemlint.analysis.simt.launches.launch import Launch
from smemlint.config.settings import Settings
from smemlint.facts import Instance, KernelFacts
from smemlint.frontend.cuda.unit import LoadOptions, load_unit
from smemlint.frontend.program import Function, Unit
from smemlint.hardware.arch import LANES
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_REMEMBERED_NUMBERS, MAX_UNIT_CHARACTERS
from smemlint.lsp.function_fingerprints import VisibleTexts, digest, outside
from smemlint.lsp.kept_results import KeptResults
from smemlint.lsp.lru import LruCache
from smemlint.lsp.relocate import Relocation
from smemlint.lsp.token_text import CannotMove, Movement, TokenText, VisibleText
from smemlint.reasons import Assumption, Reason
from smemlint.sources.pragmas import MARK
from smemlint.sources.source import Source

_NOBODY = cast("Function", None)


@dataclass(frozen=True, slots=True, eq=False)
class _Kernel:
    """An instance as it was evaluated; nothing here leads to a unit, which is large.

    Attributes:
        assumptions: that all of it was evaluated under.
        context: where its text stood.
        arguments: those of its launches, where the evaluation asked for them.
    """

    facts: KernelFacts
    assumptions: tuple[Assumption, ...]
    context: VisibleText
    arguments: Sequence[Passed] | None

    def numbers(self) -> int:
        """Returns how many numbers it holds: addresses, and places of tokens."""
        patterns = sum(len(access.patterns) for access in self.facts.accesses)
        return LANES * patterns + len(self.context.places.starts)


@dataclass(frozen=True, slots=True, eq=False)
class _Launch:
    """A launch without the function: that is one of several of its name in one of the units."""

    unit: int
    number: int
    launch: Launch


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """What a host function launched, and where its text stood."""

    launches: tuple[_Launch, ...]
    run: HostRun
    context: VisibleText

    def numbers(self) -> int:
        """Returns how many numbers it holds; a launch is some tens of them."""
        return LANES * len(self.launches) + len(self.context.places.starts)


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """A unit that does not hold the document, with what reading it asked for, and the answers.

    Attributes:
        homes: folders of includes that were in none of the given ones.
    """

    unit: Unit
    texts: Mapping[str, str | None]
    homes: Mapping[str, str | None]

    def characters(self) -> int:
        """Returns how long its files are together."""
        return sum(len(text or "") for text in self.texts.values())

    def is_valid(self, options: LoadOptions) -> bool:
        """Returns whether the answers are what they were."""
        is_read_alike = all(options.read(file) == had for file, had in self.texts.items())
        return is_read_alike and all(options.home(name) == had for name, had in self.homes.items())


class IncrementalMemo:
    """What is known of kernel instances, host functions, units and documents.

    Attributes:
        hits: kernel instances that were not evaluated, since their facts were known.
        misses: those that were.
        evaluating: called with each instance that is about to be evaluated.
    """

    def __init__(self) -> None:
        self.kernels: LruCache[_Kernel] = LruCache(MAX_REMEMBERED_NUMBERS, _Kernel.numbers)
        self.runs: LruCache[_Run] = LruCache(MAX_REMEMBERED_NUMBERS, _Run.numbers)
        self.units: LruCache[_Loaded] = LruCache(MAX_UNIT_CHARACTERS, _Loaded.characters)
        self.results: dict[str, KeptResults] = {}
        self.evaluating: Callable[[Instance], None] = lambda instance: None
        self.hits = self.misses = 0
        self._names: set[str] = set()

    def results_of(self, path: str) -> KeptResults:
        """Returns what the last analysis of a document found."""
        return self.results.setdefault(path, KeptResults(path))

    def forget_results(self, path: str) -> None:
        """Forgets the results of a document that was closed."""
        self.results.pop(path, None)

    def function_names(self) -> frozenset[str]:
        """Returns the names of the functions of all units that were read since the last call."""
        names, self._names = frozenset(self._names), set()
        return names

    def note_names(self, unit: Unit) -> None:
        """Notes the names of a unit that was read."""
        self._names.update(function.name for function in unit.functions)

    def files_changed(self) -> None:
        """Sees that files may have come or gone."""
        self.forget_units()
        for kept in self.results.values():
            kept.files_changed()

    def forget_units(self) -> None:
        """Forgets units, which may be half read, or read from what is no more."""
        self.units.clear()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Guards work on units: those that a break leaves half read are forgotten."""
        try:
            yield
        except BaseException:
            self.forget_units()
            raise

    def memo(self, path: str, sources: Sequence[Source], settings: Settings) -> Memo:
        """Returns the memo of one analysis."""
        texts = {s.path: s.text for s in sources}
        if MARK in texts[path] and "swizzle" in texts[path]:
            return DIRECT  # takes note of the declarations that were of use
        known = _Known(self, self.results_of(path).tokens_of(texts[path]), texts, settings)
        return Memo(known.evaluate, known.launches, known.load)


class _Known:
    """One analysis that remembers the ones before."""

    def __init__(
        self,
        memory: IncrementalMemo,
        tokens: TokenText,
        texts: Mapping[str, str],
        settings: Settings,
    ) -> None:
        self._memory = memory
        self._tokens = tokens
        self._path = tokens.places.path
        self._texts = texts
        self._settings = settings
        self._contexts: dict[tuple[int, ...], tuple[VisibleTexts, bytes]] = {}

    @cached_property
    def _beside(self) -> bytes:
        """A digest of the settings and of the other files of the run."""
        texts = self._texts
        beside = (t for p in sorted(texts) if p != self._path for t in (p, texts[p]))
        return digest(repr(self._settings), self._path, *beside)

    # ---- kernels

    def evaluate(self, unit: Unit, task: KernelTask, arch: str) -> KernelFacts:
        """Returns the facts of an instance: those from before, moved to where it stands now."""
        contexts, around = self._of((unit,))
        hides = ("kernels", "hosts") if _is_plain(task.scope.values()) else ("kernels",)
        context = contexts.of(task.function, hides=hides)
        instance = replace(task.instance, span=None, place=None)  # type: ignore[arg-type]
        assumed = task.given, task.needs_arguments
        given = task.function.name, _unknowns(task.scope), task.shared, assumed
        key = context.digest, around, unit.path, instance, given, arch
        known = self._memory.kernels.get(key)
        if known is not None:
            facts = self._moved(known, task, context)
            if facts is not None:
                self._memory.hits += 1
                again = _Kernel(facts, task.assumptions, context, known.arguments)
                self._memory.kernels.keep(key, again)
                return facts
        self._memory.misses += 1
        self._memory.evaluating(task.instance)
        asked: list[Sequence[Passed]] = []

        def arguments() -> Sequence[Passed]:
            asked.append(task.arguments())
            return asked[-1]

        facts = evaluate_kernel(unit, replace(task, arguments=arguments), arch)
        passed = asked[-1] if asked else None
        self._memory.kernels.keep(key, _Kernel(facts, task.assumptions, context, passed))
        return facts

    def _moved(self, known: _Kernel, task: KernelTask, context: VisibleText) -> KernelFacts | None:
        """Returns known facts for this task, if they are its facts, too."""
        if known.arguments is not None and not _are_same(known.arguments, task.arguments()):
            return None
        described = task.instance, task.assumptions
        if known.context == context and described == (known.facts.instance, known.assumptions):
            return known.facts

        both = known.assumptions, task.assumptions
        movement = Movement(known.context, context)
        try:
            return Relocation(movement, task.instance, both).moved(known.facts)
        except CannotMove:
            return None

    # ---- launches

    def launches(self, host: Host) -> HostRun:
        """Returns what a host function launches."""
        unit, function = host.unit, host.function
        units = (unit, *(u for u in host.linked if u is not unit))
        contexts, around = self._of(units)
        context = contexts.of(function)
        paths = tuple(u.path for u in units)
        written = _written_instantiations(function, units) if host.has_no_caller else ()
        asked = host.launching, host.has_no_caller, written, host.kernel
        run = function.name, function.scope, *asked
        key = context.digest, around, paths, run
        known = self._memory.runs.get(key)
        if known is not None:
            try:
                movement = Movement(known.context, context)
                moved = (_moved_launch(launch, movement, units) for launch in known.launches)
                return replace(known.run, launches=tuple(moved))
            except CannotMove:
                pass  # it is run again
        found = launches_of(host)
        if not found.unnamed and all(
            _is_plain((*launch.scope.values(), *launch.arguments.values()))
            for launch in found.launches
        ):
            kept = tuple(
                _Launch(*_number_of(launch.function, units), replace(launch, function=_NOBODY))
                for launch in found.launches
            )
            self._memory.runs.keep(key, _Run(kept, replace(found, launches=(), begun=()), context))
        return found

    # ---- units

    def load(self, path: str, text: str, options: LoadOptions) -> Unit:
        """Returns a unit, and the names of its functions."""
        unit = self._loaded(path, text, options)
        self._memory.note_names(unit)
        return unit

    def _loaded(self, path: str, text: str, options: LoadOptions) -> Unit:
        """Returns a unit; the one of before where nothing of it changed."""
        described = (
            options.arch,
            options.defines,
            options.undefines,
            options.include_dirs,
            options.forced_includes,
        )
        key = path, text, repr(described)
        known = self._memory.units.get(key)
        if known is None or not known.is_valid(options):
            homes: dict[str, str | None] = {}

            def home(name: str) -> str | None:
                homes[name] = options.home(name)
                return homes[name]

            unit = load_unit(path, text, replace(options, home=home))
            if self._path in unit.files:
                return unit
            known = _Loaded(unit, {file: options.read(file) for file in unit.files}, homes)
        self._memory.units.keep(key, known)
        return known.unit

    # ---- what kernels and launches rest on

    def _of(self, units: tuple[Unit, ...]) -> tuple[VisibleTexts, bytes]:
        """Returns the contexts of units, and a digest of what is not in the document."""
        key = tuple(map(id, units))
        if key not in self._contexts:
            contexts = VisibleTexts(self._texts[self._path], self._tokens, units)
            self._contexts[key] = contexts, self._beside + outside(units, self._texts)
        return self._contexts[key]


def _moved_launch(known: _Launch, movement: Movement, units: Sequence[Unit]) -> Launch:
    launch, relocation = known.launch, Relocation(movement)
    return replace(
        launch,
        function=units[known.unit].functions_named(launch.kernel)[known.number],
        span=relocation.moved(launch.span),
        assumed=relocation.moved(launch.assumed),
    )


def _number_of(function: Function, units: Sequence[Unit]) -> tuple[int, int]:
    """Returns the number of a function's unit, and its number among those of its name."""
    return next(
        (index, number)
        for index, unit in enumerate(units)
        for number, other in enumerate(unit.functions_named(function.name))
        if other is function
    )


def _written_instantiations(function: Function, units: Sequence[Unit]) -> tuple[object, ...]:
    """Returns the template arguments in functions, which uncalled ones take."""
    names = (function.name if function.template else None, function.record)
    found = (w for name in names if name for unit in units for w in unit.template_ids(name))
    return tuple((written.arguments, written.is_instantiated) for written in found)


def _is_plain(values: Iterable[object]) -> bool:
    """Returns whether only numbers, built-in types and unknowns are bound, of no tree."""
    return all(_is_plain_value(value) for value in values)


def _unknowns(scope: Mapping[str, object]) -> tuple[tuple[str, Reason, bool, bool], ...]:
    """Returns the template arguments that are not known: results name why."""
    return tuple(
        (name, value.reason, value.is_data, value.is_uniform)
        for name, value in scope.items()
        if isinstance(value, Unknown)
    )


def _is_plain_value(value: object) -> bool:
    if type(value) is Unknown:
        return value.split is None
    if isinstance(value, AffineInt):
        return value.constant is not None
    if isinstance(value, PointerType):
        return _is_plain_value(value.target)
    if isinstance(value, RecordType):
        return value.record is None  # a vector
    return isinstance(value, (IntType, FloatType, VoidType))


def _are_same(before: Sequence[Passed], now: Sequence[Passed]) -> bool:
    if len(before) != len(now):
        return False
    return all(_numbers(old) == _numbers(new) for old, new in zip(before, now, strict=True))


def _numbers(passed: Passed) -> dict[str, tuple[int | None, CType]]:
    return {name: (value.constant, value.type) for name, value in passed.values.items()}
