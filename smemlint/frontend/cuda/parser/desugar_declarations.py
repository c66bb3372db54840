"""Desugars declarations; see `parse` for the contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemlint.frontend.cuda.lexer.keywords import (
    ATTRIBUTES,
    PACKED,
    QUALIFIERS,
    RECORD_WORDS,
    STATEMENT_WORDS,
    STORAGE,
)
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar_types import (
    closing,
    emit_call,
    find_top_level,
    is_type_word,
    split_at_commas,
    take_attribute,
    take_declarator,
    take_pointers,
    take_specifiers,
    text_at,
)
from smemlint.frontend.cuda.parser.grammar import CannotDesugar, Grammar
from smemlint.frontend.cuda.parser.qualified_names import Kind, Word

DECLARATION_WORDS = frozenset((*STORAGE, *QUALIFIERS, "auto", *RECORD_WORDS))
_FORWARDING: tuple[tuple[Kind, str], ...] = (("identifier", "auto"), ("operator", "&&"))
_AFTER_NAME = frozenset(("=", ";", "[", ",", ")", "{", ":", ""))


def is_declaration(g: Grammar, words: Sequence[Word], i: int, stop: int) -> bool:
    """Returns whether a statement declares: `T x = ..`, `T* x;`, `T (&x)[N]`."""
    word = words[i] if i < stop else None
    if word is None or word.kind != "identifier":
        return False
    if word.text in DECLARATION_WORDS or word.text in ATTRIBUTES:
        return True
    if word.text in STATEMENT_WORDS:
        return False
    after, saw_type = take_specifiers(g, words, i, emit=False)
    name = take_pointers(g, words, after, emit=False)
    if not saw_type or name >= stop:
        return False
    following = words[name]
    may_be_type = word.text not in g.variables or is_type_word(g, word)
    if following.kind == "identifier" and following.text not in STATEMENT_WORDS:
        if name == after:
            return True
        behind = text_at(words, name + 1) if name + 1 < stop else ""
        return may_be_type and (behind in _AFTER_NAME or behind == "(")
    if following.text == "(" and text_at(words, name + 1) in ("*", "&", "&&"):
        if word.is_type and text_at(words, closing(words, name) + 1) == "=":
            return True  # `typename T::S (&s) = ..`
        return may_be_type and _is_declarator(g, words, name)
    return following.text == "[" and word.text == "auto"


def _is_declarator(g: Grammar, words: Sequence[Word], i: int) -> bool:
    """Returns whether `(&x)[N]` or `(*f)(..)` stands at `i`."""
    end = closing(words, i)
    name = take_pointers(g, words, i + 1, emit=False)
    return (
        name < end
        and words[name].kind == "identifier"
        and text_at(words, end + 1) in ("[", "(")
        and (name + 1 == end or text_at(words, name + 1) == "[")
    )


def desugar_declaration(
    g: Grammar, words: Sequence[Word], i: int, stop: int, *, is_member: bool = False
) -> int:
    """Desugars `T a = 1, *b, c[3]{..};` from `i`: the index after its `;`.

    Args:
        g: takes what is emitted.
        words: of the declaration.
        i: where it begins.
        stop: where it ends at the latest.
        is_member: of a record, so that it may have a width `: 3`.
    """
    end = statement_end(words, i, stop)
    last = words[min(end, len(words) - 1)]
    part = _without_decltype_auto(words[i:end])
    begin = len(g.out)
    k, _ = take_specifiers(g, part, 0)
    is_typedef = any(w.text == "typedef" for w in part[:k])
    binding = k + 1 if text_at(part, k) in ("&", "&&") else k
    if text_at(part, binding) == "[" and any(w.text == "auto" for w in part[:k]):
        _desugar_structured(g, part, binding, text_at(part, k) == "&")
        g.op(";", last)
        return end + 1
    while True:
        name_at = len(g.out)
        after = take_declarator(g, part, k := take_pointers(g, part, k))
        if after == k and not (is_member and text_at(part, k) == ":"):
            raise CannotDesugar("a declaration without a name")
        k = after
        if is_typedef:
            becomes_type(g, name_at)
        k = _attributes_behind(g, part, k, begin, is_member=is_member)
        stop_at = find_top_level(part, ",", k)
        if text_at(part, k) == ":" and is_member:
            g.op(":", part[k])
            g.expression(part[k + 1 : min(stop_at, find_top_level(part, "=", k))])
            k = stop_at
        elif text_at(part, k) in ("(", "{", "="):
            desugar_initializer(g, part, k, stop_at)
            k = stop_at
        if text_at(part, k) != ",":
            break
        g.op(",", part[k])
        k += 1
    if k < len(part):
        raise CannotDesugar(f"a declaration goes on with `{part[k].text}`")
    g.op(";", last)
    return end + 1


def _without_decltype_auto(words: Sequence[Word]) -> Sequence[Word]:
    """Returns `decltype(auto) x = e` as `auto &&x = e`, and as `decltype(e) x = e` of a name."""
    at = next((n for n, word in enumerate(words) if word.text == "decltype(auto)"), None)
    if at is None or text_at(words, at + 2) != "=":
        return words
    value = words[at + 3 : find_top_level(words, ",", at)]
    if all(w.kind == "identifier" or w.text in (".", "->") for w in value):
        named = replace(words[at], text=f"decltype({''.join(w.text for w in value)})")
        return [*words[:at], named, *words[at + 1 :]]
    deduced = (replace(words[at], kind=kind, text=text) for kind, text in _FORWARDING)
    return [*words[:at], *deduced, *words[at + 1 :]]


def _attributes_behind(
    g: Grammar, words: Sequence[Word], k: int, begin: int, *, is_member: bool
) -> int:
    """Takes attributes behind a name: the index after them."""
    while text_at(words, k) in ATTRIBUTES:
        end = closing(words, k + 1) + 1
        if is_member and any(word.text in PACKED for word in words[k:end]):
            raise CannotDesugar("a member that is packed by itself")
        emitted = len(g.out)
        take_attribute(g, words, k, emit=True)
        aligned = g.out[emitted:]
        del g.out[emitted:]
        g.out[begin:begin] = aligned
        k = end
    return k


def becomes_type(g: Grammar, begin: int) -> None:
    """Makes a type of the name that a typedef's declarator emitted from `begin` on."""
    for token in g.out[begin:]:
        if token.type == "ID":
            g.variables.discard(token.value)
            g.types.add(token.value)
            return


def desugar_initializer(g: Grammar, words: Sequence[Word], k: int, stop: int) -> None:
    """Desugars `(a)` as `= <direct>(a)`, `{a}` as `= {a}`, `= a`."""
    word = words[k]
    g.op("=", word)
    if word.text == "(":
        end = closing(words, k)
        if end + 1 != stop:
            raise CannotDesugar("an initializer that goes on")
        emit_call(g, markers.DIRECT_INIT, words[k + 1 : end], word)
    elif word.text == "{":
        _initial_value(g, words[k:stop])
    else:
        _initial_value(g, words[k + 1 : stop])


def _initial_value(g: Grammar, words: Sequence[Word]) -> None:
    if words and words[0].text == "{" and closing(words, 0) == len(words) - 1:
        desugar_braces(g, words, 0)
    elif words:
        g.expression(words)
    else:
        raise CannotDesugar("an empty initializer")


def desugar_braces(g: Grammar, words: Sequence[Word], i: int) -> None:
    """Desugars an initializer list."""
    end = closing(words, i)
    g.op("{", words[i])
    for n, part in enumerate(split_at_commas(words[i + 1 : end])):
        if n:
            g.op(",", part[0])
        if part[0].text == "." and text_at(part, 2) in ("=", "{"):
            g.op(".", part[0])
            g.name(part[1].text, part[1])
            g.op("=", part[2])
            _initial_value(g, part[3:] if part[2].text == "=" else part[2:])
        elif part[-1].text == "..." and len(part) > 1:
            emit_call(g, markers.PACK, part[:-1], part[0])
        else:
            _initial_value(g, part)
    g.op("}", words[end])


def _desugar_structured(g: Grammar, words: Sequence[Word], i: int, is_reference: bool) -> None:
    """Desugars `auto [a, b] = e` as `auto a = <binding>(0, e), b = <binding>(1, e)`."""
    end = closing(words, i)
    names = [w for w in words[i + 1 : end] if w.kind == "identifier"]
    right = words[end + 1 :]
    right = right[1:] if text_at(right, 0) == "=" else right
    if not names or not right:
        raise CannotDesugar("a structured binding")
    for n, word in enumerate(names):
        if n:
            g.op(",", word)
        g.variables.add(word.text)
        if is_reference:
            take_pointers(g, words[i - 1 : i], 0)
        g.name(word.text, word)
        g.op("=", word)
        g.name(markers.BINDING, word)
        g.op("(", word)
        g.emit("INT_CONST_DEC", str(n), word)
        g.op(",", word)
        g.expression(right)
        g.op(")", word)


def statement_end(words: Sequence[Word], i: int, stop: int) -> int:
    """Returns the index of the `;` that ends the statement at `i`; `stop` when there is none."""
    return min(find_top_level(words, ";", i), stop)
