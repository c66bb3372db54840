"""Which included files are kept as tokens from one unit to the next."""

import pytest

from smemlint.frontend.cuda.preprocessor import includes
from smemlint.frontend.cuda.preprocessor.includes import PreparedFiles

TEXT = "int x;\n" * 10
"""70 characters."""


@pytest.fixture
def lexed(monkeypatch):
    paths = []
    prepare = includes.prepare
    monkeypatch.setattr(includes, "prepare", lambda p, t: (paths.append(p), prepare(p, t))[1])
    return paths


def read(files, names):
    files.begin_unit()
    return [files.get(name, TEXT) for name in names]


def test_a_file_is_lexed_once(lexed):
    files = PreparedFiles(1000)
    assert read(files, "abc") == read(files, "cba")[::-1]
    assert lexed == ["a", "b", "c"]


def test_units_with_more_files_than_there_is_room_for_share_what_fits(lexed):
    files = PreparedFiles(3 * len(TEXT))
    for _ in range(4):
        read(files, "abcd")
    assert lexed == [*"abcd", "d", "d", "d"]


def test_what_the_latest_units_do_not_include_makes_room(lexed):
    files = PreparedFiles(3 * len(TEXT))
    for names in ("abc", "de", "de", "de"):
        read(files, names)
    assert lexed == [*"abcde", "d", "e"]  # in the second unit `abc` is what the one before has


def test_a_file_that_is_longer_than_all_room_is_not_kept(lexed):
    files = PreparedFiles(10)
    read(files, "a")
    read(files, "a")
    assert lexed == ["a", "a"]


def test_another_text_of_a_path_is_another_file(lexed):
    files = PreparedFiles(1000)
    files.begin_unit()
    assert files.get("a", "int x;") is not files.get("a", "int y;")
    assert files.get("a", "int x;") is files.get("a", "int x;")
    assert lexed == ["a", "a"]
