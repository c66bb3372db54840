"""Analyses that take a while are shown as work in progress, with the kernel that is evaluated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from lsprotocol import types
from pygls.lsp.server import LanguageServer

_SHOWN_AFTER = 0.5
"""Seconds that an analysis takes before it is shown."""
_REPORTED_EVERY = 0.2
"""Seconds between two words on it."""

_numbers = count(1)


class Progress:
    """One piece of work that the client shows."""

    def __init__(self, server: LanguageServer, title: str) -> None:
        self._server = server
        self._title = title
        self._token = f"smemlint-{next(_numbers)}"
        self._loop = asyncio.get_running_loop()
        self._has_begun = False
        self._said_at = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows it while the work goes on, if that takes a while."""
        task = self._loop.create_task(self._begin())
        try:
            yield
        finally:
            task.cancel()
            if self._has_begun:
                self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())

    def say(self, message: str) -> None:
        """Says what is being done; may be called in any thread."""
        self._loop.call_soon_threadsafe(self._report, message)

    async def _begin(self) -> None:
        await asyncio.sleep(_SHOWN_AFTER)
        await self._server.work_done_progress.create_async(self._token)
        begin = types.WorkDoneProgressBegin(self._title)
        self._server.work_done_progress.begin(self._token, begin)
        self._has_begun = True

    def _report(self, message: str) -> None:
        if not self._has_begun or self._loop.time() - self._said_at < _REPORTED_EVERY:
            return
        self._said_at = self._loop.time()
        report = types.WorkDoneProgressReport(message=message)
        self._server.work_done_progress.report(self._token, report)
