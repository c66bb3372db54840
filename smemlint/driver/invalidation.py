"""Shares of an earlier run that still hold: no file that changed since bears on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from smemlint.analysis.program.dependencies import Dependencies
    from smemlint.analysis.simt.analyze import Project
    from smemlint.driver.cache import Cache
    from smemlint.driver.run import Outcome
    from smemlint.driver.tasks import Share
    from smemlint.sources.source import Source


def holds(journal: Dependencies, changed: Collection[str], project: Project) -> bool:
    """Whether an evaluation would get the answers that its journal tells of.

    Args:
        journal: of the evaluation.
        changed: files that are not what they were, new and removed ones included.
        project: of the files as they are.
    """
    if not journal.reads.keys().isdisjoint(changed):
        return False
    from smemlint.analysis.program.units import mention_of

    for words, found in journal.searches.items() if changed else ():
        if not set(changed).isdisjoint(found):
            return False
        pattern = mention_of(words)
        if any(pattern.search(project.index.read(path) or "") for path in changed):
            return False
    if any(project.index.home(*asked) != answer for asked, answer in journal.homes.items()):
        return False
    return all(
        project.main_files.is_evaluated_in(*asked) == is_so
        for asked, is_so in journal.units.items()
    )


def fixed_apart(
    known: Mapping[str, Share], roots: Sequence[str], project: Project
) -> dict[str, Share]:
    """The known shares whose fixes stand: a fix must suit all units of its array.

    Args:
        known: by their roots.
        roots: all units of the run; those that are not known will be evaluated.
        project: of the files as they are.
    """
    from smemlint.driver.tasks import fixed_files

    left = dict(known)
    fresh = [root for root in roots if root not in left]
    while left and fresh:
        files = {path for root in fresh for path in project.index.unit(root).files}
        fresh = [
            root
            for root, share in left.items()
            if not files.isdisjoint(fixed_files(share.findings))
        ]
        for root in fresh:
            del left[root]
    return left


class Rounds:
    """What is known from one round of fixes to the next; to begin with, what a cache knows.

    Args:
        cache: of runs without fixes; None for none.
    """

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache
        self._sources: dict[str, Source] = {}
        self._now: dict[str, Source] = {}
        self._shares: dict[str, Share] = {}

    def begin(self, sources: Sequence[Source]) -> None:
        """The next round, over these sources: an edited one is another object."""
        self._sources, self._now = self._now, {s.path: s for s in sources}

    def unchanged(self) -> Outcome | None:
        """Nothing: what is known may lack fixes that take long to find."""
        return None

    def still_true(self, roots: Sequence[str], project: Project) -> dict[str, Share]:
        """The shares of the last round that its edits do not bear on, by their roots."""
        if not self._sources:
            from smemlint.fix.propose import TAKES_LONG

            known = self._cache.still_true(roots, project) if self._cache is not None else {}
            known = {
                root: share
                for root, share in known.items()
                if all(f.help != TAKES_LONG for f in share.findings)
            }
        else:
            before, now = self._sources, self._now
            changed = {p for p in before.keys() | now.keys() if before.get(p) is not now.get(p)}
            known = {
                root: share
                for root, share in self._shares.items()
                if root in roots and holds(share.journal, changed, project)
            }
        return fixed_apart(known, roots, project)

    def store(self, shares: Mapping[str, Share], outcome: Outcome) -> None:
        """Keeps the shares; without facts, in which fixes would be looked for again."""
        self._shares = {
            root: replace(share, facts=Facts())
            for root, share in shares.items()
            if not (share.crashed or share.is_lost)
        }
