"""Fuzzes `smemlint lsp`: `python tests/fuzz/fuzz_server.py --messages 100000 [--seed 1]`.

A client sends what editors send, in any order and often wrong: documents that are mutated, half
typed or no text at all, positions outside of them, methods that do not exist, parameters of the
wrong shape, bodies that are no JSON, answers to nothing, requests that it cancels. Each session of
1,000 messages has a server of its own and is reproduced by its number: `--only 7`. It fails by a
traceback, an internal error, an end before its time, or a request that is not answered after 10 s
of the server's processor time. Prints the counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

SESSION = 1_000
SLOW = 10.0
"""Processor seconds after which an answer no longer counts as one."""
_MOST_WAIT = 600.0
"""On the clock: a server that gets no processor, on a machine with other work, is not stuck yet."""
_NOT_THERE = -32601
_INVALID = (-32600, -32602, -32700)
_CANCELLED = -32800
_REQUESTS = ("hover", "codeAction", "inlayHint", "diagnostic")
_NONSENSE: tuple[Any, ...] = (None, 7, -1, 1e99, "", "é\U0001f642", [], {}, [[]], True, {"a": {}})
_FRAMES = (
    b"{", b"", b"null", b"[]", b"[1,2]", b'"x"', b"\xff\xfe\x00", b"{}", b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"1.0","method":"x"}', b'{"jsonrpc":"2.0","method":7}', b'{"id":1,"result":2}',
    b'{"jsonrpc":"2.0","id":{},"method":"shutdown2"}', b'{"jsonrpc":"2.0","id":"x","error":{}}',
    b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}', b"[" * 5_000, b"9" * 5_000,
)  # fmt: skip
_SETTINGS: tuple[Any, ...] = (
    {"arch": "sm_80"}, {"arch": "sm_1"}, {"select": ["SML1"]}, {"select": "x"}, {"ignore": 3}, {},
    {"unknown": 1}, {"block-dim": [32, 8]}, {"block-dim": "x"}, {"define": {"A": 1}}, {"smemlint": []},
    {"pedantic": True}, {"time-limit": "soon"}, {"kernels": {"k": {"block": 1}}}, {"exclude": ["*"]},
    {"baseline": "nowhere.json"}, {"max-ways": {"SML101": 4}}, {"min-certainty": "proved"},
)  # fmt: skip


class Failure(AssertionError):
    """What a server must not do."""


@dataclass
class Server:
    """A server in a process of its own, with everything that it says."""

    folder: Path
    messages: SimpleQueue[dict[str, Any]] = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); from smemlint.cli.main import main; "
        )
        self.errors = (self.folder / "stderr").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-c", code + "sys.exit(main(['lsp']))"],
            cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, body: bytes) -> None:
        """One message in its frame."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()
        except OSError as error:
            raise Failure(f"the server is gone: {self.last_errors()}") from error

    def seconds(self) -> float:
        """Processor time so far."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return 0.0
        return sum(map(int, stat.rpartition(")")[2].split()[11:13])) / 100

    def last_errors(self) -> str:
        """The end of what it wrote to standard error."""
        return (self.folder / "stderr").read_text(errors="replace")[-3000:]

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            length = 0
            while line.strip():
                name, _, value = line.partition(b":")
                length = int(value) if name == b"Content-Length" else length
                line = self.process.stdout.readline()
            self.messages.put(json.loads(self.process.stdout.read(length)))


class Client:
    """One session of random messages; the same for the same seed and number."""

    def __init__(self, server: Server, seed: int, number: int, *, is_real: bool) -> None:
        self._server = server
        self._random = Random(f"{seed}:{number}")
        self._inputs = seed * 1_000_003 + number, is_real
        self._texts: dict[str, str] = {}
        self._version = 0
        self._asked: dict[object, str] = {}
        self._next = 10
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0

    def run(self, messages: int) -> None:
        """The session from start to end."""
        chance = self._random
        asks = {"textDocument": {"diagnostic": {}}} if chance.random() < 0.5 else {}
        encoding = chance.choice(("utf-8", "utf-16", "utf-32"))
        given = {
            "capabilities": {
                **asks,
                "general": {"positionEncodings": [encoding]},
                "workspace": {"configuration": True, "workspaceEdit": {"documentChanges": True}},
            },
            "initializationOptions": {"time-limit": 1.0},
            "rootUri": self._server.folder.as_uri(),
        }
        self._request("initialize", given)
        self.settle()
        self._notify("initialized", {})
        for sent in range(messages):
            chance.choices(*zip(*self._moves, strict=True))[0](self)
            if sent % 25 == 24:
                self.settle()
        self.settle()
        self._request("shutdown", None)
        self.settle()
        self._notify("exit", None)
        code = self._server.process.wait(_MOST_WAIT)
        errors = self._server.last_errors()
        if code != 0 or "Traceback" in errors or "internal error" in errors:
            raise Failure(f"exit code {code}: {errors}")

    def settle(self) -> None:
        """Waits until everything asked was answered, and judges the answers."""
        start, wall = self._server.seconds(), time.monotonic()
        while self._asked:
            try:
                self._judge(self._server.messages.get(timeout=0.5))
            except Empty:
                if self._server.process.poll() is not None:
                    raise Failure(f"the server ended: {self._server.last_errors()}") from None
                spent = self._server.seconds() - start
                if spent > SLOW or time.monotonic() - wall > _MOST_WAIT:
                    waits = sorted(self._asked.values())
                    raise Failure(f"no answer after {spent:.1f} s: {waits}") from None
        self.slowest = max(self.slowest, self._server.seconds() - start)

    def _judge(self, message: dict[str, Any]) -> None:
        if "method" in message:
            if "id" in message:
                self._answer(message)
            return
        asked = self._asked.pop(message.get("id"), "")
        error = message.get("error")
        if error is None:
            self.counts["answers"] += bool(asked)
        elif asked and error["code"] not in (_NOT_THERE, *_INVALID, _CANCELLED):
            raise Failure(f"{asked}: {error}")
        else:
            self.counts["refusals"] += 1

    def _answer(self, message: dict[str, Any]) -> None:
        """What a client answers to a question of the server, sensible or not."""
        kind = self._random.choice(("good", "good", "null", "error", "nonsense"))
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if kind == "error":
            body["error"] = {"code": -32603, "message": "no"}
        else:
            asked = {"good": [self._random.choice(_SETTINGS)], "null": None}
            body["result"] = asked.get(kind, self._random.choice(_NONSENSE))
        self._send(body)

    # ---- what a client may do

    def _open(self) -> None:
        from targets import input_number

        seed, is_real = self._inputs
        self._next += 1
        source = input_number(seed, self._next, is_real=is_real)
        text = source.data.decode("utf-8", "replace")
        suffix = self._random.choice((source.suffix, ".cu", ".cuh", ".py", ".ipynb", ".metal", ""))
        name = f"d{self._random.randrange(8)}{suffix}"
        where = self._random.random()
        uri = (self._server.folder / name).as_uri()
        if where < 0.1:
            uri = f"untitled:Untitled-{self._random.randrange(3)}"
        elif where < 0.2:
            uri = self._random.choice(
                (f"file:///no/where/{name}", f"vscode-vfs://host/{name}", name)
            )
        elif where < 0.4:
            (self._server.folder / name).write_text(text, errors="replace")
        self._texts[uri] = text
        item = {"uri": uri, "languageId": "cuda-cpp", "version": self._version, "text": text}
        self._notify("textDocument/didOpen", {"textDocument": item})

    def _change(self) -> None:
        if not self._texts:
            return self._open()
        from mutations import mutated

        uri = self._random.choice(list(self._texts))
        others = list(self._texts.values())
        text = mutated(self._random, self._texts[uri] or "x", [t or "x" for t in others])
        self._texts[uri] = text = text.encode("utf-8", "replace").decode()
        self._version += 1
        change: dict[str, Any] = {"text": text}
        if self._random.random() < 0.1:
            change["range"] = {"start": self._position(uri), "end": self._position(uri)}
        document = {"uri": uri, "version": self._version}
        params = {"textDocument": document, "contentChanges": [change]}
        self._notify("textDocument/didChange", params)

    def _type(self) -> None:
        """Characters one by one, faster than they can be analysed."""
        if not self._texts:
            return self._open()
        uri = self._random.choice(list(self._texts))
        at = self._random.randrange(len(self._texts[uri]) + 1)
        for character in self._random.choice(("int x;", "}\n\n", "// \U0001f642é", "__shared__ ")):
            text = self._texts[uri]
            self._texts[uri] = text = text[:at] + character + text[at:]
            at += 1
            self._version += 1
            document = {"uri": uri, "version": self._version}
            params = {"textDocument": document, "contentChanges": [{"text": text}]}
            self._notify("textDocument/didChange", params)
        return None

    def _ask(self) -> None:
        uri = self._any_uri()
        document, at = {"uri": uri}, self._position(uri)
        params: dict[str, Any] = {
            "textDocument": document,
            "position": at,
            "range": {"start": at, "end": self._position(uri)},
            "context": {"diagnostics": []},
        }
        self._request(f"textDocument/{self._random.choice(_REQUESTS)}", params)
        if self._random.random() < 0.1:
            self._notify("$/cancelRequest", {"id": self._next})

    def _close(self) -> None:
        uri = self._any_uri()
        self._texts.pop(uri, None)
        self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def _files(self) -> None:
        """A file that others change, rename or delete, or a configuration that they write."""
        name = self._random.choice(("smemlint.toml", "d1.cu", "d2.cuh", "d3.py", "pyproject.toml"))
        path = self._server.folder / name
        if self._random.random() < 0.4:
            path.unlink(missing_ok=True)
        else:
            text = self._random.choice(
                ('arch = "sm_80"\n', "arch = 7\n", "[", "\0\xff", "__shared__")
            )
            path.write_text(text)
        event = {"uri": path.as_uri(), "type": self._random.choice((1, 2, 3, 9))}
        method = self._random.choice(("workspace/didChangeWatchedFiles", "textDocument/didSave"))
        self._notify(method, {"changes": [event], "textDocument": {"uri": self._any_uri()}})

    def _configure(self) -> None:
        settings = self._random.choice((*_SETTINGS, *_NONSENSE))
        params = {"settings": self._random.choice((settings, {"smemlint": settings}))}
        self._notify("workspace/didChangeConfiguration", params)

    def _break(self) -> None:
        """A message that no client should send."""
        kind = self._random.randrange(3)
        if kind == 0:
            self.counts["messages"] += 1
            self._server.send(self._random.choice(_FRAMES))
        elif kind == 1:
            name = self._random.choice(
                ("no/such", "$/what", "", "textDocument/hover", "initialize")
            )
            self._request(name, self._random.choice(_NONSENSE))
        else:
            methods = (
                "textDocument/didOpen",
                "textDocument/didChange",
                "initialized",
                "$/setTrace",
            )
            self._notify(self._random.choice(methods), self._random.choice(_NONSENSE))

    _moves = (
        (_open, 8), (_change, 34), (_type, 4), (_ask, 34), (_close, 4), (_files, 4), (_configure, 4),
        (_break, 8),
    )  # fmt: skip

    # ---- messages

    def _any_uri(self) -> str:
        known = list(self._texts)
        if not known or self._random.random() < 0.05:
            return self._random.choice(("file:///none.cu", "", "a:b", "untitled:9"))
        return self._random.choice(known)

    def _position(self, uri: str) -> dict[str, int]:
        lines = self._texts.get(uri, "").split("\n")
        line = self._random.randrange(len(lines) + 1)
        column = self._random.randrange(len(lines[min(line, len(lines) - 1)]) + 3)
        if self._random.random() < 0.02:
            line, column = self._random.choice(((0, 1 << 31), (1 << 31, 0), (99_999, 99_999)))
        return {"line": line, "character": column}

    def _request(self, method: str, params: Any) -> None:
        self._next += 1
        self._asked[self._next] = method
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})

    def _notify(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _send(self, body: dict[str, Any]) -> None:
        self.counts["messages"] += 1
        self._server.send(json.dumps(body).encode())


def session(seed: int, number: int, messages: int = SESSION, *, is_real: bool = False) -> Client:
    """One session with a server of its own.

    Raises:
        Failure: the server did what it must not do.
    """
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            client = Client(server, seed, number, is_real=is_real)
            client.run(messages)
        finally:
            server.process.kill()
            server.process.wait()
        return client


def main() -> None:
    """Fuzzes, or reproduces one session."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--messages", type=int, default=10_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", type=int, help="this session and nothing else")
    given = arguments.parse_args()
    counts: Counter[str] = Counter()
    slowest, number = 0.0, given.only or 0
    while counts["messages"] < given.messages:
        try:
            client = session(given.seed, number, is_real=True)
            counts += client.counts
            slowest = max(slowest, client.slowest)
        except Failure as failure:
            counts["failures"] += 1
            counts["messages"] += SESSION
            print(f"session {number} failed: {failure}", flush=True)
        shown = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        print(f"{number}: {shown}; longest wait {slowest:.1f} s", flush=True)
        number += 1
        if given.only is not None:
            break
    sys.exit(counts["failures"] > 0)


if __name__ == "__main__":
    main()
