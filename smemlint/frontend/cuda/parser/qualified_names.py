"""Qualified names and template-ids become one word, as the C grammar sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from smemlint.frontend.cuda.lexer.keywords import (
    ALTERNATIVE_OPERATORS,
    BUILTIN_TYPES,
    CASTS,
    QUALIFIERS,
    STATEMENT_WORDS,
    is_known_type,
)
from smemlint.frontend.cuda.lexer.tokens import Token, angle_end, matching, nesting, spelling_of
from smemlint.lazy_dataclasses import dataclass

Kind = Literal["identifier", "number", "string", "character", "operator", "pragma", "cast"]

_AFTER_TEMPLATE_ID = frozenset(
    ("(", "::", "{", ")", ",", ";", ">", "...", "*", "&", "&&", "]", "<<<", ".", "=")
)
_NO_OPERAND = frozenset(("{", "::", ";", ",", ")", "]", ""))
"""Nothing is compared with `>` to what begins with one of these, or ends: `Int<b ? 2 : n>;`."""
_TYPES_OF = {
    "decltype": "decltype{}",
    **dict.fromkeys(("typeof", "__typeof", "__typeof__"), "std::remove_reference_t<decltype{}>"),
}
"""C++'s and GCC's spellings of the type of an expression; GCC's gives no reference."""
_BEFORE_VALUES = frozenset(("return", "case", "throw", "co_return"))
_BEFORE_TYPES = frozenset((";", "{", "}", "(", ")", ",", "<", ":", "::", "]"))


@dataclass(slots=True)
class Word:
    """A token of the input of desugaring.

    Attributes:
        first, last: numbers of the raw tokens it stands for, in the unit's span table.
        glued: the next raw token follows without a blank.
        is_type: said to be a type by `typename` or `decltype`.
        operand: of a `cast`: the words of its type.
        reach: of an opening bracket: how many words later the closing one stands.
        height: of an opening bracket: how deep brackets are nested in it.
    """

    kind: Kind
    text: str
    first: int
    last: int
    glued: bool = False
    is_type: bool = False
    operand: tuple[Word, ...] = ()
    reach: int = 0
    height: int = 0


class Names:
    """Reads tokens to words, knowing which names are variables and which are templates.

    Args:
        variables: names declared in the function: `<` after one is a comparison.
        templates: names of templates.
        hidden: names that mean something else behind `::`.
    """

    def __init__(
        self,
        variables: frozenset[str],
        templates: frozenset[str],
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self._variables = variables
        self._templates = templates
        self._hidden = hidden

    def words(self, tokens: Sequence[Token], number: int) -> list[Word]:
        """Returns the words of a token list whose first token has this number."""
        out: list[Word] = []
        i = 0
        while i < len(tokens):
            i = self._word(tokens, i, number, out)
        _pair_brackets(out)
        return out

    def _word(self, tokens: Sequence[Token], i: int, number: int, out: list[Word]) -> int:
        token = tokens[i]
        if token.text == "#" and _text(tokens, i + 1) == "pragma":
            return _pragma(tokens, i, number, out)
        if not _starts_name(tokens, i, out):
            out.append(Word(token.kind, token.text, number + i, number + i, _is_glued(tokens, i)))
            return i + 1
        if token.text in ALTERNATIVE_OPERATORS:
            text = ALTERNATIVE_OPERATORS[token.text]
            out.append(Word("operator", text, number + i, number + i))
            return i + 1
        if token.text == "template" and _text(tokens, i + 1) != "<":
            return i + 1
        start = i
        is_type = token.text == "typename"
        if is_type:
            i += 1
            if i >= len(tokens):
                return i
            token = tokens[i]
        if token.text in BUILTIN_TYPES or (
            token.text in STATEMENT_WORDS and token.text != "operator"
        ):
            out.append(Word("identifier", token.text, number + i, number + i))
            return i + 1
        cast = self._cast(tokens, i, number, out)
        if cast:
            return cast
        end, text, is_decltype = self._qualified(tokens, i, out)
        is_type = is_type or is_decltype
        out.append(Word("identifier", text, number + start, number + end - 1, is_type=is_type))
        return end

    def _cast(self, tokens: Sequence[Token], i: int, number: int, out: list[Word]) -> int:
        """Appends `static_cast<T>` as one word; returns the index after it, or 0."""
        begin = i
        if tokens[i].text in ("std", "cuda") and _text(tokens, i + 1) == "::":
            i += 2
        if _text(tokens, i) not in CASTS or _text(tokens, i + 1) != "<":
            return 0
        end = angle_end(tokens, i + 1)
        if end < 0 or _text(tokens, end + 1) != "(":
            return 0
        operand = tuple(self.words(tokens[i + 2 : end], number + i + 2))
        out.append(Word("cast", tokens[i].text, number + begin, number + end, operand=operand))
        return end + 1

    def _qualified(self, tokens: Sequence[Token], i: int, out: list[Word]) -> tuple[int, str, bool]:
        """Returns end and spelling, and whether it is a decltype."""
        is_member = bool(out) and out[-1].text in (".", "->")
        text = ""
        is_decltype = False
        if tokens[i].text == "::":
            i += 1
            is_called = _text(tokens, i + 1) == "(" and tokens[i].text != "new"
            if is_called:  # `::min(a, b)` is no `min` of the namespace around it
                return i + 1, f"::{tokens[i].text}", False
            text = "::" if tokens[i].text in self._hidden else ""
        while i < len(tokens):
            name = tokens[i].text
            if name in _TYPES_OF and _text(tokens, i + 1) == "(":
                end = matching(tokens, i + 1)
                text += _TYPES_OF[name].format(spelling_of(tokens[i + 1 : end + 1]))
                i, is_decltype = end + 1, True
            elif name == "operator":
                end = _operator_end(tokens, i)
                text += spelling_of(tokens[i:end])
                i = end
                end = angle_end(tokens, i) if _text(tokens, i) == "<" else -1
                if end > 0 and _text(tokens, end + 1) == "(":
                    text += spelling_of(tokens[i : end + 1])
                    i = end + 1
            else:
                text += name
                i += 1
            if _text(tokens, i) == "<" and tokens[i - 1].kind == "identifier":
                end = self._arguments_end(tokens, i, text, is_member)
                if end > 0:
                    text += f"<{spelling_of(tokens[i + 1 : end])}>"
                    i = end + 1
            if _text(tokens, i) != "::" or i + 1 >= len(tokens):
                break
            if tokens[i + 1].kind != "identifier" and tokens[i + 1].text != "~":
                break
            text += "::"
            i += 1
            if tokens[i].text == "template":
                i += 1
            if _text(tokens, i) == "~":
                text += "~"
                i += 1
        return i, text, is_decltype

    def _arguments_end(self, tokens: Sequence[Token], i: int, spelled: str, is_member: bool) -> int:
        """Returns the index of the `>` if the `<` at `i` opens template arguments, else -1."""
        end = angle_end(tokens, i)
        if end < 0:
            return -1
        name = tokens[i - 1].text
        following = tokens[end + 1] if end + 1 < len(tokens) else None
        after = following.text if following is not None else ""
        is_known = name in self._templates
        is_qualified = spelled != name
        was_announced = _text(tokens, i - 2) == "template"
        if was_announced or _begins_with_type(tokens, i + 1):
            return end
        if name in self._variables and not is_qualified:
            return end if after == "(" and is_known else -1
        operators = _top_level_operators(tokens[i + 1 : end])
        if "=" in operators:
            return -1
        if operators & {"&&", "||"} and not is_known:
            is_list = following is not None and following.kind == "identifier" and "," in operators
            ends = is_list or after in ("(", "::", "{", ";", "")
            return end if is_qualified and ends else -1
        is_choice = _text(tokens, i + 1) == "!"  # nothing is compared with `<` to a negation
        if "?" in operators and not (is_known or is_qualified or is_choice or after in _NO_OPERAND):
            return -1
        if is_member and after not in ("(", "{"):  # `-> T<int> {` gives a lambda's result
            return -1
        if following is not None and following.kind == "identifier":
            is_type_place = is_known or is_qualified or _may_begin_type(tokens, i - 2)
            return end if is_type_place or after in QUALIFIERS else -1
        if following is None or after in _AFTER_TEMPLATE_ID:
            return end
        return end if name.endswith("_v") or is_qualified or is_known else -1


def _pair_brackets(words: Sequence[Word]) -> None:
    """Sets what opening brackets tell of themselves; open ones reach to the end."""
    opened: list[int] = []
    for i, word in enumerate(words):
        if word.kind == "operator":
            if word.text in ("(", "[", "{"):
                opened.append(i)
            elif word.text in (")", "]", "}") and opened:
                begin = opened.pop()
                words[begin].reach = i - begin
                if opened:
                    around = words[opened[-1]]
                    around.height = max(around.height, words[begin].height + 1)
                if _begins_template_lambda(words, begin, i):
                    _pair_angles(words, i + 1)
    for begin in opened:
        words[begin].reach = len(words)


def _begins_template_lambda(words: Sequence[Word], begin: int, end: int) -> bool:
    """Returns whether the brackets are a lambda's captures with template parameters behind."""
    if words[begin].text != "[" or end + 1 >= len(words) or words[end + 1].text != "<":
        return False
    before = words[begin - 1] if begin else None
    return before is None or (before.kind == "operator" and before.text not in (")", "]", "}"))


def _pair_angles(words: Sequence[Word], begin: int) -> None:
    depth = 0
    for i in range(begin, min(begin + 100, len(words))):
        depth += (words[i].text == "<") - (words[i].text == ">")
        if depth == 0:
            words[begin].reach = i - begin
            return


def _pragma(tokens: Sequence[Token], i: int, number: int, out: list[Word]) -> int:
    """Appends the pragma that a macro with the body `#pragma ..` made; the index after it."""
    end = i + 2
    call = tokens[i]
    while end < len(tokens) and _is_of_call(tokens[end], call):
        end += 1
    text = " ".join(token.text for token in tokens[i + 2 : end])
    out.append(Word("pragma", text, number + i, number + end - 1))
    return end


def _is_of_call(token: Token, call: Token) -> bool:
    same_place = (token.file, token.start, token.end) == (call.file, call.start, call.end)
    return token.macro is not None and same_place


def _starts_name(tokens: Sequence[Token], i: int, out: list[Word]) -> bool:
    token = tokens[i]
    if token.kind == "identifier":
        return True
    if token.text != "::" or i + 1 >= len(tokens) or tokens[i + 1].kind != "identifier":
        return False
    return not (out and out[-1].kind == "identifier" and out[-1].text not in STATEMENT_WORDS)


def _is_glued(tokens: Sequence[Token], i: int) -> bool:
    if i + 1 >= len(tokens):
        return False
    here, following = tokens[i], tokens[i + 1]
    if here.macro is not None or following.macro is not None:
        return here.macro == following.macro
    return here.file == following.file and here.end == following.start


def _operator_end(tokens: Sequence[Token], i: int) -> int:
    end = i + 1
    if spelling_of(tokens[end : end + 2]) in ("()", "[]"):
        return end + 2
    while end < len(tokens) and tokens[end].text not in ("(", ";", ","):
        end += 1
    return end


def _top_level_operators(tokens: Sequence[Token]) -> set[str]:
    found = set()
    depth = 0
    for token in tokens:
        depth += nesting(token)
        if depth == 0 and token.kind == "operator":
            found.add(token.text)
    return found


def _begins_with_type(tokens: Sequence[Token], i: int) -> bool:
    """Returns whether `typename T::V` or `int` begins here, but no `int(x)`."""
    text = tokens[i].text
    return text == "typename" or (text in BUILTIN_TYPES and _text(tokens, i + 1) not in ("(", "{"))


def _may_begin_type(tokens: Sequence[Token], before: int) -> bool:
    """Returns whether a type may stand behind this token: `return n < a > b` declares nothing."""
    if before < 0:
        return True
    token = tokens[before]
    if token.kind == "identifier":
        return token.text not in _BEFORE_VALUES
    return token.kind != "operator" or token.text in _BEFORE_TYPES


def _text(tokens: Sequence[Token], i: int) -> str:
    return tokens[i].text if 0 <= i < len(tokens) else ""


def declared_variables(tokens: Sequence[Token]) -> frozenset[str]:
    """Returns names where a declaration puts variables: `T x =`, `T* x;`, `T& x)`."""
    found = set()
    previous: Token | None = None
    for i, token in enumerate(tokens):
        if token.kind == "identifier" and previous is not None:
            follows = _text(tokens, i + 1) in ("=", ";", ",", "[", ")", "{", ":", "")
            after_type = (
                previous.kind == "identifier"
                and previous.text not in STATEMENT_WORDS
                and previous.text != "namespace"
            ) or previous.text in ("*", "&", "&&", ">")
            if follows and after_type:
                found.add(token.text)
        previous = token
    return frozenset(n for n in found if not is_known_type(n))
