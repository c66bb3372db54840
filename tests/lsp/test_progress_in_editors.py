"""Work is shown once it takes a while, and its end always is."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'smemlint[lsp]'")

from smemlint.lsp import progress


class _Client:
    """Notes what is shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, object]] = []
        self.work_done_progress = self

    async def create_async(self, token: str) -> None:
        self.shown.append(("create", None))

    def begin(self, token: str, value: object) -> None:
        self.shown.append(("begin", value.title))

    def report(self, token: str, value: object) -> None:
        self.shown.append(("report", value.message))

    def end(self, token: str, value: object) -> None:
        self.shown.append(("end", None))


async def _work(client: _Client, seconds: float) -> None:
    work = progress.Progress(client, "smemlint: k.cu")
    with work.shown():
        await asyncio.sleep(seconds / 2)
        work.say("rows")
        work.say("columns")  # too soon after the other
        await asyncio.sleep(seconds / 2)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, []),
        (
            0.2,
            [("create", None), ("begin", "smemlint: k.cu"), ("report", "rows"), ("end", None)],
        ),
    ],
)
def test_what_a_client_sees(monkeypatch, seconds, shown):
    monkeypatch.setattr(progress, "_SHOWN_AFTER", 0.02)
    client = _Client()
    asyncio.run(_work(client, seconds))
    assert client.shown == shown
