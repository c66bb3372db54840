"""A file's tokens with its directives linked: what includes and conditions are read from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import accumulate, count

from smemlint.frontend.cuda.lexer.tokens import Lexed, Token, lex_file
from smemlint.frontend.cuda.preprocessor.conditions import (
    NOTHING_DEFINED,
    Condition,
    read_condition,
    truth,
)
from smemlint.frontend.cuda.preprocessor.macros import Macro, read_definition
from smemlint.frontend.cuda.scanner.definition_tokens import SourceFile
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_DIRECTIVES

KERNEL, SHARED = "__global__", "__shared__"
_CONDITIONALS = ("if", "ifdef", "ifndef")
_SWITCHED_OFF = re.compile(r"^[ \t]*//+[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


@dataclass(slots=True)
class Directive:
    """A preprocessing directive of a file.

    Attributes:
        name: `if`, `define`, ...; empty for a lone `#`.
        at, stop: token indices of its `#` and after its last token.
        next: of a conditional: number of the next directive of its chain (`elif`, `else` or
            `endif`).
        end: of a conditional: number of the chain's `endif`; the number of directives when it is
            missing; -1 for an `elif`, `else` or `endif` without an `if`.
    """

    name: str
    at: int
    stop: int
    next: int = -1
    end: int = -1


@dataclass
class PreparedFile:
    """A lexed file with its directives; shared between units, never changed.

    Attributes:
        file: key of the file in file tables, unique in the process.
    """

    file: int
    source: SourceFile
    lexed: Lexed
    directives: list[Directive]
    _macros: dict[int, Macro | None] = field(default_factory=dict)

    @property
    def tokens(self) -> list[Token]:
        """All tokens, those of directives too."""
        return self.lexed.tokens

    def arguments(self, k: int) -> list[Token]:
        """Returns the tokens of directive `k` after its name."""
        directive = self.directives[k]
        return self.tokens[directive.at + 2 : directive.stop]

    def condition(
        self,
        k: int,
        is_defined: Callable[[str], bool | None],
        expand: Callable[[list[Token]], list[Token]],
    ) -> Condition:
        """Returns the condition of directive `k`, see `read_condition`."""
        directive, arguments = self.directives[k], self.arguments(k)
        if directive.name in ("if", "elif"):
            return read_condition(arguments, is_defined, expand)
        name = arguments[0].text if arguments else ""
        answer = is_defined(name)
        question: Condition = ("name", f"defined {name}")
        if answer is not None:
            question = ("int", int(answer))
        return ("!", question) if directive.name in ("ifndef", "elifndef") else question

    def _asked_for(self, k: int) -> Iterator[str]:
        """Yields the names that the code behind directive `k` needs: none if a plain build has it.

        What defines the `X` of `#ifndef X` has less code.
        """
        condition = self.condition(k, lambda _: None, lambda tokens: tokens)
        if not truth(condition, NOTHING_DEFINED)[0]:
            yield from (t.text for t in self.arguments(k) if t.kind == "identifier")

    def macro(self, k: int, assumed: tuple[str, ...]) -> Macro | None:
        """Returns the macro that directive `k` defines: the same one while the conditions are."""
        found = self._macros.get(k)
        if found is None or found.assumed != assumed:
            found = self._macros[k] = read_definition(self.arguments(k), assumed)
        return found

    def text(self, k: int) -> str:
        """Returns directive `k` after its name as it is written, on one line."""
        tokens = self.arguments(k)
        if not tokens:
            return ""
        raw = self.source.text[tokens[0].start : tokens[-1].end]
        return " ".join(raw.replace("\\\n", " ").replace("\\\r\n", " ").split())

    @cached_property
    def own_names(self) -> frozenset[str]:
        """Macros that the file defines somewhere."""
        return frozenset(self.defined_in(range(len(self.directives))))

    @cached_property
    def switched_off(self) -> frozenset[str]:
        """Macros whose definitions the file has as comments: `//#define TESTING`."""
        return frozenset(_SWITCHED_OFF.findall(self.source.text))

    def defined_in(self, numbers: range) -> Iterator[str]:
        """Yields the macros that some of the directives define."""
        for k in numbers:
            directive = self.directives[k]
            if directive.name == "define" and directive.stop > directive.at + 2:
                yield self.tokens[directive.at + 2].text

    @cached_property
    def guard(self) -> str:
        """The macro that keeps a second reading of the file from finding anything; empty without.

        `#ifndef X` or `#if !defined(X)` opens the file, and the `#endif` of its one branch ends it.
        """
        last = self.directives[0].end if self.directives else -1
        if last < 1 or self.directives[0].at or self.directives[0].next != last:
            return ""
        if last >= len(self.directives) or self.directives[last].stop != len(self.tokens):
            return ""
        words = [token.text for token in self.arguments(0)]
        match self.directives[0].name, words:
            case ("ifndef", [name]) | ("if", ["!", "defined", name]):
                return name
            case "if", ["!", "defined", "(", name, ")"]:
                return name
        return ""

    @cached_property
    def _code_before(self) -> list[int]:
        """For each directive the number of tokens before it that are code or an include."""
        gaps: list[int] = []
        previous = 0
        for directive in self.directives:
            is_code = directive.name == "include"
            gaps.append(directive.at - previous)
            previous = directive.stop - is_code
        return list(accumulate(gaps))

    def has_code(self, first: int, last: int) -> bool:
        """Returns whether there is code or an include between two directives."""
        last = min(last, len(self.directives) - 1)
        return self._code_before[last] > self._code_before[first]

    @cached_property
    def feature_names(self) -> frozenset[str]:
        """Names in conditions of chains that contain code: they switch more than a value."""
        names: set[str] = set()
        for k, directive in enumerate(self.directives):
            is_condition = directive.name in (*_CONDITIONALS, "elif")
            if is_condition and directive.end >= 0 and self.has_code(k, directive.next):
                names.update(self._asked_for(k))
        return frozenset(names - {"defined"})

    @cached_property
    def added_by(self) -> frozenset[str]:
        """Names in conditions of chains without `#else`: they add code, where defined."""
        names: set[str] = set()
        for k, directive in enumerate(self.directives):
            if directive.name in _CONDITIONALS and directive.end >= 0:
                last, chain = k, [k]
                while self.directives[last].next < directive.end:
                    last = self.directives[last].next
                    chain.append(last)
                if self.directives[last].name != "else" and self.has_code(k, directive.end):
                    for member in chain:
                        names.update(self._asked_for(member))
        return frozenset(names)

    @cached_property
    def gpu_marks(self) -> list[int]:
        """Where code declares kernels or shared memory."""
        return _gpu_marks(self.tokens, self.directives)

    def gpu_marks_between(self, first: int, stop: int) -> list[int]:
        """Returns those of them between two tokens."""
        marks = self.gpu_marks
        return marks[bisect_left(marks, first) : bisect_left(marks, stop)]

    def has_gpu_marks(self, k: int) -> bool:
        """Returns whether the chain that directive `k` opens has kernels or shared memory in it."""
        stop = self.directives[k].end
        last = self.directives[stop].at if stop < len(self.directives) else len(self.tokens)
        return bool(self.gpu_marks_between(self.directives[k].stop, last))

    def has_launches(self, k: int) -> bool:
        """Returns whether the branch that directive `k` opens launches kernels."""
        return self.has_token(k, "<<<")

    def has_token(self, k: int, text: str) -> bool:
        """Returns whether the branch that directive `k` opens has a token of that text."""
        stop = self.directives[k].next
        last = self.directives[stop].at if stop < len(self.directives) else len(self.tokens)
        places = self._places.get(text, ())
        first = bisect_left(places, self.directives[k].stop)
        return first < len(places) and places[first] < last

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        """Where each text stands among the tokens, in order."""
        found: dict[str, list[int]] = {}
        for number, token in enumerate(self.tokens):
            found.setdefault(token.text, []).append(number)
        return found

    def branch(self, k: int) -> range:
        """Returns the directives in the branch that directive `k` opens, at most a few hundred."""
        return range(k + 1, min(self.directives[k].next, k + 1 + MAX_DIRECTIVES))


def _directives(tokens: list[Token]) -> list[Directive]:
    found: list[Directive] = []
    open_chains: list[list[int]] = []
    for at in [i for i, t in enumerate(tokens) if t.first_on_line and t.text == "#"]:
        stop = at + 1
        while stop < len(tokens) and not tokens[stop].first_on_line:
            stop += 1
        directive = Directive(tokens[at + 1].text if stop > at + 1 else "", at, stop)
        number = len(found)
        found.append(directive)
        if directive.name in _CONDITIONALS:
            open_chains.append([number])
        elif directive.name in ("elif", "else", "endif", "elifdef", "elifndef") and open_chains:
            chain = open_chains[-1]
            found[chain[-1]].next = number
            chain.append(number)
            if directive.name == "endif":
                for member in open_chains.pop():
                    found[member].end = number
    for chain in open_chains:
        found[chain[-1]].next = len(found)
        for member in chain:
            found[member].end = len(found)
    return found


def _gpu_marks(tokens: Sequence[Token], directives: Sequence[Directive]) -> list[int]:
    """Returns the indices of `__global__` and `__shared__` in code, not in directives, in order."""
    marks = [i for i, token in enumerate(tokens) if token.text in (KERNEL, SHARED)]
    for directive in directives if marks else ():
        del marks[bisect_left(marks, directive.at) : bisect_left(marks, directive.stop)]
    return marks


_numbers = count(1)


def prepare(path: str, text: str) -> PreparedFile:
    """Lexes a file and links its conditionals."""
    file = next(_numbers)
    lexed = lex_file(text, file)
    return PreparedFile(file, SourceFile(path, text), lexed, _directives(lexed.tokens))
