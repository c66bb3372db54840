"""How many functions with `__shared__` of fetched repositories end whole in a tree.

Not a test that CI runs: it needs checkouts. From the repository's root:

    python tests/corpus/gate.py /work/corpus/cuda-samples /work/corpus/llm.c
    python tests/corpus/gate.py --all-functions --least 99 /work/corpus/cuda-samples

A function counts once, in the file that holds its name. `whole` has a tree and lost nothing,
`partial` lost statements, `none` has no tree. The exit code is 1 when a repository stays below
`--least` per cent or any file raises.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from smemlint.frontend.cuda.definitions import CudaFunction
from smemlint.frontend.cuda.parser import error_recovery, token_stream
from smemlint.frontend.cuda.unit import CudaUnit, LoadOptions, load_unit

SUFFIXES = frozenset((".cu", ".cuh", ".h", ".hpp", ".hxx", ".inl", ".cpp", ".cc"))


@dataclass
class Tally:
    """What one repository gave; times in seconds, `parse` is pycparser's share of `trees`."""

    functions: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    files: int = 0
    characters: int = 0
    tokens: int = 0
    statements: int = 0
    dropped: int = 0
    load: float = 0.0
    trees: float = 0.0
    parse: float = 0.0
    slowest: tuple[float, str] = (0.0, "")

    def add(self, other: Tally) -> None:
        """Adds another repository's figures."""
        self.functions += other.functions
        for name in ("files", "characters", "tokens", "statements", "dropped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("load", "trees", "parse"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest = max(self.slowest, other.slowest)

    @property
    def share(self) -> float:
        """Per cent of the functions that are whole; 100 where there are none."""
        total = sum(self.functions[kind] for kind in ("whole", "partial", "none"))
        return 100.0 * self.functions["whole"] / total if total else 100.0

    def line(self, name: str) -> str:
        """One line of figures."""
        whole, partial, none = (self.functions[kind] for kind in ("whole", "partial", "none"))
        rate = self.tokens / self.trees / 1000 if self.trees else 0.0
        return (
            f"{name:16} {self.files:5} files  {whole + partial + none:5} functions  "
            f"{whole} whole  {partial} partial  {none} none  {self.functions['raised']} raised"
            f"  {self.share:.2f} %  {self.dropped} of {self.statements} statements dropped"
            f"  load {self.load:.1f} s  lower {self.trees - self.parse:.1f} s"
            f"  parse {self.parse:.1f} s  {rate:.0f} k tokens/s"
            f"  slowest {self.slowest[0]:.2f} s {self.slowest[1]}"
        )


@cache
def read(path: str) -> str | None:
    """Text of a file; None when there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


class _Clock:
    """Adds up the time inside pycparser."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._parse = token_stream.parse

    def __call__(self, tokens):  # type: ignore[no-untyped-def]
        begin = time.perf_counter()
        try:
            return self._parse(tokens)
        finally:
            self.seconds += time.perf_counter() - begin


def measure(root: Path, clock: _Clock, *, all_functions: bool) -> Tally:
    """Parses the functions of a repository that declare `__shared__`, or all device functions."""
    tally = Tally()
    begin_parse = clock.seconds
    for path in sorted(root.rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        text = read(str(path))
        if text is None or not ("__shared__" in text or (all_functions and "__device__" in text)):
            continue
        tally.files += 1
        tally.characters += len(text)
        try:
            begin = time.perf_counter()
            unit = load_unit(str(path), text, LoadOptions(read=read))
            tally.load += time.perf_counter() - begin
            for function in unit.functions:
                if function.span.path == str(path) and _counts(function, all_functions):
                    _count(function, unit, tally)
        except Exception:
            tally.functions["raised"] += 1
            tally.failures.append(f"{path}: raised\n{traceback.format_exc(limit=-4)}")
    tally.parse = clock.seconds - begin_parse
    return tally


def _counts(function: CudaFunction, all_functions: bool) -> bool:
    if all_functions:
        return function.is_kernel or function.is_device
    return "__shared__" in function.words


def _count(function: CudaFunction, unit: CudaUnit, tally: Tally) -> None:
    begin = time.perf_counter()
    parsed = function.parse()
    taken = time.perf_counter() - begin
    tally.trees += taken
    tally.slowest = max(tally.slowest, (taken, f"{function.name}"))
    tally.tokens += len(function.pieces.body)
    tally.statements += sum(token.text == ";" for token in function.pieces.body)
    tally.dropped += len(parsed.dropped)
    kind = "none" if parsed.tree is None else "partial" if parsed.dropped else "whole"
    tally.functions[kind] += 1
    for lost in parsed.dropped:
        tally.failures.append(
            f"{lost.span.path}:{lost.span.line}:{lost.span.column}: {function.name}: "
            f"{lost.reason} | {unit.text(lost.span)[:70]!r}"
        )


def main() -> int:
    """Runs over the repositories named on the command line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("roots", nargs="+", type=Path)
    options.add_argument("--least", type=float, default=0.0, help="per cent that must be whole")
    options.add_argument("--all-functions", action="store_true", help="all device functions")
    options.add_argument("--failures", type=int, default=20, help="how many to list")
    chosen = options.parse_args()
    clock = _Clock()
    setattr(error_recovery, "parse", clock)  # noqa: B010
    total, failed = Tally(), False
    for root in chosen.roots:
        tally = measure(root, clock, all_functions=chosen.all_functions)
        print(tally.line(root.name), flush=True)
        for failure in tally.failures[: chosen.failures]:
            print("   ", failure)
        failed = failed or tally.share < chosen.least or bool(tally.functions["raised"])
        total.add(tally)
    print(total.line("total"))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
