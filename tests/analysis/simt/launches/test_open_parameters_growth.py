"""What calls tell of parameters is read once a call, however many functions are asked about."""

from __future__ import annotations

from collections.abc import Callable

from smemlint.analysis.simt.launches.dependences import Words
from smemlint.analysis.simt.launches.open_parameters import Flows, OpenParameters, open_parameters
from smemlint.frontend.cuda.unit import LoadOptions, load_unit

NAMES = ("run", "execute", "verify", "apply")


class CountingWords(Words):
    """Counts how often the words of expressions are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def of(self, *nodes):
        self.count += 1
        return super().of(*nodes)


def chain(length: int) -> str:
    """Returns classes of which each calls the one before, under names that all of them share."""
    lines = [
        "template <class T> __global__ void k(T *o) { o[0] = 1; }",
        "struct Op0 { template <class T> int run(int n, T *o) { k<T><<<1, n>>>(o); return n; } };",
    ]
    for i in range(1, length):
        own, other = NAMES[i % 4], NAMES[(i - 1) % 4]
        lines.append(
            f"struct Op{i} {{ Op{i - 1} op; template <class T> int {own}(int n, T *o)"
            f" {{ int s = op.{other}(n, o); return s + op.{other}(n + 1, o); }} }};"
        )
    return "\n".join(lines)


def open_of_all(length: int, flows: Callable[[], Flows]) -> list[OpenParameters]:
    """Returns the open parameters of all host functions of a chain, each under what flows gives."""
    unit = load_unit("a.cu", chain(length), LoadOptions())
    (kernel,) = unit.functions_named("k")
    hosts = [f for f in unit.functions if not f.is_kernel]
    calls = frozenset(NAMES)
    return [
        open_parameters(f, kernel, calls - {f.name}, unit.functions_named, flows()) for f in hosts
    ]


def words_asked_for(length: int) -> int:
    """Returns how often words of expressions are asked for where functions share what is read."""
    words = CountingWords()
    flows = Flows(words=words)
    open_of_all(length, lambda: flows)
    return words.count


def test_reading_grows_with_the_calls_and_what_they_may_mean():
    assert words_asked_for(32) < 5 * words_asked_for(16)


def test_what_was_read_before_makes_no_difference():
    shared = Flows()
    found = open_of_all(12, lambda: shared)
    assert found == open_of_all(12, Flows)
    assert any("n" in each.shape for each in found)
