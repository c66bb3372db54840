"""Compares what is decided with what threads do: `python tests/fuzz/differential.py --programs 500`.

Random kernels (`programs.py`) are analysed, and run thread by thread through a C++ compiler for
several values of the unknown `n`. A figure that hangs on no condition must hold for each of them, and
one that hangs on conditions of `n` alone for those where they hold. Others are not compared: which
threads a condition on thread and `n` leaves is told by the condition.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from programs import NS, THREADS, Program, program

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.facts import Access
    from smemlint.reasons import Assumption

_MAIN = """
#include <cstdio>
#include <vector>
#define __device__ static
static std::vector<int> path;
static int now_k, now_n, now_t;
struct Level {
  Level() { path.push_back(0); }
  ~Level() { path.pop_back(); }
  void at(int i) { path.back() = i; }
};
static void access(int line, int index) {
  std::printf("%d %d %d %d %d", now_k, now_n, now_t, line, index);
  for (int i : path) std::printf(" %d", i);
  std::puts("");
}
"""
Measured = dict[tuple[int, int, int], list[int]]
"""(program, n, line) -> wavefronts of every instruction of a warp."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure beside what was measured.

    Attributes:
        claimed: mean wavefronts an instruction.
        measured: n -> the same by running it, where the conditions hold.
    """

    number: int
    access: Access
    claimed: float
    measured: dict[int, float]

    @property
    def is_wrong(self) -> bool:
        """Whether it fails for any of them."""
        return any(abs(m - self.claimed) > 0.01 for m in self.measured.values())


def measure(programs: dict[int, Program], folder: Path) -> Measured:
    """Runs programs; each instruction's wavefronts are the most words in one bank."""
    source, binary = folder / "all.cpp", folder / "all"
    calls = "".join(
        f"  for (int n : {{{', '.join(map(str, NS))}}}) for (int t = 0; t < {THREADS}; t++) "
        f"{{ now_k = {k}; now_n = n; now_t = t; k{k}(t, n); }}\n"
        for k in programs
    )
    bodies = "".join(f'#line 1 "k{k}"\n{p.plain}' for k, p in programs.items())
    source.write_text(f"{_MAIN}{bodies}int main() {{\n{calls}}}\n")
    subprocess.run(["g++", "-w", "-O0", "-fwrapv", "-o", binary, source], check=True)
    lanes: dict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
    output = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    for text in output.splitlines():
        k, n, t, line, index, *path = map(int, text.split())
        lanes[k, n, line, t // 32, *path][t] = index
    measured: Measured = defaultdict(list)
    for (k, n, line, *_), indices in lanes.items():
        banks: dict[int, set[int]] = defaultdict(set)
        for index in indices.values():
            banks[index % 32].add(index)
        measured[k, n, line].append(max(map(len, banks.values())))
    return measured


def figures(number: int, text: str, measured: Measured) -> Iterator[Compared]:
    """What `analyze` claims of a program, where it can be compared."""
    facts, crashed = analyze([Source("k.cu", text)], Settings())
    assert not crashed, (number, facts.not_analysed)
    for access in (a for k in facts.kernels for a in k.accesses):
        if access.wavefronts is None:
            continue
        line, claimed = access.span.line, access.wavefronts.mean
        if all(map(_is_of_n, access.conditions)):
            relevant = [n for n in NS if all(_holds(c, n) for c in access.conditions)]
            means = {
                n: sum(spent) / len(spent)
                for n in relevant
                if (spent := measured.get((number, n, line)))
            }
            if means:
                yield Compared(number, access, claimed, means)


_CONDITION = re.compile(r"(?:the loop on )?`(.*)` (holds|does not hold|is entered)\Z", re.S)


def _is_of_n(condition: Assumption) -> bool:
    match = _CONDITION.match(condition.text)
    return match is not None and set(re.findall(r"[A-Za-z_]\w*", match[1])) <= {"n"}


def _holds(condition: Assumption, n: int) -> bool:
    match = _CONDITION.match(condition.text)
    assert match is not None
    text = match[1].replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    return bool(eval(text, {"n": n})) == (match[2] != "does not hold")


def main() -> None:
    """Compares and shows what differs."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--programs", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", type=int)
    given = arguments.parse_args()
    numbers = range(given.programs) if given.only is None else [given.only]
    programs = {k: program(given.seed, k, has_members=k % 2 == 1) for k in numbers}
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(programs, Path(folder))
    bad = compared = 0
    for k, generated in programs.items():
        for figure in figures(k, generated.cuda, measured):
            compared += 1
            if not figure.is_wrong:
                continue
            bad += 1
            access = figure.access
            print(f"program {k}:{access.span.line}: {figure.claimed:g} claimed, {figure.measured}")
            print(f"  {access.certainty}: {access.conditions}")
            if bad < 6:
                print("".join(f"{i:3} {x}\n" for i, x in enumerate(generated.cuda.splitlines(), 1)))
    print(f"{len(programs)} programs, {compared} figures compared, {bad} wrong")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
