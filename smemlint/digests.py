"""BLAKE2 and the comparison of secrets, without OpenSSL.

`hashlib` and `hmac` load that library, 5 ms of every run, for functions that nothing here uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
    from hmac import compare_digest
else:
    try:
        from _blake2 import blake2b
        from _operator import _compare_digest as compare_digest
    except ImportError:  # an interpreter that is not CPython
        from hashlib import blake2b
        from hmac import compare_digest

__all__ = ["blake2b", "compare_digest"]
