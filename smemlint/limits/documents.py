"""Sizes of TOML and JSON documents are measured before a parser sees them.

Parsers of both take time and memory that grow with the square of the depth: 100 kB of
`a.a.a = 1` take tomllib more than 4 GB.
"""

from __future__ import annotations

import re

from smemlint.lazy_patterns import pattern
from smemlint.limits.budgets import MAX_BASELINE_BYTES, MAX_CONFIG_BYTES, MAX_DOCUMENT_DEPTH
from smemlint.limits.errors import TooLarge

_TOML_TOKEN = pattern(
    r"""
 \"{3}(?:[^"\\]|\\.|"(?!""))*+(?:\"{3})?
|'{3}(?:[^']|'(?!''))*+(?:'{3})?
|"(?:[^"\\\n]|\\.)*+"?
|'[^'\n]*+'?
|\#[^\n]*+
|[\[{\]}.\n=,]""",
    re.S | re.X,
)
"""A string that is not closed is one token too: no part of a text is looked at twice."""
_JSON_TOKEN = pattern(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.S)


def check_toml(text: str) -> None:
    """Measures a TOML document.

    Raises:
        TooLarge: with the reason.
    """
    _check_size(text, MAX_CONFIG_BYTES)
    depth = dots = 0
    for match in _TOML_TOKEN.finditer(text):
        token = match[0]
        if token in "[{":
            depth, dots = depth + 1, 0
        elif token in "]}":
            depth, dots = max(depth - 1, 0), 0
        elif token == ".":
            dots += 1
        elif token in "\n=,":
            dots = 0
        if depth > MAX_DOCUMENT_DEPTH or dots >= MAX_DOCUMENT_DEPTH:
            raise TooLarge(f"has keys or values more than {MAX_DOCUMENT_DEPTH} levels deep")


def check_json(text: str, most_bytes: int = MAX_BASELINE_BYTES) -> None:
    """Measures a JSON document.

    Raises:
        TooLarge: with the reason.
    """
    _check_size(text, most_bytes)
    depth = 0
    for match in _JSON_TOKEN.finditer(text):
        depth += (match[0] in "[{") - (match[0] in "]}")
        if depth > MAX_DOCUMENT_DEPTH:
            raise TooLarge(f"has values more than {MAX_DOCUMENT_DEPTH} levels deep")


def _check_size(text: str, most: int) -> None:
    if len(text) > most:
        raise TooLarge(f"is larger than {most >> 20} MiB")
