"""Open documents: each version is analysed once, and one that is out of date not to its end."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smemlint.lsp.analysis import Analysis
    from smemlint.lsp.main_thread_worker import Worker

DEBOUNCE = 0.15
"""Seconds without a change after which a document is analysed again; the first is at once."""
_FIXES_AFTER = 0.4
"""Seconds after which fixes are looked for that nobody asked for."""

_log = logging.getLogger(__name__)


class Document:
    """One open document.

    Args:
        uri: as the client spells it.
        worker: that analyses it.
        analyse: starts an analysis of the current text; called in the worker.
        found: told what is known, first without fixes, then with them.
        failed: told what went wrong.
    """

    def __init__(
        self,
        uri: str,
        worker: Worker,
        analyse: Callable[[], Iterator[Analysis]],
        found: Callable[[Analysis], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.uri = uri
        self._worker = worker
        self._analyse = analyse
        self._found = found
        self._failed = failed
        self._version: _Version | None = None
        self._changed_at = float("-inf")

    def changed(self) -> None:
        """Analyses the document anew; must be called in the event loop.

        A change after a pause is seen to at once, those that follow it when they pause.
        """
        loop = asyncio.get_running_loop()
        before, self._changed_at = self._changed_at, loop.time()
        delay = DEBOUNCE if self._changed_at - before < DEBOUNCE else 0.0
        self.close()
        version = self._version = _Version(loop.create_future())
        version.task = loop.create_task(self._analysed(version, delay))

    def close(self) -> None:
        """Stops what is under way."""
        if self._version is not None:
            self._version.cancel()

    async def known(self) -> Analysis | None:
        """What is known of the newest version, fixes perhaps not included; None if that failed."""
        while (version := self._version) is not None:
            await asyncio.wait([version.first])
            if version is self._version:
                return version.latest
        return None

    async def complete(self) -> Analysis | None:
        """What is known of the newest version, fixes included; None where that failed."""
        while (version := self._version) is not None and version.task is not None:
            version.is_wanted.set()
            await asyncio.wait([version.task])
            if version is self._version:
                return version.latest
        return None

    async def _analysed(self, version: _Version, delay: float) -> None:
        try:
            await asyncio.sleep(delay)
            steps = await self._worker.run(self._analyse)
            while (analysis := await self._worker.run(lambda: next(steps, None))) is not None:
                version.latest = analysis
                self._found(analysis)
                if not version.first.done():
                    version.first.set_result(None)
                    await version.pause()
        except Exception as error:  # the next edit may be better
            _log.debug("analysis of %s failed", self.uri, exc_info=True)
            self._failed(error)
        finally:
            version.first.cancel()


class _Version:
    """One version of a document and what became of it.

    Attributes:
        first: done when the first is known, or nothing ever will be.
        is_wanted: set when somebody waits for the fixes.
        latest: what is known.
    """

    def __init__(self, first: asyncio.Future[None]) -> None:
        self.first = first
        self.is_wanted = asyncio.Event()
        self.latest: Analysis | None = None
        self.task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """Stops its analysis."""
        if self.task is not None:
            self.task.cancel()
        self.first.cancel()

    async def pause(self) -> None:
        """Waits until somebody asks, or the user has time to read."""
        try:
            await asyncio.wait_for(self.is_wanted.wait(), _FIXES_AFTER)
        except TimeoutError:
            return
