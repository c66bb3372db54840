"""Small inputs made by grammars: kernels, Python string bombs and trees of hostile files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

_NAMES = ("s", "t", "n", "o", "i", "blockIdx.x", "threadIdx.x", "threadIdx.y", "blockDim.x")
_NUMBERS = ("0", "1", "3", "31", "32", "33", "1024", "-1", "0xffffffff", "1ull << 63", "1e9")
_BINARY = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", "==", "&&", "||", ",", "=")
_CALLS = ("abs", "min", "max", "__ldg", "__shfl_sync", "f", "float4", "labs", "__init", "sizeof")
_TYPES = ("int", "float", "float4", "unsigned char", "double", "half", "T", "auto", "unsigned long")
_BEFORE = (
    "template <typename T, int N = 4>", "namespace a {", "INSTANTIATE(float, 32)", "#if X", "#else",
    "#endif", "#define T float", "#define s(x) x x", '#include "k.cu"', "extern \"C\" {", "}", ";",
    "struct T { int i; T *n; int f() { return i; } };", "typedef T T;", "constexpr int n = 32;",
)  # fmt: skip
_PYTHON = (
    "s = s + s", "s += s * 2", "s = s.join([s, s])", "s = f'{s}{s}'", "s = '%s%s' % (s, s)",
    "s = '{0}{0}'.format(s)", "s = s.replace('a', s)", "s = s * 10 ** 9", "s = '%999999999d' % 1",
    "s = s[::-1] + s", "n = n ** n", "n = n << n", "n = n * n", "s = str(n) + s", "s = s.ljust(10 ** 9)",
    "s = Template(s).substitute(a=s)", "s = s.upper().encode().decode()", "for i in range(n): s += s",
    "s = ''.join(s for _ in range(n))", "l = [s] * 10 ** 9", "s = s.zfill(n)", "s = s.expandtabs(n)",
)  # fmt: skip


def kernel(random: Random) -> str:
    """A kernel whose every part is made by rules, mostly of the language."""
    before = random.choices(_BEFORE, k=random.choice((0, 0, 1, 2, 3)))
    size = random.choice(("32", "33", "n", "N", "", "1 << 31", "-1", "0"))
    body = "\n".join(_statement(random, 3) for _ in range(random.randint(1, 5)))
    launch = f"void h() {{ k<<<1, {_expression(random, 1)}>>>({_expression(random, 1)}); }}"
    return "\n".join((
        *before,
        f"__global__ void k(float *o, int n) {{ __shared__ {random.choice(_TYPES)} s[{size}][32];",
        f"int t = {_expression(random, 2)}; {body} }}",
        launch if random.random() < 0.7 else "",
    ))  # fmt: skip


def _expression(random: Random, depth: int) -> str:
    pick = random.random() if depth else 0.0
    if pick < 0.35:
        return random.choice((*_NAMES, *_NUMBERS))
    a, b = (_expression(random, depth - 1) for _ in range(2))
    if pick < 0.65:
        return f"({a} {random.choice(_BINARY)} {b})"
    if pick < 0.75:
        return f"s[{a}][{b}]"
    if pick < 0.85:
        return f"{random.choice(_CALLS)}({random.choice(('', a, f'{a}, {b}'))})"
    if pick < 0.92:
        return f"(*({random.choice(_TYPES)} *)&{a})"
    return f"({a} ? {b} : {a})"


def _statement(random: Random, depth: int) -> str:
    e = _expression(random, 3)
    pick = random.random()
    if pick < 0.4 or not depth:
        return f"s[{_expression(random, 2)}][t] = {e};"
    inner = _statement(random, depth - 1)
    if pick < 0.55:
        return f"if ({e}) {{ {inner} }} else {{ {_statement(random, depth - 1)} }}"
    if pick < 0.7:
        return f"for (int i = {_expression(random, 1)}; i < {e}; i += t) {{ {inner} }}"
    if pick < 0.8:
        return f"while ({e}) {{ {inner} {random.choice(('break;', 'continue;', 'return;'))} }}"
    if pick < 0.9:
        return f"auto l = [&](auto n) {{ {inner} return n; }}; l({e});"
    return f"switch ({e}) {{ case {_expression(random, 1)}: {inner} default: ; }}"


def bomb(random: Random) -> str:
    """A Python program that doubles strings and numbers before it compiles one."""
    lines = ["import cupy", "from string import Template", "s = 'a$a'", "n = 9"]
    lines += random.choices(_PYTHON, k=random.randint(1, 4)) * random.choice((1, 2, 8, 40))
    lines.append("k = cupy.RawKernel(s + r'''" + kernel(random) + "''', 'k')")
    lines.append("k((1,), (32,), (s, n))")
    return "\n".join(lines)


def tree(random: Random, folder: Path) -> None:
    """Fills a folder with a kernel and what a hostile repository may put beside it."""
    (folder / "k.cu").write_text('#include "h.cuh"\n' + kernel(random))
    (folder / "b.py").write_text("from h import *\n" + bomb(random))
    names = ("h.cuh", "h.py", "Makefile", ".gitignore", "smemlint.toml", "pyproject.toml", "n.ipynb",
             ".smemlint_cache", ".git", "d", "x.cu")  # fmt: skip
    for name in random.sample(names, random.randint(1, 5)):
        _odd(random, folder / name)


def _odd(random: Random, path: Path) -> None:
    match random.randrange(9):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to(
                random.choice(("/dev/zero", "/dev/stdin", "/etc/passwd", "/proc/self/environ"))
            )
        case 2:
            path.symlink_to(random.choice((".", "..", path.name, "missing", "k.cu")))
        case 3:
            path.write_bytes(b"")
        case 4:
            with path.open("wb") as file:
                file.truncate(1 << 40)
        case 5:
            path.mkdir()
            (path / "k.cu").symlink_to("../k.cu")
        case 6:
            path.write_text("a." * 200 + "a = 1\n" + "[" * 5_000)
        case 7:
            path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": bomb(random)}]}))
        case _:
            path.write_bytes(random.randbytes(random.choice((1, 100, 5_000))))
