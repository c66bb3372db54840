"""Applies fixes until none is left: to sources in memory, then to files or as a diff."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field

from smemlint.analysis.compiled.files import is_compiled
from smemlint.errors import SourceError
from smemlint.files.replace import replace_file
from smemlint.finding import Edit, Fix
from smemlint.fix.edits import CannotEdit, applied, compatible
from smemlint.hardware.arch import STATIC_SHARED_LIMIT
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_FIX_ROUNDS
from smemlint.lint.result import Result
from smemlint.sources.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """Sources with fixes applied.

    Attributes:
        sources: all of the run, some with edits.
        result: what is found on them.
        before, after: bytes of the files that changed, by path.
        fixed: findings that are gone.
        outdated: paths of compiled code that is of the sources before: it is not compared any more.
    """

    sources: tuple[Source, ...]
    result: Result
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    fixed: int = 0
    outdated: tuple[str, ...] = ()


def repaired(
    sources: Sequence[Source], check: Callable[[Sequence[Source]], Result], *, with_unsafe: bool
) -> Session:
    """Applies all fixes there are, round by round, and checks what they do together.

    Raises:
        SourceError: a file cannot be read again, or changed meanwhile.
    """
    session = Session(tuple(sources), check(sources))
    for _ in range(MAX_FIX_ROUNDS):
        fixes = compatible(session.result.findings, with_unsafe=with_unsafe)
        if not fixes:
            break
        together = _next(session, fixes, check)
        if len(fixes) > 1 and _is_worse(session.result, together.result):
            together = _next(session, fixes[:1], check)  # each alone was evaluated
        if together is session:
            break
        session = together
    return session


def edited(data: bytes, edits: Sequence[Edit], encoding: str = "") -> bytes:
    """Returns the bytes of a file with edits; line ends, a byte order mark and foreign bytes stay.

    Raises:
        SourceError: other characters would change, too.
        CannotEdit: an edit fits in no token of a Python source.
    """
    if encoding:
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            message = f"cannot be edited: what is decoded from `{encoding}` is encoded differently"
            raise SourceError(message, where=edits[0].span.path, hint="save the file as UTF-8")
        return _edited(text, edits).encode(encoding)
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    text = data.decode("utf-8-sig", "surrogateescape")
    return mark + _edited(text, edits).encode("utf-8", "surrogateescape")


def _edited(text: str, edits: Sequence[Edit]) -> str:
    """Applies edits of one file; those of Python sources go through its syntax tree.

    Raises:
        CannotEdit: an edit fits in no token of a Python source.
    """
    if not edits[0].span.path.endswith(".py"):
        return applied(text, edits)
    from smemlint.fix.python_edits import edit_python

    return edit_python(text, edits)


def written(session: Session) -> None:
    """Writes the files that changed.

    Raises:
        SourceError: one cannot be written.
    """
    for path, data in session.after.items():
        try:
            replace_file(path, data)
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise SourceError(
                message, where=path, hint="other files may have been fixed"
            ) from error


def _next(
    session: Session, fixes: Sequence[Fix], check: Callable[[Sequence[Source]], Result]
) -> Session:
    """Applies one round of fixes to the bytes of their files, and checks everything again.

    Fixes of a file that cannot be edited are left out; without any other the session is returned.
    """
    edits: dict[str, list[Edit]] = {}
    for edit in (e for fix in fixes for e in fix.edits):
        edits.setdefault(edit.span.path, []).append(edit)
    before, after = dict(session.before), dict(session.after)
    sources = []
    for source in session.sources:
        if source.path in edits:
            data = _bytes_of(source)
            before.setdefault(source.path, data)
            own = edits[source.path]
            notebook = source.notebook
            if notebook is not None:
                own = [notebook.edit_in_file(edit) for edit in own]
            try:
                after[source.path] = edited(data, own, source.encoding)
            except CannotEdit:
                left = [f for f in fixes if all(e.span.path != source.path for e in f.edits)]
                return _next(session, left, check) if left else session
            source = source.edited(after[source.path])
        sources.append(source)
    applied_now = {fix.edits for fix in fixes}
    healed = sum(f.fix is not None and f.fix.edits in applied_now for f in session.result.findings)
    outdated = tuple(s.path for s in sources if is_compiled(s))
    sources = [s for s in sources if not is_compiled(s)]
    return Session(
        tuple(sources),
        check(sources),
        before,
        after,
        session.fixed + healed,
        session.outdated + outdated,
    )


def _bytes_of(source: Source) -> bytes:
    if isinstance(source.given, bytes):
        return source.given
    if source.given is not None:
        return source.given.encode()
    try:
        data = source.sandbox.read(source.path)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise SourceError(message, where=source.path) from error
    if source.edited(data).text != source.text:
        hint = "run again"
        raise SourceError("changed while it was being checked", where=source.path, hint=hint)
    return data


def _is_worse(before: Result, after: Result) -> bool:
    """Returns whether fixes that are right one by one are too much together."""
    static = (
        sum(a.bytes or 0 for a in kernel.arrays if not a.is_dynamic)
        for kernel in after.facts.kernels
    )
    return (
        bool(_objections(after) - _objections(before))
        or max(static, default=0) > STATIC_SHARED_LIMIT
    )


def _objections(result: Result) -> Counter[Hashable]:
    """Returns what is found, without lines, which move where a fix removes one."""
    return Counter(
        (f.code, f.span.path, f.access.expression if f.access is not None else f.message)
        for f in result.findings
    )
