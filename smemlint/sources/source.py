"""Source files: read when asked for, decoded without loss of position."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from smemlint.files.sandbox import AccessDenied, Sandbox
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_COMPILED_BYTES, MAX_FILE_BYTES
from smemlint.sources.languages import CUBIN_SUFFIX, PTX_SUFFIX, CommentStyle, is_python_path

if TYPE_CHECKING:
    from smemlint.sources.notebook import Notebook


_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_COMPILED = (b"\x7fELF", b"\x50\xed\x55\xba")
"""Objects, libraries and cubins; fat binaries."""
_CUDA_MACHINE = (190).to_bytes(2, "little")
"""The machine that the ELF header of a cubin names."""
_REPLACEMENTS = dict.fromkeys(range(0xDC80, 0xDD00), 0xFFFD)


@dataclass(eq=False)
class Source:
    """A file of the run.

    Attributes:
        path: as given, with forward slashes.
        given: its text or bytes, of standard input or with edits; None to read the file. The text
            of a notebook is its module, its bytes are those of the file.
        problem: why it cannot be analysed; empty when it can.
        encoding: that a Python file declares; empty for UTF-8.
        below: the path of the command line that it was found at or below; it may read what lies
            there, too.
    """

    path: str
    given: str | bytes | None = None
    problem: str = ""
    encoding: str = ""
    below: str = ""

    @property
    def sandbox(self) -> Sandbox:
        """What the file may read."""
        return Sandbox.around(self.path, self.below)

    def edited(self, given: str | bytes) -> Source:
        """Returns the same file with another text."""
        return Source(self.path, given, below=self.below)

    @cached_property
    def text(self) -> str:
        """The text; empty when the file cannot be read, with `problem` set.

        Every byte that is not UTF-8 is replaced by one character, so that edits find their place.
        That of a notebook is the module that its code cells make.
        """
        if isinstance(self.given, str):
            return self.given if self._is_of_size(self.given) else ""
        if self.path.endswith(".ipynb"):
            return self.notebook.module if self.notebook is not None else ""
        text = self._decoded()
        if not self.path.endswith(CUBIN_SUFFIX):
            self.__dict__.pop("data", None)  # nothing else is read from the bytes of a text
        return text

    @cached_property
    def notebook(self) -> Notebook | None:
        """The notebook that the file holds; None for other files, with `problem` set if broken."""
        if isinstance(self.given, str) or not self.path.endswith(".ipynb"):
            return None
        from smemlint.sources.notebook import NotANotebook, Notebook

        value = self._decoded()
        try:
            return Notebook.of(value) if value or not self.problem else None
        except NotANotebook as broken:
            self.problem = str(broken)
            return None

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file; none when it cannot be read, with `problem` set."""
        try:
            data = self._data()
        except AccessDenied as error:
            self.problem = error.strerror
            return b""
        except OSError as error:
            self.problem = f"cannot be read: {error.strerror or error}"
            return b""
        return data if self._is_of_size(data) else b""

    def _decoded(self) -> str:
        """Returns the text of the file itself."""
        data = self.data
        if self.path.endswith(CUBIN_SUFFIX):
            if not data:
                self.problem = self.problem or "empty"
            return ""
        if data.startswith(_UTF_16):
            self.problem = "encoded in UTF-16: save it as UTF-8"
            return ""
        if b"\0" in data[:8192]:
            is_python = is_python_path(self.path)
            self.problem = "holds null bytes, which Python does not read" if is_python else "binary"
            if data.startswith(_COMPILED):
                self.problem = _in_compiled(data, self.path)
            return ""
        if self.path.endswith(".py"):
            from smemlint.sources.encoding import CannotDecode, declared

            try:
                self.encoding = declared(data)
                if self.encoding:
                    return data.decode(self.encoding)
            except CannotDecode as error:
                self.problem = str(error)
                return ""
            except UnicodeError:
                self.problem = f"not in the encoding that it declares, `{self.encoding}`"
                return ""
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            text = data.decode("utf-8-sig", "surrogateescape").translate(_REPLACEMENTS)
            if is_python_path(self.path) or _is_in_code("\ufffd", text):
                self.problem = f"not UTF-8 at byte {error.start}: read with replacement characters"
            return text

    def _is_of_size(self, value: str | bytes) -> bool:
        """Returns whether a text or its bytes are within the size limit; sets `problem` if not."""
        is_small = len(value) * 4 <= self._most
        if not is_small and isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        if len(value) <= self._most:
            return True
        self.problem = f"larger than {self._most >> 20} MiB"
        return False

    @property
    def _most(self) -> int:
        is_compiled = self.path.endswith((PTX_SUFFIX, CUBIN_SUFFIX))
        return MAX_COMPILED_BYTES if is_compiled else MAX_FILE_BYTES

    def _data(self) -> bytes:
        if isinstance(self.given, bytes):
            return self.given
        return self.sandbox.read(self.path, self._most)


def _in_compiled(data: bytes, path: str) -> str:
    """Returns what to do with compiled code that is not read as it is."""
    file = path.replace("\\", "/").rpartition("/")[2]
    if data.startswith(_COMPILED[0]) and data[18:20] == _CUDA_MACHINE:
        return f"a cubin: give its name the ending {CUBIN_SUFFIX}"
    return (
        f"compiled code: `cuobjdump -xelf all {file}` and `cuobjdump -xptx all {file}` write the"
        f" cubins and the PTX that it holds, which can be checked"
    )


def _is_in_code(character: str, text: str) -> bool:
    """Returns whether a text of C holds a character outside of comments and string literals."""
    return character in re.sub(CommentStyle.C.value, " ", text, flags=re.S)


@lru_cache(maxsize=4)  # each finding of a file asks for its lines
def lines_of(text: str) -> tuple[str, ...]:
    """Splits a text into the lines that spans count: LF, CR LF or CR ends one, a form feed not."""
    return tuple(re.split(r"\r\n?|\n", text))
