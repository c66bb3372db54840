"""Open documents: each version is analysed once, and one that is out of date not to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

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
        analyse: starts an analysis of the current text; called in the worker, with what takes
            results that are not complete.
        found: called with what is known, first without fixes, then with them.
        failed: called with what went wrong.
        shown: shows that an analysis is under way.
    """

    def __init__(
        self,
        uri: str,
        worker: Worker,
        analyse: Callable[[Callable[[Analysis], None]], Iterator[Analysis]],
        found: Callable[[Analysis], None],
        failed: Callable[[Exception], None],
        shown: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.uri = uri
        self._worker = worker
        self._analyse = analyse
        self._found = found
        self._failed = failed
        self._shown = shown
        self._is_known = False
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
        version = self._version = _Version(loop.create_future(), loop.create_future())
        version.task = loop.create_task(self._analysed(version, delay))

    def close(self) -> None:
        """Stops what is under way."""
        if self._version is not None:
            self._version.cancel()

    async def known(self, *, partly: bool = False) -> Analysis | None:
        """Returns what is known of the newest version, perhaps without fixes; None if it failed.

        Args:
            partly: some kernels are enough; what a client asks once, it wants of all.
        """
        while (version := self._version) is not None:
            await asyncio.wait([version.first if partly else version.whole])
            if version is self._version:
                return version.latest
        return None

    async def complete(self) -> Analysis | None:
        """Returns what is known of the newest version, fixes included; None where that failed."""
        while (version := self._version) is not None and version.task is not None:
            version.is_wanted.set()
            await asyncio.wait([version.task])
            if version is self._version:
                return version.latest
        return None

    async def _analysed(self, version: _Version, delay: float) -> None:
        try:
            partial = self._partial(version)
            await asyncio.sleep(delay)
            with self._shown():
                steps = await self._worker.run(lambda: self._analyse(partial))
                analysis = await self._worker.run(lambda: next(steps, None))
            self._is_known = True
            while analysis is not None:
                self._tell(version, analysis)
                _settle(version.whole)
                if not analysis.has_fixes:
                    await version.pause()
                analysis = await self._worker.run(lambda: next(steps, None))
        except Exception as error:  # the next edit may be better
            _log.debug("analysis of %s failed", self.uri, exc_info=True)
            self._failed(error)
        finally:
            version.first.cancel()
            version.whole.cancel()

    def _partial(self, version: _Version) -> Callable[[Analysis], None]:
        """Returns what shows the first results; where nothing is shown so far, none are no news."""
        loop = asyncio.get_running_loop()

        def partial(analysis: Analysis) -> None:
            if analysis.findings or self._is_known:
                loop.call_soon_threadsafe(self._tell, version, analysis)

        return partial

    def _tell(self, version: _Version, analysis: Analysis) -> None:
        """Passes on what is known of a version, unless there is a newer one."""
        if version is not self._version:
            return
        version.latest = replace(analysis, refines=version.latest is not None)
        self._found(version.latest)
        _settle(version.first)


def _settle(answer: asyncio.Future[None]) -> None:
    if not answer.done():
        answer.set_result(None)


class _Version:
    """One version of a document and what became of it.

    Attributes:
        first: done when something is known, or nothing ever will be.
        whole: the same of all kernels.
        is_wanted: set when somebody waits for the fixes.
        latest: what is known.
    """

    def __init__(self, first: asyncio.Future[None], whole: asyncio.Future[None]) -> None:
        self.first = first
        self.whole = whole
        self.is_wanted = asyncio.Event()
        self.latest: Analysis | None = None
        self.task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """Stops its analysis."""
        if self.task is not None:
            self.task.cancel()
        self.first.cancel()
        self.whole.cancel()

    async def pause(self) -> None:
        """Waits until somebody asks, or the user has time to read."""
        try:
            await asyncio.wait_for(self.is_wanted.wait(), _FIXES_AFTER)
        except TimeoutError:
            return
