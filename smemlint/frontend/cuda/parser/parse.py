"""Parses the pieces of a unit: desugars their tokens and hands them to pycparser.

The nodes are those of `frontend.ir`, with CUDA words in them:

| CUDA | in the tree |
| --- | --- |
| `__shared__`, `extern`, `static`, `constexpr` | `Decl.storage` |
| `alignas(16)`, `__align__(16)` | `Decl.align`, `Struct.align`, `Union.align` |
| `packed`, `#pragma pack` | `Struct.is_packed`, `Struct.pack`, of unions too |
| a type word, template-id or qualified name | `IdentifierType([spelling])`, `ID(spelling)` |
| `unsigned int` and its like | `IdentifierType(['unsigned', 'int'])` |
| `T& x`, `T&& x`, `T (&x)[N]` | `PtrDecl` with quals `['&']` or `['&&']` |
| `static_cast<T>(e)`, `int(e)` | `Cast`; `reinterpret_cast<T&>(e)` is `*(T*)&(e)` |
| `T(x)` of a known type, any `T{x}` | `Construct` |
| `{a, b}` in an expression | `BraceList` |
| a type as argument of a call | `TypeArgument` |
| `f<64>(x)`, `s.template f<64>(x)` | calls of `ID('f<64>')`, `StructRef(s, '.', ID('f<64>'))` |
| `k<<<g, b>>>(a)` | `Launch` |
| `[&](P p) {..}` | `Lambda` |
| `f(pack...)`; `(pack + ...)` | `PackExpansion` as argument; `Fold` |
| `requires { a; b; }` | `Requires` |
| `sizeof...(P)`; `alignof(e)` of an expression | `SizeofPack`; `UnaryOp` |
| `for (T x : r)` | `RangeFor` |
| `if constexpr (c)` | `If.is_constexpr` |
| `if (T x = e)`, `if (T x = e; c)`, also `switch` | a block: the declaration, the `If` |
| `asm("..":"=r"(x):"r"(p))` | `Assembly` |
| `auto [a, b] = e` | a declaration for each, from a `BindingElement` |
| `T x(a)`; `T x{a}` | `Decl.init` `DirectInit`; `InitList` |
| `static_assert(c)` | `StaticAssert` |
| `using X = T` | `Typedef` |
| constructor `: m(a)` | first statements `MemberInit`, `OtherMembers` |
| `true`, `nullptr`, `this` | `ID` |
| `new T[n]`; `delete p`; `throw e` | `New`; `p`; `Throw` |
| `try { a } catch (T e) { b }` | `Try` |
| default of a parameter or member | `Decl.init` |
| `#pragma unroll 4`, also from a macro | `pragma` of the loop behind it |

In the template of `asm`, `%[name]` is the operand's number. A parameter without a name is called
`__unnamed0`, by its position. Methods of local records are not in the tree, so a call of one is a
call of something unknown; nor are captures, clobbers and attributes.

A statement that cannot be desugared or parsed becomes an empty one and is a `Dropped`; a header
that cannot becomes `Unparsed`, and its body stays.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.lexer.tokens import compares, lex, spelling_of, split_commas
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.desugar import Desugarer
from smemlint.frontend.cuda.parser.desugar_records import desugar_members
from smemlint.frontend.cuda.parser.desugar_statements import desugar_statement
from smemlint.frontend.cuda.parser.desugar_types import (
    find_top_level,
    is_type_id,
    split_at_commas,
    take_parameter,
    take_pointers,
    take_specifiers,
    take_type_id,
)
from smemlint.frontend.cuda.parser.error_recovery import parse_with_recovery
from smemlint.frontend.cuda.parser.grammar import Aside, CannotDesugar, Grammar
from smemlint.frontend.cuda.parser.qualified_names import Names, Word, declared_variables
from smemlint.frontend.cuda.parser.to_ir import convert_function, to_ir
from smemlint.frontend.cuda.parser.token_stream import SyntaxFailure, parse
from smemlint.frontend.program import Dropped, ParsedFunction
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from smemlint.facts import Span
    from smemlint.frontend.cuda.lexer.tokens import Token

    pass
    from smemlint.frontend.cuda.parser.spans import SpanTable
    from smemlint.frontend.cuda.scanner.definition_tokens import FunctionTokens, KnownNames
    from smemlint.frontend.program import TemplateParameter


_TOO_DEEP = Reason(ReasonCode.TOO_LARGE, "cannot be parsed: it is nested too deeply")


class _Piece:
    """Tokens of one piece, numbered, and the desugarer that they feed."""

    def __init__(
        self,
        tokens: Sequence[Token],
        names: KnownNames,
        table: SpanTable,
        template: Sequence[TemplateParameter] = (),
    ) -> None:
        self.table = table
        self.first = table.extend(tokens)
        names = names.within(template)
        present = {token.text for token in tokens}  # few of the unit's names
        types = names.types & present
        declared = declared_variables(tokens)
        variables = (declared - types) | names.values & present
        self.desugarer = Desugarer(types, variables)
        self._reader = Names(variables, names.templates, names.hidden & present | declared)

    def words(self, tokens: Sequence[Token], offset: int = 0) -> list[Word]:
        """Returns the words of a part of the tokens that begins at `offset`."""
        found = self._reader.words(tokens, self.first + offset)
        for word in found:
            self.table.widen(word.first, word.last)
        return found

    def at(self, offset: int = 0) -> Word:
        """Returns a word to stand for what has no token of its own."""
        return Word("operator", "", self.first + offset, self.first + offset)

    def span(self, word: Word) -> Span:
        """Returns where a word stands."""
        return self.table.span_of(word.first, word.last)

    def dropped(self) -> list[Dropped]:
        """Returns what desugaring lost."""
        return [
            Dropped(self.span(lost.word), Reason(ReasonCode.SYNTAX, lost.reason))
            for lost in self.desugarer.lost
        ]


def parse_function(pieces: FunctionTokens, names: KnownNames, table: SpanTable) -> ParsedFunction:
    """Returns the tree of a function definition, with what it lost."""
    if not pieces.body:
        return ParsedFunction(None)
    parts = (pieces.head, pieces.params, pieces.initializers, pieces.body)
    tokens = [token for part in parts for token in part]
    piece = _Piece(tokens, names, table, (*pieces.template, *pieces.outer))
    offsets = [sum(len(p) for p in parts[:k]) for k in range(4)]
    head, params, initializers, body = (
        piece.words(part, offset) for part, offset in zip(parts, offsets, strict=True)
    )
    low = piece.desugarer
    at = piece.at(offsets[3])
    defaults = _signature(low, head, params, at)
    low.op("{", at)
    if initializers:
        _initializers(low, initializers)
    low.statements(body, 1, len(body) - 1)
    low.op("}", body[-1])
    dropped = piece.dropped()
    tree, more = parse_with_recovery(low.out, low.regions, table)
    function = tree.ext[0] if tree is not None and tree.ext else None
    if not isinstance(function, c_ast.FuncDef):
        return ParsedFunction(None, (*dropped, *more))
    failed = _put_asides(function, low.asides)
    more += [
        Dropped(piece.span(aside.word), Reason(ReasonCode.SYNTAX, reason))
        for aside, reason in failed
    ]
    _set_defaults(function, defaults, names, table)
    try:
        converted = convert_function(function)
    except RecursionError:
        name = piece.at(len(pieces.head))
        return ParsedFunction(None, (*dropped, *more, Dropped(piece.span(name), _TOO_DEEP)))
    if [w.text for w in params[-2:]] in (["..."], [",", "..."]):
        converted = replace(converted, type=replace(converted.type, is_variadic=True))
    return ParsedFunction(replace(converted, name=pieces.name), (*dropped, *more))


def _signature(
    low: Grammar, head: list[Word], params: list[Word], at: Word
) -> list[Sequence[Word]]:
    """Emits `result <function>(params)`; returns each parameter's default value."""
    begin = len(low.out)
    try:
        after, saw_type = take_specifiers(low, head, 0)
        after = take_pointers(low, head, after)
        if not saw_type or after != len(head):
            raise CannotDesugar("a return type")
    except (CannotDesugar, IndexError):
        del low.out[begin:]
        low.emit("VOID", "void", at)
    low.name(markers.FUNCTION, at)  # its own name may be that of a class in its body
    low.op("(", at)
    defaults: list[Sequence[Word]] = []
    for k, param in enumerate(split_at_commas(params)):
        before_comma = len(low.out)
        if defaults:
            low.op(",", param[0])
        begin = len(low.out)
        equals = find_top_level(param, "=")
        try:
            is_parameter = take_parameter(low, param, f"__unnamed{k}")
        except (CannotDesugar, IndexError):
            del low.out[begin:]
            last = param[equals - 1]
            low.emit("INT", markers.UNPARSED, param[0])
            low.name(last.text if last.kind == "identifier" else f"__unnamed{k}", last)
            is_parameter = True
        if is_parameter:
            defaults.append(param[equals + 1 :])
        else:
            del low.out[before_comma:]
    if not defaults:
        low.emit("VOID", "void", at)
    low.op(")", at)
    return defaults


def _initializers(low: Grammar, words: list[Word]) -> None:
    for part in split_at_commas(words):
        begin = len(low.out)
        try:
            low.name(markers.MEMBER_INIT, part[0])
            low.op("(", part[0])
            low.name(part[0].text, part[0])
            if len(part) > 3:
                low.op(",", part[1])
                low.arguments(part[2:-1])
            low.op(")", part[-1])
            low.op(";", part[-1])
        except (CannotDesugar, IndexError):
            del low.out[begin:]
    low.name(markers.OTHER_MEMBERS, words[0])
    low.op("(", words[0])
    for k, part in enumerate(split_at_commas(words)):
        if k:
            low.op(",", part[0])
        low.name(part[0].text, part[0])
    low.op(")", words[-1])
    low.op(";", words[-1])


def _set_defaults(
    function: c_ast.FuncDef, defaults: list[Sequence[Word]], names: KnownNames, table: SpanTable
) -> None:
    params = function.decl.type.args
    for param, words in zip(params.params if params is not None else (), defaults, strict=False):
        if words and isinstance(param, c_ast.Decl):
            tokens = table.tokens(words[0].first, words[-1].last)
            param.init = _parse_expression(tokens, names, table) or c_ast.ID(markers.UNPARSED)


def _put_asides(tree: c_ast.Node, asides: dict[str, Aside]) -> list[tuple[Aside, str]]:
    """Puts the members that were parsed on their own in their places.

    Returns those that did not parse, with the reason.
    """
    failed: list[tuple[Aside, str]] = []
    worklist: list[c_ast.Node] = [tree] if asides else []
    while worklist:
        node = worklist.pop()
        if isinstance(node, c_ast.Struct | c_ast.Union) and node.decls:
            node.decls = [m for decl in node.decls for m in _instead(decl, asides, failed)]
        worklist.extend(child for _, child in node.children())
    return failed


def _instead(
    decl: c_ast.Node, asides: dict[str, Aside], failed: list[tuple[Aside, str]]
) -> list[c_ast.Node]:
    aside = asides.get(getattr(decl, "name", None) or "")
    if aside is None:
        return [decl]
    if not aside.tokens:
        return []
    try:
        return list(parse(aside.tokens).ext)
    except SyntaxFailure as failure:
        failed.append((aside, f"cannot be parsed: {failure}"))
        return [_of_unknown_type(decl)] if aside.is_field else []


def _of_unknown_type(decl: c_ast.Node) -> c_ast.Node:
    """Returns a place holder that nobody takes for an `int`: its record has no known layout."""
    decl.type.type.names = [markers.UNPARSED]
    return decl


def _parse_single(piece: _Piece) -> c_ast.Node | None:
    """Returns the tree of what was desugared; None when a part of it does not parse."""
    low = piece.desugarer
    try:
        tree = parse(low.out)
    except SyntaxFailure:
        return None
    failed = _put_asides(tree, low.asides)
    if any(aside.is_field for aside, _ in failed):
        return None
    return tree.ext[0] if tree.ext else None


def parse_declaration(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable
) -> ir.Declaration | ir.Enum | None:
    """Returns the declaration of these tokens (without the `;`)."""
    if len(tokens) > 2 and tokens[0].text == "extern" and tokens[1].kind == "string":
        tokens = tokens[2:]  # `extern "C" const int n = 4`
    if not tokens:
        return None
    piece = _Piece(tokens, names, table)
    words = piece.words(tokens)
    low = piece.desugarer
    words.append(Word("operator", ";", words[-1].first, words[-1].last))
    desugar_statement(low, words, 0, len(words))
    if low.lost:
        return None
    found = _converted(_parse_single(piece))
    if isinstance(found, ir.Decl) and not found.name and isinstance(found.type, ir.Enum):
        return found.type
    return found if isinstance(found, ir.Declaration) else None


def parse_members(
    tokens: Sequence[Token],
    names: KnownNames,
    table: SpanTable,
    kind: str,
    name: str,
    attributes: Sequence[Token] = (),
    pack: int = 0,
) -> ir.Struct | ir.Union | None:
    """Returns the members of a record, as the front end found them; None when they do not parse.

    Args:
        tokens: of the body.
        names: what is known to be a type or a template.
        table: of the unit's spans.
        kind: the keyword that the record begins with.
        name: of the record; empty for none.
        attributes: tokens in front of the name and behind the body.
        pack: bytes that `#pragma pack` aligns members to at most; 0 without one.
    """
    piece = _Piece([*tokens, *attributes], names, table)
    words = piece.words(tokens)
    low = piece.desugarer
    at = words[0] if words else piece.at()
    # pycparser takes every word but `struct` for a union
    low.emit(*(("UNION", kind) if kind == "union" else ("STRUCT", "struct")), at)
    low.name(name or "__anonymous", at)
    low.op("{", at)
    if not words:
        words = [Word("operator", ";", at.first, at.last)]
    try:
        around = piece.words(attributes, len(tokens))
        low.pack = pack
        desugar_members(low, words, 0, len(words), around)
    except (CannotDesugar, IndexError, RecursionError):
        return None
    low.op("}", at)
    low.op(";", at)
    found = _converted(_parse_single(piece))
    inner = found.type if isinstance(found, ir.Decl) else None
    return inner if isinstance(inner, ir.Struct | ir.Union) else None


def _parse_value(
    piece: _Piece, words: Sequence[Word], lower: Callable[[Sequence[Word]], None], before: str
) -> c_ast.Node | None:
    """Parses `int x = before (words)` and returns the initializer."""
    low = piece.desugarer
    at = words[0]
    low.emit("INT", "int", at)
    low.name("__value", at)
    low.op("=", at)
    if before:
        low.emit(before.upper(), before, at)
    low.op("(", at)
    try:
        lower(words)
    except (CannotDesugar, IndexError, RecursionError):
        return None
    low.op(")", at)
    low.op(";", at)
    return getattr(_parse_single(piece), "init", None)


def parse_expression_tokens(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable
) -> ir.Expression | None:
    """Returns an expression, or None when it is none."""
    found = _converted(_parse_expression(tokens, names, table))
    return found if isinstance(found, ir.Expression) else None


def _parse_expression(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable
) -> c_ast.Node | None:
    piece = _Piece(tokens, names, table)
    words = piece.words(tokens)
    return _parse_value(piece, words, piece.desugarer.expression, "") if words else None


def parse_type_tokens(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable
) -> ir.Typename | None:
    """Returns a type-id, or None when it is none."""
    piece = _Piece(tokens, names, table)
    words = piece.words(tokens)
    if not words:
        return None
    size = _parse_value(piece, words, partial(take_type_id, piece.desugarer), "sizeof")
    found = _converted(getattr(size, "expr", None))
    return found if isinstance(found, ir.Typename) else None


def _converted(node: c_ast.Node | None) -> ir.Node | None:
    """Returns the node that a tree stands for; None for none, or nested too deeply."""
    try:
        return to_ir(node) if node is not None else None
    except RecursionError:
        return None


def reads_as_type(tokens: Sequence[Token], names: KnownNames) -> bool:
    """Returns whether a template argument reads as a type rather than a value."""
    words = Names(frozenset(), names.templates).words(tokens, 0)
    return is_type_id(Desugarer(names.types, frozenset()), words)


@lru_cache(maxsize=4096)
def template_arguments(spelling: str) -> tuple[str, tuple[str, ...]]:
    """Splits `a::f<int, 3>` into `("a::f", ("int", "3"))`."""
    if not spelling.endswith(">"):
        return spelling, ()
    tokens = lex(spelling)
    opening = _last_template_bracket(tokens)
    if opening <= 0:
        return spelling, ()
    parts = split_commas(tokens[opening + 1 : -1])
    return spelling[: tokens[opening].start], tuple(spelling_of(part) for part in parts)


def _last_template_bracket(tokens: Sequence[Token]) -> int:
    """Returns the index of the `<` that the final `>` closes; -1 when none does."""
    angles = brackets = 0
    for i in range(len(tokens) - 1, -1, -1):
        text = tokens[i].text
        brackets += (text in (")", "]", "}")) - (text in ("(", "[", "{"))
        if brackets == 0:
            angles += (text == ">") - (text == "<" and not compares(tokens, i))
            if angles == 0:
                return i if text == "<" else -1
    return -1
