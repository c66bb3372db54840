"""What smemlint says of a repository: one row an access, from its own command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tests.oracle.compiled.instances import Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

STORES = ("store", "stmatrix", "atomic")
_LAUNCH = re.compile(r"launch at ([^():]+\.\w+):\d+")
_SECONDS = 900
DECIDED = ("proved", "assumed")


@dataclass
class LineFigures:
    """The accesses of one instance on one line and in one direction, summed.

    Attributes:
        wavefronts, ideal: over all instructions whose figures are known.
        instructions: how many those are.
        widths: bytes a lane.
        certainties: of the accesses.
        reasons: why some are undecided.
        assumptions: of the accesses, in words.
        is_supposed: of the oracle: sizes that are parameters were set to a large round number.
    """

    wavefronts: float = 0.0
    ideal: float = 0.0
    instructions: int = 0
    widths: set[int] = field(default_factory=set)
    certainties: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)
    assumptions: set[str] = field(default_factory=set)
    is_supposed: bool = False

    @property
    def excess(self) -> float | None:
        """Wavefronts over the ideal; None where nothing is known."""
        return self.wavefronts / self.ideal if self.ideal else None

    @property
    def is_decided(self) -> bool:
        """Whether the tool would warn of it by default."""
        return bool(self.certainties) and self.certainties <= set(DECIDED) and self.ideal > 0


def direction(kind: str) -> str:
    """Returns `load`, `store` or `async_copy` for the kind of an access."""
    return "async_copy" if kind == "async_copy" else "store" if kind in STORES else "load"


Key = tuple[str, int, str]
"""File, line and direction."""
Lines = dict[Key, LineFigures]
"""Figures by line."""
Rows = dict[Instance, Lines]
"""Figures by instance and line."""


def analyse(repository: Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns the document of `smemlint analyze` for a folder."""
    command = [
        sys.executable,
        "-m",
        "smemlint",
        "analyze",
        ".",
        "--output-format",
        "json",
        *options,
    ]
    here = str(Path(__file__).resolve().parents[3])
    try:
        run = subprocess.run(
            command,
            cwd=repository,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": here},
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"{repository.name} takes more than {_SECONDS} s") from error
    if not run.stdout:
        raise RuntimeError(run.stderr[-2000:])
    return dict(json.loads(run.stdout))


def rows_of(document: dict[str, Any], repository: Path) -> Rows:
    """Returns the figures of a document by instance and line."""
    rows: Rows = {}
    for records in _instances(document["accesses"]):
        first = records[0]
        files = [r["file"] for r in records]
        own = next((f for f in files if f.endswith(".cu")), files[0])
        launch = _launch(first)
        origin = nearest(repository, launch, own) if launch else own
        block = tuple(first["block"]) if first["block"] else None
        instance = Instance(origin, first["kernel"], tuple(first["template"].items()), block)
        for record in records:
            add(rows.setdefault(instance, {}), record)
    return rows


def _launch(record: dict[str, Any]) -> str:
    """The file that an access's assumptions name as launching; empty where they name none."""
    return next((m for a in record["assumptions"] for m in _LAUNCH.findall(a)), "")


def _instances(records: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Runs of accesses of one instance, which stand together; a kernel is in one source file."""
    run: list[dict[str, Any]] = []
    key: tuple[object, ...] = ()
    source = ""
    for record in records:
        its_source = record["file"] if record["file"].endswith(".cu") else ""
        its_key = (record["kernel"], record["template"], record["block"], _launch(record))
        if run and (its_key != key or (source and its_source and source != its_source)):
            yield run
            run, source = [], ""
        run.append(record)
        key, source = its_key, source or its_source
    if run:
        yield run


@cache
def nearest(repository: Path, name: str, beside: str) -> str:
    """Returns the file that the analysis names by its last part, the nearest to another one."""
    found = [p for p in repository.rglob(PurePath(name).name) if p.is_file()]
    near = (repository / beside).parts

    def shared(path: Path) -> int:
        pairs = zip(path.parts, near, strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), len(near))

    best = min(found, key=lambda p: (-shared(p), str(p)), default=None)
    return str(best.relative_to(repository)) if best is not None else beside


def add(lines: dict[tuple[str, int, str], LineFigures], record: dict[str, Any]) -> None:
    """Adds an access, as `analyze` prints it, to the figures of its line."""
    key = (record["file"], record["line"], direction(record["kind"]))
    line = lines.setdefault(key, LineFigures())
    line.certainties.add(record["certainty"])
    line.assumptions.update(record["assumptions"])
    if record["reason"]:
        line.reasons.add(record["reason"])
    if record["wavefronts"] and record["ideal"] and record["wavefronts"]["mean"]:
        count = record["instructions"]
        line.instructions += count
        line.wavefronts += count * record["wavefronts"]["mean"]
        line.ideal += count * record["ideal"]["mean"]
        line.widths.add(record["width_bytes"])
