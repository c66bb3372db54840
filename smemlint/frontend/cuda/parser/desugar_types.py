"""Desugars types and declarators; see `parse` for the contract."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.frontend.cuda.lexer.keywords import (
    ALIGNED,
    ALIGNMENTS,
    ATTRIBUTES,
    BUILTIN_TYPES,
    FUNCTION_SPECIFIERS,
    QUALIFIERS,
    RECORD_WORDS,
    STATEMENT_WORDS,
    STORAGE,
    is_known_type,
)
from smemlint.frontend.cuda.parser.grammar import CannotDesugar, Grammar
from smemlint.frontend.cuda.parser.qualified_names import Word
from smemlint.frontend.heuristics import is_macro_word

_NOT_IN_TYPES = frozenset(
    ("static", "extern", "register", "typedef", "__shared__", "__constant__", "mutable")
)


def closing(words: Sequence[Word], i: int) -> int:
    """Returns the index of the bracket that closes `words[i]`; the last index when nothing does."""
    return min(i + words[i].reach, len(words) - 1)


def text_at(words: Sequence[Word], i: int) -> str:
    """Returns the spelling at an index; empty outside."""
    return words[i].text if 0 <= i < len(words) else ""


def split_at_commas(words: Sequence[Word]) -> list[Sequence[Word]]:
    """Returns the parts between top-level commas, empty ones left out."""
    parts: list[Sequence[Word]] = []
    begin = i = 0
    while i < len(words):
        word = words[i]
        if word.text == "," and word.kind == "operator":
            parts.append(words[begin:i])
            begin = i + 1
        i += word.reach + 1
    parts.append(words[begin:])
    return [part for part in parts if part]


def find_top_level(words: Sequence[Word], text: str, i: int = 0) -> int:
    """Returns the index of the first such operator outside of brackets, else the length."""
    while i < len(words):
        if words[i].text == text and words[i].kind == "operator":
            return i
        i += words[i].reach + 1
    return len(words)


def _is_macro_specifier(words: Sequence[Word], i: int) -> bool:
    """Returns whether an unknown macro stands before a specifier: `API_EXPORT __device__ int x`."""
    text, following = words[i].text, text_at(words, i + 1)
    if not is_macro_word(text):
        return False
    return following in STORAGE or following in FUNCTION_SPECIFIERS


def emit_call(g: Grammar, name: str, words: Sequence[Word], at: Word) -> None:
    """Desugars `name(words)`."""
    g.name(name, at)
    g.op("(", at)
    g.arguments(words)
    g.op(")", at)


# ---- recognition


def is_type_word(g: Grammar, word: Word) -> bool:
    """Returns whether a word is a type (or begins one) wherever it stands."""
    if word.kind != "identifier":
        return False
    text = word.text
    return (
        text in BUILTIN_TYPES
        or text in RECORD_WORDS
        or text in QUALIFIERS
        or text == "auto"
        or word.is_type
        or text in g.types
        or text.split("<", 1)[0].rsplit("::", 1)[-1] in g.types
        or is_known_type(text)
    )


def is_type_id(g: Grammar, words: Sequence[Word]) -> bool:
    """Returns whether the whole list is a type-id."""
    if not words:
        return False
    after, saw_type = take_specifiers(g, words, 0, emit=False)
    if not saw_type or any(w.text in _NOT_IN_TYPES for w in words[:after]):
        return False
    end = take_pointers(g, words, after, emit=False)
    if end == len(words):
        if end > after:
            return True
        named = [w for w in words[:after] if w.text not in QUALIFIERS]
        return len(named) > 1 or is_type_word(g, named[-1])
    if words[end].text == "(" and text_at(words, end + 1) in ("&", "*"):
        inside = take_pointers(g, words, end + 1, emit=False)
        return text_at(words, inside) == ")"
    if words[end].text == "(" and text_at(words, end + 1) == ")":  # `void()`
        return end + 2 == len(words) and is_type_word(g, words[0])
    return words[end].text == "[" and is_type_word(g, words[0])


def is_surely_type(g: Grammar, words: Sequence[Word]) -> bool:
    """Returns whether no reading as an expression is left."""
    first, last = words[0], words[-1]
    return (
        last.text in ("*", "&")
        or first.text in BUILTIN_TYPES
        or first.text in QUALIFIERS
        or (len(words) == 1 and is_type_word(g, first) and not _may_be_value(g, first))
    )


def _may_be_value(g: Grammar, word: Word) -> bool:
    """Returns whether a word that begins with a type's name may be a value: `Traits<T>::size`."""
    owner, _, member = word.text.rpartition("::")
    if owner.endswith(">") and not word.is_type:
        return not (member in g.types or member == "type" or is_known_type(member))
    return word.text in g.variables


# ---- lowering


def take_specifiers(
    g: Grammar, words: Sequence[Word], i: int, *, emit: bool = True
) -> tuple[int, bool]:
    """Takes specifiers from `i`: the index after them, and whether one of them is a type."""
    saw_type = False
    while i < len(words):
        word = words[i]
        text = word.text
        if word.kind != "identifier":
            break
        if kind := _specifier(text):
            if emit:
                g.emit(kind, text, word)
            saw_type |= text in BUILTIN_TYPES
        elif text in ATTRIBUTES and text_at(words, i + 1) == "(":
            i = take_attribute(g, words, i, emit=emit)
            continue
        elif text in RECORD_WORDS and not saw_type:
            end = _elaborated(g, words, i, emit=emit)
            if end == i:
                break
            i, saw_type = end, True
            continue
        elif not saw_type and _is_macro_specifier(words, i):
            pass
        elif not saw_type and text not in STATEMENT_WORDS:
            if emit:
                g.emit("INT", text, word)
            saw_type = True
        else:
            break
        i += 1
    return i, saw_type


def _specifier(text: str) -> str:
    """Returns C's token for a specifier; empty for other words."""
    if text in FUNCTION_SPECIFIERS:
        return "INLINE"
    if text in QUALIFIERS:
        return "CONST"
    return STORAGE.get(text) or BUILTIN_TYPES.get(text, "")


def _elaborated(g: Grammar, words: Sequence[Word], i: int, *, emit: bool) -> int:
    """Desugars `struct X` as a type; returns `i` itself when a definition follows."""
    j = i + 1
    if text_at(words, j) in ("class", "struct"):
        j += 1
    while text_at(words, j) in ATTRIBUTES:
        j = closing(words, j + 1) + 1
    if j >= len(words) or words[j].kind != "identifier":
        return i
    if emit:
        g.emit("INT", words[j].text, words[i])
    return j + 1


def take_attribute(g: Grammar, words: Sequence[Word], i: int, *, emit: bool) -> int:
    """Takes `__align__(16)` and its like: the index after it."""
    end = closing(words, i + 1)
    for inner in alignments(words[i : end + 1]) if emit else ():
        g.emit("_ALIGNAS", "_Alignas", words[i])
        g.op("(", words[i + 1])
        if inner and is_type_id(g, inner):
            take_type_id(g, inner)
        else:
            g.expression(inner)
        g.op(")", words[end])
    return end + 1


def alignments(words: Sequence[Word]) -> list[Sequence[Word]]:
    """Returns the operands of each `alignas(..)`, `__align__(..)` and `aligned(..)`."""
    return [
        words[k + 2 : closing(words, k + 1)]
        for k, word in enumerate(words)
        if word.text in ALIGNMENTS | ALIGNED and text_at(words, k + 1) == "("
    ]


def take_pointers(g: Grammar, words: Sequence[Word], i: int, *, emit: bool = True) -> int:
    """Takes `*`, `&`, qualifiers after the specifiers: the index after them."""
    while i < len(words):
        word = words[i]
        if word.text == "*" and word.kind == "operator":
            if emit:
                g.op("*", word)
        elif word.text in ("&", "&&"):
            if emit:
                g.op("*", word)
                g.emit("CONST", word.text, word)
        elif word.text in QUALIFIERS:
            if emit:
                g.emit("CONST", word.text, word)
        elif word.text in ATTRIBUTES and text_at(words, i + 1) == "(":
            i = closing(words, i + 1)
        elif word.text != "...":
            break
        i += 1
    return i


def take_type_id(g: Grammar, words: Sequence[Word]) -> None:
    """Takes a type without a name, e.g. `float (*)[33]`."""
    i, _ = take_specifiers(g, words, 0)
    i = take_pointers(g, words, i)
    if text_at(words, i) == "(" and text_at(words, i + 1) in ("*", "&", "&&"):
        end = closing(words, i)
        g.op("(", words[i])
        take_pointers(g, words[:end], i + 1)
        g.op(")", words[end])
        i = end + 1
    i = take_extents(g, words, i)
    if text_at(words, i) == "(":
        end = closing(words, i)
        g.op("(", words[i])
        g.op(")", words[end])
        i = end + 1
    if i < len(words):
        raise CannotDesugar(f"a type is followed by `{words[i].text}`")


def take_extents(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Takes `[N][M]` from `i`: the index after them."""
    while text_at(words, i) == "[":
        end = closing(words, i)
        g.op("[", words[i])
        g.expression(words[i + 1 : end])
        g.op("]", words[end])
        i = end + 1
    return i


def take_declarator(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Takes `x`, `x[N]`, `(&x)[N]`, `(*f)(int)` from `i`: the index after it; `i` when none."""
    if text_at(words, i) == "(":
        end = closing(words, i)
        g.op("(", words[i])
        inner = take_pointers(g, words, i + 1)
        if take_declarator(g, words, inner) != end:
            raise CannotDesugar("a declarator that is none")
        g.op(")", words[end])
        return take_behind_declarator(g, words, end + 1)
    if i < len(words) and words[i].kind == "identifier":
        g.variables.add(words[i].text)
        g.name(words[i].text, words[i])
        i += 1
        return take_extents(g, words, i)
    return i


def take_behind_declarator(g: Grammar, words: Sequence[Word], i: int) -> int:
    """Takes extents, or the parameters of a pointer to a function, which nothing reads."""
    if text_at(words, i) == "(":
        end = closing(words, i)
        g.op("(", words[i])
        g.op(")", words[end])
        i = end + 1
    return take_extents(g, words, i)


def take_parameter(g: Grammar, words: Sequence[Word], unnamed: str) -> bool:
    """Returns a function's parameter without its default value. False when there is none."""
    words = words[: find_top_level(words, "=")]
    if not words or words[0].text == "..." or [w.text for w in words] == ["void"]:
        return False
    i, saw_type = take_specifiers(g, words, 0)
    if not saw_type and not any(w.text in QUALIFIERS for w in words[:i]):
        raise CannotDesugar("a parameter without a type")
    i = take_pointers(g, words, i)
    if text_at(words, i) == "auto":  # `Concept auto x`
        i = take_pointers(g, words, i + 1)
    if text_at(words, i) == "(" and text_at(words, i + 1) in ("*", "&", "&&"):
        inside = take_pointers(g, words, i + 1, emit=False)
        if text_at(words, inside) == ")":  # `float (*)[33]` without a name
            g.op("(", words[i])
            take_pointers(g, words, i + 1)
            g.name(unnamed, words[inside])
            g.op(")", words[inside])
            return _require_end(words, take_behind_declarator(g, words, inside + 1))
    end = take_declarator(g, words, i)
    if end == i:
        g.name(unnamed, words[-1])
        end = take_extents(g, words, i)
    return _require_end(words, end)


def _require_end(words: Sequence[Word], end: int) -> bool:
    if end < len(words) and words[end].text not in ATTRIBUTES:
        raise CannotDesugar(f"a parameter goes on with `{words[end].text}`")
    return True
