"""Macros: definitions and their bounded expansion, with the places of what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from smemlint.frontend.cuda.lexer.tokens import Token, lex
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_CACHED_DEFINITIONS,
    MAX_MACRO_ARGUMENT_DEPTH,
    MAX_MACRO_NESTING,
    MAX_TOKENS_OF_MACROS,
    MAX_TOKENS_PER_CALL,
)
from smemlint.limits.steps import TOKENS_A_STEP, spend
from smemlint.reasons import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro definition.

    Attributes:
        parameters: None for an object-like macro.
        variadic: the name that stands for the rest of the arguments, `__VA_ARGS__` mostly.
        is_plain: no `#`, `##` or `__VA_OPT__` in the body.
        assumed: assumed `#if` conditions around the definition.
    """

    name: str
    parameters: tuple[str, ...] | None
    variadic: str | None
    body: tuple[Token, ...]
    is_plain: bool = True
    assumed: tuple[str, ...] = ()


def macros_of(definitions: Iterable[str]) -> dict[str, Macro]:
    """Returns macros by name, of the texts after `#define`."""
    macros = (read_definition(lex(text)) for text in definitions)
    return {macro.name: macro for macro in macros if macro is not None}


def read_definition(tokens: Sequence[Token], assumed: tuple[str, ...] = ()) -> Macro | None:
    """Reads a macro from the tokens after `#define`; None when they define nothing."""
    if not tokens or tokens[0].kind != "identifier":
        return None
    name, parameters, variadic, body = tokens[0], None, None, 1
    if len(tokens) > 1 and tokens[1].text == "(" and tokens[1].start == name.end:
        names: list[str] = []
        body = 2
        while body < len(tokens) and tokens[body].text != ")":
            token = tokens[body]
            if token.text == "...":
                named = body > 2 and tokens[body - 1].kind == "identifier"  # GNU `args...`
                variadic = names.pop() if named else "__VA_ARGS__"
                names.append(variadic)
            elif token.kind == "identifier":
                names.append(token.text)
            body += 1
        parameters = tuple(names)
        body += 1
    replacement = tuple(tokens[body:])
    is_plain = not any(t.text in ("#", "##", "__VA_OPT__") for t in replacement)
    return Macro(name.text, parameters, variadic, replacement, is_plain, assumed)


@lru_cache(MAX_CACHED_DEFINITIONS)
def macro_of_value(name: str, value: str) -> Macro:
    """Returns the macro that `-Dname=value` defines."""
    return Macro(name, None, None, tuple(lex(value)))


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """Tokens with their macro calls replaced, and what that rests on.

    Attributes:
        tokens: with the calls.
        out: without them.
        known: the macros that were asked for, by name.
        unknown: names that were asked for and are no macros.
        used: tokens that were made or read on the way.
    """

    tokens: list[Token]
    out: list[Token]
    known: tuple[tuple[str, Macro], ...]
    unknown: frozenset[str]
    used: int
    steps: int

    @property
    def size(self) -> int:
        """The tokens and names that it holds."""
        return len(self.tokens) + len(self.out) + len(self.unknown)


class _TooMuch(Exception):
    """The expansion of one call exceeds its bound."""


_PRAGMA = Macro("_Pragma", ("text",), None, ())


class Expander:
    """The macro table and the expansion of token lists under it."""

    def __init__(self, complain: Callable[[Token, Reason], None]) -> None:
        self.macros: dict[str, Macro] = {"_Pragma": _PRAGMA}
        self._complain = complain
        self._left = MAX_TOKENS_OF_MACROS
        self._call_left = 0
        self._depth = 0
        self._steps = 0
        self._asked: set[str] = set()  # names that were looked up since it was emptied
        self._complaints = 0

    def expand(self, tokens: list[Token]) -> list[Token]:
        """Returns the tokens with all macro calls replaced; the list itself when there are none."""
        macros = self.macros
        hits = [i for i, token in enumerate(tokens) if token.text in macros]
        if not hits:
            return tokens
        out: list[Token] = []
        done = 0
        for i in hits:
            if i < done or self._left <= 0:
                continue
            token = tokens[i]
            macro = macros.get(token.text)
            if macro is None or token.text in token.hidden:
                continue
            is_bare = i + 1 >= len(tokens) or tokens[i + 1].text != "("
            if is_bare and macro.parameters is not None:
                continue
            out += tokens[done:i]
            done = self._expand_call(tokens, i, out)
        out += tokens[done:]
        return out

    def expand_noting(self, tokens: list[Token]) -> tuple[list[Token], Expansion | None]:
        """Expands, and returns what that rests on, too.

        None where there are no calls, and where some are left since they would make too much.
        """
        left, steps, complaints = self._left, self._steps, self._complaints
        self._asked = {token.text for token in tokens}
        out = self.expand(tokens)
        asked, self._asked = self._asked, set()
        if out is tokens or self._complaints > complaints:
            return out, None
        known = tuple((name, self.macros[name]) for name in asked & self.macros.keys())
        unknown = frozenset(asked - self.macros.keys())
        used, steps = left - self._left, self._steps - steps
        return out, Expansion(tokens, out, known, unknown, used, steps)

    def repeats(self, tokens: list[Token], earlier: Expansion) -> bool:
        """Returns whether tokens expand as they did earlier; if so, counts that as done again."""
        macros = self.macros
        if not (
            earlier.used < self._left
            and all(macros.get(name) is macro for name, macro in earlier.known)
            and macros.keys().isdisjoint(earlier.unknown)
            and earlier.tokens == tokens
        ):
            return False
        self._left -= earlier.used
        spend(earlier.steps)
        return True

    def _expand_call(self, tokens: list[Token], i: int, out: list[Token]) -> int:
        """Appends the expansion of the call at `i` to `out`; returns where it ends."""
        if self._depth:
            return self._rescan(tokens, i, out)
        self._call_left = min(MAX_TOKENS_PER_CALL, self._left)
        before = len(out)
        try:
            end = self._rescan(tokens, i, out)
        except _TooMuch:
            del out[before:]
            out.append(tokens[i])
            self._depth = 0
            end = i + 1
            name = tokens[i].text
            self.macros.pop(name, None)  # or every further call would cost as much
            text = f"the expansion of macro {name} is too large"
            self._complain_of(tokens[i], text)
        used = min(MAX_TOKENS_PER_CALL, self._left) - self._call_left
        self._left -= used
        self._steps += used // TOKENS_A_STEP
        spend(used // TOKENS_A_STEP)
        if self._left <= 0:
            self._complain_of(tokens[i], "too much macro expansion: the rest is not expanded")
        return end

    def _complain_of(self, call: Token, text: str) -> None:
        self._complaints += 1
        self._complain(call, Reason(ReasonCode.TOO_LARGE, text))

    def _rescan(self, tokens: list[Token], i: int, out: list[Token]) -> int:
        """Replaces the call at `i` and what its replacement calls, until nothing is left."""
        call = tokens[i]
        pending = [call]  # reversed: the next token is the last one
        i += 1
        macros = self.macros
        while pending:
            token = pending.pop()
            macro = macros.get(token.text) if token.kind == "identifier" else None
            if macro is None or token.text in token.hidden:
                out.append(token)
                continue
            if macro.parameters is None:
                result = self._replacement(macro, token, {}, token)
            else:
                found = self._arguments(macro, pending, tokens, i)
                if found is None:
                    out.append(token)
                    continue
                arguments, last, i = found
                result = self._replacement(macro, token, arguments, last)
            self._spend(len(result))
            self._asked.update(token.text for token in result)
            pending += reversed(result)
        return i

    def _spend(self, tokens: int) -> None:
        self._call_left -= tokens
        if self._call_left < 0:
            raise _TooMuch

    def _arguments(
        self, macro: Macro, pending: list[Token], tokens: list[Token], i: int
    ) -> tuple[dict[str, list[Token]], Token, int] | None:
        """Returns the arguments by parameter, the closing bracket and the next index in `tokens`.

        They are read from the pending tokens first; None when there is no complete call.
        """
        parameters = macro.parameters or ()
        rest = len(parameters) if macro.variadic else 0
        arguments: list[list[Token]] = [[]]
        at = len(pending)
        depth = 0
        while True:
            if at > 0:
                at -= 1
                token = pending[at]
            elif i < len(tokens):
                token = tokens[i]
                i += 1
            else:
                return None
            self._spend(1)
            text = token.text
            if depth == 0:
                if text != "(":
                    return None
                depth = 1
                continue
            if text == "(":
                depth += 1
            elif text == ")":
                depth -= 1
                if depth == 0:
                    break
            elif text == "," and depth == 1 and len(arguments) != rest:
                arguments.append([])
                continue
            arguments[-1].append(token)
        del pending[at:]
        arguments += [[] for _ in range(len(parameters) - len(arguments))]
        return dict(zip(parameters, arguments, strict=False)), token, i

    def _replacement(
        self, macro: Macro, call: Token, arguments: dict[str, list[Token]], last: Token
    ) -> list[Token]:
        """Returns the body of a macro with its arguments in place, not yet rescanned."""
        end = max(call.end, last.end) if call.file == last.file else call.end
        outermost = call.macro or macro.name
        hidden = call.hidden | {macro.name}
        if len(hidden) > MAX_MACRO_NESTING:
            raise _TooMuch
        assumed = call.assumed + macro.assumed if macro.assumed else call.assumed
        if macro is _PRAGMA:
            return [self._pragma(call, arguments["text"], end)]

        def placed(token: Token) -> Token:
            return Token(
                token.kind,
                token.text,
                call.start,
                end,
                call.file,
                False,
                outermost,
                hidden,
                assumed,
            )

        if macro.is_plain and not arguments:
            return [placed(token) for token in macro.body]
        expanded: dict[str, list[Token]] = {}

        def argument(name: str) -> list[Token]:
            if name not in expanded:
                expanded[name] = [
                    replace(t, hidden=t.hidden | {macro.name}) if t.text in self.macros else t
                    for t in self._expand_argument(arguments[name])
                ]
            return expanded[name]

        if macro.is_plain:
            out: list[Token] = []
            for token in macro.body:
                if token.text in arguments:
                    out += argument(token.text)
                    self._spend(len(argument(token.text)))
                else:
                    out.append(placed(token))
            return out
        return self._substituted(macro, arguments, argument, placed)

    def _substituted(
        self,
        macro: Macro,
        arguments: dict[str, list[Token]],
        expanded: Callable[[str], list[Token]],
        placed: Callable[[Token], Token],
    ) -> list[Token]:
        """Returns the body with arguments in place, those of `#` and `##` unexpanded."""
        out: list[Token] = []
        body = list(_without_options(macro, arguments))
        i = 0
        while i < len(body):
            token = body[i]
            following = body[i + 1].text if i + 1 < len(body) else ""
            if token.text == "#" and following in arguments:
                out.append(
                    replace(placed(token), kind="string", text=_quoted(arguments[following]))
                )
                i += 2
            elif token.text == "##" and out and following:
                right = arguments[following] if following in arguments else [placed(body[i + 1])]
                is_rest = following == macro.variadic and out[-1].text == ","
                if is_rest and not right:
                    out.pop()  # GNU: `, ## __VA_ARGS__` without arguments
                elif is_rest:
                    out += expanded(following)
                elif right:
                    out[-1:] = [*_pasted(out[-1], right[0], placed(token)), *right[1:]]
                i += 2
            elif token.text in arguments:
                if following == "##":
                    # An empty left operand leaves a placemarker: the right one stands alone.
                    out += arguments[token.text] or [replace(placed(token), text="")]
                else:
                    out += expanded(token.text)
                self._spend(len(arguments[token.text]))
                i += 1
            else:
                out.append(placed(token))
                i += 1
        return [token for token in out if token.text]

    def _expand_argument(self, tokens: list[Token]) -> list[Token]:
        if self._depth >= MAX_MACRO_ARGUMENT_DEPTH:  # left to the rescan, which is a loop
            return tokens
        self._depth += 1
        try:
            return self.expand(tokens)
        finally:
            self._depth -= 1

    def _pragma(self, call: Token, text: list[Token], end: int) -> Token:
        quoted = text[0].text if text else ""
        content = quoted[quoted.find('"') + 1 : quoted.rfind('"')].replace('\\"', '"')
        return Token("pragma", content.strip(), call.start, end, call.file, False, call.macro)


def _without_options(macro: Macro, arguments: dict[str, list[Token]]) -> Iterator[Token]:
    """Returns the body with `__VA_OPT__(x)` as `x`, or as nothing without arguments."""
    has_rest = bool(arguments.get(macro.variadic or "", []))
    depth = 0  # brackets inside __VA_OPT__
    body = macro.body
    i = 0
    while i < len(body):
        text = body[i].text
        if depth == 0 and text == "__VA_OPT__" and i + 1 < len(body) and body[i + 1].text == "(":
            depth = 1
            i += 2
            continue
        if depth:
            depth += (text == "(") - (text == ")")
            if depth == 0:
                i += 1
                continue
        if depth == 0 or has_rest:
            yield body[i]
        i += 1


def _quoted(tokens: list[Token]) -> str:
    parts: list[str] = []
    end = tokens[0].start if tokens else 0
    for token in tokens:
        if token.start != end:
            parts.append(" ")
        text = token.text
        if token.kind in ("string", "character"):
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        parts.append(text)
        end = token.end
    return '"' + "".join(parts) + '"'


def _pasted(left: Token, right: Token, place: Token) -> list[Token]:
    """Returns one token made of two, or both when they make none together."""
    joined = lex(left.text + right.text)
    if len(joined) == 1:
        return [replace(place, kind=joined[0].kind, text=joined[0].text)]
    return [left, right] if joined else []
