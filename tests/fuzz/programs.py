"""Random kernels whose control flow hangs on threads and on an unknown `n`, in two spellings.

One is CUDA for `analyze`; the other is C++ that runs every thread and prints the index of each
access with the iteration that it belongs to. Helpers change variables by reference, return early,
loops are left by `break`, all of it under conditions that are known, or not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

NS = (0, 1, 2, 3, 5, 8, 13, 37, 100)
"""Values of `n` that programs are run with."""
THREADS = 64
_HELD = (("volatile int *", "s"), ("int", "0"))


@dataclass(frozen=True, slots=True)
class Program:
    """One kernel.

    Attributes:
        cuda: the text that is analysed.
        plain: the same for a C++ compiler, as a function of `t`, `n`.
    """

    cuda: str
    plain: str


@dataclass(slots=True)
class _Writer:
    random: random.Random
    number: int
    lines: list[tuple[str, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    indent: int = 0
    loops: int = 0
    is_helper: bool = False
    is_declared: bool = False
    result: str = ""
    sites: int = 0

    def line(self, cuda: str, plain: str | None = None) -> None:
        pad = "  " * self.indent
        self.lines.append((pad + cuda, pad + (cuda if plain is None else plain)))

    # ---- expressions

    def constant(self) -> str:
        return str(self.random.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33)))

    def name(self) -> str:
        return self.random.choice(self.names)

    def target(self) -> str:
        return self.random.choice([x for x in self.names if x[0] not in "ic"])

    def value(self) -> str:
        """Mostly affine, so that much of it is decided."""
        pick = self.random.random()
        if pick < 0.25:
            return self.constant()
        if pick < 0.5:
            return self.name()
        if pick < 0.6:
            return "t"
        if pick < 0.65:
            return "n"
        if pick < 0.8:
            return f"({self.name()} {self.random.choice('+-')} {self.value()})"
        if pick < 0.88:
            return f"({self.name()} * {self.random.choice((2, 3, 4, 8))})"
        if pick < 0.93:
            return f"({self.condition()} ? {self.name()} : {self.value()})"
        if pick < 0.96 and self.is_declared:
            return f"q[{self.random.choice(('0', '1', f'({self.name()} & 1)'))}]"
        return f"({self.name()} {self.random.choice(('& 7', '>> 1', '% 4', '/ 2', '^ 3', '<< 1', '& 31'))})"

    def condition(self) -> str:
        left = self.random.choice(("t", "n", "n", "n + t", "(t & 3)", "(n & 3)", self.name()))
        operator = self.random.choice(("<", "<=", "==", "!=", ">"))
        condition = f"({left} {operator} {self.constant()})"
        pick = self.random.random()
        if pick < 0.1:
            return f"({condition} && {self.condition()})"
        if pick < 0.2:
            return f"({condition} || {self.condition()})"
        return f"(!{condition})" if pick < 0.25 else condition

    # ---- statements

    def block(self, depth: int, count: int) -> None:
        self.indent += 1
        for _ in range(count):
            self.statement(depth)
        self.line(";")
        self.indent -= 1

    def statement(self, depth: int) -> None:
        pick = self.random.random()
        if pick < 0.3 or depth == 0:
            self.assignment()
        elif pick < 0.5:
            self.branch(depth)
        elif pick < 0.62:
            self.loop(depth)
        elif pick < 0.67:
            self.switch(depth)
        elif pick < 0.75 and self.helpers:
            self.call()
        elif pick < 0.77 and depth > 1:
            self.lambda_()
        elif pick < 0.8 and self.loops:
            self.jump(self.random.choice(("break;", "continue;")))
        elif pick < 0.83:
            self.jump(f"return{self.result};")
        elif not self.is_helper:
            self.access()

    def assignment(self) -> None:
        operator = self.random.choice(("=", "=", "+=", "-="))
        target = self.target()
        if self.is_declared and self.random.random() < 0.2:
            target = self.random.choice(("q[0]", "q[1]", f"q[{self.name()} & 1]", "p"))
            operator = "+=" if target == "p" else operator
        self.line(f"{target} {operator} {self.value()};")

    def jump(self, text: str) -> None:
        """After something was written, for the jump to carry."""
        self.line(f"if {self.condition()} {{")
        self.indent += 1
        if self.random.random() < 0.6:
            self.assignment()
        self.line(text)
        self.indent -= 1
        self.line("}")

    def branch(self, depth: int) -> None:
        self.line(f"if {self.condition()} {{")
        self.block(depth - 1, self.random.randint(1, 3))
        if self.random.random() < 0.5:
            self.line("} else {")
            self.block(depth - 1, self.random.randint(1, 2))
        self.line("}")

    def loop(self, depth: int) -> None:
        i = f"i{self.number}_{len(self.lines)}"
        end = self.random.choice(("2", "3", "4", "n", "(n & 3)", "(t & 3)"))
        head = f"for (int {i} = 0; {i} < {end}; {i}++) {{"
        pick = self.random.random()
        if pick < 0.15:
            head = f"for (int {i} = t; {i} < n; {i} += {self.random.choice((1, 5, 32))}) {{"
        elif pick < 0.3 and self.is_declared:
            i = self.random.choice(("c0", "c1"))
            head = f"for ({i} = {self.random.choice('0t')}; {i} < {end}; {i}++) {{"
        if i in self.names:
            return
        self.line(head, f"{{ Level level; {head} level.at({i});")
        self.names.append(i)
        self.loops += 1
        self.block(depth - 1, self.random.randint(1, 3))
        self.loops -= 1
        self.names.remove(i)
        self.line("}", "} }")

    def switch(self, depth: int) -> None:
        self.line(f"switch ({self.random.choice(('n & 3', 't & 3', self.name()))}) {{")
        loops, self.loops = self.loops, 0
        for case in range(self.random.randint(1, 3)):
            self.line(f"case {case}: {{")
            self.block(depth - 1, 1)
            self.line("}")
            if self.random.random() < 0.8:
                self.line("  break;")
        if self.random.random() < 0.4:
            self.line("default: {")
            self.block(depth - 1, 1)
            self.line("}")
        self.loops = loops
        self.line("}")

    def call(self) -> None:
        """A helper by reference, one that returns, or a method."""
        helper = self.random.choice(self.helpers)
        first, second = self.random.sample([x for x in self.names if x[0] not in "ic"], 2)
        if helper[0] == "f":
            self.line(f"{first} = {helper}(n, t, {second});")
        elif helper[0] == "p":
            self.line(f"{helper}(n, t, &{first}, {second});")
        else:
            self.line(f"{helper}(n, t, {first}, {second});")

    def lambda_(self) -> None:
        name = f"l{len(self.lines)}"
        self.line(f"auto {name} = [&](int m) {{")
        loops, self.loops = self.loops, 0
        result, self.result = self.result, ""
        self.block(1, self.random.randint(1, 2))
        self.loops, self.result = loops, result
        self.line("};")
        for _ in range(self.random.randint(1, 2)):
            call = f"{name}({self.value()});"
            self.line(call, f"{{ Level level; level.at(-{len(self.lines)}); {call} }}")

    def helper(self, name: str) -> None:
        """A function of one of the kinds that `call` knows, by the first letter."""
        self.is_helper, self.names = True, ["a", "b"]
        self.result = " a" if name[0] == "f" else ""
        head = f"(int n, int t, int {'*q' if name[0] == 'p' else '&a' if name[0] == 'h' else 'b'}"
        result = "int" if name[0] == "f" else "void"
        self.line(
            f"__device__ {result} {name}{head}{'' if name[0] == 'f' else ', int &b' if name[0] == 'h' else ', int b'}) {{"
        )
        if name[0] == "f":
            self.line("  int a = b;")
        if name[0] == "p":
            self.line("  int a = *q;")
            self.line(f"  if {self.condition()} {{ *q = {self.value()}; return; }}")
        self.block(2, self.random.randint(1, 3))
        if name[0] == "p":
            self.line(f"  *q = {self.value()};")
        if name[0] == "f":
            self.line(f"  if {self.condition()} return {self.value()};")
            self.line(f"  return {self.value()};")
        self.line("}")
        self.helpers.append(name)
        self.is_helper, self.result = False, ""

    def access(self) -> None:
        index = self.random.choice(
            (self.name(), f"t * {self.constant()}", f"{self.name()} + t", f"t * {self.name()}")
        )
        index = f"{index} + {self.value()}" if self.random.random() < 0.3 else index
        self.sites += 1
        if self.random.random() < 0.3:
            self.line(f"p[{index}] = 1;", f"access(__LINE__, p + {index});")
        else:
            self.line(f"s[{index}] = 1;", f"access(__LINE__, {index});")


def program(seed: int, number: int, *, has_members: bool = False) -> Program:
    """The program of that number; the same in every run.

    Args:
        seed: of all programs of a run.
        number: of this one.
        has_members: a number may lie behind pointers in its object.
    """
    rng = random.Random(f"{seed}:{number}")
    w = _Writer(rng, number)
    for h in range(rng.randint(0, 2)):
        w.helper(f"{rng.choice('hhfp')}{number}_{h}")
    w.names = ["v0", "v1", "v2"]
    w.line(f"__global__ void k{number}(int n) {{", f"void k{number}(int t, int n) {{")
    w.line("  __shared__ volatile int s[4096]; int t = threadIdx.x;", "")
    w.line(f"  int v0 = {rng.choice(('0', '1', 't', 't * 2'))}, v1 = t, v2 = {rng.choice('1234')};")
    w.line("  int c0, c1, q[2] = {2, t};")
    if has_members and rng.random() < 0.6:
        cuda, plain = (
            f"  struct {{ {kind} x, y; int v; }} o = {{{at}, {at}, 1}};" for kind, at in _HELD
        )
        w.line(cuda, plain)
        w.names.append("o.v")
    w.line("  volatile int *p = s;", "  int p = 0;")
    w.is_declared = True
    w.block(3, rng.randint(3, 7))
    w.indent = 1
    w.access()
    w.indent = 0
    w.line("}")
    w.line(f"void run{number}(int n) {{ k{number}<<<1, {THREADS}>>>(n); }}", "")
    return Program(*("\n".join(texts) + "\n" for texts in zip(*w.lines, strict=True)))
