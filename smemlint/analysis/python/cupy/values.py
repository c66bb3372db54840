"""What Python that holds CUDA text computes with: texts, modules, kernels, files and templates."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import Protocol

from smemlint.analysis.python.cupy.embedded_cuda import KernelCall
from smemlint.analysis.python.cupy.makers import Convention
from smemlint.analysis.python.cupy.partial_texts import PartialText
from smemlint.analysis.python.cupy.source_map import MappedText
from smemlint.analysis.python.interpreter.values import UNKNOWN, ModelValue, Scope, Symbol, Value
from smemlint.frontend.python.python_source import PythonText
from smemlint.lazy_dataclasses import dataclass


@dataclass(eq=False)
class RawText:
    """A text that the GPU compiler gets.

    Attributes:
        text: with places; None where it is not known.
        node: the call that it is given to.
        home: the file of the call.
        names: kernels that it is compiled for, template arguments included.
        is_partial: parts of it are not known.
    """

    text: MappedText | None
    node: ast.Call
    home: PythonText
    options: tuple[str, ...]
    names: tuple[str, ...] = ()
    convention: Convention = Convention.GRID_FIRST
    calls: list[KernelCall] = field(default_factory=list)
    is_partial: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Module(ModelValue):
    """What a compiler makes of a text; of each text that it may be."""

    raws: tuple[RawText, ...]

    def join(self, other: ModelValue) -> Value:
        """Returns the module of the texts of both."""
        if not isinstance(other, Module):
            return UNKNOWN
        return Module(tuple(dict.fromkeys((*self.raws, *other.raws))))


@dataclass(frozen=True, slots=True, eq=False)
class Kernel(ModelValue):
    """A kernel, or one of several.

    Attributes:
        parts: each text with the kernel's name; None where any that it is compiled for may be
            meant.
    """

    parts: tuple[tuple[RawText, str | None], ...]

    @staticmethod
    def of(raws: tuple[RawText, ...], name: Value) -> Kernel:
        """Returns the kernel of this name in each text."""
        if isinstance(name, PartialText):
            return Kernel(tuple((raw, n) for raw in raws for n in raw.names if name.fits(n)))
        known = str(name) if isinstance(name, str) else None
        return Kernel(tuple((raw, known) for raw in raws))

    def join(self, other: ModelValue) -> Value:
        """Returns one of several kernels."""
        if not isinstance(other, Kernel):
            return UNKNOWN
        return Kernel(tuple(dict.fromkeys((*self.parts, *other.parts))))


@dataclass(frozen=True, slots=True)
class NamedKernel(ModelValue):
    """A kernel of a module that the CUDA driver was given, whose text is not known."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice(ModelValue):
    """One of several texts: which one depends on the path."""

    texts: tuple[MappedText, ...]


@dataclass(frozen=True, slots=True)
class OpenFile(ModelValue):
    """A file that the program opened, or its path object."""

    path: str


@dataclass(frozen=True, slots=True)
class Template(ModelValue):
    """A template, or what makes templates.

    Attributes:
        text: of the template; None for an environment of Jinja's.
    """

    engine: str
    text: MappedText | None = None


class Program(Protocol):
    """The file that is interpreted, and those that it imports from.

    Attributes:
        raws: the texts that were made, by the place of the call and what is in them.
        snippets: calls that were given pieces of a kernel, with what is known of these.
        written: the files that cells of a notebook write, by the path that they give.
        named_calls: launches of kernels of which no more than the names is known.
    """

    raws: dict[tuple[str, int, int, str], RawText]
    snippets: list[tuple[ast.Call, str]]
    written: dict[str, str]
    named_calls: list[KernelCall]

    def call(self, caller: PythonText, name: Symbol, arguments: list[Value], named: Scope) -> Value:
        """Returns the result of a function of another file; not known where that is missing."""

    def read(self, home: PythonText, path: str) -> MappedText | None:
        """Returns the text of a file that the code of `home` opens."""
