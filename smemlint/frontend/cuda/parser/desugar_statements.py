"""Desugars statements; see `parse` for the contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smemlint.frontend.cuda.lexer.keywords import QUALIFIERS, RECORD_WORDS, STATEMENT_WORDS
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar_declarations import (
    desugar_declaration,
    is_declaration,
    statement_end,
)
from smemlint.frontend.cuda.parser.desugar_records import (
    defines_record,
    desugar_alias,
    desugar_record,
)
from smemlint.frontend.cuda.parser.desugar_types import (
    closing,
    emit_call,
    find_top_level,
    split_at_commas,
    take_declarator,
    take_parameter,
    take_pointers,
    take_specifiers,
    text_at,
)
from smemlint.frontend.cuda.parser.grammar import CannotDesugar, Grammar, Lost, Region
from smemlint.frontend.cuda.parser.qualified_names import Kind, Word
from smemlint.frontend.heuristics import is_macro_word

_BEHIND_MACRO_STATEMENTS = frozenset(
    (
        "for", "while", "do", "if", "switch", "{", "}", "return", "asm", "constexpr",
        "auto", "int", "float", "static_assert", "using", "typedef", "static", "unsigned",
        "__shared__", "extern",
    )
)  # fmt: skip
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
        g.lost.append(Lost(word, _reason(error, "a statement that breaks off")))
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
    return _desugar_expression_statement(g, words, i, stop)


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
    return _desugar_expression_statement(g, words, i, stop)


def _desugar_expression_statement(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    end = statement_end(words, i, stop)
    g.expression(words[i:end])
    g.op(";", words[min(end, len(words) - 1)])
    return end + 1


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


def desugar_header(
    g: Grammar, words: Sequence[Word], at: Word, *, may_be_empty: bool = False
) -> None:
    """Desugars a condition as a region of its own: a body survives what its header loses."""
    if may_be_empty and not words:
        return
    begin = len(g.out)
    try:
        g.expression(words)
        if len(g.out) == begin:
            raise CannotDesugar("an empty condition")
    except (CannotDesugar, IndexError) as error:
        _lose_header(g, begin, at, error)
    g.regions.append(Region(begin, len(g.out), at, is_expression=True))


def _lose_header(g: Grammar, begin: int, at: Word, error: Exception) -> None:
    del g.out[begin:]
    g.lost.append(Lost(at, _reason(error, "a header that breaks off")))
    g.name(markers.UNPARSED, at)


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
        _lose_header(g, begin, at, error)
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


def _case(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    conditionals = 0  # `case a ? b : c:`
    end = i + 1
    while end < stop and (words[end].text != ":" or conditionals):
        conditionals += (words[end].text == "?") - (words[end].text == ":")
        end += words[end].reach + 1
    if end >= stop:
        raise CannotDesugar("case without a colon")
    g.emit("CASE", "case", words[i])
    desugar_header(g, words[i + 1 : end], words[i])
    g.op(":", words[end])
    return end + 1


def _default(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    g.emit("DEFAULT", "default", words[i])
    g.op(":", words[i + 1])
    return i + 2


def _jump(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    g.emit(words[i].text.upper(), words[i].text, words[i])
    g.op(";", words[i])
    return i + 2


def _goto(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    g.emit("GOTO", "goto", words[i])
    g.name(words[i + 1].text, words[i + 1])
    g.op(";", words[i])
    return i + 3


def _return(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Leaves a `return` of `Unparsed` for a lost value: where control goes stays known."""
    end = statement_end(words, i, stop)
    g.emit("RETURN", "return", words[i])
    desugar_header(g, words[i + 1 : end], words[i], may_be_empty=True)
    g.op(";", words[i])
    return end + 1


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


def _static_assert(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    parts = split_at_commas(words[i + 2 : closing(words, i + 1)])
    emit_call(g, markers.STATIC_ASSERT, parts[0] if parts else (), words[i])
    g.op(";", words[i])
    return statement_end(words, i, stop) + 1


def _using(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    if text_at(words, i + 2) == "=":
        return desugar_alias(g, words, i, stop)
    end = statement_end(words, i, stop)
    if text_at(words, i + 1) != "namespace" and end > i + 1:
        last = words[end - 1].text.rsplit("::", 1)[-1]
        if last in g.types or words[i + 1].is_type:
            g.types.add(last)
    return _directive(g, words, i, end, i + 1)


def _namespace(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    return _directive(g, words, i, statement_end(words, i, stop), i)


def _directive(g: Grammar, words: Sequence[Word], i: int, end: int, begin: int) -> int:
    g.name(markers.USING, words[i])
    g.op("(", words[i])
    text = " ".join(word.text for word in words[begin:end])
    g.emit("STRING_LITERAL", f'"{text}"', words[i])
    g.op(")", words[i])
    g.op(";", words[i])
    return end + 1


def _reason(error: Exception, otherwise: str) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) if isinstance(error, CannotDesugar) else otherwise


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
_BY_WORD: dict[str, Callable[[Grammar, Sequence[Word], int, int], int]] = {
    "if": _if,
    "while": _while,
    "switch": _while,
    "do": _do,
    "for": _for,
    "case": _case,
    "default": _default,
    "break": _jump,
    "continue": _jump,
    "goto": _goto,
    "return": _return,
    "co_return": _return,
    "try": _try,
    "catch": _catch,
    "static_assert": _static_assert,
    "_Static_assert": _static_assert,
    "using": _using,
    "namespace": _namespace,
    "asm": _desugar_expression_statement,
    "__asm__": _desugar_expression_statement,
    "__asm": _desugar_expression_statement,
}
