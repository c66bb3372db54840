"""Parses the pieces of a unit: lowers their tokens and hands them to pycparser.

The trees are pycparser's `c_ast` with CUDA words in it:

| CUDA | in the tree |
| --- | --- |
| `__shared__`, `constexpr` | `Decl.storage` |
| a type word, template-id or qualified name | `IdentifierType([spelling])`, `ID(spelling)` |
| `T& x`, `T&& x`, `T (&x)[N]` | `PtrDecl` with quals `['&']` or `['&&']` |
| `static_cast<T>(e)`, `int(e)` | `Cast`; `reinterpret_cast<T&>(e)` is `*(T*)&(e)` |
| `T(x)`, `T{x}` of a known type | `FuncCall(ID('mk T'), ..)` |
| `k<<<g, b>>>(a)` | `FuncCall(FuncCall(ID('__launch'), [k, g, b]), [a])` |
| `[&](P p) {..}` | `FuncCall(ID('__lambda'), [number of parameters, Compound])` |
| `for (T x : r)` | `For` with `T x = __range(r)` |
| `if constexpr (c)`; `if (T x = e)` | `If(__constexpr(c))`; a block with the declaration |
| `asm("..":"=r"(x):"r"(p))` | `FuncCall(ID('asm'), ["..", __out("=r", x), __in("r", p)])` |
| `auto [a, b] = e` | `auto a = __get(0, e), b = __get(1, e)` |
| `T x(a)`; `T x{a}` | `Decl.init` `__ctor(a)`; `InitList` |
| `static_assert(c)` | `FuncCall(ID('__static_assert'), [c])` |
| constructor `: m(a)` | a first statement `__init(m, a)` |
| `true`, `nullptr`, `this` | `ID` |
| default of a parameter | `Decl.init` of the parameter |

A statement that cannot be lowered or parsed becomes an empty one and is a `Dropped`; a header that
cannot becomes `__unparsed`, and its body stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.frontend.cuda.lower_statements import Region, Statements
from smemlint.frontend.cuda.lower_types import CannotLower, split_at_commas
from smemlint.frontend.cuda.names import Names, Word, declared_variables
from smemlint.frontend.cuda.stream import GrammarToken, SyntaxFailure, parse
from smemlint.frontend.cuda.tokens import lex, spelling_of, split_commas
from smemlint.frontend.cuda.unit import Dropped, ParsedFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.facts import Span
    from smemlint.frontend.cuda.pieces import FunctionTokens, KnownNames
    from smemlint.frontend.cuda.spans import SpanTable
    from smemlint.frontend.cuda.tokens import Token
    from smemlint.frontend.cuda.unit import TemplateParameter

MAX_DROPS = 25
"""Statements of one function that recovery drops before it gives the function up."""


class _Piece:
    """Tokens of one piece, numbered, and the lowering that they feed."""

    def __init__(
        self,
        tokens: Sequence[Token],
        names: KnownNames,
        table: SpanTable,
        template: Sequence[TemplateParameter] = (),
    ) -> None:
        self.table = table
        self.first = table.extend(tokens)
        own = frozenset(p.name for p in template if p.name and p.kind != "value")
        variables = declared_variables(tokens) - names.types - own
        templates = names.templates
        self.lowering = Statements(names.types | own, variables)
        self._reader = Names(variables, templates)

    def words(self, tokens: Sequence[Token], offset: int) -> list[Word]:
        """Words of a part of the tokens that begins at `offset`."""
        found = self._reader.words(tokens, self.first + offset)
        for word in found:
            self.table.widen(word.first, word.last)
        return found

    def at(self, offset: int = 0) -> Word:
        """A word to stand for what has no token of its own."""
        return Word("operator", "", self.first + offset, self.first + offset)

    def span(self, word: Word) -> Span:
        """Where a word stands."""
        return self.table.span_of(word.first, word.last)


def parse_function(
    pieces: FunctionTokens, names: KnownNames, table: SpanTable
) -> ParsedFunction:
    """The tree of a function definition, with what it lost."""
    template = (*pieces.template, *pieces.outer)
    parts = (pieces.head, pieces.params, pieces.initializers, pieces.body)
    tokens = [token for part in parts for token in part]
    if not pieces.body:
        return ParsedFunction(None)
    piece = _Piece(tokens, names, table, template)
    offsets = [sum(len(p) for p in parts[:k]) for k in range(4)]
    head, params, initializers, body = (
        piece.words(part, offset) for part, offset in zip(parts, offsets, strict=True)
    )
    low = piece.lowering
    at = piece.at(offsets[3])
    defaults = _signature(piece, pieces.name, head, params, at)
    low.op("{", at)
    _initializers(low, initializers)
    low.statements(body, 1, len(body) - 1)
    low.op("}", body[-1])
    dropped = [Dropped(piece.span(lost.word), lost.reason) for lost in low.lost]
    tree, more = _parse_with_recovery(low.out, low.regions, piece)
    function = tree.ext[0] if tree is not None and tree.ext else None
    if not isinstance(function, c_ast.FuncDef):
        return ParsedFunction(None, (*dropped, *more))
    _set_defaults(function, defaults, names, table)
    return ParsedFunction(function, (*dropped, *more))


def _signature(
    piece: _Piece, name: str, head: list[Word], params: list[Word], at: Word
) -> list[list[Word]]:
    """Emits `result name(params)`; returns each parameter's default value."""
    low = piece.lowering
    begin = len(low.out)
    try:
        after, saw_type = low.specifiers(head, 0)
        after = low.pointers(head, after)
        if not saw_type or after != len(head):
            raise CannotLower("a return type")
    except (CannotLower, IndexError):
        del low.out[begin:]
        low.emit("VOID", "void", at)
    low.name("".join(c if c.isalnum() or c == "_" else "_" for c in name) or "anonymous", at)
    low.op("(", at)
    defaults: list[list[Word]] = []
    for k, param in enumerate(split_at_commas(params)):
        begin = len(low.out)
        if defaults:
            low.op(",", param[0])
        try:
            is_parameter = low.parameter(param, f"__unnamed{k}")
        except (CannotLower, IndexError):
            del low.out[begin:]
            if defaults:
                low.op(",", param[0])
            low.emit("INT", "__unparsed", param[0])
            low.name(param[-1].text if param[-1].kind == "identifier" else f"__unnamed{k}", param[-1])
            is_parameter = True
        if not is_parameter:
            del low.out[begin:]
            continue
        cut = next((i for i, w in enumerate(param) if w.text == "="), len(param))
        defaults.append(param[cut + 1 :])
    if not defaults:
        low.emit("VOID", "void", at)
    low.op(")", at)
    return defaults


def _initializers(low: Statements, words: list[Word]) -> None:
    for part in split_at_commas(words):
        begin = len(low.out)
        try:
            low.name("__init", part[0])
            low.op("(", part[0])
            low.name(part[0].text, part[0])
            if len(part) > 3:
                low.op(",", part[1])
                low.arguments(part[2:-1])
            low.op(")", part[-1])
            low.op(";", part[-1])
        except (CannotLower, IndexError):
            del low.out[begin:]


def _set_defaults(
    function: c_ast.FuncDef, defaults: list[list[Word]], names: KnownNames, table: SpanTable
) -> None:
    params = function.decl.type.args
    for param, words in zip(params.params if params is not None else (), defaults, strict=False):
        if words and isinstance(param, c_ast.Decl):
            tokens = table.tokens(words[0].first, words[-1].last)
            param.init = parse_expression_tokens(tokens, names, table) or c_ast.ID("__unparsed")


def _parse_with_recovery(
    tokens: list[GrammarToken], regions: list[Region], piece: _Piece
) -> tuple[c_ast.FileAST | None, list[Dropped]]:
    """Parses; at an error the innermost region around it is replaced, and it is tried again."""
    dropped: list[Dropped] = []
    alive = list(range(len(tokens)))
    replaced: dict[int, GrammarToken] = {}
    gone: set[Region] = set()
    for _ in range(MAX_DROPS):
        try:
            return parse([replaced.get(k, tokens[k]) for k in alive]), dropped
        except SyntaxFailure as failure:
            at = alive[min(failure.position, len(alive) - 1)]
            around = [r for r in regions if r.begin <= at < r.end and r not in gone]
            if not around:
                return None, [*dropped, Dropped(_place(piece, tokens[at]), str(failure))]
            region = min(around, key=lambda r: r.end - r.begin)
            gone.update(r for r in regions if region.begin <= r.begin and r.end <= region.end)
            dropped.append(Dropped(piece.span(region.word), f"cannot be parsed: {failure}"))
            line = tokens[region.begin].lineno
            stand_in = (
                GrammarToken("ID", "__unparsed", line)
                if region.is_expression
                else GrammarToken("SEMI", ";", line)
            )
            replaced[region.begin] = stand_in
            alive = [k for k in alive if not region.begin < k < region.end]
    return None, [*dropped, Dropped(_place(piece, tokens[0]), "too much of it cannot be parsed")]


def _place(piece: _Piece, token: GrammarToken) -> Span:
    return piece.table.span_of(token.lineno - 1, token.lineno - 1)


def _parse_single(piece: _Piece) -> c_ast.Node | None:
    try:
        tree = parse(piece.lowering.out)
    except SyntaxFailure:
        return None
    return tree.ext[0] if tree is not None and tree.ext else None


def parse_declaration(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable
) -> c_ast.Node | None:
    """`Decl`, `Typedef` or `Enum` of a declaration's tokens (without the `;`)."""
    if not tokens:
        return None
    piece = _Piece(tokens, names, table)
    words = piece.words(tokens, 0)
    low = piece.lowering
    words.append(Word("operator", ";", words[-1].first, words[-1].last))
    try:
        low.statement(words, 0, len(words))
    except (CannotLower, IndexError):
        return None
    if low.lost:
        return None
    found = _parse_single(piece)
    if isinstance(found, c_ast.Decl) and not found.name and isinstance(found.type, c_ast.Enum):
        return found.type
    return found


def parse_members(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable, kind: str, name: str
) -> c_ast.Struct | c_ast.Union | None:
    """The members of a record, as the front end found them."""
    piece = _Piece(tokens, names, table)
    words = piece.words(tokens, 0)
    low = piece.lowering
    at = words[0] if words else piece.at()
    low.emit("UNION" if kind == "union" else "STRUCT", kind, at)
    low.name(name or "__anonymous", at)
    low.op("{", at)
    before = len(low.out)
    try:
        low.members(words, 0, len(words))
    except (CannotLower, IndexError):
        return None
    if len(low.out) == before:
        made = c_ast.Union(name, []) if kind == "union" else c_ast.Struct(name, [])
        return made
    low.op("}", at)
    low.op(";", at)
    found = _parse_single(piece)
    inner = getattr(found, "type", None)
    return inner if isinstance(inner, c_ast.Struct | c_ast.Union) else None


def parse_expression_tokens(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable
) -> c_ast.Node | None:
    """An expression, or None when it is none."""
    if not tokens:
        return None
    piece = _Piece(tokens, names, table)
    words = piece.words(tokens, 0)
    low = piece.lowering
    at = words[0] if words else piece.at()
    low.emit("INT", "int", at)
    low.name("__expression", at)
    low.op("=", at)
    low.op("(", at)
    try:
        low.expression(words)
    except (CannotLower, IndexError):
        return None
    low.op(")", at)
    low.op(";", at)
    return getattr(_parse_single(piece), "init", None)


def parse_type_tokens(
    tokens: Sequence[Token], names: KnownNames, table: SpanTable
) -> c_ast.Typename | None:
    """A type-id, or None when it is none."""
    if not tokens:
        return None
    piece = _Piece(tokens, names, table)
    words = piece.words(tokens, 0)
    low = piece.lowering
    at = words[0] if words else piece.at()
    low.emit("INT", "int", at)
    low.name("__type", at)
    low.op("=", at)
    low.emit("SIZEOF", "sizeof", at)
    low.op("(", at)
    try:
        low.type_id(words)
    except (CannotLower, IndexError):
        return None
    low.op(")", at)
    low.op(";", at)
    size = getattr(_parse_single(piece), "init", None)
    operand = getattr(size, "expr", None)
    return operand if isinstance(operand, c_ast.Typename) else None


def reads_as_type(tokens: Sequence[Token], names: KnownNames) -> bool:
    """Whether a template argument reads as a type rather than a value."""
    words = Names(frozenset(), names.templates).words(tokens, 0)
    return Statements(names.types, frozenset()).reads_as_type(words)


def template_arguments(spelling: str) -> tuple[str, tuple[str, ...]]:
    """Splits `a::f<int, 3>` into `("a::f", ("int", "3"))`."""
    if not spelling.endswith(">") or "<" not in spelling:
        return spelling, ()
    opening = _last_template_bracket(spelling)
    if opening <= 0:
        return spelling, ()
    parts = split_commas(lex(spelling[opening + 1 : -1]))
    return spelling[:opening], tuple(spelling_of(part) for part in parts)


def _last_template_bracket(spelling: str) -> int:
    """Index of the `<` that the final `>` closes; -1 when none does."""
    depth = 0
    for i in range(len(spelling) - 1, -1, -1):
        c = spelling[i]
        if c in ">)]}":
            depth += 1
        elif c in "<([{":
            depth -= 1
            if depth == 0:
                return i if c == "<" else -1
    return -1
