"""Seeded mutations of texts: what editors, merges, generators and broken disks make of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(r"\w+|[^\w\s]|\n")
_NUMBER = re.compile(r"\b\d\w*\b")
_WORDS = (
    "0", "1", "-1", "31", "32", "33", "0x", "0x7fffffff", "0xffffffffffffffffull", "1e400", "1e-400f",
    "08", "0b2", "1'000", "99999999999999999999999999999999", "2147483648", "(-2147483647 - 1)",
    "/ 0", "% 0", "<< 63", ">> -1", "<< 4000000000", "* 0", "**", "**9999", "->", "::", "...", "##", "#",
    "\\", "\\\n", '"', "'", '"""', "/*", "*/", "//", "#if 1", "#endif", "#else", "#define A A", "#include",
    "\n#if 0\n", "{", "}", "(", ")", "[", "]", "<", ">", "<<<", ">>>", ";", ",", "?", ":", "=", "&", "*",
    "for(;;)", "while(1)", "do", "goto a;", "if", "else", "switch", "case 0:", "return", "break;",
    "template<class T>", "template<int N>", "typename", "struct A { A a; };", "union", "enum", "sizeof",
    "__shared__", "extern __shared__", "__global__ void", "__device__", "__syncthreads();", "asm",
    "threadIdx.x", "blockIdx.x", "blockDim.x", "float4", "double", "int", "unsigned", "char", "half",
    "reinterpret_cast<float4*>", "static_cast<", "lambda", "def", "class", "@", "None", "True", "async",
    "await", "yield", "import", "from", "*args", "**kw", "for i in range(10**18):", "while True:",
    "\t", "\f", "\r", "\0", "\ufeff", "\u2028", "\x85", "é", "漢", "🂡", "\ud800", "\\N{DIGIT ONE}",
    "// smemlint: ignore[SML101]", "# smemlint: launch(block=(32,", "/* smemlint: swizzle(3,4,3) bytes */",
)  # fmt: skip
_OPENING = ("(", "[", "{", "<", "if(1){", "for(;;){", "!", "-", "~", "&", "*", "A<", "f(", "(int)")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">", "if(1){": "}", "for(;;){": "}", "A<": ">", "f(": ")"}  # fmt: skip
_LONGEST = 40_000

Mutation = Callable[[Random, str, Sequence[str]], str]


def mutated(random: Random, text: str, others: Sequence[str]) -> str:
    """The text after one to four mutations, cut to a bounded length.

    Args:
        random: what decides.
        text: the seed.
        others: texts that pieces may come from.
    """
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        text = random.choice(_MUTATIONS)(random, text, others)
    return text[:_LONGEST]


def _flip(random: Random, text: str, others: Sequence[str]) -> str:
    at = _place(random, text)
    byte = chr(random.choice((random.randrange(32, 127), random.randrange(256))))
    return text[:at] + byte + text[at + 1 :]


def _cut(random: Random, text: str, others: Sequence[str]) -> str:
    start, end = _range(random, text)
    return text[:start] + text[end:]


def _double(random: Random, text: str, others: Sequence[str]) -> str:
    start, end = _range(random, text)
    return text[:end] + text[start:end] * random.choice((1, 1, 2, 20)) + text[end:]


def _truncate(random: Random, text: str, others: Sequence[str]) -> str:
    return text[: _place(random, text)]


def _splice(random: Random, text: str, others: Sequence[str]) -> str:
    other = random.choice(others)
    if random.random() < 0.5:
        start, end = _range(random, other)
        at = _place(random, text)
        return text[:at] + other[start:end] + text[at:]
    return text[: _place(random, text)] + other[_place(random, other) :]


def _drop_token(random: Random, text: str, others: Sequence[str]) -> str:
    start, end = _token(random, text)
    return text[:start] + text[end:]


def _double_token(random: Random, text: str, others: Sequence[str]) -> str:
    start, end = _token(random, text)
    return f"{text[:end]} {text[start:end]}{text[end:]}"


def _move_token(random: Random, text: str, others: Sequence[str]) -> str:
    (start, end), (start2, end2) = sorted((_token(random, text), _token(random, text)))
    if end > start2:
        return text
    return text[:start] + text[start2:end2] + text[end:start2] + text[start:end] + text[end2:]


def _replace_token(random: Random, text: str, others: Sequence[str]) -> str:
    start, end = _token(random, text)
    return text[:start] + random.choice(_WORDS) + text[end:]


def _rename_token(random: Random, text: str, others: Sequence[str]) -> str:
    start, end = _token(random, text)
    other_start, other_end = _token(random, text)
    return text[:start] + text[other_start:other_end] + text[end:]


def _insert_word(random: Random, text: str, others: Sequence[str]) -> str:
    at = random.choice(_token(random, text))
    return f"{text[:at]} {random.choice(_WORDS)} {text[at:]}"


def _change_number(random: Random, text: str, others: Sequence[str]) -> str:
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return text
    match = random.choice(numbers)
    value = random.choice(
        (
            str(random.randrange(-70, 140)),
            str(2 ** random.randrange(70) + random.randrange(-1, 2)),
            "9" * random.choice((10, 20, 400, 5000)),
            hex(random.getrandbits(64)),
            f"{random.randrange(100)}e{random.randrange(-400, 400)}",
        )
    )
    return text[: match.start()] + value + text[match.end() :]


def _nest(random: Random, text: str, others: Sequence[str]) -> str:
    opening = random.choice(_OPENING)
    closing = _CLOSING.get(opening, "") if random.random() < 0.8 else ""
    deep = random.choice((2, 5, 20, 60, 100, 200, 400, 1200) if random.random() < 0.3 else (2, 8))
    start, end = _token(random, text)
    return text[:start] + opening * deep + text[start:end] + closing * deep + text[end:]


def _drop_line(random: Random, text: str, others: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[random.randrange(len(lines))]
    return "".join(lines)


def _move_line(random: Random, text: str, others: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) > 1:
        line = lines.pop(random.randrange(len(lines)))
        lines.insert(random.randrange(len(lines)), line)
    return "".join(lines)


def _other_line(random: Random, text: str, others: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(
        random.randint(0, len(lines)), random.choice(random.choice(others).split("\n")) + "\n"
    )
    return "".join(lines)


def _line_ends(random: Random, text: str, others: Sequence[str]) -> str:
    return text.replace("\n", random.choice(("\r\n", "\r", "\f\n", "\\\n", "  \n", "")))


_MUTATIONS: tuple[Mutation, ...] = (
    _flip, _flip, _cut, _double, _truncate, _splice, _splice, _drop_token, _drop_token,
    _double_token, _move_token, _replace_token, _replace_token, _replace_token, _rename_token,
    _rename_token, _insert_word, _insert_word, _change_number, _change_number, _change_number,
    _nest, _drop_line, _move_line, _other_line, _line_ends,
)  # fmt: skip


def _place(random: Random, text: str) -> int:
    return random.randint(0, len(text))


def _range(random: Random, text: str) -> tuple[int, int]:
    start = _place(random, text)
    return start, min(len(text), start + random.choice((1, 4, 16, 64, 256)))


def _token(random: Random, text: str) -> tuple[int, int]:
    """The range of some token; an empty one where there is none near a random place."""
    match = _TOKEN.search(text, _place(random, text))
    return match.span() if match else (len(text), len(text))
