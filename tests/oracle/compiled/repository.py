"""Compares the analysis of a whole repository with the machine code of its kernels."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smemlint.facts import AccessKind
from smemlint.report.analysis_json import access_record
from tests.oracle.compiled.analysis import LineFigures, Rows, add, analyse, rows_of
from tests.oracle.compiled.compare import Difference, differences
from tests.oracle.compiled.instances import Instance, matching
from tests.oracle.compiled.machine import Cubin, Evaluation
from tests.oracle.compiled.units import UnitCompiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.oracle.compiled.toolchain import Toolchain

_MAX_CODE = 60_000
"""Instructions of a kernel; larger ones are left out, and counted."""


@dataclass
class Report:
    """What came of one repository.

    Attributes:
        differences: every line that was compared.
        counts: kernel instances by what became of them.
        failures: first compiler errors, by how many files they stopped.
        outside: lines where the machine code leaves its shared memory.
        seconds: compiling, analysing and evaluating.
    """

    differences: list[Difference] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    outside: set[tuple[str, int, str]] = field(default_factory=set)
    seconds: Counter[str] = field(default_factory=Counter)


class RepositoryCheck:
    """One repository under comparison."""

    def __init__(
        self,
        repository: Path,
        tools: Toolchain,
        flags: tuple[str, ...] = (),
        report: Report | None = None,
    ) -> None:
        self._root = repository.resolve()
        self._tools = tools
        self._compiler = UnitCompiler(self._root, tools, flags)
        self.report = report or Report()

    def run(self, say: Callable[[str], None] = print) -> Report:
        """Compares every instance that the analysis assumed and that compiles."""
        start = time.perf_counter()
        try:
            analysis = rows_of(analyse(self._root), self._root)
        except (RuntimeError, TimeoutError) as error:
            self.report.failures[f"analysis: {error}"[-160:]] += 1
            return self.report
        self.report.seconds["analysis"] += round(time.perf_counter() - start)
        oracle: Rows = {}
        for unit, instances in sorted(self._units(analysis).items()):
            pending = [i for i in instances if i not in oracle]
            if pending:
                say(f"{unit}: {len(pending)} instances")
                oracle.update(self._evaluated(unit, pending))
        found = {i for i in analysis if i in oracle}
        self.report.counts["instances"] += len(analysis)
        self.report.counts["compared"] += len(found)
        self.report.differences += differences(analysis, oracle)
        return self.report

    def _units(self, analysis: Rows) -> dict[str, list[Instance]]:
        """Which file to compile for which instances: the launching one, or the kernel's own."""
        units: dict[str, list[Instance]] = defaultdict(list)
        for instance, lines in analysis.items():
            if instance.block is None:
                self.report.counts["without a block"] += 1
                continue
            files = [f for f, _ in Counter(file for file, _, _ in lines).most_common()]
            candidates = [instance.origin, *files]
            sources = [f for f in candidates if f.endswith(".cu")] or candidates
            for file in dict.fromkeys(sources):
                units[file].append(instance)
        return units

    def _evaluated(self, unit: str, instances: list[Instance]) -> Rows:
        start = time.perf_counter()
        compiled = self._compiler.compile(self._root / unit, instances)
        self.report.seconds["compiling"] += time.perf_counter() - start
        if compiled.failure:
            self.report.failures[compiled.failure] += 1
        rows: Rows = {}
        start = time.perf_counter()
        for path in compiled.cubins:
            cubin = Cubin(path, self._tools, self._is_foreign)
            for instance in instances:
                names = [] if instance in rows else matching(instance, cubin.names, instances)
                if names and (row := self._row(cubin, names[0], instance)) is not None:
                    rows[instance] = row
        self.report.seconds["evaluating"] += time.perf_counter() - start
        return rows

    def _is_foreign(self, path: str) -> bool:
        return not os.path.normpath(path).startswith(str(self._root) + "/")

    def _row(
        self, cubin: Cubin, name: str, instance: Instance
    ) -> dict[tuple[str, int, str], LineFigures] | None:
        assert instance.block is not None
        try:
            found = cubin.evaluate(name, instance.block, limit=_MAX_CODE)
        except OverflowError:
            self.report.counts["too large"] += 1
            return None
        self.report.counts["instructions"] += found.instructions
        self.report.counts["steps"] += found.steps
        lines = self._lines(found)
        if any(not line.is_decided for line in lines.values()):
            # Trip counts that differ by lane: the analysis takes loop conditions to hold.
            supposed = self._lines(cubin.evaluate(name, instance.block, cubin.large_sizes(name)))
            for key, line in supposed.items():
                if key in lines and not lines[key].is_decided and line.is_decided:
                    line.is_supposed = True
                    lines[key] = line
        self.report.outside |= {
            (self._relative(path), line, instance.kernel) for path, line in found.outside
        }
        return lines

    def _lines(self, found: Evaluation) -> dict[tuple[str, int, str], LineFigures]:
        lines: dict[tuple[str, int, str], LineFigures] = {}
        for access in found.accesses:
            record = access_record(access)
            if access.kind is AccessKind.ATOMIC and access.conditions:
                # One elected lane adds for its warp; which one it is, nothing says.
                record |= {"wavefronts": None, "ideal": None, "certainty": "data-dependent"}
            record["file"] = self._relative(record["file"])
            add(lines, record)
        return lines

    def _relative(self, path: str) -> str:
        return os.path.normpath(path).removeprefix(str(self._root) + "/")


def table(reports: Iterable[tuple[str, Report]]) -> str:
    """Returns the agreement by repository, one row each."""
    head = "| repository | instances | compared | lines | " + " | ".join(_COLUMNS) + " |"
    rows = [head, "|" + " --- |" * (4 + len(_COLUMNS))]
    total: Counter[str] = Counter()
    for name, report in reports:
        verdicts = Counter(str(d.verdict) for d in report.differences)
        verdicts["lines"] = sum(verdicts.values())
        verdicts.update(report.counts)
        total.update(verdicts)
        rows.append(_row(name, verdicts))
    return "\n".join([*rows, _row("all", total)])


_COLUMNS = (
    "agrees",
    "false alarm",
    "missed conflict",
    "wrong figure",
    "same instructions on other lines",
    "undecided by the analysis",
    "undecided by the oracle",
    "undecided by both",
    "not seen by the analysis",
    "no such instruction",
)


def _row(name: str, counts: Counter[str]) -> str:
    cells = [name, counts["instances"], counts["compared"], counts["lines"]]
    return "| " + " | ".join(str(c) for c in (*cells, *(counts[c] for c in _COLUMNS))) + " |"
