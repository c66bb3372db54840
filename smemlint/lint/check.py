"""One run: sources to facts to findings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from smemlint.analysis.compiled.files import compiled_facts, is_compiled
from smemlint.analysis.python.dialects import holds_marks, is_python, python_facts
from smemlint.facts import Facts, NotAnalysed, Span, sites_of, verdicts
from smemlint.files.sandbox import Sandbox
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smemlint.analysis.program.memo import Part, Work
    from smemlint.config.settings import Configuration, Settings
    from smemlint.facts import Site
    from smemlint.finding import Finding, Severity

_MARKS = (
    "__shared__",
    "ldmatrix",
    ".shared",
    "__cvta_generic_to_shared",
    "Swizzle<",
    "CU_TENSOR_MAP_SWIZZLE_",
)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a run found.

    Attributes:
        findings: in order of place.
        hidden: findings that a pragma or the baseline covers, each with its `suppression`.
        facts: everything known, where it was asked for; empty where findings came from the cache.
        files: how many files were looked at.
        crashed: an internal error took something out of the analysis.
        sites: access sites of all kernel instances, some more than once.
    """

    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...]
    facts: Facts
    files: int
    crashed: bool = False
    sites: tuple[Site, ...] = field(default=(), repr=False)

    def count(self, severity: Severity) -> int:
        """Findings of a severity."""
        return sum(f.severity is severity for f in self.findings)

    @property
    def suppressed(self) -> int:
        """Findings that are not shown."""
        return len(self.hidden)

    @property
    def decided(self) -> int:
        """Access sites with a figure or verdict, instances taken together."""
        return sum(verdicts(self.sites).values())

    @property
    def undecided(self) -> int:
        """Access sites without."""
        return sum(not decided for decided in verdicts(self.sites).values())


def analyze(
    sources: Sequence[Source],
    settings: Settings,
    part: Part | None = None,
    work: Work | None = None,
) -> tuple[Facts, bool]:
    """The facts of the sources or a part of them, and whether an internal error cost some.

    Nothing is imported for sources without shared memory. See `Project` for `part` and `work`.
    """
    python = [s for s in sources if is_python(s)]
    cuda = [s for s in sources if not is_python(s) and not is_compiled(s)]
    crashes: list[NotAnalysed] = []
    wanted = [s for s in python if part is None or s.path == part.path]
    parts = python_facts(wanted, settings, crashes.append)
    compiled = {path for s in python for path, is_text in s.read_along.items() if is_text}
    cuda = [s for s in cuda if not (s.path in compiled and is_for_others(s.text))]
    if may_use_shared(cuda):
        from smemlint.analysis.simt.analyze import evaluate_project

        parts.insert(0, evaluate_project(cuda, settings, crashes.append, part, work))
    paths = [s.path for s in sources]
    wanted = [s for s in sources if is_compiled(s) and (part is None or s.path == part.path)]
    parts += (compiled_facts(source, settings, paths, crashes.append) for source in wanted)
    facts = Facts.together(parts)
    notes = (*problems(sources), *facts.not_analysed, *crashes)
    return replace(facts, not_analysed=notes), bool(crashes)


_MOST_MILDER = 4
"""Figures of other instances that a finding lists."""


def check(
    sources: Sequence[Source],
    settings: Settings,
    configuration: Configuration | None = None,
    *,
    steps_of_a_file: int | None = None,
) -> Result:
    """Runs the rules on the sources, in this process and without a cache.

    Args:
        sources: the files of the run.
        settings: what the sources are evaluated under.
        configuration: the settings that each file's findings are judged by; without it, `settings`.
        steps_of_a_file: see `smemlint.fix.propose.with_fixes`; its default where None.
    """
    settings_of = (lambda path: settings) if configuration is None else configuration.for_file
    facts, crashed = analyze(sources, settings)
    found = judged(facts, settings_of)
    if any(f.access is not None for f in found):
        from smemlint.fix.propose import STEPS_OF_A_FILE, with_fixes
        from smemlint.fix.verify_by_analysis import Run

        run = Run(tuple(sources), settings, settings_of)
        most = STEPS_OF_A_FILE if steps_of_a_file is None else steps_of_a_file
        found = with_fixes(found, facts, run, steps_of_a_file=most)
    marked = [s.path for s in sources if "smemlint:" in s.text]
    shown, hidden = concluded(found, marked, sources, settings_of, sites_of(facts.kernels))
    return Result(shown, hidden, facts, len(sources), crashed, sites_of(facts.kernels))


def may_use_shared(sources: Sequence[Source]) -> bool:
    """Whether a word in some source can stand for shared memory; reads all until one does."""
    return any(mark in source.text for source in sources for mark in _MARKS)


def is_for_others(text: str) -> bool:
    """Whether a file of kernels launches none: whoever compiles it says how it is meant."""
    return "<<<" not in text


def judged(
    facts: Facts,
    settings_of: Callable[[str], Settings],
    crashed: Callable[[NotAnalysed], None] | None = None,
) -> list[Finding]:
    """What all rules, selected or not, say of the facts: each file judged by its settings.

    Args:
        facts: of some or all sources.
        settings_of: the settings of a file.
        crashed: told of every rule that failed; without it, errors are raised.
    """
    if not (facts.kernels or facts.not_analysed or facts.layouts or facts.dots):
        return []
    from smemlint.lint.registry import entries

    spans = [k.instance.span for k in facts.kernels]
    spans += [n.span for n in facts.not_analysed] + [u.span for u in facts.layouts]
    spans += [d.span for d in facts.dots]
    by_identity = {id(settings): settings for settings in (settings_of(s.path) for s in spans)}
    found: list[Finding] = []
    for settings in by_identity.values():

        def is_its(span: Span, settings: Settings = settings) -> bool:
            return settings_of(span.path) is settings

        share = Facts(
            tuple(k for k in facts.kernels if is_its(k.instance.span)),
            tuple(n for n in facts.not_analysed if is_its(n.span)),
            tuple(u for u in facts.layouts if is_its(u.span)),
            tuple(d for d in facts.dots if is_its(d.span)),
        )
        for entry in entries():
            try:
                found += entry.rule.check(share, settings)
            except Exception as error:
                if crashed is None:
                    raise
                what = f"internal error in {entry.rule.code}: {type(error).__name__}: {error}"
                crashed(NotAnalysed(Span(spans[0].path, 1, 1, 1, 1), "", what))
    return found


def concluded(
    findings: Sequence[Finding],
    marked: Sequence[str],
    sources: Sequence[Source],
    settings_of: Callable[[str], Settings],
    sites: Sequence[Site],
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that are shown and those that are suppressed, in order of place.

    Args:
        findings: of all rules and kernel instances.
        marked: paths of those sources that hold pragmas.
        sources: of the run; included files with findings are read for their pragmas, too.
        settings_of: the settings of a file: which rules it selects.
        sites: the access sites of the run.
    """
    if not findings and not marked:
        return (), ()
    from smemlint.lint.coverage import Seen
    from smemlint.lint.selection import Selection
    from smemlint.lint.suppressions import suppress

    texts = {s.path: s for s in sources}
    named = {f.span.path for f in findings if _is_compiled(f)}.difference(texts)

    def settings_at(path: str) -> Settings:
        """No configuration is looked for beside files that only compiled code names."""
        return settings_of(sources[0].path if path in named and sources else path)

    def reports(code: str, name: str, path: str) -> bool:
        return Selection(settings_at(path)).reports(code, name, path)

    included = {f.span.path for f in findings if not _is_compiled(f)}.difference(texts)
    folders = {folder for path in included for folder in settings_of(path).include_dirs}
    sandbox = Sandbox.joined((s.sandbox for s in sources), *sorted(folders))
    texts.update({path: Source(path, sandbox.text(path) or "") for path in included})
    wanted = [f for f in findings if reports(f.code, f.name, f.span.path)]
    kept = suppress(
        merged(wanted),
        marked,
        lambda path: texts[path].text if path in texts else "",
        elsewhere=sorted(included),
        was_seen=Seen(findings, sites),
        require_reason=lambda path: settings_at(path).require_reason,
        reports=reports,
    )
    shown = (f for f in kept.findings if reports(f.code, f.name, f.span.path))
    return tuple(sorted(shown, key=lambda f: (f.span, f.code))), kept.hidden


def _is_compiled(finding: Finding) -> bool:
    """Whether the finding is one of compiled code, which may name any file."""
    return finding.access is not None and bool(finding.access.origin)


def problems(sources: Sequence[Source]) -> list[NotAnalysed]:
    """Files, and cells of notebooks, that could not be read."""
    found = []
    for source in sources:
        source.text  # noqa: B018 - reading finds the problem
        if source.problem:
            found.append(NotAnalysed(Span(source.path, 1, 1, 1, 1), "", source.problem))
        if source.notebook is not None:
            found += (
                NotAnalysed(Span(source.path, cell.first, 1, cell.first, 1), "", cell.unread)
                for cell in source.notebook.cells
                if cell.unread and ("__shared__" in cell.source or holds_marks(cell.source))
            )
    return found


def merged(findings: Sequence[Finding]) -> list[Finding]:
    """One finding a rule and place: the heaviest kernel instance, the others counted."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        array = finding.access.array if finding.access is not None else None
        what = array.name if array is not None else finding.message
        groups.setdefault((finding.code, finding.span, what), []).append(finding)
    kept = []
    for group in groups.values():
        heaviest = max(group, key=lambda f: f.weight)
        others = len(group) - 1
        if others and heaviest.access is not None:
            title = heaviest.access.instance.title
            more = f"in `{title}`, the worst of {len(group)} findings here (instances or kinds)"
            heaviest = replace(heaviest, notes=(*heaviest.notes, more, *_milder(group, heaviest)))
        kept.append(heaviest)
    return kept


def _milder(group: Sequence[Finding], heaviest: Finding) -> Iterator[str]:
    """What other instances have at the same place, where that is not the same."""
    assert heaviest.access is not None
    worst = heaviest.access.instance.title
    titles: dict[str, dict[str, None]] = {}
    for finding in sorted(group, key=lambda f: -f.weight):
        title = finding.access.instance.title if finding.access is not None else worst
        if finding.message != heaviest.message and title != worst:
            titles.setdefault(finding.message, {})[title] = None
    for message, where in islice(titles.items(), _MOST_MILDER):
        first, *others = where
        more = f" and {len(others)} more" if others else ""
        yield f"{message} in `{first}`{more}"
