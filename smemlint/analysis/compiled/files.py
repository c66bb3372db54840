"""Files of compiled code among the sources of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smemlint.analysis.compiled.launch import SourceLaunches
from smemlint.config.settings import Settings
from smemlint.facts import Facts, NotAnalysed, Span
from smemlint.limits.errors import crash_reason, stop_reason
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.languages import CUBIN_SUFFIX, PTX_SUFFIX
from smemlint.sources.source import Source

_MARKS = (".shared", "ldmatrix", "stmatrix")
_TOO_DEEP = Reason(ReasonCode.NESTING_LIMIT, "nested too deeply")


def is_compiled(source: Source) -> bool:
    """Returns whether the file is read as compiled code."""
    return source.path.endswith((PTX_SUFFIX, CUBIN_SUFFIX))


def may_share_memory(source: Source) -> bool:
    """Returns whether a file of compiled code is read; one without PTX is, for its notice."""
    if source.path.endswith(CUBIN_SUFFIX):
        return True
    text = source.text
    return any(mark in text for mark in _MARKS) or ".entry" not in text


def compiled_facts(
    source: Source,
    settings: Settings,
    paths: Sequence[str],
    crashed: Callable[[NotAnalysed], None],
    launches: SourceLaunches | None = None,
) -> Facts:
    """Returns the facts of a file of compiled code.

    Args:
        source: the file.
        settings: its settings.
        paths: of the files of the run, whose lines accesses may stand on.
        crashed: called with a note on an internal error.
        launches: of kernels, in the sources of the run.
    """
    try:
        if source.path.endswith(CUBIN_SUFFIX):
            from smemlint.analysis.compiled.sass.analyze import cubin_facts

            return cubin_facts(source, settings, paths, launches or {}) if source.data else Facts()
        from smemlint.analysis.compiled.ptx.analyze import ptx_facts

        return ptx_facts(source, settings, paths, launches or {}) if source.text else Facts()
    except (RecursionError, MemoryError) as spent:
        reason = _TOO_DEEP if isinstance(spent, RecursionError) else stop_reason(spent)
        return Facts(not_analysed=(NotAnalysed(Span(source.path, 1, 1, 1, 1), "", reason),))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        crashed(NotAnalysed(Span(source.path, 1, 1, 1, 1), "", crash_reason(error)))
        return Facts()
