"""Desugars statements; see `parse` for the contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemlint.frontend.cuda.lexer.keywords import QUALIFIERS, RECORD_WORDS, STATEMENT_WORDS
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar_declarations import desugar_declaration, is_declaration
from smemlint.frontend.cuda.parser.desugar_records import defines_record, desugar_record
from smemlint.frontend.cuda.parser.desugar_simple_statements import (
    SIMPLE,
    Handler,
    desugar_expression_statement,
    desugar_header,
    lose_header,
    reason_of,
)
from smemlint.frontend.cuda.parser.desugar_types import (
    closing,
    emit_call,
    find_top_level,
    take_declarator,
    take_parameter,
    take_pointers,
    take_specifiers,
    text_at,
)
from smemlint.frontend.cuda.parser.grammar import CannotDesugar, Grammar, Lost, Region
from smemlint.frontend.cuda.parser.qualified_names import Kind, Word
from smemlint.frontend.heuristics import is_macro_word

_BEHIND_MACRO_STATEMENTS = frozenset((
    "for", "while", "do", "if", "switch", "{", "}", "return", "asm", "constexpr",
    "auto", "int", "float", "static_assert", "using", "typedef", "static", "unsigned",
    "__shared__", "extern",
))  # fmt: skip
_CONTROL_WORDS = frozenset(("if", "for", "while", "do", "switch", "try", "catch", "else"))


def desugar_statements(g: Grammar, words: Sequence[Word], i: int, stop: int) -> None:
    """Desugars the statements from `i` to `stop`."""
    while i < stop:
        i = desugar_statement(g, words, i, stop)


def desugar_statement(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Desugars one statement; what cannot be desugared becomes an empty one and is noted."""
    word = words[i]
    begin, regions = len(g.out), len(g.regions)
    try:
        after = _desugar_one(g, words, i, stop)
    except (CannotDesugar, IndexError, RecursionError) as error:
        del g.out[begin:], g.regions[regions:]
        g.lost.append(Lost(word, reason_of(error, "a statement that breaks off")))
        g.op(";", word)
        after = _lost_end(words, i, stop)
    if word.text not in ("{", "}"):
        g.regions.append(Region(begin, len(g.out), word))
    return max(after, i + 1)


def _desugar_one(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    word = words[i]
    if word.kind == "pragma":
        _pragma(g, word)
        return i + 1
    if word.kind == "operator":
        if word.text == ";":
            g.op(";", word)
            return i + 1
        if word.text == "{":
            end = closing(words, i)
            g.op("{", word)
            g.statements(words, i + 1, min(end, stop))
            g.op("}", words[end])
            return end + 1
    if word.kind == "identifier":
        return _named_statement(g, words, i, stop)
    return desugar_expression_statement(g, words, i, stop)


def _named_statement(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    word, following = words[i], text_at(words, i + 1)
    method = _BY_WORD.get(word.text)
    if method is not None and not (word.text == "default" and following != ":"):
        return method(g, words, i, stop)
    if following == ":" and word.text not in _BEFORE_COLONS:
        g.name(word.text, word)
        g.op(":", words[i + 1])
        return i + 2
    if defines_record(words, i, stop):
        return desugar_record(g, words, i, stop)
    behind = _behind_macro_statement(g, words, i, stop)
    if behind:
        return _desugar_one(g, words, behind, stop)
    if is_declaration(g, words, i, stop):
        return desugar_declaration(g, words, i, stop)
    return desugar_expression_statement(g, words, i, stop)


def _behind_macro_statement(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Returns the index after an unknown macro where a statement stands; else 0."""
    word = words[i]
    is_declared = word.text in g.variables or word.text in g.types
    if is_declared or not is_macro_word(word.text):
        return 0
    after = i + 1
    if text_at(words, after) == "(":
        after = closing(words, after) + 1
    if after >= stop:
        return 0
    follows = words[after].text in _BEHIND_MACRO_STATEMENTS or words[after].kind == "pragma"
    return after if follows or _is_type_and_name(words, after, stop) else 0


def _is_type_and_name(words: Sequence[Word], i: int, stop: int) -> bool:
    """Returns whether it is `T x` or `const T x`, of which `const x` is no part."""
    count = 3 if words[i].text in QUALIFIERS else 2
    named = words[i : min(i + count, stop)]
    return len(named) == count and all(
        w.kind == "identifier" and w.text not in STATEMENT_WORDS for w in named
    )


def _pragma(g: Grammar, word: Word) -> None:
    g.emit("PPPRAGMA", "pragma", word)
    g.emit("PPPRAGMASTR", word.text, word)


# ---- control flow


def desugar_controlled(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Returns the statement that an `if` or a loop governs."""
    first = i
    while i < stop and words[i].kind == "pragma":
        i += 1
    if i >= stop:
        g.op(";", words[stop - 1])
        return i
    if words[i].text != "{" and (i > first or is_declaration(g, words, i, stop)):
        g.op("{", words[i])
        for pragma in words[first:i]:
            _pragma(g, pragma)
        after = desugar_statement(g, words, i, stop)
        g.op("}", words[i])
        return after
    return desugar_statement(g, words, i, stop)


def _if(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    word = words[i]
    i += 1
    is_constexpr = text_at(words, i) in ("constexpr", "consteval")
    i += is_constexpr
    end = closing(words, i)
    declared, inner = _declared_first(g, words[i + 1 : end])
    if declared:
        g.op("{", word)
        g.statements(declared, 0, len(declared))
    g.emit("IF", "if", word)
    g.op("(", words[i])
    if is_constexpr:
        g.name(markers.CONSTEXPR, word)
        g.op("(", word)
    desugar_header(g, inner, word)
    if is_constexpr:
        g.op(")", word)
    g.op(")", words[end])
    i = desugar_controlled(g, words, end + 1, stop)
    after = i
    while after < stop and words[after].kind == "pragma":
        after += 1
    if after < stop and words[after].text == "else":
        g.emit("ELSE", "else", words[after])
        i = desugar_controlled(g, words, after + 1, stop)
    if declared:
        g.op("}", word)
    return i


def _declared_first(g: Grammar, inner: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
    """Parts `if (init; condition)` and `if (T x = e)` into a declaration and a condition."""
    split = find_top_level(inner, ";")
    if split < len(inner):
        return inner[: split + 1], inner[split + 1 :]
    equals = find_top_level(inner, "=")
    if equals < len(inner) and is_declaration(g, inner, 0, len(inner)):
        semicolon = Word("operator", ";", inner[-1].first, inner[-1].last)
        return [*inner, semicolon], [inner[equals - 1]]
    return (), inner


def _while(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Desugars `while` and `switch`."""
    word = words[i]
    end = closing(words, i + 1)
    declared, inner = _declared_first(g, words[i + 2 : end])
    if declared and word.text == "while":
        raise CannotDesugar("a loop that declares in its condition")
    if declared:
        g.op("{", word)
        g.statements(declared, 0, len(declared))
    g.emit(word.text.upper(), word.text, word)
    g.op("(", words[i + 1])
    desugar_header(g, inner, word)
    g.op(")", words[end])
    after = desugar_controlled(g, words, end + 1, stop)
    if declared:
        g.op("}", word)
    return after


def _do(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    g.emit("DO", "do", words[i])
    i = desugar_controlled(g, words, i + 1, stop)
    if text_at(words, i) != "while":
        raise CannotDesugar("do without while")
    end = closing(words, i + 1)
    g.emit("WHILE", "while", words[i])
    g.op("(", words[i + 1])
    desugar_header(g, words[i + 2 : end], words[i])
    g.op(")", words[end])
    g.op(";", words[end])
    return end + 1 + (text_at(words, end + 1) == ";")


def _for(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    word = words[i]
    if text_at(words, i + 1) != "(":
        raise CannotDesugar("a for without a header")
    end = closing(words, i + 1)
    inner = words[i + 2 : end]
    first = find_top_level(inner, ";")
    g.emit("FOR", "for", word)
    g.op("(", words[i + 1])
    names: Sequence[Word] = ()
    if first == len(inner):
        names = _range(g, inner, word)
    else:
        second = find_top_level(inner, ";", first + 1)
        if second == len(inner) and find_top_level(inner, ":", first + 1) < len(inner):
            raise CannotDesugar("a range-for with an initializer")
        _for_init(g, inner[: first + 1], word)
        desugar_header(g, inner[first + 1 : second], word, may_be_empty=True)
        g.op(";", inner[min(second, len(inner) - 1)])
        desugar_header(g, inner[second + 1 :], word, may_be_empty=True)
    g.op(")", words[end])
    if not names:
        return desugar_controlled(g, words, end + 1, stop)
    g.op("{", word)
    g.statements(names, 0, len(names))
    after = desugar_controlled(g, words, end + 1, stop)
    g.op("}", word)
    return after


def _for_init(g: Grammar, words: Sequence[Word], at: Word) -> None:
    """Desugars the first part of a `for` with its `;`."""
    begin = len(g.out)
    try:
        if len(words) > 1 and is_declaration(g, words, 0, len(words)):
            desugar_declaration(g, words, 0, len(words))
        else:
            g.expression(words[:-1])
            g.op(";", words[-1])
    except (CannotDesugar, IndexError) as error:
        lose_header(g, begin, at, error)
        g.op(";", words[-1])
    if len(g.out) > begin + 1:
        g.regions.append(Region(begin, len(g.out) - 1, at, is_expression=True))


def _range(g: Grammar, inner: Sequence[Word], word: Word) -> Sequence[Word]:
    """Desugars `for (T x : r)` as `for (T x = <range>(r);;)`.

    Returns:
        Of `for (auto [a, b] : r)` what declares the names in the body.
    """
    colon = find_top_level(inner, ":")
    if colon == len(inner):
        raise CannotDesugar("the header of a for")
    head = inner[:colon]
    i, _ = take_specifiers(g, head, 0)
    i = take_pointers(g, head, i)
    if i < len(head) and head[i].kind == "identifier":
        take_declarator(g, head, i)
    else:
        g.name("__binding", word)
    g.op("=", word)
    emit_call(g, markers.RANGE, inner[colon + 1 :], word)
    g.op(";", word)
    g.op(";", word)
    if text_at(head, i) != "[":
        return ()
    bound: tuple[tuple[Kind, str], ...] = (
        ("operator", "="), ("identifier", "__binding"), ("operator", ";"),
    )  # fmt: skip
    return [*head, *(replace(word, kind=kind, text=text) for kind, text in bound)]


def _try(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Desugars `try { a } catch (T e) { b }` as `<try>(({ a }), ({ T e; b }))`."""
    at = words[i]
    g.name(markers.TRY, at)
    g.op("(", at)
    i = _handler(g, words, i + 1, ())
    while i < stop and words[i].text == "catch":
        end = closing(words, i + 1)
        g.op(",", at)
        i = _handler(g, words, end + 1, words[i + 2 : end])
    g.op(")", at)
    g.op(";", at)
    return i


def _handler(g: Grammar, words: Sequence[Word], i: int, caught: Sequence[Word]) -> int:
    """Desugars the block at `i` as an expression that begins with what is caught."""
    end = closing(words, i)
    for bracket in ("(", "{"):
        g.op(bracket, words[i])
    if caught and caught[0].text != "..." and take_parameter(g, caught, "__caught"):
        g.op(";", words[i])
    g.statements(words, i + 1, end)
    for bracket in ("}", ")"):
        g.op(bracket, words[end])
    return end + 1


def _catch(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    g.op(";", words[i])
    return closing(words, closing(words, i + 1) + 1) + 1


def _lost_end(words: Sequence[Word], i: int, stop: int) -> int:
    """Returns the index after a statement that is lost: what it governs goes with it, no more."""
    ends_at_brace = words[i].text in _CONTROL_WORDS or words[i].text == "{"
    while i < stop and words[i].text != ";":
        if ends_at_brace and words[i].text == "{":
            return closing(words, i) + 1
        i += words[i].reach + 1
    return min(i, stop) + 1


_BEFORE_COLONS = RECORD_WORDS | {"public", "private", "protected"}
"""Words before a colon that are no label: `enum : int { A, B };`."""
_BY_WORD: dict[str, Handler] = {
    **SIMPLE,
    "if": _if,
    "while": _while,
    "switch": _while,
    "do": _do,
    "for": _for,
    "try": _try,
    "catch": _catch,
}
