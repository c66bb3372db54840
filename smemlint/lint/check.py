"""Facts to findings: every rule is run, then findings are selected, merged and suppressed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.facts import Facts, NotAnalysed, Site, Span
from smemlint.files.sandbox import Sandbox
from smemlint.finding import Finding
from smemlint.limits.errors import crash_reason
from smemlint.sources.source import Source


def run_rules(
    facts: Facts,
    settings_of: Callable[[str], Settings],
    crashed: Callable[[NotAnalysed], None] | None = None,
) -> list[Finding]:
    """Returns the findings of all rules, selected or not; each file under its own settings.

    Args:
        facts: of some or all sources.
        settings_of: the settings of a file.
        crashed: called with every rule that failed; without it, errors are raised.
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

        own = Facts(
            tuple(k for k in facts.kernels if is_its(k.instance.span)),
            tuple(n for n in facts.not_analysed if is_its(n.span)),
            tuple(u for u in facts.layouts if is_its(u.span)),
            tuple(d for d in facts.dots if is_its(d.span)),
        )
        for entry in entries(of_layouts=bool(own.layouts), of_products=bool(own.dots)):
            try:
                found += entry.rule.check(own, settings)
            except Exception as error:
                if crashed is None:
                    raise
                what = crash_reason(error, entry.rule.code)
                crashed(NotAnalysed(Span(spans[0].path, 1, 1, 1, 1), "", what))
    return found


def select_and_suppress(
    findings: Sequence[Finding],
    with_pragmas: Sequence[str],
    sources: Sequence[Source],
    settings_of: Callable[[str], Settings],
    sites: Sequence[Site],
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Returns the findings that are shown and those that are suppressed, in order of place.

    Args:
        findings: of all rules and kernel instances.
        with_pragmas: paths of those sources that hold pragmas.
        sources: of the run; included files with findings are read for their pragmas, too.
        settings_of: the settings of a file: which rules it selects.
        sites: the access sites of the run.
    """
    if not findings and not with_pragmas:
        return (), ()
    from smemlint.lint.coverage import Coverage
    from smemlint.lint.selection import Selection
    from smemlint.lint.suppressions import suppress

    texts = {s.path: s for s in sources}
    named = {f.span.path for f in findings if _is_compiled(f)}.difference(texts)

    def settings_at(path: str) -> Settings:
        """Returns a file's settings: those of the run where only compiled code names it."""
        return settings_of(sources[0].path if path in named and sources else path)

    def reports(code: str, name: str, path: str) -> bool:
        return Selection(settings_at(path)).reports(code, name, path)

    included = {f.span.path for f in findings if not _is_compiled(f)}.difference(texts)
    folders = {folder for path in included for folder in settings_of(path).include_dir}
    sandbox = Sandbox.joined((s.sandbox for s in sources), *sorted(folders))
    texts.update({path: Source(path, sandbox.text(path) or "") for path in included})
    selected = [f for f in findings if reports(f.code, f.name, f.span.path)]
    kept = suppress(
        deduplicate(selected),
        with_pragmas,
        lambda path: texts[path].text if path in texts else "",
        elsewhere=sorted(included),
        is_covered=Coverage(findings, sites),
        require_reason=lambda path: settings_at(path).require_reason,
        reports=reports,
    )
    shown = (f for f in kept.findings if reports(f.code, f.name, f.span.path))
    return tuple(sorted(shown, key=lambda f: (f.span, f.code))), kept.hidden


def _is_compiled(finding: Finding) -> bool:
    """Returns whether the finding is one of compiled code, which may name any file."""
    return finding.access is not None and bool(finding.access.origin)


def deduplicate(findings: Sequence[Finding]) -> list[Finding]:
    """Returns one finding a rule, place and declaration of an array, the heaviest.

    The others, of other kernel instances or kinds of access, are its `others`.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        array = finding.access.array if finding.access is not None else None
        what = (array.span, array.name) if array is not None else finding.message
        groups.setdefault((finding.code, finding.span, what), []).append(finding)
    kept = []
    for group in groups.values():
        heaviest, *others = sorted(group, key=lambda f: -f.weight)
        severity = max(finding.severity for finding in group)
        kept.append(replace(heaviest, severity=severity, others=tuple(others)))
    return kept
