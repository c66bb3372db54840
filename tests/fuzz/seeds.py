"""What the fuzzer starts from: the fixtures, the rules' examples, and real files where present."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent.parent / "corpus"
"""Checked-out public repositories, beside the worktrees; without them the fixtures have to do."""
_MOST_PIECES = 4_000
_LONGEST_PIECE = 900

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
        short[path.suffix] += [text] if len(text) <= _LONGEST_PIECE else _pieces(text, path.suffix)
    return Seeds(
        {suffix: tuple(texts) for suffix, texts in short.items()},
        {suffix: (*texts, *(_real(suffix) if is_real else ())) for suffix, texts in short.items()},
        {suffix: tuple(texts) for suffix, texts in whole.items()},
    )


def _real(suffix: str) -> list[str]:
    """Pieces of real files, spread evenly over all of them."""
    endings = (".cu", ".cuh", ".h", ".hpp") if suffix == ".cu" else (".py",)
    pieces = [
        piece
        for path in sorted(REAL.rglob("*"))
        if path.suffix in endings and path.is_file() and path.stat().st_size < 200_000
        for piece in _pieces(path.read_text(encoding="utf-8", errors="replace"), suffix)
    ]
    step = max(1, len(pieces) // _MOST_PIECES)
    return pieces[::step]


def _pieces(text: str, suffix: str) -> Iterator[str]:
    """Top-level parts of a file that touch shared memory; of Python, with its imports."""
    if suffix == ".cu":
        parts, head, marks = re.split(r"(?<=\n\})\s*\n", text), "", _SHARED
    else:
        if not any(word in text for word in _KERNEL_WORDS):
            return
        head = "".join(re.findall(r"^(?:import|from) .*\n", text, re.M)[:8])
        parts, marks = re.split(r"\n(?=@|def |class )(?<!\n@\n)", text), _KERNEL_WORDS
    for part in parts:
        if len(part) <= _LONGEST_PIECE and any(mark in part for mark in marks):
            yield head + part


_SHARED = ("__shared__", "ldmatrix", "Swizzle<")
_KERNEL_WORDS = ("RawKernel", "RawModule", "jit", "gluon", "cute", "triton", "__shared__")
