"""Runs for several architectures and builds as one; findings say where they hold."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from smemlint.config.build_database import FILE_NAME
from smemlint.config.settings import Configuration, Settings
from smemlint.driver.results import UnitResult
from smemlint.driver.run import analyze_run, check_run
from smemlint.files.sandbox import Sandbox
from smemlint.finding import Finding
from smemlint.frontend.cuda.build_system.lookup import number_of_builds
from smemlint.limits.budgets import MAX_BUILDS
from smemlint.lint.result import Result
from smemlint.sources.languages import is_python_path
from smemlint.sources.source import Source


def check_targets(
    sources: Sequence[Source], configuration: Configuration, settings: Settings, name: str
) -> Result:
    """Runs the rules for every target of the settings, and every build that a file has."""
    builds = min(_most_builds(sources, configuration, settings), MAX_BUILDS)
    if not settings.further_archs:
        return _check_builds(sources, configuration, settings, name, builds)
    results: dict[str, Result] = {}
    for arch in settings.archs:
        of_target = replace(settings, arch=arch, further_archs=())
        chosen = configuration.for_target(arch)
        result = _check_builds(sources, chosen, of_target, f"{name}\n{arch}", builds)
        if result.interruption:
            return _until(result, results)
        results[arch] = result
    return merged(results)


def _check_builds(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    name: str,
    builds: int,
) -> Result:
    """Runs the rules once for each build."""
    if builds < 2:
        return check_run(sources, configuration, settings, name=name)
    results: dict[str, Result] = {}
    for number in range(builds):
        chosen, of_build = configuration.for_build(number), replace(settings, build=number)
        label = f"build {number + 1}"
        result = check_run(sources, chosen, of_build, name=f"{name}\n{label}")
        if result.interruption:
            return _until(result, results)
        results[label] = result
    return merged(results, f"holds in {{}} of {builds} in {FILE_NAME}, not in {{}}")


def _until(interrupted: Result, complete: Mapping[str, Result]) -> Result:
    """Returns what the targets show that are done, or what the first one had."""
    found = merged(complete) if complete else interrupted
    return replace(found, interruption=interrupted.interruption)


def _most_builds(
    sources: Sequence[Source], configuration: Configuration, settings: Settings
) -> int:
    """Returns how many builds with different flags the file has that has most of them."""
    databases = {s.path: configuration.for_file(s.path).build_path for s in sources}
    built = {path: d for path, d in databases.items() if d and not is_python_path(path)}
    if not built:
        return 1
    given = settings.build_path if "build-path" in settings.given else ""
    read = cache(Sandbox.joined((s.sandbox for s in sources), given).text)
    return max(number_of_builds(path, d, read) for path, d in built.items())


def analyze_targets(
    sources: Sequence[Source], configuration: Configuration, settings: Settings
) -> dict[str, UnitResult]:
    """Returns what is known by target, up to the one where the run was interrupted."""
    results: dict[str, UnitResult] = {}
    for arch in settings.archs:
        chosen = configuration.for_target(arch) if settings.further_archs else configuration
        of_target = replace(settings, arch=arch, further_archs=())
        results[arch] = analyze_run(sources, chosen, of_target)
        if results[arch].interruption:
            break
    return results


def merged(results: Mapping[str, Result], words: str = "holds on {}, not on {}") -> Result:
    """Returns one result of several targets: what they share once, and where the rest holds."""
    first = next(iter(results.values()))
    shown = _where_they_hold({arch: r.findings for arch, r in results.items()}, words)
    hidden = _where_they_hold({arch: r.hidden for arch, r in results.items()}, words)
    return Result(
        tuple(sorted(shown, key=lambda f: (f.span, f.code))),
        tuple(hidden),
        first.facts,
        first.files,
        any(r.crashed for r in results.values()),
        tuple(dict.fromkeys(site for r in results.values() for site in r.sites)),
    )


def _where_they_hold(findings: Mapping[str, Sequence[Finding]], words: str) -> list[Finding]:
    """Returns the distinct findings, each with a note where it does not hold on all targets."""
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
            note = words.format(", ".join(alike), others)
            finding = replace(finding, notes=(*finding.notes, note))
        kept.append(finding)
    return kept
