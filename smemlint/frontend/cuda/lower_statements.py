"""Lowering of statements and declarations; see `lower` for the contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.frontend.cuda.lower_expressions import Expressions
from smemlint.frontend.cuda.lower_types import CannotLower, closing, split_at_commas, text_at
from smemlint.frontend.cuda.names import Word
from smemlint.frontend.cuda.vocabulary import (
    ATTRIBUTES,
    BUILTIN_TYPES,
    QUALIFIERS,
    RECORD_WORDS,
    STATEMENT_WORDS,
    STORAGE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_DECLARATION_WORDS = frozenset((*STORAGE, *QUALIFIERS, "auto", "struct", "union", "class", "enum"))
_AFTER_NAME = frozenset(("=", ";", "[", ",", ")", "{", ":"))
_MACRO_STATEMENTS = frozenset(
    (
        "for", "while", "do", "if", "switch", "{", "}", "return", "asm", "const", "constexpr",
        "auto", "int", "float", "#",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Region:
    """A range of grammar tokens that recovery may replace: a statement, or a header's expression.

    Attributes:
        begin, end: positions in the token list.
        word: where it stands, for the message.
    """

    begin: int
    end: int
    word: Word
    is_expression: bool = False


@dataclass(frozen=True, slots=True)
class LostStatement:
    """A statement that could not be lowered."""

    word: Word
    reason: str


class Statements(Expressions):
    """Lowers statements; each is a region that recovery may drop."""

    def __init__(self, types: frozenset[str], variables: frozenset[str]) -> None:
        super().__init__(types, variables)
        self.regions: list[Region] = []
        self.lost: list[LostStatement] = []

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
            end = statement_end(words, i, stop)
            reason = str(error) if isinstance(error, CannotLower) else "a statement that breaks off"
            self.lost.append(LostStatement(word, reason))
            self.op(";", word)
            after = end + 1
        if word.text not in ("{", "}"):
            self.regions.append(Region(begin, len(self.out), word))
        return max(after, i + 1)

    def _statement(self, words: Sequence[Word], i: int, stop: int) -> int:
        word = words[i]
        if word.kind == "pragma":
            self._pragma(word)
            return i + 1
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
            method = _BY_WORD.get(word.text)
            if method is not None and not (word.text == "default" and text_at(words, i + 1) != ":"):
                return method(self, words, i, stop)
            if text_at(words, i + 1) == ":" and word.text not in ("public", "private", "protected"):
                self.name(word.text, word)
                self.op(":", words[i + 1])
                return i + 2
            if self._defines_record(words, i, stop):
                return self.record(words, i)
            skipped = self._statement_macro(words, i)
            if skipped:
                return self._statement(words, skipped, stop)
            if self.is_declaration(words, i, stop):
                return self.declaration(words, i, stop)
        end = statement_end(words, i, stop)
        self.expression(words[i:end])
        self.op(";", words[min(end, stop - 1)])
        return end + 1

    def _pragma(self, word: Word) -> None:
        self.emit("PPPRAGMA", "pragma", word)
        self.emit("PPPRAGMASTR", word.text, word)

    # ---- control flow

    def controlled(self, words: Sequence[Word], i: int, stop: int) -> int:
        """The statement that an `if` or a loop governs."""
        pragmas = []
        while i < stop and words[i].kind == "pragma":
            pragmas.append(words[i])
            i += 1
        if i >= stop:
            self.op(";", words[stop - 1])
            return i
        if words[i].text != "{" and (pragmas or self.is_declaration(words, i, stop)):
            self.op("{", words[i])
            for pragma in pragmas:
                self._pragma(pragma)
            after = self.statement(words, i, stop)
            self.op("}", words[i])
            return after
        return self.statement(words, i, stop)

    def header(self, words: Sequence[Word], at: Word) -> None:
        """A condition: a region of its own, so that a body survives what its header loses."""
        begin = len(self.out)
        try:
            self.expression(words)
            if len(self.out) == begin:
                raise CannotLower("an empty condition")
        except (CannotLower, IndexError) as error:
            del self.out[begin:]
            self.lost.append(LostStatement(at, str(error) or "a condition that breaks off"))
            self.name("__unparsed", at)
        self.regions.append(Region(begin, len(self.out), at, is_expression=True))

    def _if(self, words: Sequence[Word], i: int, stop: int) -> int:
        word = words[i]
        i += 1
        is_constexpr = text_at(words, i) in ("constexpr", "consteval")
        i += is_constexpr
        end = closing(words, i)
        inner = list(words[i + 1 : end])
        split = statement_end(inner, 0, len(inner))
        declared: list[Word] = []
        if split < len(inner):
            declared, inner = inner[: split + 1], inner[split + 1 :]
        elif self.is_declaration(inner, 0, len(inner)) and any(w.text == "=" for w in inner):
            at = next(k for k, w in enumerate(inner) if w.text == "=")
            semicolon = Word("operator", ";", inner[-1].first, inner[-1].last)
            declared, inner = [*inner, semicolon], [inner[at - 1]]
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

    def _while(self, words: Sequence[Word], i: int, stop: int) -> int:
        word = words[i]
        end = closing(words, i + 1)
        self.emit(word.text.upper(), word.text, word)
        self.op("(", words[i + 1])
        self.header(words[i + 2 : end], word)
        self.op(")", words[end])
        return self.controlled(words, end + 1, stop)

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
        return end + 2

    def _for(self, words: Sequence[Word], i: int, stop: int) -> int:
        word = words[i]
        end = closing(words, i + 1)
        inner = list(words[i + 2 : end])
        first = statement_end(inner, 0, len(inner))
        self.emit("FOR", "for", word)
        self.op("(", words[i + 1])
        if first >= len(inner):
            self._range(inner, word)
        else:
            head = inner[: first + 1]
            if first and self.is_declaration(head, 0, len(head)):
                self.declaration(head, 0, len(head))
            else:
                self.expression(inner[:first])
                self.op(";", inner[first])
            second = statement_end(inner, first + 1, len(inner))
            if second > first + 1:
                self.header(inner[first + 1 : second], word)
            self.op(";", inner[min(second, len(inner) - 1)])
            self.expression(inner[second + 1 :])
        self.op(")", words[end])
        return self.controlled(words, end + 1, stop)

    def _range(self, inner: Sequence[Word], word: Word) -> None:
        """`for (T x : r)` as `for (T x = __range(r);;)`."""
        colon = next((k for k, w in enumerate(inner) if w.text == ":" and w.kind == "operator"), 0)
        if not colon:
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
        end = i + 1
        while end < stop and words[end].text != ":":
            end += 1
        self.emit("CASE", "case", words[i])
        self.expression(words[i + 1 : end])
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
        end = statement_end(words, i, stop)
        self.emit("RETURN", "return", words[i])
        self.expression(words[i + 1 : end])
        self.op(";", words[i])
        return end + 1

    def _try(self, words: Sequence[Word], i: int, stop: int) -> int:
        return self._statement(words, i + 1, stop)

    def _catch(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.op(";", words[i])
        return closing(words, closing(words, i + 1) + 1) + 1

    def _static_assert(self, words: Sequence[Word], i: int, stop: int) -> int:
        end = statement_end(words, i, stop)
        parts = split_at_commas(words[i + 2 : closing(words, i + 1)])
        self.name("__static_assert", words[i])
        self.op("(", words[i])
        self.expression(parts[0] if parts else [])
        self.op(")", words[i])
        self.op(";", words[i])
        return end + 1

    def _using(self, words: Sequence[Word], i: int, stop: int) -> int:
        end = statement_end(words, i, stop)
        word = words[i]
        if text_at(words, i + 2) != "=":
            if text_at(words, i + 1) != "namespace" and end > i + 1:
                self.types.add(words[end - 1].text.rsplit("::", 1)[-1])
            self.op(";", word)
            return end + 1
        self.types.add(words[i + 1].text)
        self.emit("TYPEDEF", "typedef", word)
        right = words[i + 3 : end]
        k, _ = self.specifiers(right, 0)
        k = self.pointers(right, k)
        self.name(words[i + 1].text, words[i + 1])
        k = self.extents(right, k)
        if k < len(right):
            raise CannotLower("the type of an alias")
        self.op(";", word)
        return end + 1

    def _namespace(self, words: Sequence[Word], i: int, stop: int) -> int:
        self.op(";", words[i])
        return statement_end(words, i, stop) + 1

    def _asm_statement(self, words: Sequence[Word], i: int, stop: int) -> int:
        end = statement_end(words, i, stop)
        self.expression(words[i:end])
        self.op(";", words[i])
        return end + 1

    def _statement_macro(self, words: Sequence[Word], i: int) -> int:
        """Index after an unknown upper-case macro that stands where a statement does; else 0."""
        word = words[i]
        if not word.text.isupper() or len(word.text) <= 3 or word.text in self.variables:
            return 0
        after = i + 1
        if text_at(words, after) == "(":
            after = closing(words, after) + 1
        follows = text_at(words, after) in _MACRO_STATEMENTS
        is_pragma = after < len(words) and words[after].kind == "pragma"
        return after if follows or is_pragma else 0

    # ---- declarations

    def is_declaration(self, words: Sequence[Word], i: int, stop: int) -> bool:
        """Whether a statement declares: `T x = ..`, `T* x;`, `T (&x)[N]`."""
        word = words[i] if i < stop else None
        if word is None or word.kind != "identifier":
            return False
        if word.text in _DECLARATION_WORDS or word.text in ATTRIBUTES:
            return True
        if word.text in STATEMENT_WORDS:
            return False
        after, saw_type = self.specifiers(words[:stop], i, emit=False)
        name = self.pointers(words[:stop], after, emit=False)
        if not saw_type or name >= stop:
            return False
        following = words[name]
        if following.kind == "identifier" and following.text not in STATEMENT_WORDS:
            if name == after:
                return True
            behind = text_at(words[:stop], name + 1)
            if behind in _AFTER_NAME or not behind:
                return word.text not in self.variables or self.is_type_word(word)
            return behind == "(" and word.text not in self.variables
        if following.text == "(" and text_at(words, name + 1) in ("*", "&", "&&"):
            if word.text in BUILTIN_TYPES and name == after and not self._is_declarator(words, name):
                return False
            return self.is_type_word(word) or self._is_declarator(words, name)
        return following.text == "[" and after == name and word.text == "auto"

    def _is_declarator(self, words: Sequence[Word], i: int) -> bool:
        """`(&x)[N]` or `(*f)(..)` at `i`."""
        end = closing(words, i)
        return words[end - 1].kind == "identifier" and text_at(words, end + 1) in ("[", "(")

    def declaration(
        self, words: Sequence[Word], i: int, stop: int, *, is_member: bool = False
    ) -> int:
        """`T a = 1, *b, c[3]{..};`."""
        end = statement_end(words, i, stop)
        part = words[:end]
        k, _ = self.specifiers(part, i)
        binding = k + 1 if text_at(part, k) in ("&", "&&") else k
        if text_at(part, binding) == "[" and any(w.text == "auto" for w in part[i:k]):
            self._structured(part, binding)
            self.op(";", words[end - 1])
            return end + 1
        while True:
            k = self.pointers(part, k)
            after = self.declarator(part, k)
            if after == k:
                raise CannotLower("a declaration without a name")
            k = after
            while text_at(part, k) in ATTRIBUTES:
                k = closing(part, k + 1) + 1
            if text_at(part, k) == ":" and is_member:
                stop_at = _initializer_end(part, k)
                self.op(":", part[k])
                self.expression(part[k + 1 : stop_at])
                k = stop_at
            if text_at(part, k) in ("(", "{", "="):
                stop_at = _initializer_end(part, k)
                self._initializer(part, k, stop_at, is_member)
                k = stop_at
            if text_at(part, k) != ",":
                break
            self.op(",", part[k])
            k += 1
        if k < end:
            raise CannotLower(f"a declaration goes on with `{words[k].text}`")
        self.op(";", words[min(end, len(words) - 1)])
        return end + 1

    def _initializer(self, words: Sequence[Word], k: int, stop: int, is_member: bool) -> None:
        word = words[k]
        if word.text == "(":
            end = closing(words, k)
            self.op("=", word)
            self.call("__ctor", words[k + 1 : end], word)
            return
        if is_member:
            return
        self.op("=", word)
        if word.text == "{":
            self.braces(words, k)
        else:
            self._initial_value(words[k + 1 : stop])

    def _initial_value(self, words: Sequence[Word]) -> None:
        if words and words[0].text == "{" and closing(words, 0) == len(words) - 1:
            self.braces(words, 0)
        else:
            self.expression(words)

    def braces(self, words: Sequence[Word], i: int) -> None:
        """An initializer list."""
        end = closing(words, i)
        self.op("{", words[i])
        for n, part in enumerate(split_at_commas(words[i + 1 : end])):
            if n:
                self.op(",", part[0])
            if part[0].text == "{":
                self.braces(part, 0)
            elif part[0].text == "." and text_at(part, 2) == "=":
                self.op(".", part[0])
                self.name(part[1].text, part[1])
                self.op("=", part[2])
                self._initial_value(part[3:])
            else:
                self.expression(part)
        self.op("}", words[end])

    def _structured(self, words: Sequence[Word], i: int) -> None:
        """`auto [a, b] = e` as `auto a = __get(0, e), b = __get(1, e)`."""
        end = closing(words, i)
        names = [w for w in words[i + 1 : end] if w.kind == "identifier"]
        right = list(words[end + 1 :])
        right = right[1:] if text_at(right, 0) == "=" else right
        for n, word in enumerate(names):
            if n:
                self.op(",", word)
            self.variables.add(word.text)
            self.name(word.text, word)
            self.op("=", word)
            self.name("__get", word)
            self.op("(", word)
            self.emit("INT_CONST_DEC", str(n), word)
            if right:
                self.op(",", word)
                self.expression(right)
            self.op(")", word)

    # ---- records

    def _defines_record(self, words: Sequence[Word], i: int, stop: int) -> bool:
        """Whether `struct X {`, `enum {` or `__shared__ union {` begins here."""
        word = words[i].text
        if word not in (*RECORD_WORDS, "enum") and word not in _DECLARATION_WORDS | ATTRIBUTES:
            return False
        seen = False
        while i < stop and words[i].text not in (";", "{", "="):
            seen = seen or words[i].text in (*RECORD_WORDS, "enum")
            if words[i].text == "(":
                if text_at(words, i - 1) not in ATTRIBUTES:
                    return False
                i = closing(words, i)
            i += 1
        return seen and text_at(words, i) == "{"

    def record(self, words: Sequence[Word], i: int) -> int:
        """A record or enum definition with the variables declared behind it."""
        brace = i
        while words[brace].text != "{":
            brace = closing(words, brace) + 1 if words[brace].text == "(" else brace + 1
        head = words[i:brace]
        keyword = next(k for k, w in enumerate(head) if w.text in (*RECORD_WORDS, "enum"))
        for k, word in enumerate(head[:keyword]):
            if word.text in STORAGE:
                self.emit(STORAGE[word.text], word.text, word)
            elif word.text in ATTRIBUTES:
                self.attribute(head, k, emit=True)
        end = closing(words, brace)
        rest = head[keyword + 1 :]
        if head[keyword].text == "enum":
            self._enum(words, brace, end, head[keyword], rest)
        else:
            name = _record_name(rest)
            role = "UNION" if head[keyword].text == "union" else "STRUCT"
            self.emit(role, head[keyword].text, head[keyword])
            if name is not None:
                self.types.add(name.text)
                self.name(name.text, name)
            self.op("{", words[brace])
            self.members(words, brace + 1, end)
            self.op("}", words[end])
        return self._declarators_behind(words, end + 1)

    def _enum(
        self, words: Sequence[Word], brace: int, end: int, at: Word, rest: Sequence[Word]
    ) -> None:
        name = _record_name([w for w in rest if w.text not in ("class", "struct")])
        self.emit("ENUM", "enum", at)
        if name is not None:
            self.types.add(name.text)
        self.op("{", words[brace])
        for n, part in enumerate(split_at_commas(words[brace + 1 : end])):
            if n:
                self.op(",", part[0])
            self.name(part[0].text, part[0])
            if text_at(part, 1) == "=":
                self.op("=", part[1])
                self.expression(part[2:])
        self.op("}", words[end])

    def _declarators_behind(self, words: Sequence[Word], k: int) -> int:
        while text_at(words, k) in ATTRIBUTES:
            k = closing(words, k + 1) + 1
        while k < len(words) and words[k].text != ";":
            if words[k].text == ",":
                self.op(",", words[k])
                k += 1
                continue
            after = self.declarator(words, self.pointers(words, k))
            if after == k:
                raise CannotLower("what is declared behind a record")
            k = after
            if text_at(words, k) in ("=", "{"):
                k = _initializer_end(words[: statement_end(words, k, len(words))], k)
        self.op(";", words[min(k, len(words) - 1)])
        return k + 1

    def members(self, words: Sequence[Word], i: int, stop: int) -> None:
        """Data members, constants and aliases; methods are functions of their own."""
        while i < stop:
            word = words[i]
            if word.text in ("public", "private", "protected"):
                i += 2
            elif word.text == ";" or word.kind == "pragma":
                i += 1
            else:
                i = self._member_declaration(words, i, stop)

    def _member_declaration(self, words: Sequence[Word], i: int, stop: int) -> int:
        end, is_function, is_record = self._member_kind(words, i, stop)
        if is_function or words[i].text in ("friend", "static_assert", "template"):
            return end + 1
        begin, regions = len(self.out), len(self.regions)
        is_constant = any(w.text in ("static", "constexpr") for w in words[i:end])
        try:
            if words[i].text == "using" and text_at(words, i + 2) == "=":
                return self._using(words, i, stop)
            if words[i].text == "using":
                return end + 1
            if is_record:
                return self.record(words, i)
            if words[i].text == "typedef" or not is_constant:
                return self.declaration(words, i, stop, is_member=words[i].text != "typedef")
            if any(w.text in ("=", "{") for w in words[i:end]):
                return self.declaration(words, i, stop)
        except (CannotLower, IndexError) as error:
            del self.out[begin:], self.regions[regions:]
            self.lost.append(LostStatement(words[i], str(error) or "a member that breaks off"))
        return end + 1

    def _member_kind(self, words: Sequence[Word], i: int, stop: int) -> tuple[int, bool, bool]:
        """End of a member declaration, whether it is a function, whether a nested record."""
        j = i
        has_parameters = has_value = False
        while j < stop and words[j].text != ";":
            text = words[j].text
            if text == "(" and words[j].kind == "operator":
                if text_at(words, j - 1) not in ATTRIBUTES and not has_value:
                    is_reference = text_at(words, j + 1) in ("*", "&")
                    has_parameters = has_parameters or not is_reference
                j = closing(words, j)
            elif text == "=":
                has_value = True
            elif text == "{":
                if has_parameters and not has_value:
                    return closing(words, j), True, False
                if not has_value and any(
                    w.text in (*RECORD_WORDS, "enum") for w in words[i:j]
                ):
                    return statement_end(words, closing(words, j), stop), False, True
                j = closing(words, j)
            j += 1
        return j, has_parameters, False


def statement_end(words: Sequence[Word], i: int, stop: int) -> int:
    """Index of the `;` that ends the statement at `i`; `stop` when there is none."""
    while i < stop:
        if words[i].kind == "operator":
            if words[i].text in ("(", "[", "{"):
                i = closing(words, i)
            elif words[i].text == ";":
                return i
        i += 1
    return stop


def _initializer_end(words: Sequence[Word], k: int) -> int:
    while k < len(words):
        if words[k].kind == "operator":
            if words[k].text in ("(", "[", "{"):
                k = closing(words, k)
            elif words[k].text == ",":
                return k
        k += 1
    return len(words)


def _record_name(words: Sequence[Word]) -> Word | None:
    i = 0
    while i < len(words):
        if words[i].text in ATTRIBUTES:
            i = closing(words, i + 1) + 1
            continue
        if words[i].kind == "identifier":
            return words[i]
        if words[i].text == ":":
            return None
        i += 1
    return None


_BY_WORD = {
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
    "asm": Statements._asm_statement,
    "__asm__": Statements._asm_statement,
    "__asm": Statements._asm_statement,
}
