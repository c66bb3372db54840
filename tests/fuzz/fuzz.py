"""Fuzzes `smemlint check`: `python tests/fuzz/fuzz.py --inputs 1000000 [--seed 1] [--jobs 1]`.

Input `i` of a seed is the same in every run over the same seeds, so a failure is reproduced by its
number: `--only i`. Inputs are fed in this process of the analysis, ten thousand a process; a process
that is stuck in one input for a minute of processor time is killed and the input counted as a hang.
Errors that `check` catches and reports as its own count as tracebacks. Failing inputs are written
to `--out`. Prints the counts, with the slowest inputs and the memory of the largest process.
`--hostile` feeds what grammars make (kernels, string bombs, trees of links, FIFOs and devices) in place
of mutated files. `--time-limit` is that of `check`, lower than its default so that a run comes to its end: inputs
that it stopped are counted as such.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2])]

SLOW = 10.0
"""Processor seconds that no input may take."""
_STUCK = 60.0
_PATIENCE = 5  # so many times as long by the clock: a FIFO takes no processor time
_A_PROCESS = 10_000
_MOST_BYTES = 6 << 30


def main() -> None:
    """Fuzzes, or reproduces one input."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--inputs", type=int, default=10_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--start", type=int, default=0, help="number of the first input")
    arguments.add_argument("--time-limit", type=float, default=1.0, help="as of `check`")
    arguments.add_argument("--out", type=Path, default=Path("fuzz-failures"))
    arguments.add_argument("--hostile", action="store_true", help="inputs made by grammars")
    arguments.add_argument("--only", type=int, help="show this input and feed it, nothing else")
    arguments.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.only is not None:
        _reproduce(given)
    elif given.worker:
        _work(given)
    else:
        _drive(given)


def _reproduce(given: argparse.Namespace) -> None:
    from targets import feed, input_number

    source = input_number(given.seed, given.only, is_real=True, is_hostile=given.hostile)
    print(f"# {source.kind} {source.suffix}", file=sys.stderr)
    sys.stdout.buffer.write(source.data + b"\n")
    sys.stdout.flush()
    began = time.process_time()
    try:
        print(f"# {feed(source, given.time_limit)}", file=sys.stderr)
    finally:
        print(f"# {time.process_time() - began:.3f} s", file=sys.stderr)


def _work(given: argparse.Namespace) -> None:
    """Feeds inputs and writes a line of JSON for each, before and after."""
    from targets import feed, input_number

    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what is printed by mistake does not mix with the protocol
    for number in range(given.start, given.start + given.inputs):
        source = input_number(given.seed, number, is_real=True, is_hostile=given.hostile)
        out.write(f"{number}\n")
        began = time.process_time()
        outcome, failure = "", ""
        try:
            outcome = feed(source, given.time_limit)
        except Exception:
            failure = traceback.format_exc()
        spent = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        record = {"number": number, "kind": source.kind, "outcome": outcome}
        record |= {"s": round(spent, 4), "kib": memory}
        out.write(json.dumps(record | ({"failure": failure} if failure else {})) + "\n")


class _Counts:
    """What was seen so far."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self.kinds: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.failures: list[tuple[int, str]] = []
        self.slow: list[tuple[float, int]] = []
        self.peak = 0

    def add(self, record: dict[str, Any]) -> None:
        """One input's line."""
        self.kinds[record["kind"]] += 1
        self.outcomes[record["outcome"]] += 1
        self.seconds[record["kind"]] += record["s"]
        self.peak = max(self.peak, record["kib"])
        self.slow = sorted([*self.slow, (record["s"], record["number"])])[-5:]
        if "failure" in record:
            self.fail(record["number"], record["failure"])

    def fail(self, number: int, what: str) -> None:
        """An input that broke something, kept with its text."""
        self.failures.append((number, what))
        self._out.mkdir(parents=True, exist_ok=True)
        (self._out / f"{number}.txt").write_text(what, encoding="utf-8", errors="replace")
        print(f"input {number}: {what.strip().splitlines()[-1][:200]}", flush=True)

    def report(self, wall: float) -> str:
        """The counts in words."""
        total, seconds = sum(self.kinds.values()), sum(self.seconds.values())
        kinds = ", ".join(
            f"{k} {n} ({1000 * self.seconds[k] / n:.1f} ms)" for k, n in self.kinds.items()
        )
        over = sum(s > SLOW for s, _ in self.slow)
        slowest = ", ".join(f"{n}: {s:.2f} s" for s, n in reversed(self.slow))
        return (
            f"{total} inputs in {wall:.0f} s ({seconds:.0f} s of processor): {kinds}\n"
            f"{dict(self.outcomes)}\n{len(self.failures)} failures, {over} over {SLOW:g} s; slowest {slowest}; "
            f"largest process {self.peak >> 10} MiB"
        )


def _drive(given: argparse.Namespace) -> None:
    began = time.monotonic()
    counts = _Counts(given.out)
    number, end, reported = given.start, given.start + given.inputs, given.start
    while number < end:
        number = _one_process(given, number, min(_A_PROCESS, end - number), counts)
        if number - reported >= 20_000:
            reported = number
            print(f"[{number}] {counts.report(time.monotonic() - began)}", flush=True)
    print(counts.report(time.monotonic() - began))
    sys.exit(1 if counts.failures or any(s > SLOW for s, _ in counts.slow) else 0)


def _one_process(given: argparse.Namespace, start: int, count: int, counts: _Counts) -> int:
    """Feeds inputs in a process of their own; returns the number to go on with."""
    from smemlint.driver.workers import processor_seconds

    command = [sys.executable, __file__, "--worker", "--seed", str(given.seed)]
    command += ["--start", str(start), "--inputs", str(count)]
    command += ["--time-limit", str(given.time_limit)]
    command += ["--hostile"] * given.hostile
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    current, pending, since, heard = start - 1, b"", 0.0, time.monotonic()
    while True:
        data = process.stdout.read()
        if data:
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                if line.startswith(b"{"):
                    counts.add(json.loads(line))
                else:
                    current = int(line)
            since, heard = processor_seconds(process.pid) or since, time.monotonic()
        elif data == b"":
            break
        elif current >= start and (
            (processor_seconds(process.pid) or since) - since > _STUCK
            or time.monotonic() - heard > _PATIENCE * _STUCK
        ):
            process.kill()
            process.wait()
            counts.fail(current, f"stuck for {_STUCK:g} s of processor time, or waiting for ever")
            return current + 1
        time.sleep(0.1)
    if process.wait() != 0:
        counts.fail(current, f"the process ended with {process.returncode}")
        return current + 1
    return start + count


if __name__ == "__main__":
    main()
