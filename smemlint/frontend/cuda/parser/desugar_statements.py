"""Lowering of statements; see `parse` for the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.frontend.cuda.lexer.keywords import QUALIFIERS, STATEMENT_WORDS
from smemlint.frontend.cuda.parser.desugar_declarations import statement_end
from smemlint.frontend.cuda.parser.desugar_records import Lost, Records, Region
from smemlint.frontend.cuda.parser.desugar_types import (
    CannotLower,
    closing,
    find_top_level,
    split_at_commas,
    text_at,
)
from smemlint.frontend.cuda.parser.qualified_names import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BEHIND_MACRO_STATEMENTS = frozenset(
    (
        "for", "while", "do", "if", "switch", "{", "}", "return", "asm", "constexpr",
        "auto", "int", "float", "static_assert", "using", "typedef", "static", "unsigned",
        "__shared__", "extern",
    )
)  # fmt: skip
_CONTROL_WORDS = frozenset(("if", "for", "while", "do", "switch", "try", "catch", "else"))


class Statements(Records):
    """Lowers statements; each is a region that recovery may drop."""

    def statements(self, words: Sequence[Word], i: int, stop: int) -> None:
        """Lowers the statements from `i` to `stop`."""
        while i < stop:
            i = self.statement(words, i, stop)

    def statement(self, words: Sequence[Word], i: int, stop: int) -> int:
        """Lowers one statement; what cannot be lowered becomes an empty one and is noted."""
        word = words[i]
        begin, regions = len(self.out), len(self.regions)
        try:
            after = self._statement(words, i, stop)
        except (CannotLower, IndexError, RecursionError) as error:
            del self.out[begin:], self.regions[regions:]
            self.lost.append(Lost(word, _reason(error, "a statement that breaks off")))
            self.op(";", word)
            after = _lost_end(words, i, stop)
        if word.text not in ("{", "}"):
            self.regions.append(Region(begin, len(self.out), word))
        return max(after, i + 1)

    def _statement(self, words: Sequence[Word], i: int, stop: int) -> int:
        word = words[i]
        if word.kind == "pragma":
            self._pragma(word)
            return i + 1
        if word.kind == "operator":
            if word.text == ";":
                self.op(";", word)
                return i + 1
            if word.text == "{":
                end = closing(words, i)
                self.op("{", word)
                self.statements(words, i + 1, min(end, stop))
                self.op("}", words[end])
                return end + 1
            if word.text == "[" and text_at(words, i + 1) == "[":
                return self._statement(words, closing(words, i) + 1, stop)
        if word.kind == "identifier":
            return self._named_statement(words, i, stop)
        return self._expression_statement(words, i, stop)

    def _named_statement(self, words: Sequence[Word], i: int, stop: int) -> int:
        word, following = words[i], text_at(words, i + 1)
        method = _BY_WORD.get(word.text)
        if method is not None and not (word.text == "default" and following != ":"):
            return method(self, words, i, stop)
        if following == ":" and word.text not in ("public", "private", "protected"):
            self.name(word.text, word)
            self.op(":", words[i + 1])
            return i + 2
        if self.defines_record(words, i, stop):
            return self.record(words, i, stop)
        behind = self._behind_macro_statement(words, i, stop)
        if behind:
            return self._statement(words, behind, stop)
        if self.is_declaration(words, i, stop):
            return self.declaration(words, i, stop)
        return self._expression_statement(words, i, stop)

    def _expression_statement(self, words: Sequence[Word], i: int, stop: int) -> int:
        end = statement_end(words, i, stop)
        self.expression(words[i:end])
        self.op(";", words[min(end, len(words) - 1)])
        return end + 1

    def _behind_macro_statement(self, words: Sequence[Word], i: int, stop: int) -> int:
        """Index after an unknown upper-case macro that stands where a statement does; else 0."""
        word = words[i]
        is_declared = word.text in self.variables or word.text in self.types
        if is_declared or not word.text.isupper() or len(word.text) <= 3:
            return 0
        after = i + 1
        if text_at(words, after) == "(":
            after = closing(words, after) + 1
        if after >= stop:
            return 0
        follows = words[after].text in _BEHIND_MACRO_STATEMENTS or words[after].kind == "pragma"
        return after if follows or self._is_type_and_name(words, after, stop) else 0

    @staticmethod
    def _is_type_and_name(words: Sequence[Word], i: int, stop: int) -> bool:
        """`T x` or `const T x`, of which `const x` is no part: that stands behind a type."""
        count = 3 if words[i].text in QUALIFIERS else 2
        named = words[i : min(i + count, stop)]
        return len(named) == count and all(
            w.kind == "identifier" and w.text not in STATEMENT_WORDS for w in named
        )

    def _pragma(self, word: Word) -> None:
        self.emit("PPPRAGMA", "pragma", word)
        self.emit("PPPRAGMASTR", word.text, word)

    # ---- control flow

    def controlled(self, words: Sequence[Word], i: int, stop: int) -> int:
        """The statement that an `if` or a loop governs."""
        first = i
        while i < stop and words[i].kind == "pragma":
            i += 1
        if i >= stop:
            self.op(";", words[stop - 1])
            return i
        if words[i].text != "{" and (i > first or self.is_declaration(words, i, stop)):
            self.op("{", words[i])
            for pragma in words[first:i]:
                self._pragma(pragma)
            after = self.statement(words, i, stop)
            self.op("}", words[i])
            return after
        return self.statement(words, i, stop)

    def header(self, words: Sequence[Word], at: Word, *, may_be_empty: bool = False) -> None:
        """A condition: a region of its own, so that a body survives what its header loses."""
        if may_be_empty and not words:
            return
        begin = len(self.out)
        try:
            self.expression(words)
            if len(self.out) == begin:
                raise CannotLower("an empty condition")
        except (CannotLower, IndexError) as error:
            self._lose_header(begin, at, error)
        self.regions.append(Region(begin, len(self.out), at, is_expression=True))

    def _lose_header(self, begin: int, at: Word, error: Exception) -> None:
        del self.out[begin:]
        self.lost.append(Lost(at, _reason(error, "a header that breaks off")))
        self.name("__unparsed", at)

    def _if(self, words: Sequence[Word], i: int, stop: int) -> int:
        word = words[i]
        i += 1
        is_constexpr = text_at(words, i) in ("constexpr", "consteval")
        i += is_constexpr
        end = closing(words, i)
        declared, inner = self._declared_first(words[i + 1 : end])
        if declared:
            self.op("{", word)
            self.statements(declared, 0, len(declared))
        self.emit("IF", "if", word)
        self.op("(", words[i])
        if is_constexpr:
            self.name("__constexpr", word)
            self.op("(", word)
        self.header(inner, word)
        if is_constexpr:
            self.op(")", word)
        self.op(")", words[end])
        i = self.controlled(words, end + 1, stop)
        after = i
        while after < stop and words[after].kind == "pragma":
            after += 1
        if after < stop and words[after].text == "else":
            self.emit("ELSE", "else", words[after])
            i = self.controlled(words, after + 1, stop)
        if declared:
            self.op("}", word)
        return i

    def _declared_first(self, inner: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
        """Parts `if (init; condition)` and `if (T x = e)` into a declaration and a condition."""
        split = find_top_level(inner, ";")
        if split < len(inner):
            return inner[: split + 1], inner[split + 1 :]
        equals = find_top_level(inner, "=")
        if equals < len(inner) and self.is_declaration(inner, 0, len(inner)):
            semicolon = Word("operator", ";", inner[-1].first, inner[-1].last)
            return [*inner, semicolon], [inner[equals - 1]]
        return (), inner

    def _while(self, words: Sequence[Word], i: int, stop: int) -> int:
        """`while` and `switch`."""
        word = words[i]
        end = closing(words, i + 1)
        declared, inner = self._declared_first(words[i + 2 : end])
        if declared and word.text == "while":
            raise CannotLower("a loop that declares in its condition")
        if declared:
            self.op("{", word)
            self.statements(declared, 0, len(declared))
        self.emit(word.text.upper(), word.text, word)
        self.op("(", words[i + 1])
        self.header(inner, word)
        self.op(")", words[end])
        after = self.controlled(words, end + 1, stop)
        if declared:
            self.op("}", word)
        return after

    def _do(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.emit("DO", "do", words[i])
        i = self.controlled(words, i + 1, stop)
        if text_at(words, i) != "while":
            raise CannotLower("do without while")
        end = closing(words, i + 1)
        self.emit("WHILE", "while", words[i])
        self.op("(", words[i + 1])
        self.header(words[i + 2 : end], words[i])
        self.op(")", words[end])
        self.op(";", words[end])
        return end + 1 + (text_at(words, end + 1) == ";")

    def _for(self, words: Sequence[Word], i: int, stop: int) -> int:
        word = words[i]
        if text_at(words, i + 1) != "(":
            raise CannotLower("a for without a header")
        end = closing(words, i + 1)
        inner = words[i + 2 : end]
        first = find_top_level(inner, ";")
        self.emit("FOR", "for", word)
        self.op("(", words[i + 1])
        if first == len(inner):
            self._range(inner, word)
        else:
            second = find_top_level(inner, ";", first + 1)
            if second == len(inner) and find_top_level(inner, ":", first + 1) < len(inner):
                raise CannotLower("a range-for with an initializer")
            self._for_init(inner[: first + 1], word)
            self.header(inner[first + 1 : second], word, may_be_empty=True)
            self.op(";", inner[min(second, len(inner) - 1)])
            self.header(inner[second + 1 :], word, may_be_empty=True)
        self.op(")", words[end])
        return self.controlled(words, end + 1, stop)

    def _for_init(self, words: Sequence[Word], at: Word) -> None:
        """The first part of a `for` with its `;`."""
        begin = len(self.out)
        try:
            if len(words) > 1 and self.is_declaration(words, 0, len(words)):
                self.declaration(words, 0, len(words))
            else:
                self.expression(words[:-1])
                self.op(";", words[-1])
        except (CannotLower, IndexError) as error:
            self._lose_header(begin, at, error)
            self.op(";", words[-1])
        if len(self.out) > begin + 1:
            self.regions.append(Region(begin, len(self.out) - 1, at, is_expression=True))

    def _range(self, inner: Sequence[Word], word: Word) -> None:
        """`for (T x : r)` as `for (T x = __range(r);;)`."""
        colon = find_top_level(inner, ":")
        if colon == len(inner):
            raise CannotLower("the header of a for")
        head = inner[:colon]
        i, _ = self.specifiers(head, 0)
        i = self.pointers(head, i)
        if i < len(head) and head[i].kind == "identifier":
            self.declarator(head, i)
        else:
            self.name("__binding", word)
        self.op("=", word)
        self.call("__range", inner[colon + 1 :], word)
        self.op(";", word)
        self.op(";", word)

    def _case(self, words: Sequence[Word], i: int, stop: int) -> int:
        conditionals = 0  # `case a ? b : c:`
        end = i + 1
        while end < stop and (words[end].text != ":" or conditionals):
            conditionals += (words[end].text == "?") - (words[end].text == ":")
            end += words[end].reach + 1
        if end >= stop:
            raise CannotLower("case without a colon")
        self.emit("CASE", "case", words[i])
        self.header(words[i + 1 : end], words[i])
        self.op(":", words[end])
        return end + 1

    def _default(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.emit("DEFAULT", "default", words[i])
        self.op(":", words[i + 1])
        return i + 2

    def _jump(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.emit(words[i].text.upper(), words[i].text, words[i])
        self.op(";", words[i])
        return i + 2

    def _goto(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.emit("GOTO", "goto", words[i])
        self.name(words[i + 1].text, words[i + 1])
        self.op(";", words[i])
        return i + 3

    def _return(self, words: Sequence[Word], i: int, stop: int) -> int:
        """A lost value leaves `return __unparsed`: where control goes stays known."""
        end = statement_end(words, i, stop)
        self.emit("RETURN", "return", words[i])
        self.header(words[i + 1 : end], words[i], may_be_empty=True)
        self.op(";", words[i])
        return end + 1

    def _try(self, words: Sequence[Word], i: int, stop: int) -> int:
        return self._statement(words, i + 1, stop)

    def _catch(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.op(";", words[i])
        return closing(words, closing(words, i + 1) + 1) + 1

    def _static_assert(self, words: Sequence[Word], i: int, stop: int) -> int:
        parts = split_at_commas(words[i + 2 : closing(words, i + 1)])
        self.call("__static_assert", parts[0] if parts else (), words[i])
        self.op(";", words[i])
        return statement_end(words, i, stop) + 1

    def _using(self, words: Sequence[Word], i: int, stop: int) -> int:
        if text_at(words, i + 2) == "=":
            return self.alias(words, i, stop)
        end = statement_end(words, i, stop)
        if text_at(words, i + 1) != "namespace" and end > i + 1:
            last = words[end - 1].text.rsplit("::", 1)[-1]
            if last in self.types or words[i + 1].is_type:
                self.types.add(last)
        self.op(";", words[i])
        return end + 1

    def _namespace(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.op(";", words[i])
        return statement_end(words, i, stop) + 1


def _reason(error: Exception, otherwise: str) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) if isinstance(error, CannotLower) else otherwise


def _lost_end(words: Sequence[Word], i: int, stop: int) -> int:
    """Index after a statement that is lost: what it governs goes with it, no more."""
    ends_at_brace = words[i].text in _CONTROL_WORDS or words[i].text == "{"
    while i < stop and words[i].text != ";":
        if ends_at_brace and words[i].text == "{":
            return closing(words, i) + 1
        i += words[i].reach + 1
    return min(i, stop) + 1


_BY_WORD: dict[str, Callable[[Statements, Sequence[Word], int, int], int]] = {
    "if": Statements._if,
    "while": Statements._while,
    "switch": Statements._while,
    "do": Statements._do,
    "for": Statements._for,
    "case": Statements._case,
    "default": Statements._default,
    "break": Statements._jump,
    "continue": Statements._jump,
    "goto": Statements._goto,
    "return": Statements._return,
    "co_return": Statements._return,
    "try": Statements._try,
    "catch": Statements._catch,
    "static_assert": Statements._static_assert,
    "_Static_assert": Statements._static_assert,
    "using": Statements._using,
    "namespace": Statements._namespace,
    "asm": Statements._expression_statement,
    "__asm__": Statements._expression_statement,
    "__asm": Statements._expression_statement,
}
