"""A file's bytes are not kept once its text is known: a run holds all texts."""

from __future__ import annotations

import pytest

from smemlint.sources.source import Source


@pytest.mark.parametrize("data", [b"int x;", b"\xef\xbb\xbfint x;", b"// \xff\nint x;", b"a\0b"])
def test_the_text_takes_the_place_of_the_bytes(tmp_path, data):
    path = tmp_path / "a.cu"
    path.write_bytes(data)
    source = Source(str(path))
    text, problem = source.text, source.problem
    assert "data" not in vars(source)
    assert source.data == data
    assert (source.text, source.problem) == (text, problem)


def test_the_bytes_of_a_cubin_stay(tmp_path):
    path = tmp_path / "a.cubin"
    path.write_bytes(b"\x7fELF")
    source = Source(str(path))
    assert source.text == "" and vars(source)["data"] == b"\x7fELF"
