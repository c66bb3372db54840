"""`#if` conditions in three values: known true, known false, or naming something unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from smemlint.frontend.cuda.lexer.integers import read_integer
from smemlint.frontend.cuda.lexer.tokens import Token, matching
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CONDITION_DEPTH, MAX_CONDITION_TOKENS

# A parsed condition: ("int", n), ("name", text), ("!", x), ("&&", a, b), ("?", c, a, b), ...
# A name is a macro without a value, or `defined X` for the question whether there is one.
Condition = tuple[object, ...]

_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


class _NotReadable(Exception):
    """The tokens are no condition that we can read; the condition counts as unknown."""


@dataclass(slots=True)
class Assumptions:
    """What was assumed of unknown names so far, so that one unit is read in one way.

    Attributes:
        truth: `X` or `defined X` to whether it is taken as true.
    """

    truth: dict[str, bool] = field(default_factory=dict)

    def of(self, name: str) -> bool | None:
        """Returns what was assumed of a name, directly or by implication."""
        if name in self.truth:
            return self.truth[name]
        if name.startswith("defined "):
            return True if self.truth.get(name[8:]) else None
        return False if self.truth.get(f"defined {name}") is False else None

    def assume(self, condition: Condition, value: bool = True) -> None:
        """Records what `condition == value` says about single names."""
        stack = [(condition, value)]
        while stack:
            node, value = stack.pop()
            if node[0] == "name":
                self.truth.setdefault(str(node[1]), value)
            elif node[0] == "!":
                stack.append((_part(node, 1), not value))
            elif (node[0] == "&&" and value) or (node[0] == "||" and not value):
                stack += [(_part(node, 1), value), (_part(node, 2), value)]


class _NothingDefined(Assumptions):
    """What a build without any -D has: every name that the source leaves open is undefined."""

    def of(self, name: str) -> bool | None:
        """Returns 0, the value of what is undefined."""
        return False


NOTHING_DEFINED = _NothingDefined()


def _part(node: Condition, i: int) -> Condition:
    part = node[i]
    assert isinstance(part, tuple)
    return part


def truth(condition: Condition, assumptions: Assumptions) -> tuple[bool | None, bool]:
    """Returns whether a condition holds, None if unknown, and whether that is assumed."""
    used: list[str] = []
    value = _truth(condition, assumptions, used)
    return value, bool(used) and value is not None


def _truth(node: Condition, assumptions: Assumptions, used: list[str]) -> bool | None:
    match node[0]:
        case "name":
            value = assumptions.of(str(node[1]))
            if value is not None:
                used.append(str(node[1]))
            return value
        case "!":
            value = _truth(_part(node, 1), assumptions, used)
            return None if value is None else not value
        case "&&" | "||":
            decisive = node[0] == "||"
            left = _truth(_part(node, 1), assumptions, used)
            right = _truth(_part(node, 2), assumptions, used)
            if decisive in (left, right):
                return decisive
            return None if None in (left, right) else not decisive
        case _:
            number = _number(node, assumptions, used)
            return None if number is None else number != 0


def _number(node: Condition, assumptions: Assumptions, used: list[str]) -> int | None:
    kind = node[0]
    if kind == "int":
        assert isinstance(node[1], int)
        return node[1]
    if kind == "name":
        if assumptions.of(str(node[1])) is False:
            used.append(str(node[1]))
            return 0
        return None
    if kind in ("!", "&&", "||"):
        value = _truth(node, assumptions, used)
        return None if value is None else int(value)
    if kind == "?":
        choice = _truth(_part(node, 1), assumptions, used)
        return (
            None if choice is None else _number(_part(node, 2 if choice else 3), assumptions, used)
        )
    numbers = [_number(_part(node, i), assumptions, used) for i in range(1, len(node))]
    if None in numbers:
        return None
    return _apply(str(kind), *(n for n in numbers if n is not None))


def _apply(operator: str, *numbers: int) -> int | None:
    """Computes an operator on 64-bit integers; None where C++ does not define the result."""
    if len(numbers) == 1:
        value = {"-": -numbers[0], "+": numbers[0], "~": ~numbers[0]}[operator]
        return _wrapped(value)
    a, b = numbers
    match operator:
        case "==" | "!=" | "<" | ">" | "<=" | ">=":
            return int(
                {"==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[
                    operator
                ]
            )
        case "/" | "%":
            if b == 0:
                return None
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if operator == "/" else a - quotient * b
        case "<<" | ">>":
            if not 0 <= b < 64:
                return None
            return _wrapped(a << b if operator == "<<" else a >> b)
        case _:
            values = {"|": a | b, "^": a ^ b, "&": a & b, "+": a + b, "-": a - b, "*": a * b}
            return _wrapped(values[operator])


def _wrapped(value: int) -> int:
    return value if -(1 << 63) <= value < 1 << 64 else (value + (1 << 63)) % (1 << 64) - (1 << 63)


def read_condition(
    tokens: list[Token],
    is_defined: Callable[[str], bool | None],
    expand: Callable[[list[Token]], list[Token]],
) -> Condition:
    """Parses what follows `#if`."""
    if len(tokens) > MAX_CONDITION_TOKENS:
        return ("name", "a long condition")
    expanded = expand(list(_without_questions(tokens, is_defined)))
    if len(expanded) > MAX_CONDITION_TOKENS:
        return ("name", "a long condition")
    parser = _Parser(list(_without_questions(expanded, is_defined)), is_defined)
    try:
        return parser.condition()
    except (_NotReadable, ValueError, IndexError):
        return ("name", "a condition that cannot be read")


def _without_questions(
    tokens: list[Token], is_defined: Callable[[str], bool | None]
) -> Iterator[Token]:
    """Answers `defined X` where possible and replaces the rest, and `__has_*(..)`, by one name."""
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token.text == "defined" and i + 1 < len(tokens):
            has_bracket = tokens[i + 1].text == "("
            at = min(i + 1 + has_bracket, len(tokens) - 1)
            name = tokens[at].text
            answer = is_defined(name) if tokens[at].kind == "identifier" else True
            if answer is None:
                yield Token("identifier", f"defined {name}", token.start, token.end, token.file)
            else:
                yield Token("number", str(int(answer)), token.start, token.end, token.file)
            i = at + 1 + (has_bracket and at + 1 < len(tokens) and tokens[at + 1].text == ")")
        elif token.text.startswith("__has_") and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            end = matching(tokens, i + 1)
            text = "".join(t.text for t in tokens[i : end + 1])
            yield Token("identifier", f"{text} ", token.start, token.end, token.file)
            i = end + 1
        else:
            yield token
            i += 1


class _Parser:
    """Precedence climbing over the tokens of one condition."""

    def __init__(self, tokens: list[Token], is_defined: Callable[[str], bool | None]) -> None:
        self.tokens = tokens
        self.is_defined = is_defined
        self.i = 0
        self.depth = 0

    def condition(self) -> Condition:
        condition = self.ternary()
        if self.i < len(self.tokens):
            raise _NotReadable
        return condition

    def peek(self) -> str:
        return self.tokens[self.i].text if self.i < len(self.tokens) else ""

    def expect(self, text: str) -> None:
        if self.peek() != text:
            raise _NotReadable
        self.i += 1

    def ternary(self) -> Condition:
        self.depth += 1
        if self.depth > MAX_CONDITION_DEPTH:
            raise _NotReadable
        condition = self.binary(1)
        if self.peek() == "?":
            self.i += 1
            first = self.ternary()
            self.expect(":")
            condition = ("?", condition, first, self.ternary())
        self.depth -= 1
        return condition

    def operator(self) -> str:
        """Returns the operator here; two adjacent `>` are a shift."""
        text = self.peek()
        if text == ">" and self.i + 1 < len(self.tokens):
            first, second = self.tokens[self.i : self.i + 2]
            if second.text == ">" and first.end == second.start:
                return ">>"
        return text

    def binary(self, lowest: int) -> Condition:
        left = self.unary()
        while _BINARY.get(operator := self.operator(), 0) >= lowest:
            self.i += 2 if operator == ">>" else 1
            left = (operator, left, self.binary(_BINARY[operator] + 1))
        return left

    def unary(self) -> Condition:
        operators: list[str] = []
        while self.peek() in ("!", "-", "+", "~"):
            operators.append(self.peek())
            self.i += 1
            if len(operators) > MAX_CONDITION_DEPTH:
                raise _NotReadable
        node = self.primary()
        for operator in reversed(operators):
            node = (operator, node)
        return node

    def primary(self) -> Condition:
        token = self.tokens[self.i]
        self.i += 1
        if token.text == "(":
            node = self.ternary()
            self.expect(")")
            return node
        if token.kind == "number":
            return ("int", _integer(token.text))
        if token.kind == "character" and len(token.text) == 3:
            return ("int", ord(token.text[1]))
        if token.kind != "identifier":
            raise _NotReadable
        if token.text in ("true", "false"):
            return ("int", int(token.text == "true"))
        if self.peek() == "(":  # a function-like macro that nobody defined
            end = matching(self.tokens, self.i)
            text = "".join(t.text for t in self.tokens[self.i - 1 : end + 1])
            self.i = end + 1
            return ("name", text)
        if (
            not token.text.startswith(("defined ", "__has_"))
            and self.is_defined(token.text) is False
        ):
            return ("int", 0)
        return ("name", token.text)


def _integer(text: str) -> int:
    literal = read_integer(text)
    if literal is None:
        raise ValueError(f"{text!r} is no integer")
    return literal.value
