"""How long an edit takes to become diagnostics: `python tests/benchmarks/bench_lsp.py [FILE.cu]`.

Starts the server, opens a file of some 300 lines, and edits one line of it again and again. Prints
median and 95th percentile of the wall time from `didChange` to the first diagnostics of that
version (what is wrong) and to the last (with fixes), the debounce taken off. The file is opened
under a name in an empty folder, so that no other file is read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench_check import KERNELS, ROOT

ROUNDS = 40


def main() -> None:
    given = Path(sys.argv[1]).read_text(encoding="utf-8") if sys.argv[1:] else _sample()
    with tempfile.TemporaryDirectory() as folder:
        first, last = measured(given, Path(folder, "edited.cu").as_uri())
    print(f"{given.count(chr(10))} lines, {ROUNDS} edits")
    for name, spent in (("diagnostics", first), ("with fixes", last)):
        p95 = quantiles(spent, n=20)[-1]
        print(f"{name:12} median {1e3 * median(spent):4.0f} ms   p95 {1e3 * p95:4.0f} ms")


def measured(text: str, uri: str) -> tuple[list[float], list[float]]:
    """Seconds from each edit to the first and to the last diagnostics of its version."""
    from smemlint.lsp.documents import DEBOUNCE

    command = [sys.executable, "-m", "smemlint", "lsp"]
    server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(method: str, params: Any, number: int | None = None) -> None:
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        data = json.dumps(body if number is None else {**body, "id": number}).encode()
        assert server.stdin is not None
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        server.stdin.flush()

    def receive() -> dict[str, Any]:
        assert server.stdout is not None
        length = 0
        while (line := server.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        return dict(json.loads(server.stdout.read(length)))

    def answer(number: int) -> list[float]:
        """When diagnostics came until a request was answered."""
        came = []
        while (message := receive()).get("id") != number:
            if message.get("method") == "textDocument/publishDiagnostics":
                assert message["params"]["diagnostics"], "the sample has findings"
                came.append(time.perf_counter())
        return came

    def ask(number: int) -> None:
        """A request that is answered when all is known of the version."""
        place = {"line": 0, "character": 0}
        send("textDocument/hover", {"textDocument": {"uri": uri}, "position": place}, number)

    send("initialize", {"capabilities": {}}, 1)
    answer(1)
    send("initialized", {})
    document = {"uri": uri, "languageId": "cuda-cpp", "version": 0, "text": text}
    send("textDocument/didOpen", {"textDocument": document})
    ask(2)
    answer(2)
    lines = text.split("\n")
    middle = next(i for i in range(len(lines) // 2, len(lines)) if lines[i].rstrip().endswith(";"))
    first, last = [], []
    for version in range(1, ROUNDS + 1):
        edited = [
            *lines[:middle],
            f"{lines[middle]} {{ int edit = {version}; }}",
            *lines[middle + 1 :],
        ]
        start = time.perf_counter()
        change = {"uri": uri, "version": version}
        changes = {"textDocument": change, "contentChanges": [{"text": "\n".join(edited)}]}
        send("textDocument/didChange", changes)
        ask(version + 10)
        came = answer(version + 10)
        first.append(came[0] - start - DEBOUNCE)
        last.append(came[-1] - start - DEBOUNCE)
    send("shutdown", None, 3)
    answer(3)
    send("exit", None)
    server.wait(20)
    return first, last


def _sample() -> str:
    texts = []
    for name in KERNELS:
        text = (ROOT / "fixtures" / "kernels" / f"{name}.cu").read_text(encoding="utf-8")
        texts.append(text.replace("int main()", f"int run_{name}()"))
    return "\n".join(texts)


if __name__ == "__main__":
    main()
