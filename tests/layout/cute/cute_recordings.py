"""The recorded copies: one header of JSON, then the addresses as differences between threads."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Recorded:
    """What the compiled headers touch.

    Attributes:
        runs: [instruction, bytes a lane, how many in a row].
        addresses: of shape (instructions, threads), in bytes.
    """

    name: str
    threads: int
    runs: list[list[Any]]
    addresses: NDArray[np.int64] = field(repr=False)

    @staticmethod
    def of(name: str, by_thread: list[list[tuple[str, int, int]]]) -> Recorded:
        """From what each thread logged; all threads execute the same instructions."""
        runs: list[list[Any]] = []
        longest = max(by_thread, key=len)
        for op, width, _ in longest:
            if runs and runs[-1][:2] == [op, width]:
                runs[-1][2] += 1
            else:
                runs.append([op, width, 1])
        kinds = [entry[:2] for entry in longest]
        rows = np.full((len(by_thread), len(longest)), -1, dtype=np.int64)
        for thread, entries in enumerate(by_thread):
            # Threads beyond a remainder leave out the first instructions only.
            skipped = len(longest) - len(entries)
            assert [e[:2] for e in entries] == kinds[skipped:]
            rows[thread, skipped:] = [offset for _, _, offset in entries]
        return Recorded(name, len(by_thread), runs, rows.T)


def write(path: Path, header: dict[str, Any], cases: list[Recorded]) -> None:
    """Writes a fixture."""
    rows = [{k: v for k, v in vars(case).items() if k != "addresses"} for case in cases]
    text = json.dumps({**header, "recorded": rows}, separators=(",", ":")).encode() + b"\n"
    deltas = [np.diff(case.addresses, axis=1, prepend=0).astype("<i4") for case in cases]
    data = text + b"".join(delta.tobytes() for delta in deltas)
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def read(path: Path) -> tuple[dict[str, Any], list[Recorded]]:
    """Returns header and cases of a fixture."""
    text, data = lzma.decompress(path.read_bytes()).split(b"\n", 1)
    header = json.loads(text)
    cases, at = [], 0
    for row in header["recorded"]:
        shape = sum(run[2] for run in row["runs"]), row["threads"]
        deltas = np.frombuffer(data, "<i4", shape[0] * shape[1], at).reshape(shape)
        at += deltas.nbytes
        addresses = np.cumsum(deltas, axis=1, dtype=np.int64)
        cases.append(Recorded(row["name"], row["threads"], row["runs"], addresses))
    return header, cases
