"""What begins a line, found by searches that begin with a word."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from smemlint.frontend.line_searches import at_line_begins, quoted_includes

PIECES = st.sampled_from(
    ("#", "include", '"a.h"', '"', " ", "\t", "\n", "\r", "x", "//", "template")
)


@given(st.lists(PIECES, max_size=24).map("".join))
def test_matches_are_those_of_a_search_from_the_line_on(text):
    direct = [m[1] for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', text, re.M)]
    assert list(quoted_includes(text)) == direct
    words = [m.end() for m in re.finditer(r"^[ \t]*template", text, re.M)]
    assert [m.end() for m in at_line_begins(re.compile("template"), text)] == words
