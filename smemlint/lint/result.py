"""What a run found, as reports and exit codes read it."""

from __future__ import annotations

from dataclasses import field

from smemlint.facts import Facts, Site, verdicts
from smemlint.finding import Finding, Severity
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a run found.

    Attributes:
        hidden: findings that a pragma or the baseline covers, each with its `suppression`.
        facts: everything known, where it was asked for; empty where findings came from the cache.
        files: how many files were looked at.
        crashed: an internal error took something out of the analysis.
        sites: access sites of all kernel instances, some more than once.
        interruption: the exit code of a run that was interrupted; 0 of others.
    """

    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...]
    facts: Facts
    files: int
    crashed: bool = False
    sites: tuple[Site, ...] = field(default=(), repr=False)
    interruption: int = 0

    def count(self, severity: Severity) -> int:
        """Returns the number of findings of a severity."""
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
