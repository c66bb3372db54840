"""All fixes of a document together: checked as `check --fix` checks them, and given as edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from smemlint.config.settings import Configuration
from smemlint.facts import Span
from smemlint.finding import Edit
from smemlint.fix.apply import repaired
from smemlint.lint.result import Result
from smemlint.lsp.document_run import analyses
from smemlint.lsp.incremental import IncrementalMemo
from smemlint.sources.source import Source, lines_of

COMMAND = "smemlint.fixAll"


def all_fixes(
    path: str, sources: Sequence[Source], configuration: Configuration, memory: IncrementalMemo
) -> list[Edit]:
    """Edits that leave no finding of a document with a fix, those that change sizes included.

    Raises:
        SmemlintError: the configuration cannot be used.
    """

    def check(edited: Sequence[Source]) -> Result:
        *_, last = analyses(path, edited, configuration, memory)
        return Result(last.findings, (), last.facts, len(edited))

    texts = {s.path: s.text for s in sources}
    session = repaired(sources, check, with_unsafe=True)
    changed = (s for s in session.sources if s.path in session.after)
    return [edit for s in changed for edit in _between(s.path, texts[s.path], s.text)]


def _between(path: str, before: str, after: str) -> Iterator[Edit]:
    """Yields the lines that differ, each run of them as one edit."""
    old, new = _with_ends(before), _with_ends(after)
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Edit(Span(path, i + 1, 1, j + 1, 1), "".join(new[k:m]))


def _with_ends(text: str) -> list[str]:
    """Returns lines as everything here counts them, with their ends."""
    found, at = [], 0
    for line in lines_of(text):
        end = at + len(line)
        end += 2 if text[end : end + 2] == "\r\n" else 1
        found.append(text[at:end])
        at = end
    return found
