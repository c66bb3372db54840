"""Baselines: the findings that a project has for now, so that only new ones are shown.

The file holds fingerprints without line numbers by path, relative to its own folder, and beside
each the rule's code for people who read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from smemlint.errors import ConfigError, SmemlintError
from smemlint.files.replace import replace_file
from smemlint.files.sandbox import read_regular, resolve_given
from smemlint.finding import Finding, Suppression
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_BASELINE_BYTES
from smemlint.limits.documents import check_json
from smemlint.limits.errors import TooLarge
from smemlint.lint.fingerprints import VERSION, fingerprints

DEFAULT = "smemlint-baseline.json"
"""Where `--write-baseline` writes when nothing names a file."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings.

    Attributes:
        known: path -> fingerprint -> code.
    """

    path: Path
    known: Mapping[str, Mapping[str, str]]

    @staticmethod
    def read(path: str) -> Baseline:
        """Returns a baseline file.

        Raises:
            ConfigError: it cannot be read, or is none.
        """
        import json

        hint = "write one with --write-baseline"
        try:
            text = read_regular(resolve_given(path), MAX_BASELINE_BYTES).decode("utf-8")
            check_json(text)
            data = json.loads(text)
        except TooLarge as error:
            raise ConfigError(str(error), where=path, hint=hint) from error
        except UnicodeDecodeError as error:
            raise ConfigError("is not UTF-8", where=path, hint=hint) from error
        except OSError as error:
            message = f"cannot be read: {error.strerror}"
            raise ConfigError(message, where=path, hint=hint) from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"is not JSON: {error}", where=path, hint=hint) from error
        known = data.get("findings") if isinstance(data, dict) else None
        if not isinstance(known, dict) or not all(isinstance(v, dict) for v in known.values()):
            raise ConfigError("is not a baseline", where=path, hint=hint)
        if data.get("version") != VERSION:
            message = f"is of version {data.get('version')}, this is {VERSION}"
            raise ConfigError(message, where=path, hint="write it anew with --write-baseline")
        return Baseline(Path(path), known)

    def key(self, path: str) -> str:
        """Returns a path as the file has it."""
        folder, absolute = self.path.parent.resolve(), Path(path).resolve()
        if absolute.is_relative_to(folder):
            return absolute.relative_to(folder).as_posix()
        return absolute.as_posix()


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """Findings against a baseline.

    Attributes:
        shown: those that are new.
        hidden: those that are known, with their suppression.
        stale: entries of the run's files that match nothing.
    """

    shown: tuple[Finding, ...]
    hidden: tuple[Finding, ...]
    stale: int


def apply(
    baseline: Baseline,
    findings: Sequence[Finding],
    hidden: Sequence[Finding],
    paths: Sequence[str],
    text_of: Callable[[str], str],
) -> Applied:
    """Hides the findings that a baseline knows.

    Args:
        baseline: the known ones.
        findings: those that are shown.
        hidden: those that pragmas cover; they count where equal ones are numbered.
        paths: the files of the run.
        text_of: the text of a file.
    """
    prints = fingerprints((*findings, *hidden), text_of)
    keys = {path: baseline.key(path) for path in {f.span.path for f in findings} | set(paths)}
    shown, known = [], []
    met: set[tuple[str, str]] = set()
    for finding, fingerprint in zip(findings, prints, strict=False):
        key = keys[finding.span.path]
        if fingerprint in baseline.known.get(key, {}):
            met.add((key, fingerprint))
            reason = f"in {baseline.path.name}"
            known.append(replace(finding, suppression=Suppression("external", reason)))
        else:
            shown.append(finding)
    total = sum(len(baseline.known.get(key, {})) for key in set(keys.values()))
    return Applied(tuple(shown), tuple(known), total - len(met))


@dataclass(frozen=True, slots=True)
class Written:
    """What `write` did: entries in the file, how many of them are new, how many old ones went."""

    total: int
    added: int
    pruned: int


def write(
    path: str,
    findings: Sequence[Finding],
    hidden: Sequence[Finding],
    paths: Sequence[str],
    text_of: Callable[[str], str],
) -> Written:
    """Writes the findings as a baseline; entries of files that are not in the run stay.

    Args:
        path: of the baseline.
        findings: those that are shown.
        hidden: those that pragmas cover; they count where equal ones are numbered.
        paths: the files of the run.
        text_of: the text of a file.

    Raises:
        SmemlintError: the file cannot be written.
    """
    import json

    old = Baseline.read(path) if Path(path).is_file() else Baseline(Path(path), {})
    in_run = {old.key(p) for p in paths}
    known = {p: dict(entries) for p, entries in old.known.items() if p not in in_run}
    known = {p: entries for p, entries in known.items() if (old.path.parent / p).exists()}
    before = {(p, f) for p, entries in old.known.items() for f in entries}
    prints = fingerprints((*findings, *hidden), text_of)
    for finding, fingerprint in zip(findings, prints, strict=False):
        known.setdefault(old.key(finding.span.path), {})[fingerprint] = finding.code
    after = {(p, f) for p, entries in known.items() for f in entries}
    text = json.dumps({"version": VERSION, "findings": known}, indent=2, sort_keys=True) + "\n"
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise SmemlintError(f"cannot be written: {error.strerror}", where=path) from error
    return Written(len(after), len(after - before), len(before - after))
