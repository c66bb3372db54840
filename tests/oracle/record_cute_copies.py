r"""Records what CuTe's copies touch and its layout algebra answers, compiled on the host with g++.

    python tests/oracle/record_cute_copies.py CUTLASS/include CUDA/include fixtures/cute/random.xz
    python tests/oracle/record_cute_copies.py CUTLASS/include CUDA/include \
        fixtures/cute/random_half.xz --type half --seed 20261123 --copies 150 --algebra 0
    python tests/oracle/record_cute_copies.py CUTLASS/include CUDA/include \
        fixtures/cute/random_more.xz --forms more --seed 20261128 --copies 20 --algebra 0

CuTe's own `copy` runs for every thread; the two places where it executes an instruction log it
instead. Cases are drawn by `tests/layout/cute/random_cases.py` and `more_cases.py`; needs no GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "layout" / "cute"), str(ROOT / "tests" / "oracle")]

import more_cases  # noqa: E402
import numpy as np  # noqa: E402
import random_cases  # noqa: E402
from cute_recordings import Recorded, write  # noqa: E402
from cute_statements import algebra_statement, copy_statement  # noqa: E402

FORMS = {
    "first": (random_cases.Draw.copy_case, random_cases.build),
    "more": (more_cases.MoreDraw.more_case, more_cases.build),
}
SEED, COPIES, ALGEBRA, CHUNK = 20261122, 240, 620, 10
"""Each copy costs g++ some seconds."""

PATCHES = {
    "cute/algorithm/copy.hpp": [
        (
            "dst(i) = static_cast<DstType>(static_cast<SrcType>(src(i)));",
            "LOG_ELEMENT(src, dst, i);",
        )
    ],
    "cute/algorithm/cooperative_copy.hpp": [
        ("dst[tid] = src[tid];", "LOG_ELEMENT(src, dst, tid);"),
        ("dst[tid + i] = src[tid + i];", "LOG_ELEMENT(src, dst, tid + i);"),
    ],
    "cute/atom/copy_traits_sm80.hpp": [
        (
            f"SM80_CP_ASYNC_CACHE{where}_ZFILL<S,D>::copy(rS[0], rD[0], traits.pred);",
            f"using Op = SM80_CP_ASYNC_CACHE{where}_ZFILL<S,D>; LOG_ATOM(Op, rS, rD);",
        )
        for where in ("ALWAYS", "GLOBAL")
    ],
    "cute/atom/copy_traits.hpp": [
        (
            "  detail::explode(detail::CallCOPY<CopyOp>{},\n"
            "                  rS, make_int_sequence<RegNumSrc>{},\n"
            "                  rD, make_int_sequence<RegNumDst>{});",
            "  LOG_ATOM(CopyOp, rS, rD);",
        )
    ],
}

MMA_NAMES = [
    *(f"SM70_8x8x4_{t}_{m}" for t in ("F16F16F16F16", "F32F16F16F32") for m in ("TN", "NT", "NN", "TT")),
    "SM61_DP4A", "SM75_16x8x8_F32F16F16F32_TN", "SM75_8x8x16_S32S8S8S32_TN",
    "SM80_16x8x8_F16F16F16F16_TN", "SM80_16x8x16_F32BF16BF16F32_TN", "SM80_16x8x4_F32TF32TF32F32_TN",
    "SM80_16x8x8_F32TF32TF32F32_TN", "SM80_8x8x4_F64F64F64F64_TN", "SM80_8x8x4_C64C64C64C64_TN",
    "SM80_8x8x16_S32U8S8S32_TN", "SM80_16x8x16_S32S8S8S32_TN", "SM80_16x8x32_S32S8U8S32_TN_SATURATE",
    "SM80_8x8x32_S32S4S4S32_TN", "SM80_16x8x32_S32S4U4S32_TN", "SM80_16x8x64_S32S4S4S32_TN",
    "SM80_16x8x256_S32U1U1S32_TN_XORPOPC", "SM80_8x8x128_S32U1U1S32_TN_ANDPOPC",
    "SM89_16x8x32_F32E4M3E5M2F32_TN", "SM90_16x8x4_F64F64F64F64_TN", "SM90_16x8x8_F64F64F64F64_TN",
    "SM90_16x8x16_C64C64C64C64_TN", "SM90_64x8x16_F16F16F16_SS", "SM90_64x256x16_F32BF16BF16_SS",
    "SM90_64x64x16_F32F16F16_RS", "SM90_64x32x32_S32S8S8_SS_TN", "SM90_64x32x32_S32S8S8_RS_TN",
    "SM90_64x96x8_F32TF32TF32_SS_TN", "SM90_64x96x8_F32TF32TF32_RS_TN",
    "SM90_64x128x32_F32E4M3E5M2_SS_TN",
]  # fmt: skip
COPY_NAMES = [
    *((f"SM75_U32x{n}_LDSM_N", bits) for n in (1, 2, 4) for bits in (8, 16, 32)),
    *((f"SM75_U16x{n}_LDSM_T", 16) for n in (2, 4, 8)),
    *((f"SM90_U32x{n}_STSM_N", bits) for n in (1, 2, 4) for bits in (8, 16, 32)),
    *((f"SM90_U16x{n}_STSM_T", 16) for n in (2, 4, 8)),
    *((f"SM100_U8x{n}_LDSM_T", 8) for n in (8, 16)),
    *((f"SM100_U8x{n}_STSM_T", 8) for n in (4, 8, 16)),
    *((f"SM100_SU{s}_DU8x16_x{n}_LDSM_N", 8) for s in (4, 6) for n in (1, 2, 4)),
]


# ---- compiling


class Host:
    """g++ with the patched headers before CUTLASS's."""

    def __init__(self, cutlass: Path, cuda: Path, folder: Path) -> None:
        self._folder = folder
        names = ("hooks.hpp", "forms.hpp")
        forms = [(ROOT / "tests/oracle/cute_copies" / name).read_text() for name in names]
        self.key = [str(cutlass), forms, PATCHES]
        for name, edits in PATCHES.items():
            text = (cutlass / name).read_text()
            for old, new in edits:
                assert text.count(old) == 1, (name, old)
                text = text.replace(old, new)
            path = folder / "patched" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        roots = (
            folder / "patched",
            ROOT / "tests/oracle/cute_copies",
            cutlass,
            cuda,
            cuda / "cccl",
        )
        self._command = ["g++", "-std=c++17", "-O0", "-w", "-DNDEBUG", "-fmax-errors=0"]
        self._command += [f"-I{root}" for root in roots]

    def run(self, statements: list[str], name: str = "one") -> tuple[str, set[int]]:
        """What the statements print, and which of them do not compile."""
        good, bad = list(range(len(statements))), set[int]()
        while True:
            functions = [f"void case{i}() {{ {statements[i]} }}" for i in good]
            calls = "".join(f'printf("@ {i}\\n"); case{i}();' for i in good)
            lines = ['#include "forms.hpp"', "using namespace recorded;", *functions,
                     f"int main() {{ {calls} }}", ""]  # fmt: skip
            source = self._folder / name / "cases.cpp"
            source.parent.mkdir(exist_ok=True)
            source.write_text("\n".join(lines))
            program = source.with_suffix("")
            done = subprocess.run(
                [*self._command, str(source), "-o", str(program)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if not done.returncode:
                printed = subprocess.run([program], capture_output=True, text=True, check=True)
                return printed.stdout, bad
            at = {int(n) - 3 for n in re.findall(r"cases\.cpp:(\d+):", done.stderr)}
            wrong = {good[i] for i in at if 0 <= i < len(good)}
            assert wrong, done.stderr[:4000]
            bad |= wrong
            good = [i for i in good if i not in wrong]

    def version(self) -> str:
        text, _ = self.run(['printf("%d.%d.%d\\n", CUTLASS_MAJOR, CUTLASS_MINOR, CUTLASS_PATCH);'])
        return text.split()[-1]


def chunks_of(host: Host, statements: list[str], size: int, jobs: int) -> list[list[str] | None]:
    """The lines that each statement prints; None where it does not compile.

    What a chunk printed is kept in the folder of temporary files, so that an interrupted run goes on.
    """
    parts = [statements[start : start + size] for start in range(0, len(statements), size)]
    with ThreadPoolExecutor(jobs) as pool:
        return [
            lines for found in pool.map(lambda part: _chunk(host, part), parts) for lines in found
        ]


def _chunk(host: Host, part: list[str]) -> list[list[str] | None]:
    digest = hashlib.sha256(json.dumps([host.key, part]).encode()).hexdigest()[:16]
    kept = Path(tempfile.gettempdir()) / f"cute_copies_{digest}.json"
    if not kept.exists():
        text, bad = host.run(part, digest)
        kept.write_text(json.dumps([text, sorted(bad)]))
        print(kept, "refused:", sorted(bad), file=sys.stderr, flush=True)
    text, bad = json.loads(kept.read_text())
    blocks: dict[int, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("@ "):
            current = blocks[int(line[2:])] = []
        else:
            current.append(line)
    return [None if i in bad else blocks[i] for i in range(len(part))]


def parsed(lines: list[str]) -> Recorded:
    """Instructions and addresses of one case."""
    name, threads = lines[0][2:].split()
    by_thread: list[list[tuple[str, int, int]]] = [[] for _ in range(int(threads))]
    for line in lines[1:]:
        thread, op, width, offset = line.split()
        by_thread[int(thread)].append((op, int(width), int(offset)))
    return Recorded.of(name, by_thread)


def questions_of(draw: random_cases.Draw, copies: list[dict[str, Any]], algebra: int) -> list[Any]:
    """Operations and arguments: of the copies' atoms, all traits, and as many of the algebra."""
    questions: list[tuple[str, list[Any]]] = []
    questions += [("thread_value", [c["mma"]]) for c in copies if "mma" in c]
    questions += [("tiled_copy", [c["tiled"]]) for c in copies if "tiled" in c]
    if not algebra:
        return questions
    questions += [("mma_traits", [n]) for n in MMA_NAMES]
    questions += [("copy_traits", [n, 0, bits]) for n, bits in COPY_NAMES]
    most = len(questions) + algebra
    while len(questions) < most:
        question = draw.algebra()
        if random_cases.accepted(lambda q=question: random_cases.algebra_answer(*q)):
            questions.append(question)
    return questions


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("cutlass", "cuda", "target"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--forms", choices=FORMS, default="first", help="which kernels to draw")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--type", choices=random_cases.BITS, help="draw copies of this type only")
    parser.add_argument("--copies", type=int, default=COPIES)
    parser.add_argument("--algebra", type=int, default=ALGEBRA)
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    draw = more_cases.MoreDraw(given.seed)
    draw_case, build = FORMS[given.forms]
    copies: list[dict[str, Any]] = []
    while len(copies) < given.copies:
        case = draw_case(draw)
        is_wanted = given.type in (None, case["type"])
        if is_wanted and random_cases.accepted(lambda case=case: build(case)):
            copies.append(case)
    questions = questions_of(draw, copies, given.algebra)
    with tempfile.TemporaryDirectory() as folder:
        host = Host(given.cutlass, given.cuda, Path(folder))
        version = host.version()
        answers = chunks_of(host, [algebra_statement(*q) for q in questions], 100, given.jobs)
        statements = [copy_statement(f"random_{i}", c) for i, c in enumerate(copies)]
        printed = chunks_of(host, statements, CHUNK, given.jobs)
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True)
    recorded = [parsed(lines) if lines is not None else None for lines in printed]
    header = {
        "cutlass": version,
        "compiler": compiler.stdout.splitlines()[0],
        "algebra": [
            [*question, lines[0].strip().replace("_", "")]
            for question, lines in zip(questions, answers, strict=True)
            if lines is not None
        ],
        "copies": [c for c, one in zip(copies, recorded, strict=True) if one is not None],
        "refused": sum(one is None for one in (*answers, *recorded)),
    }
    write(given.target, header, [one for one in recorded if one is not None])
    print(json.dumps({k: len(v) for k, v in header.items() if isinstance(v, list)}))


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
