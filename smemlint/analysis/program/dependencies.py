"""Dependencies of a result: what its evaluation asked of the files around it.

A result is valid as long as the answers stay what they were.
"""

from __future__ import annotations

from dataclasses import field

from smemlint.lazy_dataclasses import dataclass


@dataclass(slots=True)
class Dependencies:
    """The questions of one evaluation, with their answers.

    Attributes:
        reads: files that were read, or found missing.
        searches: words that the files of the run were searched for -> files that held one.
        swizzles: pragmas that declare one for an array that was accessed, as (file, line).
        compiled: files whose text a Python program compiles as it likes: macros, launches.
        homes: (include, includer) -> the folder of the include; None where there is none.
        units: (file, root) -> the root's place among the main files that the file's kernels are
            evaluated with; None where it is none of them.
    """

    reads: dict[str, None] = field(default_factory=dict)
    searches: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    swizzles: dict[tuple[str, int], None] = field(default_factory=dict)
    homes: dict[tuple[str, str], str | None] = field(default_factory=dict)
    compiled: dict[str, None] = field(default_factory=dict)
    units: dict[tuple[str, str], int | None] = field(default_factory=dict)

    def add(self, other: Dependencies) -> None:
        """Takes over the questions of another."""
        self.reads.update(other.reads)
        self.searches.update(other.searches)
        self.swizzles.update(other.swizzles)
        self.homes.update(other.homes)
        self.compiled.update(other.compiled)
        self.units.update(other.units)
