"""The interpreter's stack of frames, in one piece of memory while a deep evaluation runs.

CPython keeps the frames of Python functions in chunks of 16 KiB (3.11 to 3.13: `push_chunk` in
`Python/pystate.c`). A call that does not fit into the last chunk maps another one, and its return
unmaps it: a loop at such a depth asks the system for memory at every call. Evaluating ggml's mmf.cu
did so 71,000 times, a tenth of its processor time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")

_WORDS = 1 << 18
"""Of a frame that takes a chunk of 4 MiB, of which half is left for some 6,000 frames above it; the
system gives memory only for what is written to."""


def with_deep_stack(function: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """Returns a function, changed so that frames of what it calls share one chunk of memory.

    A chunk is at least as large as the first frame in it.
    """
    function.__code__ = function.__code__.replace(co_stacksize=_WORDS)
    return function
