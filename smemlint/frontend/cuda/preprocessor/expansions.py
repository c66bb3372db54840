"""Code of included files with its macros expanded, kept for other units that include the files.

What the macro calls of headers make is most of the tokens of some units, and the same in most.
"""

from __future__ import annotations

from smemlint.frontend.cuda.lexer.tokens import Token
from smemlint.frontend.cuda.preprocessor.macros import Expander, Expansion
from smemlint.limits.budgets import MAX_EXPANDED_TOKENS


class Expansions:
    """Expands code of prepared files, each part once for all units whose macros agree there.

    Args:
        room: tokens and names that are kept; where there is none, what is kept is forgotten.
    """

    def __init__(self, room: int) -> None:
        self._size = room
        self._room = room
        self._kept: dict[tuple[int, int, int], Expansion] = {}

    def expand(self, code: list[Token], expander: Expander) -> list[Token]:
        """Returns some tokens of a file with all macro calls replaced.

        Args:
            code: at least one token; neither this nor the result is ever changed.
            expander: of the unit.
        """
        key = code[0].file, code[0].start, len(code)
        kept = self._kept.get(key)
        if kept is not None and expander.repeats(code, kept):
            return kept.out
        out, found = expander.expand_noting(code)
        if found is not None:
            self._keep(key, found)
        return out

    def _keep(self, key: tuple[int, int, int], found: Expansion) -> None:
        size, before = found.size, self._kept.pop(key, None)
        self._room += before.size if before is not None else 0
        if size > self._room:
            self._kept.clear()
            self._room = self._size
        if size <= self._room:
            self._kept[key] = found
            self._room -= size


EXPANSIONS = Expansions(MAX_EXPANDED_TOKENS)
