"""Record fixtures/gpu/zero_filled_copies.json: `cp.async.cg` with source sizes of 0 and of less.

usage (on a machine with an sm_90 GPU): python3 tests/gpu/record_zero_filled.py [OUT.json]

Rows are those of record_async_copies.py. Of 768 patterns 180 are recorded: those whose source size
is not selected by P0.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path

import profiling
import record_async_copies as copies

FORM = 8
"""`.cg` with a source size, in async_copies.cu."""
WIDTH = 16


def patterns() -> list[copies.Pattern]:
    """Patterns with lanes that are filled: some, in part, all, and of contiguous rows."""
    rng = random.Random("zero")
    found: list[copies.Pattern] = []
    for number in range(12 * copies.PER_LAUNCH):
        make = copies.structured if number % 3 else copies.scattered
        to, source = make(WIDTH, rng)
        sizes = [WIDTH if on else 0 for on in copies.lanes_on(rng)]
        if number % 4 == 0:
            sizes = [rng.choice([16, 16, 0, 4, 8]) for _ in copies.LANES]
        if number % 16 == 1:
            sizes = [0] * 32
        if number % 16 == 2:
            to = source = [lane * WIDTH for lane in copies.LANES]
        found.append((to, source, sizes))
    return found


def main() -> None:
    """Profile the patterns."""
    out = copies.ROOT / "fixtures/gpu/zero_filled_copies.json"
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else out
    table = patterns()
    with tempfile.TemporaryDirectory() as name:
        program = profiling.compile_program(copies.SOURCE, Path(name))
        counted = copies.record(program, FORM, table, Path(name))
    rows = [
        json.dumps(
            {"shared": to, "global": source, "sizes": sizes, "wavefronts": spent, "ideal": ideal},
            separators=(",", ":"),
        )
        for (to, source, sizes), (spent, ideal) in zip(table, counted, strict=True)
        if spent >= 0
    ]
    body = ",\n".join(rows)
    out.write_text(f'{{"about": {json.dumps(profiling.versions())},\n"rows": [\n{body}\n]}}\n')
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
