"""Work is shown once it takes a while, and its end always is."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'smemlint[lsp]'")

from smemlint.facts import Facts
from smemlint.lsp import progress
from smemlint.lsp.analysis import Analysis
from smemlint.lsp.documents import Document


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


class _Worker:
    """Works at once, and answers a moment later."""

    async def run(self, work):
        answer = work()
        await asyncio.sleep(0.01)
        return answer


def test_what_is_asked_once_is_answered_when_all_kernels_are_known():
    one, all_of_it = (
        Analysis("k.cu", (object(),), (), Facts(), str, has_fixes=n) for n in (False, True)
    )
    told = []

    def analyse(partial):
        partial(one)
        yield all_of_it

    async def answers():
        document = Document("k.cu", _Worker(), analyse, told.append, told.append)
        document.changed()
        return await asyncio.gather(document.known(partly=True), document.known())

    partly, whole = asyncio.run(answers())
    assert (partly.has_fixes, whole.has_fixes) == (False, True)
    assert [analysis.refines for analysis in told] == [False, True]
