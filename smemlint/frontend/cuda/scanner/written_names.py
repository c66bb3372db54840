"""Which names a unit gives one value: no statement seen writes to them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from smemlint.frontend.cuda.lexer.tokens import Token

_WRITING = frozenset(("++", "--", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="))
_READING = frozenset(("at", "back", "begin", "data", "empty", "end", "find", "front", "size"))
_NOTHING = Token("operator", ";", 0, 0, 0)


def assigned_names(tokens: Sequence[Token]) -> tuple[frozenset[str], frozenset[str]]:
    """Returns names with one value, and all that are written.

    The first stand before one `=`, and nothing else writes them.

    Of an array, `table[] = {..}` and each `table[i] = ..` count, `(*table[])(int) = {..}` too; of
    an object what writes to its members, to what refers to it, and calls of its methods.
    """
    found = _Writes()
    for token in tokens:
        found.read(token)
    return found.assigned_once(), found.written()


class _Writes:
    """What is written, token by token.

    Attributes:
        root: the name whose element or member the tokens before lead to: `a` behind `a[i].b`.
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._written: set[str] = set()
        self._aliases: list[tuple[str, str, int]] = []  # of `&e : list`, `*p = list`, and `=`s
        self._around: list[str] = []
        self._root = ""
        self._pointer = ""
        self._referring = ""
        self._before = self._earlier = _NOTHING

    def read(self, token: Token) -> None:
        """Reads the next token."""
        before = self._before
        match token.text:
            case "(" | "[":
                self._call(token.text, before)
                self._around.append(self._root)
                self._root = ""
            case "{":
                self._initialize(before)
                self._root = ""
            case "]" | ")":
                self._root = self._around.pop() if self._around else ""
            case "=":
                self._assign(before)
            case text if text in _WRITING and (before.kind == "identifier" or before.text == "]"):
                self._written |= {before.text, self._root}
            case _ if token.kind == "identifier":
                self._name(token.text)
            case "." | "->":
                pass
            case _:
                self._root = ""
        self._earlier, self._before = before, token

    def assigned_once(self) -> frozenset[str]:
        """Returns the names that one `=` alone gives a value."""
        refer = {
            of for name, of, n in self._aliases if self._seen[name] > n or name in self._written
        }
        return frozenset(n for n, count in self._seen.items() if count == 1) - self._written - refer

    def written(self) -> frozenset[str]:
        """Returns the names that anything gives a value."""
        return frozenset(self._seen) | self._written

    def _call(self, bracket: str, before: Token) -> None:
        is_method = self._earlier.text in (".", "->")
        if bracket == "(" and is_method and before.text not in _READING:
            self._written.add(self._root)
        if bracket == "(" and not is_method:
            self._initialize(before)

    def _initialize(self, before: Token) -> None:
        """Counts `dim3 b(32)` and `dim3 b{32}` as one value."""
        is_typed = self._earlier.kind == "identifier" or self._earlier.text in (">", "]")
        if before.kind == "identifier" and is_typed:
            self._seen[before.text] += 1

    def _assign(self, before: Token) -> None:
        if before.kind == "identifier" or before.text == "]":
            names = {self._root, before.text} - {"]", ""}
        else:
            names = {self._pointer} if before.text == ")" else set()
        self._seen.update(names)

    def _name(self, name: str) -> None:
        before = self._before.text
        if before not in (".", "->"):
            self._root = name
        if _may_write(self._earlier, self._before):
            self._written.add(name)
        if before in (":", "=") and self._referring:
            self._aliases.append((self._referring, name, int(before == "=")))
        self._referring = name if before in ("&", "*") else ""
        if before in ("*", "const"):
            self._pointer = name


def _may_write(earlier: Token, before: Token) -> bool:
    """Returns whether what stands before a name writes it, reads into it or takes its address."""
    if before.text == "&":
        return earlier.kind not in ("identifier", "number") and earlier.text not in (")", "]")
    return before.text in ("++", "--") or earlier.text == before.text == ">"
