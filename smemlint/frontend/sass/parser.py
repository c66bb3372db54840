"""The text of `nvdisasm -c -gi` as instructions with labels and source lines.

Nothing is known of what an instruction does here. A line that is in no known form is skipped:
`nvdisasm` prints many directives that say nothing about the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from smemlint.frontend.sass.line_table import Place
from smemlint.frontend.sass.operands import Operand, Predicate, parse_operand, split_operands
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.encoding import unescaped_path


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source file, as the line table spells its path."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction.

    Attributes:
        offset: of the instruction in its function, in bytes.
        guard: the predicate that it runs under; None without one.
        opcode: e.g. `LDS`.
        modifiers: what follows the opcode, e.g. ("U", "128") of `LDS.U.128`.
        operands: destinations first.
        line: where it stands in the user's source: the innermost place outside of libraries, or
            else the innermost; None without a line table.
        lines: where it comes from, innermost inlined function first.
        targets: the labels that a jump by a table may go to.
        call: the call whose inlined function begins with it; None for all others.
    """

    offset: int
    guard: Predicate | None
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: SourceLine | None
    lines: tuple[SourceLine, ...]
    targets: tuple[str, ...] = ()
    call: SourceLine | None = None

    @property
    def mnemonic(self) -> str:
        """The opcode with its modifiers, e.g. `LDS.U.128`."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Function:
    """The code of one section.

    Attributes:
        is_kernel: whether the host can launch it.
        instructions: in the order of their offsets.
        labels: the index of the instruction that follows each label; one behind the last
            instruction is the end.
    """

    name: str
    is_kernel: bool
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]


_SECTION = re.compile(r"^\.text\.(\S+?):\s*$", re.MULTILINE)
_KERNEL = re.compile(r'^[ \t]*+\.other[ \t]++(\S+?),@"STO_CUDA_ENTRY', re.MULTILINE)
_TARGET = re.compile(r"\.target\s+(sm_\w+)|\bEF_CUDA_SM(\d+\w?)\b")
_NOTE = re.compile(r'\(\*"(?:BRANCH_TARGETS ([^"]*)|[^"]*)"\*\)')
_FILE = re.compile(r'\s*//## File "([^"]*)", line (\d{1,9})')
_LABEL = re.compile(r"(\.L_\w+|\$\S+):")
_INSTRUCTION = re.compile(
    r"\s*/\*([0-9a-f]+)\*/\s+(?:@(!?)(U?P[0-9T])\s+)?([A-Z][\w.]*)\s*(.*?)\s*;"
)


class Disassembly:
    """The functions of one cubin; each is parsed when it is asked for.

    Attributes:
        target: the architecture, e.g. `sm_90a`; empty where the text names none.
        kernels: the mangled names of those that the host can launch.

    Args:
        is_library: whether a path of the line table is no source of the user's.
        calls: places of calls by function and offset, see `line_table.calls_at`.
    """

    def __init__(
        self,
        text: str,
        is_library: Callable[[str], bool] | None = None,
        calls: Mapping[str, Mapping[int, Place]] | None = None,
    ) -> None:
        self._is_library = is_library or (lambda path: False)
        self._calls = calls or {}
        parts = _SECTION.split(text)
        kernels = set(_KERNEL.findall(text))
        self._bodies = {
            name: body.partition("\n//----")[0]
            for name, body in zip(parts[1::2], parts[2::2], strict=True)
        }
        target = _TARGET.search(parts[0])
        self.target = (target[1] or f"sm_{target[2]}") if target else ""
        self.kernels = tuple(name for name in self._bodies if name in kernels)

    def function(self, name: str) -> Function:
        """Returns the code of a function.

        Raises:
            KeyError: there is none of that name.
        """
        labels: dict[str, int] = {}
        rows = self._bodies[name].split("\n")
        calls = self._calls.get(name, {})
        instructions = tuple(
            self._at_call(instruction, calls.get(instruction.offset))
            for instruction in _parse_lines(rows, labels, self._is_library)
        )
        return Function(name, name in self.kernels, instructions, labels)

    def _at_call(self, instruction: Instruction, place: Place | None) -> Instruction:
        """Returns the instruction with the call that it begins, if of the user's source."""
        if place is None or self._is_library(place[0]):
            return instruction
        return replace(instruction, call=SourceLine(*place))

    def __contains__(self, name: str) -> bool:
        return name in self._bodies


def _parse_lines(
    text: list[str], labels: dict[str, int], is_library: Callable[[str], bool]
) -> Iterator[Instruction]:
    count = 0
    line: SourceLine | None = None
    lines: tuple[SourceLine, ...] = ()
    chain: list[SourceLine] = []  # a run of comments is a chain of inlined calls
    for row in text:
        if match := _INSTRUCTION.match(row):
            if chain:
                lines, chain = tuple(chain), []
                line = next((at for at in lines if not is_library(at.path)), lines[0])
            yield _instruction(match, line, lines)
            count += 1
        elif match := _FILE.match(row):
            chain.append(SourceLine(unescaped_path(match[1]), int(match[2])))
        elif match := _LABEL.match(row):
            labels[match[1]] = count


def _instruction(
    match: re.Match[str], line: SourceLine | None, lines: tuple[SourceLine, ...]
) -> Instruction:
    opcode, *modifiers = match[4].split(".")
    text = match[5]
    targets: tuple[str, ...] = ()
    if note := _NOTE.search(text):
        text, targets = text[: note.start()].strip(), tuple((note[1] or "").split(","))
    return Instruction(
        int(match[1], 16),
        Predicate(match[3], bool(match[2])) if match[3] else None,
        opcode,
        tuple(modifiers),
        tuple(parse_operand(part) for part in split_operands(text)),
        line,
        lines,
        targets,
    )
