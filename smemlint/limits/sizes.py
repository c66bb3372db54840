"""Sizes of values are measured before the values are built.

Every text, sequence and number that constant folding or an abstract interpreter makes of a source
passes here first, whatever operator, method or format makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from smemlint.limits.budgets import MAX_ITEMS, MAX_LEAVES, MAX_NUMBER_BITS, MAX_PIECES, MAX_TEXT
from smemlint.limits.errors import TooLarge
from smemlint.limits.steps import spend

_CHARACTERS_A_STEP = 1 << 8
_ITEMS_A_STEP = 1 << 7


def require_text(lengths: Iterable[int]) -> None:
    """Counts the characters of a text that is put together of parts of these lengths.

    Raises:
        TooLarge: they are more than `MAX_TEXT`.
    """
    total = 0
    for length in lengths:
        total += length
        if total > MAX_TEXT:
            raise TooLarge
    spend_on_text(total)


def spend_on_text(characters: int) -> None:
    """Counts the steps of going through a text, or of building it."""
    spend(characters // _CHARACTERS_A_STEP)


def require_items(count: int) -> None:
    """Counts the items of a sequence.

    Raises:
        TooLarge: they are more than `MAX_ITEMS`.
    """
    if count > MAX_ITEMS:
        raise TooLarge


def require_pieces(count: int) -> None:
    """Counts the pieces that a text is put together of.

    Raises:
        TooLarge: they are more than `MAX_PIECES`.
    """
    if count > MAX_PIECES:
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
    """Counts what values hold, items of items included, each as often as it occurs.

    Raises:
        TooLarge: it is more than one value may hold; sequences that hold themselves are.
    """
    for _ in nested(values):
        pass


def nested(values: Iterable[Any]) -> Iterator[Any]:
    """Yields values and their items, items of items included, each as often as it occurs.

    A list may get its items after it became an item itself, so what is read is counted, too.

    Raises:
        TooLarge: they are more than one value may hold.
    """
    left = MAX_LEAVES
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        left -= 1
        if left < 0:
            raise TooLarge
        if left % _ITEMS_A_STEP == 0:
            spend()
        yield value
        if isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()


def decimal(number: int) -> str:
    """Returns a number as `str` writes it.

    Raises:
        TooLarge: it has more than `MAX_NUMBER_BITS` bits.
    """
    if number.bit_length() > MAX_NUMBER_BITS:
        raise TooLarge
    return str(number)
