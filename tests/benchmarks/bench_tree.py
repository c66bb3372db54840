"""What a run over a whole tree is spent on: `python tests/benchmarks/bench_tree.py DIR...`.

Prints, per tree, processor seconds of each stage (reading and loading of translation units, parsing
of the functions that were followed, evaluation), what evaluation costs as a multiple of
loading and parsing, and the ten slowest translation units. Processor time, in one process: other
load on the machine does not count.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from smemlint.analysis.analyze import analyze
from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.facts import sites_of
from smemlint.frontend.cuda.unit import CudaFunction
from smemlint.sources.discovery import find_sources

if TYPE_CHECKING:
    from collections.abc import Callable

clock = time.process_time


class Stages:
    """Exclusive processor time by stage: a stage that begins inside another one pauses it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._stack: list[str] = []
        self._since = clock()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time counted under a name."""

        def run(*arguments: Any, **options: Any) -> Any:
            self._count()
            self._stack.append(name)
            try:
                return function(*arguments, **options)
            finally:
                self._count()
                self._stack.pop()

        return run

    def _count(self) -> None:
        now = clock()
        self.spent[self._stack[-1] if self._stack else "rest"] += now - self._since
        self._since = now


def main() -> None:
    """Runs `analyze` over each tree with its stages timed."""
    for tree in sys.argv[1:]:
        stages = Stages()
        files: dict[str, float] = defaultdict(float)
        load, parse, unit = Project._load, CudaFunction.parse, Project._evaluate_unit

        def timed_unit(
            self: Project, root: Any, *rest: Any, _unit: Any = unit, _files: Any = files
        ) -> Any:
            start = clock()
            try:
                return _unit(self, root, *rest)
            finally:
                _files[root.path] += clock() - start

        Project._load = stages.timed("load", load)  # type: ignore[method-assign]
        CudaFunction.parse = stages.timed("parse", parse)  # type: ignore[method-assign]
        Project._evaluate_unit = stages.timed("evaluate", timed_unit)  # type: ignore[method-assign]
        start = clock()
        sources = find_sources([tree])
        facts, crashed = analyze(sources, Settings())
        total = clock() - start
        Project._load, CudaFunction.parse, Project._evaluate_unit = load, parse, unit  # type: ignore[method-assign]
        spent = stages.spent
        spent["rest"] = total - sum(v for k, v in spent.items() if k != "rest")
        sites = sites_of(facts)
        decided = len({(s, k) for s, k, ok in sites if ok})
        print(
            f"{tree}: {len(sources)} files, {decided} of {len({s[:2] for s in sites})} sites decided, {total:.1f} s"
        )
        if crashed:
            print("  an internal error took something out of the figures")
        for name in ("load", "parse", "evaluate", "rest"):
            print(f"  {name:<10}{spent[name]:8.1f} s{100 * spent[name] / total:6.0f} %")
        print(
            f"  evaluate / (load + parse) {spent['evaluate'] / (spent['load'] + spent['parse']):.2f}"
        )
        print(f"  total / (load + parse)    {total / (spent['load'] + spent['parse']):.2f}")
        for path, seconds in sorted(files.items(), key=lambda item: -item[1])[:10]:
            print(f"  {seconds:8.2f} s  {path}")


if __name__ == "__main__":
    main()
