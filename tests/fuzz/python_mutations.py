"""Seeded mutations of Python programs that stay Python: of their trees, not of their texts."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from random import Random

from mutations import mutated

_NUMBERS = (0, 1, -1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 128, 255, 1024, 1 << 31, -(1 << 63), 1 << 70)
_ODD = (None, True, False, 0.5, 1e400, "", "k", "float32", b"x", ...)
_WRAPPERS = (
    "if n:\n    pass", "while True:\n    pass", "for i in range(n):\n    pass", "with n as m:\n    pass",
    "for i, j in zip(range(4), n):\n    pass", "try:\n    pass\nexcept Exception:\n    raise",
    "def f(*a, b=2, **c):\n    pass", "class C:\n    pass", "async def g():\n    pass",
    "match n:\n    case [1, *a]:\n        pass", "if n == 4:\n    pass\nelse:\n    n = 8",
)  # fmt: skip
_EXPRESSIONS = (
    "lambda x, *y: x", "[i for i in range(8) if i]", "{**n}", "[*n, 1]", "(yield)", "n[::-1]", "n[...]",
    "f'{n!r:>{n}}'", "a if n else b", "not n", "n @ n", "n ** n", "-n // 3 % 5 << 2", "(n := 4)", "n.m.o()",
    "{'a': n}['a']", "n if True else m", "1 < n < 3", "(*n,)", "range(n, 0, -3)", "min(n, 4, key=len)",
    "tuple(n)", "dict(a=1, **n)", "n[0][1:2, None]", "await n", "cdiv(n, 32) * 32", "int(n) + ord('a')",
)  # fmt: skip

Change = Callable[[Random, ast.Module, Sequence[ast.AST]], None]


def mutated_program(random: Random, text: str, others: Sequence[str], cuda: Sequence[str]) -> str:
    """The program after one to four changes of its tree; as it is where it is no Python.

    Args:
        random: what decides.
        text: the seed.
        others: programs that pieces may come from.
        cuda: texts that pieces of its strings may come from.
    """
    tree, other = _parsed(text), _parsed(random.choice(others))
    if tree is None or other is None:
        return text
    try:
        _change(random, tree, list(ast.walk(other)), cuda)
        return ast.unparse(ast.fix_missing_locations(tree))
    except (SyntaxError, ValueError, RecursionError, AttributeError, TypeError):
        return text  # it became the tree of no program


def _change(
    random: Random, tree: ast.Module, others: Sequence[ast.AST], cuda: Sequence[str]
) -> None:
    for _ in range(random.choice((1, 1, 2, 3, 4))):
        random.choice(_CHANGES)(random, tree, others)
    strings = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and "\n" in str(n.value)]
    if strings and random.random() < 0.5:
        chosen = random.choice(strings)
        chosen.value = mutated(random, str(chosen.value), cuda)


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _pick(random: Random, nodes: Sequence[ast.AST], kind: type[ast.AST]) -> ast.AST | None:
    found = [n for n in nodes if isinstance(n, kind)]
    return random.choice(found) if found else None


def _places(tree: ast.AST, kind: type[ast.AST]) -> list[tuple[list[ast.AST], int]]:
    """Where nodes of a kind stand in lists: the list and the index."""
    return [
        (children, index)
        for node in ast.walk(tree)
        for _, children in ast.iter_fields(node)
        if isinstance(children, list)
        for index, item in enumerate(children)
        if isinstance(item, kind)
    ]


def _number(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    chosen = _pick(random, list(ast.walk(tree)), ast.Constant)
    if isinstance(chosen, ast.Constant) and "\n" not in str(chosen.value):
        chosen.value = random.choice(_NUMBERS if random.random() < 0.8 else _ODD)


def _name(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    nodes = list(ast.walk(tree))
    one, other = _pick(random, nodes, ast.Name), _pick(random, nodes, ast.Name)
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        one.id = other.id


def _attribute(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    one, other = (
        _pick(random, list(ast.walk(tree)), ast.Attribute),
        _pick(random, others, ast.Attribute),
    )
    if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute):
        one.attr = other.attr


def _operator(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    chosen = _pick(random, list(ast.walk(tree)), ast.BinOp)
    if isinstance(chosen, ast.BinOp):
        kinds = (ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.LShift, ast.BitXor, ast.Pow)
        chosen.op = random.choice(kinds)()


def _expression(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    """Another expression in the place of one, from this program, another, or of an odd kind."""
    nodes = list(ast.walk(tree))
    parent = random.choice(nodes)
    fields = [
        (name, child) for name, child in ast.iter_fields(parent) if isinstance(child, ast.expr)
    ]
    odd = ast.parse(random.choice(_EXPRESSIONS), mode="eval").body
    source = random.choice((nodes, others, [odd]))
    new = _pick(random, source, ast.expr)
    if fields and new is not None:
        setattr(parent, random.choice(fields)[0], ast.parse(_text(new), mode="eval").body)


def _text(node: ast.AST) -> str:
    try:
        text = ast.unparse(node)
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, AttributeError, RecursionError):
        return "n"
    return text


def _argument(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    """Drops, doubles or moves arguments of a call."""
    call = _pick(random, list(ast.walk(tree)), ast.Call)
    if isinstance(call, ast.Call):
        arguments = random.choice([h for h in (call.args, call.keywords) if h] or [call.args])
        if arguments:
            at = random.randrange(len(arguments))
            arguments[at : at + 1] = random.choice(([], [arguments[at]] * 2))  # type: ignore[list-item]
            random.shuffle(arguments)


def _drop(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    places = _places(tree, ast.stmt)
    if places:
        block, index = random.choice(places)
        block[index : index + 1] = [] if len(block) > 1 else [ast.Pass()]


def _insert(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    """A statement of this program or another, somewhere."""
    places = _places(tree, ast.stmt)
    new = _pick(random, random.choice((list(ast.walk(tree)), others)), ast.stmt)
    if places and new is not None:
        block, index = random.choice(places)
        if new is not tree and not any(n is block for n in ast.walk(new)):
            block.insert(index, ast.parse(ast.unparse(new)).body[0])


def _wrap(random: Random, tree: ast.Module, others: Sequence[ast.AST]) -> None:
    places = _places(tree, ast.stmt)
    if places:
        block, index = random.choice(places)
        outer = ast.parse(random.choice(_WRAPPERS)).body[0]
        inside = _places(outer, ast.Pass)
        inside[0][0][inside[0][1]] = block[index]
        block[index] = outer


_CHANGES: tuple[Change, ...] = (
    _number, _number, _number, _name, _attribute, _operator, _expression, _expression, _argument,
    _drop, _insert, _wrap,
)  # fmt: skip
