"""The scanner: functions, records and declarations of a preprocessed token stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice, takewhile

from smemlint.frontend.cuda.lexer.brackets import Brackets, find_brackets
from smemlint.frontend.cuda.lexer.keywords import ATTRIBUTES
from smemlint.frontend.cuda.lexer.tokens import CLOSING, Token, angle_end, lex, matching
from smemlint.frontend.cuda.scanner.declarators import Declared, declared_names
from smemlint.frontend.cuda.scanner.definition_ends import (
    after_operator,
    declares_no_function,
    ends_macro_call,
    ends_with_requires_parameters,
    initializes_member,
    packs,
)
from smemlint.frontend.cuda.scanner.definition_heads import (
    FunctionHead,
    RecordHead,
    function_head,
    initializers_of,
    namespace_of,
    qualifiers_of,
    record_head,
)
from smemlint.frontend.cuda.scanner.definition_tokens import FileTable, FunctionTokens
from smemlint.frontend.cuda.scanner.definitions import (
    FoundDeclaration,
    FoundFunction,
    FoundRecord,
    Scanned,
)
from smemlint.frontend.cuda.scanner.local_records import local_records
from smemlint.frontend.cuda.scanner.name_lookup import directive_text
from smemlint.frontend.cuda.scanner.template_heads import template_heads
from smemlint.frontend.program import Enclosing, TemplateParameter
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_HEAD, MAX_RECORDS, MAX_SCOPES
from smemlint.reasons import Reason, ReasonCode

_DEFINITION_WORDS = ("template", "namespace", "inline", "extern", "struct", "class", "union")
_ACCESS_WORDS = ("public", "private", "protected")


@dataclass(slots=True)
class _Scope:
    """A namespace's or record's tokens that are still to be scanned."""

    begin: int
    end: int
    names: tuple[str, ...] = ()
    record: FoundRecord | None = None
    around: tuple[Enclosing, ...] = ()  # the enclosing records and functions
    is_function: bool = False

    @property
    def outer(self) -> tuple[TemplateParameter, ...]:
        """Template parameters of the enclosing records and functions."""
        return tuple(p for enclosing in self.around for p in enclosing.template)


def scan(tokens: Sequence[Token], files: FileTable) -> Scanned:
    """Finds everything that is defined at file, namespace and record scope."""
    scanner = _Scanner(tokens, files)
    scanner.run()
    return scanner.found


def _outermost(brackets: Brackets) -> list[int]:
    """Returns the brackets that are not closed and lie in no other such: one for one cause."""
    found: list[int] = []
    end = -1
    for opening in sorted(brackets.unclosed):
        if opening >= end:
            found.append(opening)
            end = brackets.close[opening]
    return found


def _with_arguments(tokens: Sequence[Token], record: FoundRecord) -> list[Token]:
    """Returns tokens of a class template's body as they would be outside of it: `C` is `C<T>`."""
    found: list[Token] = []
    for i, token in enumerate(tokens):
        found.append(token)
        following = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if token.text == record.name and record.template and following != "<":
            names = ", ".join(p.name + "..." * p.is_pack for p in record.template)
            spelling = f"<{record.specialization or names}>"
            found += [replace(token, kind=t.kind, text=t.text) for t in lex(spelling)]
    return found


class _Scanner:
    def __init__(self, tokens: Sequence[Token], files: FileTable) -> None:
        self.tokens = tokens
        self.files = files
        self.brackets = find_brackets(tokens, files)
        self.concepts = frozenset(
            tokens[i + 1].text
            for i in [i for i, token in enumerate(tokens[:-1]) if token.text == "concept"]
        )
        self.found = Scanned()
        self.todo: list[_Scope] = []
        for kind, places in (
            ("is not closed", _outermost(self.brackets)),
            ("closes nothing", self.brackets.stray),
        ):
            for i in sorted(places):
                self._notice(i, Reason(ReasonCode.SYNTAX, f"a `{tokens[i].text}` that {kind}"))

    def _notice(self, token: int, reason: Reason) -> None:
        """Notes that something at a token is not read."""
        place = self.tokens[token]
        self.found.notices.add(partial(self.files[place.file].span, place.start, place.end), reason)

    def run(self) -> None:
        self.todo.append(_Scope(0, len(self.tokens)))
        while self.todo:  # a stack, since namespaces and records may be nested deeply
            self._scan_scope(self.todo.pop())

    def _scan_scope(self, scope: _Scope) -> None:
        """Cuts a scope into its declarations."""
        tokens = self.tokens
        head = i = scope.begin
        has_initializer = False  # behind a `=`: braces are a value
        while i < scope.end:
            token = tokens[i]
            text = token.text
            following = i + 1
            if text == ";":
                self._declaration(head, i, scope)
                head, has_initializer = i + 1, False
            elif text in ("(", "["):
                following = self.brackets.after(i)
                if i in self.brackets.unclosed:
                    head = following
            elif text == "{":
                following = self.brackets.after(i)
                head = self._bounded_head(head, i)
                if not has_initializer and self._block(head, i, scope):
                    head = following
            elif text in CLOSING or (token.kind == "pragma" and head == i):
                head, has_initializer = i + 1, False
            elif text == "=":
                has_initializer = True
            elif text == "operator" and token.kind == "identifier":
                following = after_operator(tokens, i)
            elif text in _DEFINITION_WORDS and i > head and ends_macro_call(tokens, head, i):
                head, has_initializer = i, False
            elif text == "<" and i > head and tokens[i - 1].text == "template":
                following = max(angle_end(tokens, i, scope.end), i) + 1
            elif text == ":" and i > head and tokens[i - 1].text in _ACCESS_WORDS:
                head = i + 1
            i = max(following, i + 1)

    def _bounded_head(self, head: int, brace: int) -> int:
        """Returns where the last `MAX_HEAD` tokens before a `{` begin, outside of brackets.

        Macro calls without a `;` may stand before a definition in any number. A kernel that begins
        earlier, which has thousands of parameters, is noted.
        """
        begin = head
        while brace - head > MAX_HEAD:
            opens = self.tokens[head].text in ("(", "[", "{")
            head = max(self.brackets.after(head) if opens else head, head + 1)
        head = min(head, brace)
        for i in range(begin, head):
            if self.tokens[i].text == "__global__":
                self._notice(
                    i,
                    Reason(ReasonCode.TOO_LARGE, f"a kernel's head of more than {MAX_HEAD} tokens"),
                )
        return head

    def _block(self, head: int, brace: int, scope: _Scope) -> bool:
        """Takes the `{..}` at `brace` as what its head says; False when it only is a part of it."""
        tokens = self.tokens
        h = [token for token in tokens[head:brace] if token.kind != "pragma"]
        if not h:
            return True
        if len(scope.names) > MAX_SCOPES:
            self._notice(
                brace,
                Reason(ReasonCode.TOO_LARGE, f"scopes that are nested more than {MAX_SCOPES} deep"),
            )
            return True
        names = namespace_of(h)
        close = self.brackets.close[brace]
        if names is not None:
            is_inline = any(token.text == "inline" for token in h)
            self.found.scopes.open_namespace(scope.names, names, is_inline)
            self.todo.append(
                _Scope(brace + 1, close, scope.names + names, scope.record, scope.around)
            )
            return True
        if h[-1].text == "requires" or ends_with_requires_parameters(h):
            return False
        record = record_head(h, self.concepts)
        if record is not None:
            self._record(record, head, brace, scope)
            return False
        function = function_head(h, self.concepts)
        if function is None:
            # `int x{3};` and `enum E {..} e;` go on to their `;`; anything else is left behind.
            after = self.brackets.after(brace)
            following = tokens[after].text if after < len(tokens) else ""
            is_enum = any(token.text == "enum" for token in h[:4])
            return not (is_enum or following in (";", ",", "=", "{", "(", ">"))
        if function.tail and initializes_member(function.tail):
            return False
        self._function(function, brace, scope)
        return True

    def _record(self, head: RecordHead, begin: int, brace: int, scope: _Scope) -> None:
        tokens = self.tokens
        close = self.brackets.close[brace]
        name = head.name
        after = self._behind_attributes(behind := self.brackets.after(brace))
        is_typedef = any(token.text == "typedef" for token in head.before)
        if not name and is_typedef and after < len(tokens) and tokens[after].kind == "identifier":
            name = tokens[after].text  # typedef struct {..} Name;
        template = head.heads[-1] if head.heads else ()
        place = (*scope.names, *head.qualifiers)
        record = FoundRecord(
            head.kind,
            name,
            head.name_token,
            place,
            template,
            head.specialization,
            head.bases,
            lambda: list(self._members(brace + 1, close)),
            scope.around,
            scope.record,
            [*head.attributes, *tokens[behind:after]],
            self._pack_at(brace),
        )
        (self.found.local_records if scope.is_function else self.found.records).append(record)
        if name and not scope.is_function:
            self.found.scopes.known.add((*place, name))
            self.found.scopes.classes.add((*place, name))
            self.found.types.add(name)
            if head.heads:
                self.found.templates.add(name)
        names = (*place, name) if name else place
        parameters = tuple(p for parameters in head.heads for p in parameters)
        own = (Enclosing(name, parameters, head.specialization),) if name else ()
        self.todo.append(_Scope(brace + 1, close, names, record, scope.around + own))

    def _behind_attributes(self, i: int) -> int:
        """Returns the index behind the attributes at `i`."""
        tokens = self.tokens
        while i + 1 < len(tokens) and tokens[i].text in ATTRIBUTES and tokens[i + 1].text == "(":
            i = matching(tokens, i + 1) + 1
        return i

    @cached_property
    def _packs(self) -> list[tuple[int, int]]:
        return packs(self.tokens)

    def _pack_at(self, i: int) -> int:
        """Returns what `#pragma pack` has set at a token."""
        at = bisect_right(self._packs, (i, 0))
        return self._packs[at - 1][1] if at else 0

    def _members(self, begin: int, end: int) -> Iterator[Token]:
        """Returns a record's body without friends, access words and member functions.

        Of a function that is virtual, that word stays.
        """
        at = begin
        for first, last in self._left_out(begin, end, 0):
            yield from self.tokens[at:first]
            at = max(at, last)
            head = islice(self.tokens, first, min(last, first + MAX_HEAD))
            for token in takewhile(lambda t: t.text not in ("(", "{"), head):
                if token.text == "virtual":
                    yield token
        yield from self.tokens[at:end]

    def _left_out(self, begin: int, end: int, depth: int) -> list[tuple[int, int]]:
        """Returns what a record's body has besides its members, in order, in nested records too."""
        tokens = self.tokens
        head = i = begin
        skip: list[tuple[int, int]] = []
        has_initializer = False
        while i < end:
            text = tokens[i].text
            following = i + 1
            if text == ";":
                if not self._is_member(tokens[head:i], has_initializer):
                    skip.append((head, i + 1))
                head, has_initializer = i + 1, False
            elif text == "{":
                following = self.brackets.after(i)
                h = tokens[self._bounded_head(head, i) : i]
                is_head = h and not has_initializer
                if is_head and record_head(h, self.concepts) is not None:
                    if depth < MAX_RECORDS:
                        skip += self._left_out(i + 1, self.brackets.close[i], depth + 1)
                elif is_head:
                    function = function_head(h, self.concepts)
                    if function is not None and not initializes_member(function.tail):
                        skip.append((head, following))
                        head = following
            elif text in ("(", "["):
                following = self.brackets.after(i)
            elif text == "operator":
                following = after_operator(tokens, i)
            elif text == "=":
                has_initializer = True
            elif text == "<" and i > head and tokens[i - 1].text == "template":
                following = max(angle_end(tokens, i, end), i) + 1
            elif text == ":" and i > head and tokens[i - 1].text in _ACCESS_WORDS:
                skip.append((head, i + 1))
                head = i + 1
            i = max(following, i + 1)
        return skip

    def _is_member(self, h: Sequence[Token], has_initializer: bool) -> bool:
        """Returns whether it declares a data member, alias or enum, no prototype."""
        if not h:
            return False
        if h[0].text in ("friend", "static_assert", "using") and not (
            h[0].text == "using" and has_initializer
        ):
            return False
        is_value = has_initializer and "operator" not in (t.text for t in h[:MAX_HEAD])
        if is_value or len(h) > MAX_HEAD:
            return declares_no_function(h)
        brace = next((i for i, token in enumerate(h) if token.text == "{"), len(h))
        if record_head(h[:brace], self.concepts) is not None:
            return brace < len(h)
        return function_head(h, self.concepts) is None

    def _function(self, head: FunctionHead, brace: int, scope: _Scope) -> None:
        tokens = self.tokens
        end = self.brackets.after(brace)
        body = list(tokens[brace:end])
        if brace in self.brackets.unclosed:
            last = body[-1]
            body.append(Token("operator", "}", last.end, last.end, last.file, macro=last.macro))
        own = head.heads[head.qualifier_arguments :]
        outer = scope.outer + tuple(p for h in head.heads[: head.qualifier_arguments] for p in h)
        template = own[-1] if own else ()
        specifiers = {t.text for t in head.result if t.kind == "identifier"} - {"const"}
        names, owner = scope.names, scope.record
        params, result = head.params, head.result
        if "friend" in specifiers and owner is not None:
            # of the namespace around; what it is called with tells the arguments of the class
            params, result, body = (_with_arguments(t, owner) for t in (params, result, body))
            template, outer, owner = (*outer, *template), (), None
            while names in self.found.scopes.classes:
                names = names[:-1]
        record = owner.name if owner else None
        if head.qualifiers:
            record = head.qualifiers[-1]
        pieces = FunctionTokens(
            head.name,
            template,
            params,
            result,
            initializers_of(head.tail),
            body,
            head.name_token,
            record,
            outer,
        )
        self.found.functions.append(
            FoundFunction(
                pieces,
                names + head.qualifiers,
                head.specialization,
                frozenset(specifiers | qualifiers_of(head.tail)),
                head.launch_bounds,
                self._specialized(head) if head.qualifiers else owner,
            )
        )
        if head.heads:
            self.found.templates.add(head.name)
        parameters = tuple(p for h in head.heads for p in h)
        names = (*scope.names, head.name)
        around = (*scope.around, Enclosing(head.name, parameters))
        inside = _Scope(brace, end, names, around=around, is_function=True)
        for local, begin, opening in local_records(tokens, self.brackets, brace, end):
            self._record(local, begin, opening, inside)

    def _specialized(self, head: FunctionHead) -> FoundRecord | None:
        """Returns the full specialization of a class that a member is defined for outside of it."""
        if head.class_specialization is None:
            return None
        named = (r for r in reversed(self.found.records) if r.name == head.qualifiers[-1])
        return next((r for r in named if r.specialization == head.class_specialization), None)

    def _declaration(self, begin: int, end: int, scope: _Scope) -> None:
        """Takes the tokens before a `;` as a declaration of names."""
        h = [token for token in self.tokens[begin:end] if token.kind != "pragma"]
        if len(h) < 2:
            return
        heads, start = template_heads(h, self.concepts)
        h = h[start:]
        template = heads[-1] if heads else ()
        in_record = scope.record is not None
        directive = directive_text(h)
        if directive:
            self.found.scopes.directives.setdefault(scope.names, {})[directive] = None
        for name in declared_names(h, in_record):
            self._note(name, scope, template, bool(heads))

    def _note(
        self,
        name: Declared,
        scope: _Scope,
        template: tuple[TemplateParameter, ...],
        is_template: bool,
    ) -> None:
        if name.kind in ("type", "alias", "enum") and name.token.kind == "identifier":
            self.found.types.add(name.token.text)
        if is_template:
            self.found.templates.add(name.token.text)
        if name.kind == "function":
            self.found.prototypes.setdefault(name.token.text, []).append((scope.names, name.tokens))
        if name.kind in ("type", "function"):
            if template:
                self.found.heads.setdefault(name.token.text, []).append((scope.names, template))
            return
        self.found.declarations.append(
            FoundDeclaration(
                name.kind,
                name.token.text if name.token.kind == "identifier" else "",
                name.token,
                scope.names + name.qualifiers,
                template,
                name.tokens,
                name.enumerators,
                scope.outer,
            )
        )
