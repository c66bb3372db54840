"""What is known of one open document, seen together with the files of its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smemlint.analysis.python.dialects import is_python, may_hold_kernels
from smemlint.facts import Facts
from smemlint.lint.check import concluded, judged, may_use_shared, problems
from smemlint.sources.discovery import SUFFIXES, is_excluded
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from smemlint.analysis.program.memo import Work
    from smemlint.config.settings import Configuration
    from smemlint.driver.tasks import Share
    from smemlint.facts import Access
    from smemlint.finding import Finding
    from smemlint.lsp.incremental import Memory

_SUFFIXES = tuple(SUFFIXES)
_MOST_NEIGHBOURS = 500
"""Files of a folder that are looked at; the first ones by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What was found in one document.

    Attributes:
        path: of the document.
        findings: that are shown, in order of place.
        accesses: to shared memory, of all kernel instances.
        facts: everything that was evaluated for it.
        text_of: the text of a file that spans lie in.
        has_fixes: fixes were looked for.
    """

    path: str
    findings: tuple[Finding, ...]
    accesses: tuple[Access, ...]
    facts: Facts
    text_of: Callable[[str], str]
    has_fixes: bool = False


class Folders:
    """The files beside documents, read again only when they changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], Source]] = {}

    def sources(self, path: str, opened: Mapping[str, Source]) -> list[Source]:
        """The document and the files of its folder in order; open ones as the editor has them."""
        folder = path.rpartition("/")[0]
        found = {path: opened[path]}
        try:
            with os.scandir(folder or ".") as entries:
                files = [e for e in entries if e.name.endswith(_SUFFIXES)]
        except OSError:
            files = []  # a document that was never saved
        for entry in sorted(files, key=lambda e: e.name)[:_MOST_NEIGHBOURS]:
            beside = f"{folder.rstrip('/')}/{entry.name}" if folder else entry.name
            source = opened.get(beside) or self._read(beside, entry)
            if source is not None:
                found[beside] = source
        return [found[name] for name in sorted(found)]

    def _read(self, path: str, entry: os.DirEntry[str]) -> Source | None:
        try:
            if not entry.is_file():
                return None
            status = entry.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = (stamp, Source(path))
        return known[1]


def analyses(
    path: str, sources: Sequence[Source], configuration: Configuration, memory: Memory
) -> Iterator[Analysis]:
    """What is known of a document: first at once, then with what repairs its findings.

    Args:
        path: of the document.
        sources: it and the files that may launch its kernels.
        configuration: read anew for each analysis, so that a changed file counts.
        memory: of the analyses before.

    Raises:
        SmemlintError: the configuration cannot be used.
    """
    from smemlint.driver.failures import Lost, attempt
    from smemlint.driver.tasks import Fixer, fixed_files

    texts = {s.path: s for s in sources}

    def text_of(name: str) -> str:
        if name not in texts:
            texts[name] = Source(name)  # a header from elsewhere
        return texts[name].text

    settings = configuration.for_file(path)
    is_left_out = is_excluded(path, settings)
    if is_left_out or path.endswith(".ipynb"):  # its JSON; clients open the cells one by one
        yield Analysis(path, (), (), Facts(), text_of)
        return
    with memory.undisturbed():
        whole, said = _evaluated(path, sources, configuration, memory)
    if whole.is_lost:
        memory.forget_units()

    def analysis(findings: Sequence[Finding], *, has_fixes: bool = False) -> Analysis:
        own = [f for f in (*findings, *said) if f.span.path == path]
        marked = [path] if "smemlint:" in text_of(path) else []
        shown, hidden = concluded(own, marked, sources, configuration.for_file, whole.sites)
        shown = _new(shown, hidden, path, settings.baseline, text_of)
        accesses = (a for k in whole.facts.kernels for a in k.accesses if a.span.path == path)
        return Analysis(path, shown, tuple(accesses), whole.facts, text_of, has_fixes)

    yield analysis(whole.findings)
    indices = [
        index
        for index, finding in enumerate(whole.findings)
        if finding.span.path == path
        and finding.access is not None
        and finding.access.array is not None
    ]
    if indices:
        findings = list(whole.findings)

        def work(edited: Sequence[Source]) -> Work:
            return memory.work(path, edited, settings)

        spent = dict.fromkeys(fixed_files(whole.findings), whole.spent)
        with memory.undisturbed():
            fixer = Fixer(whole, sources, configuration, work=work, spent=spent)
            fixed = attempt(fixer, indices)
        if isinstance(fixed, Lost):
            memory.forget_units()
            fixed = [replace(findings[i], help=f"no fix: {fixed.reason}") for i in indices]
        for index, finding in zip(indices, fixed, strict=True):
            findings[index] = replace(finding, access=findings[index].access)
        yield analysis(findings, has_fixes=True)


def _new(
    shown: tuple[Finding, ...],
    hidden: Sequence[Finding],
    path: str,
    baseline: str,
    text_of: Callable[[str], str],
) -> tuple[Finding, ...]:
    """The findings that the baseline does not know, if there is one."""
    if not baseline:
        return shown
    from smemlint.lint.baseline import Baseline, apply

    applied = apply(Baseline.read(baseline), shown, hidden, [path], text_of)
    return applied.shown


def _evaluated(
    path: str, sources: Sequence[Source], configuration: Configuration, memory: Memory
) -> tuple[Share, list[Finding]]:
    """The share of the units that hold a file, and what the rules say of the file besides."""
    from smemlint.analysis.program.memo import Part
    from smemlint.analysis.simt.analyze import Project
    from smemlint.driver.tasks import Evaluator, Share, together

    document = next(s for s in sources if s.path == path)
    said = list(problems([document]))
    if not (may_hold_kernels(document) if is_python(document) else may_use_shared([document])):
        return Share(facts=Facts()), judged(Facts(not_analysed=tuple(said)), configuration.for_file)
    if is_python(document):
        whole = Evaluator(sources, configuration, keep_facts=True)(path)
    else:
        settings = configuration.for_file(path)
        known = memory.work(path, sources, settings)
        work = Evaluator(sources, configuration, keep_facts=True, work=known)
        cuda = [s for s in sources if not is_python(s)]
        roots = Project(cuda, settings, part=Part(path, frozenset())).main_files.paths
        project = work.project(path)
        roots += [task for task in project.tasks() if task == path]
        shares = [work(root) for root in dict.fromkeys(roots)]
        used = {place for share in shares for place in share.journal.swizzles}
        said += project.user.unused_swizzle_pragmas(used)
        whole = together(shares)
    return whole, judged(Facts(not_analysed=tuple(said)), configuration.for_file)
