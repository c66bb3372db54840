"""Runs for several architectures as one: each by itself, and findings say where they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.driver.run import analyze_run, check_run
from smemlint.lint.result import Result

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from smemlint.config.settings import Configuration, Settings
    from smemlint.facts import Facts
    from smemlint.finding import Finding
    from smemlint.sources.source import Source


def check_targets(
    sources: Sequence[Source], configuration: Configuration, settings: Settings, name: str
) -> Result:
    """Runs the rules for every target of the settings.

    Args:
        sources: the files of the run.
        configuration: the settings of each file.
        settings: those of the run.
        name: what the cache knows the run by.
    """
    if not settings.further_archs:
        return check_run(sources, configuration, settings, name=name)
    results = {}
    for arch in settings.archs:
        of_target = replace(settings, arch=arch, further_archs=())
        chosen = configuration.for_target(arch)
        results[arch] = check_run(sources, chosen, of_target, name=f"{name}\n{arch}")
    return merged(results)


def analyze_targets(
    sources: Sequence[Source], configuration: Configuration, settings: Settings
) -> tuple[dict[str, Facts], bool]:
    """Returns the facts by target, and whether an internal error cost some of them."""
    facts: dict[str, Facts] = {}
    has_crashed = False
    for arch in settings.archs:
        chosen = configuration.for_target(arch) if settings.further_archs else configuration
        of_target = replace(settings, arch=arch, further_archs=())
        facts[arch], crashed = analyze_run(sources, chosen, of_target)
        has_crashed |= crashed
    return facts, has_crashed


def merged(results: Mapping[str, Result]) -> Result:
    """Returns one result of several targets: what they share once, and where the rest holds."""
    first = next(iter(results.values()))
    shown = _where_they_hold({arch: r.findings for arch, r in results.items()})
    hidden = _where_they_hold({arch: r.hidden for arch, r in results.items()})
    return Result(
        tuple(sorted(shown, key=lambda f: (f.span, f.code))),
        tuple(hidden),
        first.facts,
        first.files,
        any(r.crashed for r in results.values()),
        tuple(dict.fromkeys(site for r in results.values() for site in r.sites)),
    )


def _where_they_hold(findings: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """The distinct findings, each with a note where it does not hold on all targets."""
    by_key: dict[Hashable, dict[str, Finding]] = {}
    for arch, found in findings.items():
        for finding in found:
            key = (finding.code, finding.span, finding.message)
            by_key.setdefault(key, {}).setdefault(arch, finding)
    kept = []
    for alike in by_key.values():
        finding = next(iter(alike.values()))
        if len(alike) < len(findings):
            others = ", ".join(arch for arch in findings if arch not in alike)
            note = f"holds on {', '.join(alike)}, not on {others}"
            finding = replace(finding, notes=(*finding.notes, note))
        kept.append(finding)
    return kept
