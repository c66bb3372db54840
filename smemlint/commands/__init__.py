"""The sub-commands, one module each: `add_parser` describes it, its `run` does it.

A module imports what its command needs when it runs, so that `--help` and other commands stay fast.
"""

from __future__ import annotations

CLEAN, FOUND, FAILED = 0, 1, 2
"""Exit codes: nothing found; something at or above --fail-on; the job could not be done."""
