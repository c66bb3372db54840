"""What the fuzzer starts from: the fixtures, the rules' examples, and real files where present."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent.parent / "corpus"
"""Checked-out public repositories, beside the worktrees; without them the fixtures have to do."""
_MOST_PIECES = 4_000
_LONGEST_PIECE = 900
_LONGEST_PROGRAM = 4_000
_MOST_PROGRAMS = 500
"""Real Python files that pieces are taken from."""
_STATEMENTS = 3
"""Of a file in one piece, besides its imports."""

PRAGMAS = (
    "// smemlint: ignore[bank-conflict] a reason",
    "// smemlint: ignore[SML101, SML3] because",
    "/* smemlint: ignore-begin[SML1] */\nint a;\n/* smemlint: ignore-end */",
    "// smemlint: ignore-file[all] generated",
    "// smemlint: launch(block=(32, 8), template={T: float, N: 4})",
    "# smemlint: launch(block=256, K=1024)",
    "// smemlint: swizzle(3, 4, 3) bytes tile",
    "// smemlint: swizzle[tile: 3,4,3] elements",
    "// smemlint: assume(K % 8 == 0, n > 0, n <= 1 << 20)",
)
CONFIGURATIONS = (
    '[tool.smemlint]\narch = "sm_80"\nselect = ["SML1", "swizzle-units"]\nignore = ["SML102"]\n'
    'per-file-ignores = { "tests/*" = ["SML101"] }\nmax-ways = { "*" = 2, SML101 = 4.5 }\n',
    '[tool.smemlint]\ndefine = { BLOCK = 16, NAME = "x y" }\nundefine = ["A"]\nblock-dim = [32, 8]\n'
    'include-dir = ["include", "../other"]\nexclude = ["build/*", "*.gen.cu"]\ntime-limit = 2.5\n',
    '[tool.smemlint]\nfail-on = "note"\nmin-certainty = "proved"\nbaseline = "b.json"\nstrict = true\n'
    '[tool.smemlint.kernels.gemm]\nblock = "16x16"\ntemplate = { T = "float", N = "8" }\n'
    'swizzle = { tile = "3,4,3 bytes" }\nassume = ["K % 8 == 0", "n > 0"]\n',
)
BASELINES = (
    '{"version": 1, "findings": {"k.cu": {"0123456789abcdef": "SML101", "fedcba9876543210": "SML301"}}}',
    '{\n  "findings": {},\n  "version": 1\n}\n',
)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Texts by language: short ones, which cost milliseconds, and whole files.

    Attributes:
        own: short ones of this repository.
        short: these and pieces of real files.
        whole: the repository's files.
    """

    own: Mapping[str, tuple[str, ...]]
    short: Mapping[str, tuple[str, ...]]
    whole: Mapping[str, tuple[str, ...]]


@cache
def seeds(is_real: bool) -> Seeds:
    """All there are, in an order that is the same everywhere; real files where asked for."""
    own = [
        p
        for folder in ("rules", "fixtures")
        for p in sorted((ROOT / folder).rglob("*"))
        if p.suffix in (".cu", ".py") and p.name != "rule.py" and p.name != "__init__.py"
    ]
    whole: dict[str, list[str]] = {".cu": [], ".py": []}
    short: dict[str, list[str]] = {".cu": [], ".py": []}
    for path in own:
        text = path.read_text(encoding="utf-8")
        whole[path.suffix].append(text)
        longest = _LONGEST_PIECE if path.suffix == ".cu" else _LONGEST_PROGRAM
        short[path.suffix] += [text] if len(text) <= longest else _PIECES[path.suffix](text)
    return Seeds(
        {suffix: tuple(texts) for suffix, texts in short.items()},
        {suffix: (*texts, *(_real(suffix) if is_real else ())) for suffix, texts in short.items()},
        {suffix: tuple(texts) for suffix, texts in whole.items()},
    )


def _real(suffix: str) -> list[str]:
    """Pieces of real files, spread evenly over all of them."""
    endings = (".cu", ".cuh", ".h", ".hpp") if suffix == ".cu" else (".py",)
    marks = _SHARED if suffix == ".cu" else _KERNEL_WORDS
    texts = [
        text
        for path in sorted(REAL.rglob("*"))
        if path.suffix in endings and path.is_file() and path.stat().st_size < 200_000
        if any(mark in (text := path.read_text("utf-8", errors="replace")) for mark in marks)
    ]
    if suffix == ".py":
        texts = texts[:: max(1, len(texts) // _MOST_PROGRAMS)]
    pieces = [piece for text in texts for piece in _PIECES[suffix](text)]
    return pieces[:: max(1, len(pieces) // _MOST_PIECES)]


def _cuda_pieces(text: str) -> Iterator[str]:
    """Top-level parts of a file that touch shared memory."""
    for part in re.split(r"(?<=\n\})\s*\n", text):
        if len(part) <= _LONGEST_PIECE and any(mark in part for mark in _SHARED):
            yield part


def _python_pieces(text: str) -> Iterator[str]:
    """Runs of top-level statements that speak of kernels, with the file's imports."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = text.split("\n")
    imports = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
    head = "".join(ast.unparse(n) + "\n" for n in imports[:12])
    others = [n for n in body if n not in imports]
    for first in range(len(others)):
        run = others[first : first + _STATEMENTS]
        start = min([run[0].lineno, *(d.lineno for d in getattr(run[0], "decorator_list", ()))])
        part = "\n".join(lines[start - 1 : run[-1].end_lineno])
        if len(part) <= _LONGEST_PROGRAM and any(mark in part for mark in _KERNEL_WORDS):
            yield f"{head}{part}\n"


_SHARED = ("__shared__", "ldmatrix", "Swizzle<")
_KERNEL_WORDS = ("RawKernel", "RawModule", "jit", "gluon", "cute", "triton", "__shared__")
_PIECES: Mapping[str, Callable[[str], Iterator[str]]] = {
    ".cu": _cuda_pieces,
    ".py": _python_pieces,
}
