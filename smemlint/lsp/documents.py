"""Open documents: each version is analysed once, and one that is out of date not to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.lsp.analysis import Analysis
    from smemlint.lsp.worker import Worker

DEBOUNCE = 0.15
"""Seconds without a change after which a document is analysed."""

_log = logging.getLogger(__name__)


class Document:
    """One open document.

    Args:
        uri: as the client spells it.
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
        self._task: asyncio.Task[Analysis | None] | None = None

    def changed(self, delay: float = DEBOUNCE) -> None:
        """Analyses the document anew after a delay; must be called in the event loop."""
        self.close()
        self._task = asyncio.get_running_loop().create_task(self._analysed(delay))

    def close(self) -> None:
        """Stops what is under way."""
        if self._task is not None:
            self._task.cancel()

    async def current(self) -> Analysis | None:
        """What is known of the newest version, fixes included; None when that failed."""
        while self._task is not None:
            task = self._task
            await asyncio.wait([task])
            if task is self._task:
                return None if task.cancelled() else task.result()
        return None

    async def _analysed(self, delay: float) -> Analysis | None:
        await asyncio.sleep(delay)
        latest: Analysis | None = None
        try:
            steps = await self._worker.run(self._analyse)
            while (analysis := await self._worker.run(lambda: next(steps, None))) is not None:
                latest = analysis
                self._found(analysis)
        except Exception as error:  # the next edit may be better
            _log.debug("analysis of %s failed", self.uri, exc_info=True)
            self._failed(error)
        return latest
