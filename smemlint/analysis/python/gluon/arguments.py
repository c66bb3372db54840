"""Arguments of calls, read as the numbers and sequences of numbers that they are."""

from __future__ import annotations

from dataclasses import dataclass

from smemlint.analysis.python.interpreter.values import UNKNOWN, Tensor, Unknown, Value


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Arguments of a call."""

    positional: list[Value]
    named: dict[str, Value]

    def has(self, at: int, name: str) -> bool:
        """Whether the argument is given."""
        return at < len(self.positional) or name in self.named

    def get(self, at: int, name: str, default: Value = UNKNOWN) -> Value:
        """An argument by place or name."""
        if at < len(self.positional):
            return self.positional[at]
        return self.named.get(name, default)

    def shape(self, at: int, name: str) -> tuple[int, ...] | None:
        """An argument that is a sequence of integers."""
        return integers(self.get(at, name))

    def shapes(self, *names: str) -> list[tuple[int, ...]] | None:
        """Leading arguments that are all sequences of integers."""
        found = [self.shape(i, name) for i, name in enumerate(names)]
        return None if None in found else [f for f in found if f is not None]

    def is_clustered(self, start: int) -> bool:
        """Whether arguments from a place on, or named ones, spread the layout over several CTAs."""
        spread = [*self.positional[start:], *(self.named.get(n) for n in _CLUSTER_NAMES)]
        return any(not is_one_cta(v) for v in spread)


LARGEST = (1 << 31) - 1
"""What Triton holds parameters of layouts in."""
_CLUSTER_NAMES = ("cga_layout", "ctas_per_cga", "block_bases")


def is_one_cta(value: Value) -> bool:
    """Whether an argument that spreads a layout over blocks of a cluster names one of them."""
    if value is None or value == [] or value == ():
        return True
    return isinstance(value, list | tuple) and all(v in (0, 1) for v in value)


def integers(value: Value) -> tuple[int, ...] | None:
    """A sequence of 32-bit integers; None where it is none or not known."""
    if isinstance(value, list | tuple) and all(
        isinstance(v, int) and abs(v) <= LARGEST for v in value
    ):
        return tuple(value)
    return None


def bases(value: Value) -> tuple[tuple[int, ...], ...] | None:
    """A sequence of sequences of integers; None where it is none or not known."""
    if not isinstance(value, list | tuple):
        return None
    found = [integers(v) for v in value]
    return None if None in found else tuple(f for f in found if f is not None)


def reason_of(value: Value) -> str:
    """Why a value is not known; empty where nothing says so."""
    if isinstance(value, Unknown | Tensor):
        return value.reason
    return ""
