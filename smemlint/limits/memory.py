"""A limit on memory: allocations over it fail as `MemoryError`, which costs the file at hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smemlint.limits.budgets import MAX_MEMORY_BYTES

try:
    import resource
except ImportError:  # Windows
    HAS_RESOURCE = False
else:
    HAS_RESOURCE = True


class MemoryCheck:
    """Compares the peak of this process with a limit, where the system enforces none (macOS)."""

    def __init__(self, size: int, *, is_enforced: bool) -> None:
        self._limit = 0 if is_enforced or not HAS_RESOURCE else _peak() + size

    def check(self) -> None:
        """Looks at the peak; to be called now and then.

        Raises:
            MemoryError: it is over the limit.
        """
        if self._limit and _peak() > self._limit:
            raise MemoryError


@contextmanager
def memory_limit(size: int | None = None) -> Iterator[MemoryCheck]:
    """Lets the block take so many bytes more, `MAX_MEMORY_BYTES` by default.

    The limit is the process's own and ends with the block: programs that are started later, as a
    GPU driver that reserves terabytes of addresses, do not inherit it.
    """
    size = MAX_MEMORY_BYTES if size is None else size
    before = _bounded(size)
    try:
        yield MemoryCheck(size, is_enforced=before is not None)
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_AS, before)


def _bounded(size: int) -> tuple[int, int] | None:
    """Limits the address space; returns the limits before, None where that is not possible."""
    if not HAS_RESOURCE:
        return None
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
        finite = (n for n in before if n != resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_AS, (min(used + size, *finite, sys.maxsize), before[1]))
    except (OSError, ValueError):
        return None
    return before


def _peak() -> int:
    """Returns the bytes that this process had in memory at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
