"""What every format of `smemlint check` is made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from smemlint.lint.result import Result
    from smemlint.report.notebooks import Notebooks
    from smemlint.report.terminal import Terminal


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run of `smemlint check`, ready to be reported.

    Attributes:
        text_of: the text of a file by its path.
        exit_code: what the program is about to exit with.
        terminal: what the reader's terminal can show; formats for tools do not ask.
        root: absolute directory that paths for tools are relative to.
        found: the run with places as they were found, where these are others.
    """

    result: Result
    arch: str
    text_of: Callable[[str], str]
    exit_code: int
    terminal: Terminal
    root: Path
    found: Run | None = None

    def at(self, notebooks: Notebooks) -> Run:
        """Returns the run with the places that readers of notebooks know."""
        result, text_of = notebooks.result(self.result), notebooks.text_of(self.text_of)
        return replace(self, result=result, text_of=text_of, found=self)

    def fingerprints(self) -> tuple[str, ...]:
        """Returns those of the findings, then of the hidden ones, which number equal ones too."""
        from smemlint.lint.fingerprints import fingerprints

        run = self.found or self
        return fingerprints((*run.result.findings, *run.result.hidden), run.text_of)

    def relative(self, path: str) -> str:
        """Returns a path from the root, with forward slashes; absolute where it lies outside."""
        absolute = Path(path).absolute()
        resolved = absolute if ".." not in absolute.parts else absolute.resolve()
        if resolved.is_relative_to(self.root):
            return resolved.relative_to(self.root).as_posix()
        return resolved.as_posix()


def repository_root(start: Path) -> Path:
    """Returns the repository that a directory belongs to; outside of any, the directory itself."""
    start = start.absolute()
    return next((p for p in (start, *start.parents) if (p / ".git").exists()), start)
