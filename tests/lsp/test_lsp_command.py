"""`smemlint lsp` where pygls is missing, and what it makes of messages that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def served(data: bytes, *before: str) -> subprocess.CompletedProcess[bytes]:
    """The server on some input, and what stands in `before` run first."""
    code = "; ".join(
        ("import sys", *before, "from smemlint.cli.main import main", "sys.exit(main(['lsp']))")
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code], input=data, capture_output=True, timeout=60, env=env, check=False
    )  # fmt: skip


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def message(method: str, params: object = None, number: int | None = None) -> bytes:
    body: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
    return framed(json.dumps(body if number is None else {**body, "id": number}).encode())


def answers(data: bytes) -> list[dict[str, object]]:
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(head.split(b"Content-Length: ")[1].split()[0])
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


def test_without_pygls_it_says_what_to_install():
    done = served(b"", "sys.modules['pygls'] = None")
    assert done.returncode == 2
    errors = done.stderr.decode()
    assert "the language server needs `pygls`" in errors or "needs `lsprotocol`" in errors
    assert "hint: pip install 'smemlint[lsp]'" in errors and "Traceback" not in errors


def test_a_client_is_told_what_to_install():
    """Clients show why `initialize` failed, but hide in a log what stands on standard error."""
    start = message("initialize", {"capabilities": {}}, 1)
    done = served(start, "sys.modules['pygls'] = None")
    (answer,) = answers(done.stdout)
    assert (answer["id"], done.returncode) == (1, 2)
    assert "pip install 'smemlint[lsp]'" in answer["error"]["message"]


@pytest.mark.parametrize(
    "text", [b"\r\n", b"Content-Length: x\r\n\r\n", framed(b"3"), framed(b"{")]
)
def test_what_is_no_client_is_told_on_standard_error_only(text):
    done = served(text, "sys.modules['pygls'] = None")
    assert (done.returncode, done.stdout) == (2, b"") and b"Traceback" not in done.stderr


MALFORMED = [
    framed(b"{"),
    framed(b"\xff\xfe"),
    framed(b"[1, 2]"),
    framed(b"null"),
    framed(b'{"jsonrpc": "2.0"}'),
    framed(b'{"jsonrpc": "2.0", "method": 7, "params": []}'),
    b"Content-Length: x\r\n\r\n",
    b"nonsense\r\n\r\n",
    message("textDocument/didOpen", {"textDocument": {"uri": 3}}),
    message("textDocument/didChange", {"textDocument": {"uri": "a:b", "version": 1}}),
    message("textDocument/hover", {"textDocument": {"uri": "file:///none.cu"}}, 5),
    message("textDocument/inlayHint", {}, 6),
    message("no/such/method", {}, 7),
    message("$/cancelRequest", {"id": 99}),
]


@pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed")
def test_malformed_messages_do_not_end_it():
    start = message("initialize", {"capabilities": {}}, 1)
    done = served(b"".join((start, *MALFORMED, message("shutdown", None, 2), message("exit"))))
    by_id = {a["id"]: a for a in answers(done.stdout) if "id" in a}
    assert "capabilities" in by_id[1]["result"]
    assert by_id[2]["result"] is None
    assert "error" in by_id[7]
    assert done.returncode == 0


@pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed")
def test_a_client_that_goes_away_ends_it():
    assert served(message("initialize", {"capabilities": {}}, 1)).returncode == 2


@pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed")
@pytest.mark.parametrize("is_told", [False, True])
def test_a_client_may_ask_for_diagnostics_if_it_can_be_told_to_ask_again(is_told):
    """Helix 25.07 asks after an edit only: it would never see what fixes and other files change."""
    can = {
        "textDocument": {"diagnostic": {"dynamicRegistration": False}},
        "workspace": {"diagnostics": {"refreshSupport": is_told}},
    }
    start = message("initialize", {"capabilities": can}, 1)
    done = served(start + message("shutdown", None, 2) + message("exit"))
    (begun,) = (a["result"] for a in answers(done.stdout) if a.get("id") == 1)
    assert ("diagnosticProvider" in begun["capabilities"]) is is_told


@pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed")
def test_a_request_after_shutdown_is_answered():
    start = message("initialize", {"capabilities": {}}, 1) + message("shutdown", None, 2)
    where = {"textDocument": {"uri": "file:///none.cu"}, "position": {"line": 0, "character": 0}}
    hover = message("textDocument/hover", where, 3)
    done = served(start + hover + message("exit"))
    by_id = {a["id"]: a for a in answers(done.stdout) if "id" in a}
    assert by_id[3]["error"]["code"] == -32600  # InvalidRequest, as the protocol asks for
    assert done.returncode == 0


@pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed")
@pytest.mark.parametrize("length", ["3000000000", "9" * 2_000])
def test_a_message_of_any_announced_length_ends_the_input(length):
    start = message("initialize", {"capabilities": {}}, 1)
    announced = f"Content-Length: {length}\r\n\r\n{{".encode()
    done = served(start + announced + b" " * 1_000 + message("shutdown", None, 2))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr.decode()
