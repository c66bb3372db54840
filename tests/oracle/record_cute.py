"""Records what CUTLASS's CuTe headers answer, compiled on the host with g++ (needs no GPU).

    python tests/oracle/record_cute.py CUTLASS/include CUDA/include > fixtures/cute/cute.json

Accepted or rejected is whether a case compiles; the results are what the compiled program prints.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PRELUDE = """
#include <cute/layout.hpp>
#include <cute/swizzle_layout.hpp>
#include <cute/layout_composed.hpp>
#include <cutlass/version.h>
#include <cstdio>
#include <cstdint>
using namespace cute;
template <int B, int M, int S> void show(Swizzle<B,M,S>) { printf("%d %d %d\\n", B, M, S); }
template <class L> void show(L const& l) {
  uint64_t sum = 0;
  for (int i = 0; i < int(size(l)); ++i) sum = sum * 1000003 + uint64_t(int64_t(int(l(i))));
  printf("%d %d %llu ", int(size(l)), int(cosize(l)), (unsigned long long)sum);
  print(l); printf("\\n");
}
"""
CHUNK = 120


class Compiler:
    """g++ over one statement a line, so that an error names the cases that it rejects."""

    def __init__(self, includes: Sequence[str], folder: Path) -> None:
        roots = [root for path in includes for root in (path, f"{path}/cccl")]
        self._command = ["g++", "-std=c++17", "-w", *(f"-I{root}" for root in roots)]
        self._folder = folder

    def version(self) -> str:
        return self.run(
            ['printf("%d.%d.%d\\n", CUTLASS_MAJOR, CUTLASS_MINOR, CUTLASS_PATCH);']
        ).strip()

    def rejected(self, statements: Sequence[str], *, at_namespace_level: bool = False) -> set[int]:
        """Which statements do not compile, by index."""
        source = self._write(statements, at_namespace_level)
        done = subprocess.run(
            [*self._command, "-fsyntax-only", "-fmax-errors=0", str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        start = source.read_text().split("\n").index("// cases") + 2
        lines = {int(n) for n in re.findall(rf"{source.name}:(\d+):", done.stderr)}
        return {n - start for n in lines if 0 <= n - start < len(statements)}

    def run(self, statements: Sequence[str]) -> str:
        source = self._write(statements, False)
        program = source.with_suffix("")
        subprocess.run([*self._command, str(source), "-o", str(program)], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout

    def _write(self, statements: Sequence[str], at_namespace_level: bool) -> Path:
        # One function a case, or one rejected case would hide the following ones.
        body = list(statements)
        calls = ""
        if not at_namespace_level:
            body = [f"void case{i}() {{ {s} }}" for i, s in enumerate(statements)]
            calls = "".join(f"case{i}();" for i in range(len(statements)))
        text = "\n".join([PRELUDE, "// cases", *body, f"int main() {{ {calls} }}", ""])
        path = self._folder / "cases.cpp"
        path.write_text(text)
        return path

    def answers(self, statements: Sequence[str]) -> list[str | None]:
        """What each statement prints; None where it does not compile."""
        found: list[str | None] = []
        for at in range(0, len(statements), CHUNK):
            chunk = statements[at : at + CHUNK]
            good = list(range(len(chunk)))
            # A template that two cases share is reported once: ask until nothing is rejected.
            while bad := self.rejected([chunk[i] for i in good]):
                good = [case for i, case in enumerate(good) if i not in bad]
            lines = iter(self.run([chunk[i] for i in good]).splitlines())
            kept = set(good)
            found += [next(lines) if i in kept else None for i in range(len(chunk))]
        return found


def triples(compiler: Compiler) -> dict[str, str]:
    """`B,M` -> for S from -8 to 8: 1 if CuTe accepts the class, 0 if not."""
    ranges = [(b, m, s) for b in range(-1, 9) for m in range(-1, 32) for s in range(-8, 9)]
    bad = compiler.rejected(
        [f"template struct cute::Swizzle<{b},{m},{s}>;" for b, m, s in ranges],
        at_namespace_level=True,
    )
    table: dict[str, str] = {}
    for i, (b, m, _) in enumerate(ranges):
        table[f"{b},{m}"] = table.get(f"{b},{m}", "") + "01"[i not in bad]
    return table


def random_swizzle(rng: random.Random) -> tuple[int, int, int]:
    b = rng.randint(0, 4)
    shift = rng.randint(b, 6) * rng.choice([1, 1, -1])
    return b, rng.randint(0, 7), shift


def random_shape(rng: random.Random, size: int, depth: int = 0) -> object:
    """A nested shape of at most `size` coordinates."""
    if depth == 2 or rng.random() < 0.4 + 0.3 * depth:
        return rng.choice([n for n in (1, 2, 3, 4, 5, 6, 8, 9, 12, 16) if n <= size] or [1])
    modes = []
    for _ in range(rng.randint(1, 3)):
        mode = random_shape(rng, size, depth + 1)
        size //= _product(mode)
        modes.append(mode)
    return tuple(modes)


def random_layout(rng: random.Random, size: int = 128) -> str:
    """`shape:stride` with any strides, compact ones in some order, or padded ones."""
    shape = random_shape(rng, size)
    extents = _leaves(shape)
    style = rng.random()
    strides, current = [0] * len(extents), 1
    order = list(range(len(extents)))
    if style < 0.5:
        rng.shuffle(order)
    for i in order:
        strides[i] = current
        current *= extents[i] * (rng.choice([1, 2, 3]) if style > 0.7 else 1)
    if style > 0.9:
        strides = [rng.choice([0, 1, 2, 4, 5, 8, 16, 33]) for _ in extents]
    flat = iter(strides)
    return f"{_text(shape)}:{_text(_map(shape, lambda _: next(flat)))}"


def power_layout(rng: random.Random) -> str:
    """A compact layout of powers of two, modes in some order: these compose more often."""
    extents = [2 ** rng.randint(0, 3) for _ in range(rng.randint(1, 3))]
    strides, current = [0] * len(extents), 1
    for i in rng.sample(range(len(extents)), len(extents)):
        strides[i] = current
        current *= extents[i]
    return f"{_text(tuple(extents))}:{_text(tuple(strides))}"


def _leaves(shape: object) -> list[int]:
    return [shape] if isinstance(shape, int) else [i for s in shape for i in _leaves(s)]  # type: ignore[attr-defined]


def _product(shape: object) -> int:
    product = 1
    for extent in _leaves(shape):
        product *= extent
    return product


def _map(shape: object, one: Callable[[int], int]) -> object:
    return one(shape) if isinstance(shape, int) else tuple(_map(s, one) for s in shape)  # type: ignore[attr-defined]


def _text(value: object) -> str:
    return str(value) if isinstance(value, int) else f"({','.join(map(_text, value))})"  # type: ignore[call-overload]


def cpp(layout: str) -> str:
    """`(2,(3,4)):(1,(2,6))` as a C++ expression of static integers."""

    def static(text: str) -> str:
        text = re.sub(r"-?\d+", lambda n: f"Int<{n[0]}>{{}}", text)
        return text.replace("(", "cute::make_tuple(")

    shape, stride = layout.split(":")
    return f"make_layout({static(shape)}, {static(stride)})"


def sw(parameters: Sequence[int]) -> str:
    return "Swizzle<{},{},{}>{{}}".format(*parameters)


def cases(rng: random.Random) -> list[tuple[str, list[object], str]]:
    """Operation, arguments, and the statement that asks CuTe."""
    found: list[tuple[str, list[object], str]] = []

    def ask(operation: str, arguments: list[object], expression: str) -> None:
        found.append((operation, arguments, f"show({expression});"))

    for _ in range(350):
        one, factor = random_swizzle(rng), 2 ** rng.randint(0, 5)
        ask("swizzle.upcast", [one, factor], f"upcast<{factor}>({sw(one)})")
    for _ in range(150):
        one, factor = random_swizzle(rng), rng.choice([1, 2, 3, 4, 6, 8, 16, 32])
        ask("swizzle.downcast", [one, factor], f"downcast<{factor}>({sw(one)})")
    for _ in range(300):
        one, text, offset = random_swizzle(rng), random_layout(rng), rng.choice([0, 0, 4, 37])
        if one[0]:
            ask(
                "composed",
                [one, offset, text],
                f"composition({sw(one)}, Int<{offset}>{{}}, {cpp(text)})",
            )
    for make, count in ((random_layout, 150), (power_layout, 250)):
        for _ in range(count):
            one, two = make(rng), make(rng)
            ask("composition", [one, two], f"composition({cpp(one)}, {cpp(two)})")
    for _ in range(120):
        one = random_layout(rng)
        ask("coalesce", [one], f"coalesce({cpp(one)})")
    for _ in range(150):
        one, bound = random_layout(rng, 32), rng.choice([1, 24, 64, 100])
        ask("complement", [one, bound], f"complement({cpp(one)}, Int<{bound}>{{}})")
    for operation in ("logical_divide", "logical_product", "blocked_product"):
        for make, count in ((random_layout, 50), (power_layout, 80)):
            for _ in range(count):
                one, two = make(rng, 24) if make is random_layout else make(rng), power_layout(rng)
                ask(operation, [one, two], f"{operation}({cpp(one)}, {cpp(two)})")
    for _ in range(60):
        one = power_layout(rng)
        ask("right_inverse", [one], f"right_inverse({cpp(one)})")
    for _ in range(100):
        one, factor = random_layout(rng), rng.choice([2, 4, 8])
        ask("upcast", [one, factor], f"upcast<{factor}>({cpp(one)})")
        ask("downcast", [one, factor], f"downcast<{factor}>({cpp(one)})")
    for _ in range(100):
        block = (2 ** rng.randint(0, 3), 2 ** rng.randint(0, 4))
        stride = rng.choice([(1, block[0]), (block[1], 1)])
        shape = [block[0] * rng.choice([1, 2, 3, 4]), block[1] * rng.choice([1, 2, 4])]
        order = rng.choice([[0, 1], [1, 0]])
        text = f"{_text(block)}:{_text(stride)}"
        ask(
            "tile_to_shape",
            [text, shape, order],
            f"tile_to_shape({cpp(text)}, make_shape(Int<{shape[0]}>{{}}, Int<{shape[1]}>{{}}), "
            f"Step<_{order[0] + 1},_{order[1] + 1}>{{}})",
        )
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(sys.argv[1:], Path(folder))
        asked = cases(random.Random(20261121))
        answers = compiler.answers([statement for _, _, statement in asked])
        record = {
            "cutlass": compiler.version(),
            "compiler": subprocess.run(
                ["g++", "--version"], capture_output=True, text=True, check=True
            ).stdout.splitlines()[0],
            "triples": triples(compiler),
            "cases": [
                [operation, arguments, answer if answer is None else answer.replace("_", "")]
                for (operation, arguments, _), answer in zip(asked, answers, strict=True)
            ],
        }
    json.dump(record, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
