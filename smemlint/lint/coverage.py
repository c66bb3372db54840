"""Coverage of lines by a run: decides whether a pragma on them can be called unused."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from smemlint.facts import Site
from smemlint.finding import NOT_ANALYSED, Finding

_HEADERS = (".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc")
"""Their functions are evaluated where other files call them, in this run or another."""


class Coverage:
    """Whether all that some lines hold was decided.

    The fix of an unused pragma removes it, so in doubt it is none: a run over the files of one
    commit sees neither the launches nor the callers in others.

    Args:
        findings: of all rules, before selection.
        sites: the access sites of the run.
    """

    def __init__(self, findings: Iterable[Finding], sites: Iterable[Site]) -> None:
        self._partly = {f.span.path for f in findings if f.code == NOT_ANALYSED}
        self._sites = sites

    @cached_property
    def _places(self) -> dict[str, list[tuple[int, int, bool]]]:
        """First line, last line and verdict of the sites of each file; few runs ask."""
        found: dict[str, list[tuple[int, int, bool]]] = {}
        for span, _, is_decided in self._sites:
            place = (span.line, max(span.line, span.end_line), is_decided)
            found.setdefault(span.path, []).append(place)
        return found

    def __call__(self, path: str, first: int, last: int) -> bool:
        """Returns whether lines hold decided accesses only, or none and all was read."""
        sites = self._places.get(path, ())
        verdicts = [decided for line, end, decided in sites if line <= last and end >= first]
        if verdicts and first == last:
            return all(verdicts)
        is_complete = path not in self._partly
        return all(verdicts) and is_complete and (bool(verdicts) or not path.endswith(_HEADERS))
