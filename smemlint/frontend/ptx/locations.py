"""Which lines of which source files instructions come from.

`.loc F L C, function_name N, inlined_at F2 L2 C2` names the caller's frame by its place alone: it
is the latest `.loc F2 L2 C2` before it, so that chains are resolved when a directive is read.
Without it, LLVM's comment says the same by base names: `// file:L:C @[ caller:L2:C2 @[ ... ] ]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from smemlint.frontend.ptx.lexer import integer
from smemlint.frontend.ptx.syntax import Frame, Location
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_FRAMES
from smemlint.sources.encoding import unescaped_path

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"', re.M)
_STRING = re.compile(r"^[ \t]*(\$?[\w$]+):[ \t]*\n?((?:[ \t]*\.b8 [^\n]*\n?)+)", re.M)
_PLACE = re.compile(r"([^\s:\[\]]+):(\d{1,9}):(\d{1,9})")
_BYTE = re.compile(r"(?<![\w$])(?:0x[0-9a-fA-F]+|\d+)")


def file_table(text: str) -> dict[int, str]:
    """Returns the paths of `.file` directives, which may stand anywhere, by number."""
    return {int(number): unescaped_path(path) for number, path in _FILE.findall(text)}


def debug_strings(text: str) -> dict[str, str]:
    """Returns the strings of the section that `function_name` refers to, by label."""
    start = text.find(".debug_str")
    if start < 0:
        return {}
    end = text.find("}", start)
    section = text[start : end if end >= 0 else len(text)]
    found = {}
    for label, data in _STRING.findall(section):
        numbers = (integer(number) or 0 for number in _BYTE.findall(data.replace(".b8", " ")))
        content = bytes(number & 0xFF for number in numbers)
        found[label] = content.split(b"\0")[0].decode("utf-8", "replace")
    return found


@dataclass(slots=True)
class LocationReader:
    """Resolves the `.loc` directives of one function in order.

    Attributes:
        strings: names of inlined functions by label.
        numbers: of source files by base name, where only one has it.
        current: of the instructions that follow.
        first: of the directives since the latest instruction; empty without any.
    """

    strings: dict[str, str]
    numbers: dict[str, int] = field(default_factory=dict)
    current: Location = ()
    first: Location = ()
    _chains: dict[tuple[int, int, int], Location] = field(default_factory=dict)

    @staticmethod
    def of(strings: dict[str, str], files: Mapping[int, str]) -> LocationReader:
        """Returns a reader for one function of a file."""
        bases = [path.replace("\\", "/").rpartition("/")[2] for path in files.values()]
        numbers = dict(zip(bases, files, strict=True))
        return LocationReader(strings, {b: n for b, n in numbers.items() if bases.count(b) == 1})

    def _callers(self, comment: str) -> Iterator[Frame]:
        """Yields the frames of a comment, behind the one of the directive itself."""
        for base, line, column in _PLACE.findall(comment)[1:MAX_FRAMES]:
            if base not in self.numbers:
                return
            yield Frame(self.numbers[base], int(line), int(column))

    def read(self, words: Sequence[str]) -> None:
        """Takes the tokens after `.loc`; those of no meaning are passed over.

        Line 0 stands for no line: ptxas then keeps the one before.
        """
        numbers = [integer(word) for word in words[:3]]
        if len(numbers) < 3 or None in numbers:
            return
        file, line, column = (number or 0 for number in numbers)
        if not line:
            return
        function, caller = "", None
        if "function_name" in words:
            at = words.index("function_name") + 1
            function = self.strings.get(words[at], "") if at < len(words) else ""
        if "inlined_at" in words:
            at = words.index("inlined_at") + 1
            place = [integer(word) for word in words[at : at + 3]]
            if len(place) == 3 and None not in place:
                caller = (place[0] or 0, place[1] or 0, place[2] or 0)
        chain: Location = (Frame(file, line, column, function),)
        if caller is not None:
            chain += self._chains.get(caller, (Frame(*caller),))
        elif words[-1].startswith("//"):
            chain += tuple(self._callers(words[-1]))
        self.current = chain[:MAX_FRAMES]
        self.first = self.first or self.current
        self._chains[file, line, column] = self.current
