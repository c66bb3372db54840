"""Measures everything that the tests compare with, and writes it to `fixtures/gpu/replay.json`.

The file keeps readings by the digest of their pattern, and of the random patterns, which follow
from a seed, only the cycles; it has no address of any source in it.

    python -m tests.gpu.record_replay [PATH...] [--patterns TABLE]
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from smemlint import __version__
from smemlint.errors import SmemlintError
from smemlint.finding import Measurement, Verdict
from smemlint.hardware.arch import LANES
from smemlint.verify.device import Engine, Measured, engine_process, measure
from smemlint.verify.plan import ALL, Pattern, normal, pattern_of, yardsticks
from smemlint.verify.replay_kernels import Form, forms
from smemlint.verify.verdict import judged, predicted

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/gpu/replay.json"
_ARCH = "sm_90"
_SPELLED = {"atomic.add.u32": "add.u32", "red.add.u32": "add.u32.red"}


def record(
    paths: Sequence[Path],
    table: Path | None,
    out: Path,
    *,
    count: int,
    seed: int,
    device: int,
    engine: Engine,
) -> tuple[str, bool]:
    """Measures and writes; returns a report, and whether the GPU refuted nothing.

    Args:
        paths: sources whose decided accesses are replayed.
        table: a CSV with the columns of truth/bank_patterns.csv.
        out: the JSON file to write.
        count: random patterns.
        seed: of their generator.
        device: which GPU.
        engine: what measures.
    """
    fresh = list(random_patterns(count, seed))
    accesses = dict(accesses_of(paths))
    counted = dict(counted_patterns(table)) if table is not None else {}
    predicated = dict(predicated_patterns(FIXTURE.with_name("predicates.json")))
    standards = {k.pattern: k.wavefronts for form in forms().values() for k in yardsticks(form)}
    measured = measure((*fresh, *accesses, *counted, *predicated, *standards), device, engine)
    expected = {
        "yardsticks": standards,
        "random": {p: predicted(p) for p in fresh},
        "accesses": accesses,
        "counted": counted,
        "predicated": predicated,
    }
    lines, refuted = [], 0
    for name, figures in expected.items():
        found = [(p, judged(figure, p, measured)) for p, figure in figures.items()]
        refuted += sum(m.verdict is Verdict.REFUTED for _, m in found)
        lines += list(_reported(name, found))
    kept = (*accesses, *counted, *predicated, *standards)
    _write(out, measured, {p.digest: p for p in kept}, fresh, seed)
    return "\n".join(
        (json.dumps(measured.about), json.dumps(measured.seconds), *lines)
    ), not refuted


def random_patterns(count: int, seed: int) -> Iterator[Pattern]:
    """Yields distinct patterns of all forms: strides, shared words, rows, any address; masked.

    The same for the same seed, in every version of Python.
    """
    source = random.Random(seed)
    seen: set[Pattern] = set()
    drawn = [f for f in forms().values() if _is_drawn(f)]
    while len(seen) < count:
        form = drawn[len(seen) % len(drawn)]
        rows = (2, 8, 32, 128, 512, 1024)[int(source.random() * 6)]
        slots = rows * 128 // form.width
        shape = int(source.random() * 5)
        step, start = 1 + int(source.random() * 64), int(source.random() * slots)
        pool = [int(source.random() * slots) for _ in range(1 + int(source.random() * LANES))]
        units = [_unit(shape, lane, step, start, pool, source) % slots for lane in range(LANES)]
        mask = ALL
        if not form.matrices and source.random() < 0.25:
            first = int(source.random() * LANES)
            some, upper = int(source.random() * ALL) | 1, ALL & ~(2**first - 1)
            mask = (some, upper, ALL & ~upper | 1)[int(source.random() * 3)]
        found = normal(form, [unit * form.width for unit in units], mask, _ARCH)
        assert isinstance(found, Pattern)
        if found not in seen:
            seen.add(found)
            yield found


_USUAL_ATOMICS = (
    "atomic_add_u32", "atomic_add_u32_red", "atomic_add_u32_one_red", "atomic_max_s32",
    "atomic_exch_b32", "atomic_cas_b32",
)  # fmt: skip


def _is_drawn(form: Form) -> bool:
    """Accompanied forms come about by masks."""
    return not form.is_accompanied and (form.kind != "atomic" or form.name in _USUAL_ATOMICS)


def _unit(
    shape: int, lane: int, step: int, start: int, pool: Sequence[int], source: random.Random
) -> int:
    if shape == 0:
        return start + lane * step
    if shape == 1:
        return pool[int(source.random() * len(pool))]
    if shape == 2:
        return start + lane // 2 * step
    if shape == 3:
        return start + (lane % 8) * step + lane // 8
    return int(source.random() * 2**20)


def counted_patterns(table: Path) -> Iterator[tuple[Pattern, int]]:
    """Yields the patterns of a CSV and the wavefronts that a profiler counted.

    Raises:
        SmemlintError: the file cannot be read.
    """
    try:
        with table.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                kind, *rest = row["kind"].split(".")
                if row["kind"] in _SPELLED:
                    form = Form("atomic", 4, operation=_SPELLED[row["kind"]])
                elif kind in ("ldmatrix", "stmatrix"):
                    form = Form(kind, 16, int(rest[0][1:]), "trans" in rest)
                else:
                    form = Form(kind, int(row["width_bytes"]))
                mask = ALL if form.matrices else int(row["active_mask_hex"], 16)
                offsets = [int(row[f"lane{k}"]) for k in range(LANES)]
                pattern = normal(form, offsets, mask, _ARCH)
                assert isinstance(pattern, Pattern), pattern
                yield pattern, int(row["wavefronts"])
    except (OSError, KeyError, ValueError) as error:
        raise SmemlintError(f"cannot be read: {error}", where=str(table)) from error


def predicated_patterns(file: Path) -> Iterator[tuple[Pattern, int]]:
    """Yields the patterns of fixtures/gpu/predicates.json, some lanes off, and what was counted."""
    recorded = json.loads(file.read_text(encoding="utf-8"))
    for row in recorded["rows"]:
        numbers = recorded["patterns"][row["pattern"]]
        kind = "load" if row["op"].startswith("LDS") else "store"
        form = Form(kind, 16 if row["op"].endswith("128") else 8)
        mask = sum(1 << lane for lane in range(LANES) if numbers[LANES + lane])
        offsets = numbers[:LANES]
        found = normal(form, offsets, mask, _ARCH)
        assert isinstance(found, Pattern)
        yield found, row["wavefronts"]


def accesses_of(paths: Sequence[Path]) -> Iterator[tuple[Pattern, int]]:
    """Yields the patterns of all decided accesses of some sources, with modelled wavefronts."""
    from smemlint.analysis.analyze import analyze
    from smemlint.config.settings import Settings
    from smemlint.sources.source import Source

    files = [f for p in paths for f in (sorted(p.rglob("*.cu")) if p.is_dir() else [p])]
    for file in files:
        facts, _ = analyze([Source(str(file))], Settings())
        for kernel in facts.kernels:
            for access in kernel.accesses:
                for pattern in access.patterns if access.certainty.is_decided else ():
                    found = pattern_of(access, pattern, _ARCH)
                    if isinstance(found, Pattern):
                        yield found, pattern.wavefronts


def _reported(name: str, found: Sequence[tuple[Pattern, Measurement]]) -> Iterator[str]:
    """Yields a line for each form, and one for each pattern that is refuted."""
    forms_there = dict.fromkeys(p.form.name for p, _ in found)
    for form in forms_there:
        verdicts = [m for p, m in found if p.form.name == form]
        counts = Counter(str(m.verdict) for m in verdicts)
        off = max(
            (abs(m.measured / m.predicted - 1) for m in verdicts if m.measured is not None),
            default=0.0,
        )
        spread = max(m.spread for m in verdicts)
        counted = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        yield f"{name:10} {form:26} {counted}; off by {off:.2%}, spread {spread:.3f}"
    for pattern, m in found:
        if m.verdict is not Verdict.CONFIRMED:
            place = f"{pattern.form.name} {pattern.mask:08x}"
            yield f"  {name} {place} predicted {m.predicted}, measured {m.measured} {m.reason}"
    counts = ", ".join(f"{n} {v}" for v, n in Counter(str(m.verdict) for _, m in found).items())
    yield f"{name}: {len(found)} distinct patterns: {counts}"


def _write(
    out: Path, measured: Measured, kept: Mapping[str, Pattern], fresh: Sequence[Pattern], seed: int
) -> None:
    about = {**measured.about, "smemlint": __version__}
    readings = {digest: _figures(measured, p) for digest, p in sorted(kept.items())}
    cycles = [_figures(measured, p) for p in fresh]
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in readings.items())
    text = (
        f'{{"about": {json.dumps(about)},\n"seconds": {json.dumps(dict(measured.seconds))},\n'
        f'"readings": {{\n{lines}\n}},\n'
        f'"random": {{"seed": {seed}, "readings": [\n{_wrapped(cycles)}\n]}}}}\n'
    )
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SmemlintError(f"cannot be written: {error.strerror}", where=str(out)) from error


def _figures(measured: Measured, pattern: Pattern) -> list[Any]:
    """Median, least and most cycles."""
    reading = measured.readings[pattern]
    return [round(x, 3) for x in (reading.cycles, reading.least, reading.most)]


def _wrapped(rows: Sequence[list[Any]]) -> str:
    texts = [json.dumps(row, separators=(",", ":")) for row in rows]
    return ",\n".join(", ".join(texts[i : i + 5]) for i in range(0, len(texts), 5))


def main() -> int:
    """Records what is asked for; 0 if the GPU refuted nothing, 1 if it did, 2 if it cannot be run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="*", type=Path, help="sources whose accesses to replay")
    parser.add_argument("--patterns", type=Path, help="a CSV of patterns with counters")
    parser.add_argument("--random", type=int, default=10_000, help="how many random patterns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FIXTURE)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=600.0, help="in seconds")
    chosen = parser.parse_args()
    try:
        text, agrees = record(
            chosen.paths,
            chosen.patterns,
            chosen.out,
            count=chosen.random,
            seed=chosen.seed,
            device=chosen.device,
            engine=engine_process(chosen.timeout),
        )
    except SmemlintError as error:
        print(f"smemlint: error: {error}", file=sys.stderr)
        return 2
    print(text)
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
