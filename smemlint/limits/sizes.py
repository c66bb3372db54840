"""Sizes of values are measured before the values are built.

Every text, sequence and number that constant folding or an abstract interpreter makes of a source
passes here first, whatever operator, method or format makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smemlint.limits.errors import TooLarge
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_CHARACTERS = 1 << 20
"""Of a text; longer ones are not followed."""
MOST_ITEMS = 4_096
"""Of a sequence that is worked out."""
MOST_PIECES = 1 << 14
"""Of a text that is put together: each is gone through for every part that is cut out."""
MOST_BITS = 4_096
"""Of a number; Python writes no more than 4,300 decimal digits."""
_MOST_LEAVES = 1 << 16
"""Of all sequences inside one another: what is compared or copied as one value."""
_CHARACTERS_A_STEP = 1 << 8


def require_text(lengths: Iterable[int]) -> None:
    """Counts the characters of a text that is put together of parts of these lengths.

    Raises:
        TooLarge: they are more than `MOST_CHARACTERS`.
    """
    total = 0
    for length in lengths:
        total += length
        if total > MOST_CHARACTERS:
            raise TooLarge
    spend_on_text(total)


def spend_on_text(characters: int) -> None:
    """Counts the steps of going through a text, or of building it."""
    spend(characters // _CHARACTERS_A_STEP)


def require_items(count: int) -> None:
    """Counts the items of a sequence.

    Raises:
        TooLarge: they are more than `MOST_ITEMS`.
    """
    if count > MOST_ITEMS:
        raise TooLarge


def require_pieces(count: int) -> None:
    """Counts the pieces that a text is put together of.

    Raises:
        TooLarge: they are more than `MOST_PIECES`.
    """
    if count > MOST_PIECES:
        raise TooLarge


def require_sum(one: Any, other: Any) -> None:
    """Measures the concatenation of two texts or two sequences.

    Raises:
        TooLarge: it is too long.
    """
    if isinstance(one, str | bytes):
        require_text((len(one), len(other)))
    else:
        require_items(len(one) + len(other))
        require_tree((one, other))


def require_tree(values: Iterable[Any]) -> None:
    """Counts what values hold, items of items included, each as often as it is held.

    Raises:
        TooLarge: it is more than one value may hold; sequences that hold themselves are.
    """
    left = _MOST_LEAVES
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        left -= 1
        if left < 0:
            raise TooLarge
        if isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()


def decimal(number: int) -> str:
    """Returns a number as `str` writes it.

    Raises:
        TooLarge: it has more than `MOST_BITS` bits.
    """
    if number.bit_length() > MOST_BITS:
        raise TooLarge
    return str(number)
