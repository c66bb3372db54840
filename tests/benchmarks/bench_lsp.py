"""How long an edit takes to become diagnostics: `python tests/benchmarks/bench_lsp.py [FILE.cu]...`

Starts the server, opens a file of some 300 lines, and edits it again and again in one place: most
edits change a number, every fourth adds a line. Prints median and 95th percentile of the wall time
from `didChange` to the diagnostics of that version, to the answer of a request for code actions,
which has to find the fixes, and of the processor time that the server took for both. Between edits
it waits a little, as people do, so that none of them is held back. A file is opened under a name in
an empty folder, so that no other file is read. Before that it prints how long the server takes to
answer `initialize`, and the memory that it has after ten edits and after a thousand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from bench_check import KERNELS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 60
STARTS = 5
MANY = 1_000
_PAUSE = 0.2
_TICKS = 100  # of /proc, a second


def main() -> None:
    starts = [_start() for _ in range(STARTS)]
    print(f"initialize is answered after {1e3 * median(starts):.0f} ms")
    few, many = _memory()
    print(f"resident after 10 edits {few} MB, after {MANY} {many} MB")
    print(f"{ROUNDS} edits of each; median and 95th percentile in ms")
    print(f"{'lines':>5}  {'diagnostics':>11}  {'with fixes':>11}  {'processor':>11}  file")
    for name in sys.argv[1:] or [""]:
        text = Path(name).read_text(encoding="utf-8", errors="replace") if name else _sample()
        with tempfile.TemporaryDirectory() as folder:
            first, last, busy = measured(text, Path(folder, "edited.cu").as_uri())
        shown = "  ".join(f"{_both(spent):>11}" for spent in (first, last, busy))
        print(f"{text.count(chr(10)):5}  {shown}  {name or 'five fixtures'}")


def _start() -> float:
    """Seconds from the start of the process to the answer of `initialize`."""
    start = time.perf_counter()
    server = Server()
    server.ask("initialize", {"capabilities": {}})
    spent = time.perf_counter() - start
    server.close()
    return spent


def _memory() -> tuple[int, int]:
    """Megabytes after ten edits and after many, of which each is analysed."""
    server, uri = Server(), "untitled:edited"
    server.ask("initialize", {"capabilities": {}})
    server.send("initialized", {})
    text = _sample()
    document = {"uri": uri, "languageId": "cuda-cpp", "version": 0, "text": text}
    server.send("textDocument/didOpen", {"textDocument": document})
    server.wait_for(0)
    few = 0
    for version, edited in enumerate(islice(cycle(_edited(text)), MANY), 1):
        changes = [{"text": edited.replace("int edit", f"int edit_{version}")}]
        change = {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes}
        server.send("textDocument/didChange", change)
        server.wait_for(version)
        if version == 10:
            few = server.megabytes()
    many = server.megabytes()
    server.close()
    return few, many


def _both(seconds: list[float]) -> str:
    return f"{1e3 * median(seconds):.0f} {1e3 * quantiles(seconds, n=20)[-1]:.0f}"


class Server:
    """The server as a client sees it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "smemlint", "lsp"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0

    def send(self, method: str, params: Any, **more: Any) -> None:
        """A notification."""
        body = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        data = json.dumps(body).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def ask(self, method: str, params: Any) -> None:
        """A request; returns when it was answered."""
        self._number += 1
        self.send(method, params, id=self._number)
        while self._receive().get("id") != self._number:
            pass

    def wait_for(self, version: int) -> None:
        """Returns when there are diagnostics of a version."""
        while True:
            message = self._receive()
            is_it = message.get("method") == "textDocument/publishDiagnostics"
            if is_it and message["params"].get("version") == version:
                return

    def processor_time(self) -> float:
        """Seconds so far."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / _TICKS

    def megabytes(self) -> int:
        """Resident memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) >> 10

    def close(self) -> None:
        """Ends it."""
        self.ask("shutdown", None)
        self.send("exit", None)
        self._process.wait(20)

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        return dict(json.loads(self._process.stdout.read(length)))


def measured(text: str, uri: str) -> tuple[list[float], list[float], list[float]]:
    """Seconds from each edit to diagnostics and to fixes, and of the processor."""
    server = Server()
    server.ask("initialize", {"capabilities": {}})
    server.send("initialized", {})
    document = {"uri": uri, "languageId": "cuda-cpp", "version": 0, "text": text}
    server.send("textDocument/didOpen", {"textDocument": document})
    nowhere = {"line": 0, "character": 0}
    fixes = {
        "textDocument": {"uri": uri},
        "range": {"start": nowhere, "end": nowhere},
        "context": {"diagnostics": []},
    }
    server.ask("textDocument/codeAction", fixes)
    first, last, busy = [], [], []
    for version, edited in enumerate(_edited(text), 1):
        time.sleep(_PAUSE)
        before, start = server.processor_time(), time.perf_counter()
        changes = [{"text": edited}]
        change = {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes}
        server.send("textDocument/didChange", change)
        server.wait_for(version)
        first.append(time.perf_counter() - start)
        server.ask("textDocument/codeAction", fixes)
        last.append(time.perf_counter() - start)
        busy.append(server.processor_time() - before)
    server.close()
    return first, last, busy


def _edited(text: str) -> Iterator[str]:
    """The text with another number, and every fourth time another line, near its middle."""
    lines = text.split("\n")
    middle = next(
        i
        for i in range(len(lines) // 2, len(lines))
        if lines[i].startswith(("  ", "\t")) and lines[i].rstrip().endswith(";")
    )
    for number in range(ROUNDS):
        if number % 4 == 3:
            lines.insert(middle, "")
        edit = f"{lines[middle]} {{ int edit = {number}; }}"
        yield "\n".join((*lines[:middle], edit, *lines[middle + 1 :]))


def _sample() -> str:
    texts = []
    for name in KERNELS:
        text = (ROOT / "fixtures" / "kernels" / f"{name}.cu").read_text(encoding="utf-8")
        texts.append(text.replace("int main()", f"int run_{name}()"))
    return "\n".join(texts)


if __name__ == "__main__":
    main()
