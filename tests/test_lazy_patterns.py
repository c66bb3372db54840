"""Lazy patterns give what compiled ones do, and are compiled once."""

from __future__ import annotations

import re

import pytest

from smemlint import lazy_patterns


def test_a_pattern_behaves_as_a_compiled_one():
    text, flags = r"(?P<word>[a-z]+)=(\d+)", re.IGNORECASE
    lazy, compiled = lazy_patterns.pattern(text, flags), re.compile(text, flags)
    for method in ("search", "match", "fullmatch"):
        found, other = (getattr(p, method)("A=1 b=22") for p in (lazy, compiled))
        assert (found and found.groups()) == (other and other.groups())
    assert lazy.findall("A=1 b=22") == compiled.findall("A=1 b=22") == [("A", "1"), ("b", "22")]
    assert lazy.sub("", "A=1 b=22") == " "
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (text, compiled.flags, {"word": 1})


def test_it_is_compiled_when_it_is_first_used(monkeypatch):
    made = []
    monkeypatch.setattr(lazy_patterns.re, "compile", lambda *given: made.append(given) or _Fake())
    lazy = lazy_patterns.pattern("x")
    assert not made
    assert [lazy.search("x") for _ in range(3)] == ["x"] * 3
    assert made == [("x", 0)]


def test_what_does_not_compile_is_an_error_then():
    with pytest.raises(re.error):
        lazy_patterns.pattern("(").search("x")


class _Fake:
    def search(self, text):
        return text
