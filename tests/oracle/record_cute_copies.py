r"""Records what CuTe's copies touch and its layout algebra answers, compiled on the host with g++.

    python tests/oracle/record_cute_copies.py CUTLASS/include CUDA/include fixtures/cute/random.xz
    python tests/oracle/record_cute_copies.py CUTLASS/include CUDA/include \
        fixtures/cute/random_half.xz --type half --seed 20261123 --copies 150 --algebra 0

CuTe's own `copy` runs for every thread; the two places where it executes an instruction log it
instead. Cases are drawn by `tests/layout/cute/random_cases.py`; needs no GPU.
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
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "layout" / "cute")]

import numpy as np  # noqa: E402
import random_cases  # noqa: E402
from cute_recordings import Recorded, write  # noqa: E402

SEED, COPIES, ALGEBRA, CHUNK = 20261122, 240, 620, 10
"""Each copy costs g++ some seconds."""
TYPES = {8: "int8_t", 16: "recorded::half", 32: "float", 64: "double", 128: "uint128_t"}

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


# ---- C++ text


def cpp(tree: Any) -> str:
    if isinstance(tree, list | tuple):
        return f"cute::tuple<{','.join(map(cpp, tree))}>"
    return f"Int<{tree}>"


def layout(pair: Any) -> str:
    return f"Layout<{cpp(pair[0])},{cpp(pair[1])}>"


def smem(data: dict[str, Any], bits: int) -> str:
    if data["swizzle"] is None:
        return f"{layout(data['layout'])}{{}}"
    swizzle = "Swizzle<{},{},{}>".format(*data["swizzle"])
    offset = f"smem_ptr_flag_bits<{bits}>" if data["pointer"] else "Int<0>"
    return f"ComposedLayout<{swizzle},{offset},{layout(data['layout'])}>{{}}"


def copy_op(name: str, bits: int) -> str:
    if name == "UniversalCopy":
        return f"UniversalCopy<uint_bit_t<{bits}>>"
    if name == "AutoVectorizingCopyWithAssumedAlignment":
        return f"{name}<{bits}>"
    return name


def atom(data: dict[str, Any], type_: str) -> str:
    return f"Copy_Atom<{copy_op(data['op'], data['op_bits'])}, {type_}>{{}}"


def tiled(data: dict[str, Any], type_: str) -> str:
    return (
        f"make_tiled_copy({atom(data, type_)}, {layout(data['threads'])}{{}}, "
        f"{layout(data['values'])}{{}})"
    )


def mma_op(name: str, type_: str = "float") -> str:
    if name == "UniversalFMA":
        return f"UniversalFMA<{type_},{type_},{type_},{type_}>"
    if "_SS" in name or "_RS" in name:
        if "S32" in name:
            return name
        return f"{name}<>" if name.endswith("_TN") else f"{name}<GMMA::Major::K,GMMA::Major::K>"
    return name


def mma(data: dict[str, Any], type_: str = "float") -> str:
    modes = ",".join(
        "Underscore" if p is None else f"Int<{p}>" if isinstance(p, int) else layout(p)
        for p in data["permutation"]
    )
    return f"make_tiled_mma({mma_op(data['op'], type_)}{{}}, {layout(data['atoms'])}{{}}, Tile<{modes}>{{}})"


def copy_statement(name: str, case: dict[str, Any]) -> str:
    type_ = {"half": "recorded::half"}.get(case["type"], case["type"])
    bits = random_cases.BITS[case["type"]]
    head = f'"{name}", {type_}{{}}'
    match case["form"]:
        case "stores":
            return f"stores({head}, {smem(case['smem'], bits)}, {tiled(case['tiled'], type_)});"
        case "operands" | "partitions":
            pair = f"{smem(case['a'], bits)}, {smem(case['b'], bits)}"
            if case["form"] == "operands":
                pair += f", {atom(case['atom_a'], type_)}, {atom(case['atom_b'], type_)}"
            return f"{case['form']}({head}, {pair}, {mma(case['mma'], type_)});"
        case "locals":
            threads = f"{layout(case['threads'])}{{}}"
            return (
                f"locals({head}, {smem(case['smem'], bits)}, {threads}, {cpp(case['tile'])}{{}});"
            )
        case "results":
            store = atom(case["atom"], type_)
            return (
                f"results({head}, {smem(case['smem'], bits)}, {store}, {mma(case['mma'], type_)});"
            )
    vector = f"{case['threads']}, {case['vector']}"
    outside = f"{layout(case['gmem'])}{{}}"
    return f"cooperative<{vector}>({head}, {smem(case['smem'], bits)}, {outside});"


def algebra_statement(operation: str, arguments: list[Any]) -> str:
    match operation:
        case "copy_traits":
            type_ = f"Copy_Atom<{arguments[0]}, {TYPES[arguments[2]]}>"
            names = ("ValLayoutSrc", "ValLayoutDst", "ValLayoutRef")
            return show(*(f"typename {type_}::{n}{{}}" for n in names))
        case "mma_traits":
            type_ = f"MMA_Traits<{mma_op(arguments[0])}>"
            return show(
                *(f"typename {type_}::{n}{{}}" for n in ("ThrID", "ALayout", "BLayout", "CLayout"))
            )
        case "thread_value":
            return f"auto m = {mma(arguments[0])}; " + show(
                *(f"m.get_layout{x}_TV()" for x in "ABC")
            )
        case "tiled_copy":
            text = f"auto c = {tiled(arguments[0], TYPES[arguments[0]['bits']])}; "
            return text + show(
                "typename decltype(c)::TiledLayout_TV{}", "c.get_layoutS_TV()", "c.get_layoutD_TV()"
            )
    name = {"filter_layout": "filter"}.get(operation, operation)
    if operation in ("upcast", "downcast"):
        return show(f"{name}<{arguments[1]}>({value(arguments[0])})")
    return show(f"{name}({', '.join(map(value, arguments))})")


def value(argument: Any) -> str:
    if isinstance(argument, dict):
        return f"{layout(argument['layout'])}{{}}"
    return f"{cpp(argument)}{{}}"


def show(*expressions: str) -> str:
    return ' printf(" ");'.join(f" print({e});" for e in expressions) + ' printf("\\n");'


# ---- compiling


class Host:
    """g++ with the patched headers before CUTLASS's."""

    def __init__(self, cutlass: Path, cuda: Path, folder: Path) -> None:
        self._folder = folder
        forms = (ROOT / "tests/oracle/cute_copies/forms.hpp").read_text()
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
        self._command = ["nice", "g++", "-std=c++17", "-O0", "-w", "-DNDEBUG", "-fmax-errors=0"]
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
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--type", choices=random_cases.BITS, help="draw copies of this type only")
    parser.add_argument("--copies", type=int, default=COPIES)
    parser.add_argument("--algebra", type=int, default=ALGEBRA)
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    draw = random_cases.Draw(given.seed)
    copies: list[dict[str, Any]] = []
    while len(copies) < given.copies:
        case = draw.copy_case()
        is_wanted = given.type in (None, case["type"])
        if is_wanted and random_cases.accepted(lambda case=case: random_cases.build(case)):
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
