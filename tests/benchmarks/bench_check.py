"""How long a cold process takes: `python tests/benchmarks/bench_check.py [FILE.cu]`.

Prints the best wall time of several fresh processes for `--version`, for a file without kernels
and for a file of about 300 lines with kernels, and what the latter spends on imports, parsing and
evaluation. The stages are timed inside one more fresh process, so they leave out the start of the
interpreter.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 7
KERNELS = ("tiled_gemm", "transpose", "loops", "bit_tricks")
"""Fixtures that are put together to a file of some 300 lines."""

STAGES = """
import sys, time
start = time.perf_counter()
from pathlib import Path
import smemlint.cli.main, smemlint.lint.registry
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.sources.source import Source
import numpy
import smemlint.analysis.simt.analyze, smemlint.hardware.banks
rules = smemlint.lint.registry.selected((), (), ())
imported = time.perf_counter()
from smemlint.frontend.cuda.unit import LoadOptions, load_unit
path = sys.argv[1]
unit = load_unit(path, Path(path).read_text(), LoadOptions())
for function in unit.functions:
    function.parse()
parsed = time.perf_counter()
check([Source(path)], Settings())
checked = time.perf_counter()
print(imported - start, parsed - imported, checked - parsed)
"""


def fresh(*arguments: str) -> float:
    """Seconds of the fastest of several processes."""
    spent = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)
        spent.append(time.perf_counter() - start)
    return min(spent)


def stages(path: Path) -> tuple[float, float, float]:
    """Seconds for imports, parsing, evaluation with rules; of the fastest of several processes.

    The check parses too, so that its share of parsing, timed just before, is taken off.
    """
    rounds = []
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", STAGES, str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        imports, parsing, checking = map(float, done.stdout.split())
        rounds.append((imports, parsing, max(checking - parsing, 0.0)))
    return min(rounds, key=sum)


def joined_fixtures() -> str:
    """One program of several fixtures, their main functions renamed."""
    texts = []
    for name in KERNELS:
        text = (ROOT / "fixtures" / "kernels" / f"{name}.cu").read_text()
        texts.append(text.replace("int main()", f"int run_{name}()"))
    return "\n".join(texts)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.cu"
        plain.write_text("int add(int a, int b) { return a + b; }\n" * 300)
        kernels = Path(folder) / "kernels.cu"
        kernels.write_text(joined_fixtures())
        measured = Path(sys.argv[1]) if len(sys.argv) > 1 else kernels
        lines = measured.read_text().count("\n")
        rows = [
            ("python -c pass", fresh("-c", "pass")),
            ("smemlint --version", fresh("-m", "smemlint", "--version")),
            ("check, 300 lines without kernels", fresh("-m", "smemlint", "check", str(plain))),
            (f"check, {lines} lines with kernels", fresh("-m", "smemlint", "check", str(measured))),
        ]
        imports, parsing, evaluation = stages(measured)
        rows += [
            ("  of it: imports", imports),
            ("  of it: parsing", parsing),
            ("  of it: evaluation and rules", evaluation),
        ]
    for name, spent in rows:
        print(f"{name:<40}{1000 * spent:8.0f} ms")


if __name__ == "__main__":
    main()
