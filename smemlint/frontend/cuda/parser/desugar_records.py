"""Desugars records and enums; see `parse` for the contract."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.frontend.cuda.lexer.keywords import ATTRIBUTES, PACKED, RECORD_WORDS, STORAGE
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar_declarations import (
    DECLARATION_WORDS,
    becomes_type,
    desugar_declaration,
    desugar_initializer,
    statement_end,
)
from smemlint.frontend.cuda.parser.desugar_types import (
    alignments,
    closing,
    find_top_level,
    split_at_commas,
    take_attribute,
    take_behind_declarator,
    take_declarator,
    take_extents,
    take_pointers,
    take_specifiers,
    take_type_id,
    text_at,
)
from smemlint.frontend.cuda.parser.grammar import Aside, CannotDesugar, Grammar, Lost
from smemlint.frontend.cuda.parser.qualified_names import Word
from smemlint.frontend.cuda.parser.token_stream import GrammarToken

_NO_MEMBERS = frozenset(("using", "friend", "static_assert", "template"))


def defines_record(words: Sequence[Word], i: int, stop: int) -> bool:
    """Returns whether `struct X {`, `enum {` or `__shared__ union {` begins here."""
    word = words[i].text
    if word not in DECLARATION_WORDS and word not in ATTRIBUTES:
        return False
    seen = False
    while i < stop and words[i].text not in (";", "{", "="):
        seen = seen or words[i].text in RECORD_WORDS
        if words[i].text == "(" and text_at(words, i - 1) not in ATTRIBUTES:
            return False
        i += words[i].reach + 1
    return seen and text_at(words, i) == "{"


def desugar_record(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Desugars a record or enum and what is declared behind it: the index after its `;`."""
    brace = find_top_level(words, "{", i)
    head = words[i:brace]
    end = closing(words, brace)
    keyword = next(k for k, w in enumerate(head) if w.text in RECORD_WORDS)
    for k, word in enumerate(head[:keyword]):
        if word.text in STORAGE:
            g.emit(STORAGE[word.text], word.text, word)
        elif word.text in ATTRIBUTES and text_at(head, k + 1) == "(":
            take_attribute(g, head, k, emit=True)
    is_typedef = any(w.text == "typedef" for w in head[:keyword])
    at, name = head[keyword], _record_name(head[keyword + 1 :])
    if name is None and is_typedef and head[keyword].text != "enum":
        name = _name_for_linkage(words, end + 1)
    if name is not None:
        g.types.add(name.text)
    role = {"enum": "ENUM", "union": "UNION"}.get(at.text, "STRUCT")
    g.emit(role, "struct" if at.text == "class" else at.text, at)
    if name is not None:
        g.name(name.text, name)
    g.op("{", words[brace])
    if role == "ENUM":
        _enumerators(g, words[brace + 1 : end], head[find_top_level(head, ":") + 1 :])
    else:
        desugar_members(g, words, brace + 1, end, [*head[keyword + 1 :], *_attributes(words, end)])
    g.op("}", words[end])
    return _declarators_behind(g, words, end + 1, stop, is_typedef=is_typedef)


def _name_for_linkage(words: Sequence[Word], k: int) -> Word | None:
    """Returns the name that a `typedef` gives to a record without one; None where it is no name."""
    while text_at(words, k) in ATTRIBUTES and text_at(words, k + 1) == "(":
        k = closing(words, k + 1) + 1
    is_name = k < len(words) and words[k].kind == "identifier" and text_at(words, k + 1) in ",;"
    return words[k] if is_name else None


def _attributes(words: Sequence[Word], end: int) -> Sequence[Word]:
    """Returns the attributes behind the body of a record that ends at `end`."""
    after = end + 1
    while text_at(words, after) in ATTRIBUTES and text_at(words, after + 1) == "(":
        after = closing(words, after + 1) + 1
    return words[end + 1 : after]


def _enumerators(g: Grammar, words: Sequence[Word], underlying: Sequence[Word]) -> None:
    if underlying:
        g.name(markers.UNDERLYING, underlying[0])
        for text in ("=", "("):
            g.op(text, underlying[0])
        take_type_id(g, underlying)
        g.op(")", underlying[-1])
        g.emit("INT_CONST_DEC", "0", underlying[-1])
    for n, part in enumerate(split_at_commas(words)):
        if n or underlying:
            g.op(",", part[0])
        g.name(part[0].text, part[0])
        if text_at(part, 1) == "=":
            g.op("=", part[1])
            g.expression(part[2:])


def _declarators_behind(
    g: Grammar, words: Sequence[Word], k: int, stop: int, *, is_typedef: bool
) -> int:
    end = statement_end(words, k, stop)
    while k < end and words[k].text in ATTRIBUTES:
        k = closing(words, k + 1) + 1
    while k < end:
        begin = len(g.out)
        after = take_declarator(g, words, k := take_pointers(g, words, k))
        if after == k:
            raise CannotDesugar("what is declared behind a record")
        if is_typedef:
            becomes_type(g, begin)
        k = find_top_level(words, ",", after)
        if text_at(words, after) in ATTRIBUTES:
            after = closing(words, after + 1) + 1
        if text_at(words, after) in ("=", "{", "("):
            desugar_initializer(g, words, after, min(k, end))
        if k < end:
            g.op(",", words[k])
        k += 1
    g.op(";", words[min(end, len(words) - 1)])
    return end + 1


# ---- members


def desugar_members(
    g: Grammar, words: Sequence[Word], i: int, stop: int, attributes: Sequence[Word] = ()
) -> None:
    """Desugars data members, constants and aliases; methods are functions of their own.

    Args:
        g: takes the tokens of C.
        words: of the body.
        i: the first of `words` that belongs to it.
        stop: the first that does not.
        attributes: of the record, in front of its name and behind its body.
    """
    before = len(g.out)
    _describe(g, attributes, is_virtual=_is_virtual(words, i, stop))
    while i < stop:
        word = words[i]
        if word.text in ("public", "private", "protected"):
            i += 2
        elif word.text in (";", "virtual") or word.kind == "pragma":
            i += 1
        else:
            i = _member_declaration(g, words, i, stop)
    if len(g.out) == before:  # C knows no empty record
        _hold_place(g, [], words[min(i, len(words) - 1)], is_field=False)


def _is_virtual(words: Sequence[Word], i: int, stop: int) -> bool:
    """Returns whether a record declares virtual methods."""
    while i < stop and words[i].text != "virtual":
        i += words[i].reach + 1
    return i < stop


def _describe(g: Grammar, attributes: Sequence[Word], *, is_virtual: bool) -> None:
    """Desugars what is asked of a whole record as a member: its alignment and packing."""
    is_packed = any(word.text in PACKED for word in attributes)
    packing = 4 * g.pack + 2 * is_virtual + is_packed
    if not packing and not alignments(attributes):
        return
    at = attributes[0] if attributes else Word("operator", "", 0, 0)
    for k, word in enumerate(attributes):
        if word.text in ATTRIBUTES and text_at(attributes, k + 1) == "(":
            take_attribute(g, attributes, k, emit=True)
    g.emit("CHAR", "char", at)
    g.name(markers.RECORD, at)
    g.op(":", at)
    g.emit("INT_CONST_DEC", str(packing), at)
    g.op(";", at)


def _member_declaration(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Desugars a member: the index after it."""
    end, is_function, is_record = _kind(words, i, stop)
    word = words[i]
    is_alias = word.text == "using" and text_at(words, i + 2) == "="
    if is_function or (word.text in _NO_MEMBERS and not is_alias):
        return end + 1
    is_typedef = word.text == "typedef"
    is_field = not is_alias and not is_typedef and not _is_constant(words[i:end])
    if is_record and words[end - 1].text == "}":  # a named record is only defined here
        is_field = is_field and _defined_name(words, i) is None
    begin, regions = len(g.out), len(g.regions)
    try:
        if is_record and not is_typedef:
            desugar_record(g, words, i, stop)
        elif not is_field or _has_initializer(words[i:end]):
            _aside(g, words, i, stop, is_field=is_field)
        else:
            desugar_declaration(g, words, i, stop, is_member=True)
    except (CannotDesugar, IndexError) as error:
        del g.out[begin:], g.regions[regions:]
        reason = str(error) if isinstance(error, CannotDesugar) else "a member that breaks off"
        if is_field:  # a layout with a hole would be a wrong one: the record goes with it
            raise CannotDesugar(reason) from error
        g.lost.append(Lost(word, reason))
    return end + 1


def _is_constant(words: Sequence[Word]) -> bool:
    return any(w.text in ("static", "constexpr") for w in words)


def _has_initializer(words: Sequence[Word]) -> bool:
    is_field = find_top_level(words, ":") == len(words)
    return is_field and any(find_top_level(words, t) < len(words) for t in ("=", "{"))


def _aside(g: Grammar, words: Sequence[Word], i: int, stop: int, *, is_field: bool) -> None:
    """Desugars a member on its own; an `int` member holds its place."""
    out, g.out = g.out, []
    regions, g.regions = g.regions, []
    try:
        if words[i].text == "using":
            desugar_alias(g, words, i, stop)
        elif defines_record(words, i, stop):
            desugar_record(g, words, i, stop)
        else:
            desugar_declaration(g, words, i, stop)
        tokens = g.out
    finally:
        g.out, g.regions = out, regions
    _hold_place(g, tokens, words[i], is_field=is_field)


def _hold_place(g: Grammar, tokens: list[GrammarToken], word: Word, *, is_field: bool) -> None:
    name = f"__aside{len(g.asides)}"
    g.asides[name] = Aside(tokens, word, is_field)
    g.emit("INT", "int", word)
    g.name(name, word)
    g.op(";", word)


def _kind(words: Sequence[Word], i: int, stop: int) -> tuple[int, bool, bool]:
    """Returns a member declaration's end, whether it is a function, a nested record."""
    has_parameters = has_value = is_pointer = False
    begin = i
    while i < stop and words[i].text != ";":
        text = words[i].text
        if text == "(" and words[i].kind == "operator":
            is_attribute = text_at(words, i - 1) in (*ATTRIBUTES, "explicit", "decltype")
            is_pointer = is_pointer or text_at(words, i + 1) in ("*", "&")  # `void (*f)(int)`
            if not is_attribute and not has_value and not is_pointer:
                has_parameters = True
        elif text == "=":
            has_value = True
        elif text == "{" and not has_value:
            if has_parameters:
                return closing(words, i), True, False
            if any(w.text in RECORD_WORDS for w in words[begin:i]):
                return statement_end(words, closing(words, i), stop), False, True
        i += words[i].reach + 1
    return min(i, stop), has_parameters, False


# ---- aliases


def desugar_alias(g: Grammar, words: Sequence[Word], i: int, stop: int) -> int:
    """Desugars `using X = T;` as `typedef T X;`: the index after its `;`."""
    end = statement_end(words, i, stop)
    word, name = words[i], words[i + 1]
    right = words[i + 3 : end]
    if defines_record(right, 0, len(right)):  # `typedef union {..} X;`
        typedef = Word("identifier", "typedef", word.first, word.last)
        desugar_record(g, [typedef, *right, name], 0, len(right) + 2)
        return end + 1
    g.emit("TYPEDEF", "typedef", word)
    k, _ = take_specifiers(g, right, 0)
    k = take_pointers(g, right, k)
    if text_at(right, k) == "(" and text_at(right, k + 1) in ("*", "&", "&&"):
        close = closing(right, k)
        g.op("(", right[k])
        take_pointers(g, right, k + 1)
        g.name(name.text, name)
        g.op(")", right[close])
        k = take_behind_declarator(g, right, close + 1)
    else:
        g.name(name.text, name)
        k = take_extents(g, right, k)
    if k < len(right):
        raise CannotDesugar("the type of an alias")
    g.types.add(name.text)
    g.variables.discard(name.text)
    g.op(";", word)
    return end + 1


def _record_name(words: Sequence[Word]) -> Word | None:
    """Returns the name behind `struct`; None for an unnamed record."""
    i = 0
    while i < len(words) and words[i].text != ":":
        if words[i].text in ATTRIBUTES and text_at(words, i + 1) == "(":
            i += 1
        elif words[i].kind == "identifier" and words[i].text not in RECORD_WORDS:
            return words[i]
        i += words[i].reach + 1
    return None


def _defined_name(words: Sequence[Word], i: int) -> Word | None:
    brace = find_top_level(words, "{", i)
    keyword = next((k for k in range(i, brace) if words[k].text in RECORD_WORDS), brace)
    return _record_name(words[keyword + 1 : brace])
