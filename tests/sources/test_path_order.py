"""The order in which paths are named has no say in what a run gives."""

from itertools import permutations

from smemlint.sources.discovery import find_sources


def test_sources_come_in_the_order_of_their_paths(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    named = [tmp_path / "b.cu", inner, tmp_path / "a.cu"]
    for file in (*(p for p in named if p != inner), inner / "z.cu", inner / "c.cu"):
        file.write_text("")
    orders = [
        [source.path for source in find_sources([str(p) for p in order])]
        for order in permutations(named)
    ]
    names = ("a.cu", "b.cu", "inner/c.cu", "inner/z.cu")
    assert orders == [[f"{tmp_path}/{name}" for name in names]] * 6
