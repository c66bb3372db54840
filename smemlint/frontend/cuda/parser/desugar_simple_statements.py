"""Desugars statements without statements in them, and the headers of those with some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar_declarations import statement_end
from smemlint.frontend.cuda.parser.desugar_records import desugar_alias
from smemlint.frontend.cuda.parser.desugar_types import closing, emit_call, split_at_commas, text_at
from smemlint.frontend.cuda.parser.grammar import CannotDesugar, Grammar, Lost, Region
from smemlint.frontend.cuda.parser.qualified_names import Word

Handler: TypeAlias = Callable[[Grammar, Sequence[Word], int, int], int]
"""Desugars the statement at an index that is not behind another one; returns where it ends."""


def desugar_expression_statement(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Desugars what no word in front tells to be another statement."""
    end = statement_end(words, i, stop)
    g.expression(words[i:end])
    g.op(";", words[min(end, len(words) - 1)])
    return end + 1


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
        lose_header(g, begin, at, error)
    g.regions.append(Region(begin, len(g.out), at, is_expression=True))


def lose_header(g: Grammar, begin: int, at: Word, error: Exception) -> None:
    """Leaves a name in place of what was desugared of a header, and notes that it is lost."""
    del g.out[begin:]
    g.lost.append(Lost(at, reason_of(error, "a header that breaks off")))
    g.name(markers.UNPARSED, at)


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


def reason_of(error: Exception, otherwise: str) -> str:
    """Returns why something is lost."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) if isinstance(error, CannotDesugar) else otherwise


SIMPLE: dict[str, Handler] = {
    "case": _case,
    "default": _default,
    "break": _jump,
    "continue": _jump,
    "goto": _goto,
    "return": _return,
    "co_return": _return,
    "static_assert": _static_assert,
    "_Static_assert": _static_assert,
    "using": _using,
    "namespace": _namespace,
    **dict.fromkeys(("asm", "__asm__", "__asm"), desugar_expression_statement),
}
"""By the word in front."""
