"""What begins a line, found by searches that begin with a word."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from smemlint.frontend.line_searches import at_line_begins, includes, includes_of_kernels

PIECES = st.sampled_from(
    (
        "#", "include", '"a.h"', "<a/b.h>", "<a/b.cuh>", "<cub/b.cuh>", '"', "<", " ", "\t", "\n",
        "\r", "x", "//", "template",
    )
)  # fmt: skip


def _is_own_cuda(name):
    return name.endswith(".cuh") and not name.startswith("cub/")


@given(st.lists(PIECES, max_size=24).map("".join))
def test_matches_are_those_of_a_search_from_the_line_on(text):
    written = re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', text, re.M)
    direct = [(m[1] or m[2].strip(), m[1] is not None) for m in written]
    assert list(includes(text)) == direct
    kernels = [name for name, is_quoted in direct if is_quoted or _is_own_cuda(name)]
    assert list(includes_of_kernels(text)) == kernels
    words = [m.end() for m in re.finditer(r"^[ \t]*template", text, re.M)]
    assert [m.end() for m in at_line_begins(re.compile("template"), text)] == words
