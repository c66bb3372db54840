"""Searches of the run's files for names: what they find, and that none looks twice."""

from __future__ import annotations

import weakref

import pytest

from smemlint.analysis.program.units import ProgramIndex
from smemlint.config.settings import Settings
from smemlint.frontend.cuda.unit import load_unit
from smemlint.limits.budgets import MAX_FILES_ELSEWHERE
from smemlint.sources.source import Source

TEXTS = {
    "a/k.cu": "__global__ void k();",
    "a/other.cu": "void other();",
    **{f"b/{n}.cu": "void run() { k<<<1, 1>>>(); }" for n in range(MAX_FILES_ELSEWHERE + 2)},
    "c/k.cu": "__global__ void kk();",
    "c/k.py": "k()",
}


@pytest.fixture
def index() -> ProgramIndex:
    return ProgramIndex([Source(p, t) for p, t in TEXTS.items()], Settings(), load_unit)


def test_other_folders_are_searched_where_no_file_beside_names_it(index):
    elsewhere = [f"b/{n}.cu" for n in range(MAX_FILES_ELSEWHERE)]
    assert index.mentioning(("k",), "a/k.cu") == ["a/k.cu", *elsewhere]
    assert index.mentioning(("k",), "b/0.cu") == [p for p in TEXTS if p.startswith("b/")]
    assert index.mentioning(("k",), "c/k.cu") == ["a/k.cu", *elsewhere[:-1]]
    assert index.mentioning(("k",), "c/k.py") == ["c/k.py"]


def test_files_of_other_folders_are_looked_through_once(index, monkeypatch):
    looked = []
    read = ProgramIndex.read
    monkeypatch.setattr(ProgramIndex, "read", lambda self, p: looked.append(p) or read(self, p))
    first = index.mentioning(("run",), "a/k.cu")
    assert looked == ["a/k.cu", "a/other.cu", *list(TEXTS)[: 2 + MAX_FILES_ELSEWHERE]]
    looked.clear()
    assert index.mentioning(("run",), "a/k.cu") == first
    assert not looked


def test_a_name_in_a_comment_is_no_use_of_it():
    texts = {
        "k.cu": "__global__ void k();",
        "line.cu": "int a;  // what k does",
        "block.cu": "/* calls\n k */ int a;",
        "open.cu": "int a; /* k",
        "string.cu": 'const char *url = "//"; void run() { k<<<1, 1>>>(); }  // k',
        "quote.cu": """char c = '"'; void run() { k<<<1, 1>>>(); } char d = '"';""",
        "named.cu": 'auto name = "k";',
        "raw.cu": 'auto p = R"x(\n /* "( )x";\nvoid run() { k<<<1, 1>>>(); }',
        "digits.cu": "int n = 1'000; // k",
        "prefix.cu": """auto c = u8'"'; int a; // k""",
        "folded.cu": 'auto s = "a\\\r\n // "; void run() { k<<<1, 1>>>(); }',
    }
    index = ProgramIndex([Source(p, t) for p, t in texts.items()], Settings(), load_unit)
    assert index.mentioning(("k",), "k.cu") == [
        "k.cu", "string.cu", "quote.cu", "named.cu", "raw.cu", "folded.cu"
    ]  # fmt: skip


def test_what_asked_for_a_file_that_is_refused_is_freed():
    """The error that refuses it holds the frames of all that was running."""
    index = ProgramIndex([Source("/a/b.cu", "")], Settings(), load_unit)

    class Asking:
        def read(self) -> str | None:
            return index.read("/etc/passwd")

    asking = Asking()
    assert asking.read() is None
    assert index.refusal("/etc/passwd", is_written=True)
    seen = weakref.ref(asking)
    del asking
    assert seen() is None
