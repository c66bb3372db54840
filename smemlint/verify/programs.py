"""What is built and run for a kernel instance, and how its lines come back to the sources."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any

from smemlint.analysis.python.cupy.embedded_cuda import Embedded
from smemlint.analysis.python.cupy.source_map import Position
from smemlint.analysis.simt.analyze import Project
from smemlint.analysis.simt.kernel.task import KernelTask
from smemlint.config.settings import Settings
from smemlint.facts import Instance
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.languages import PYTHON_SUFFIXES, TEMPLATE_SUFFIXES, is_python_path
from smemlint.sources.source import Source
from smemlint.verify.calls import Call, NotCallable, call_of
from smemlint.verify.harness import FILL, ROOM, program

_HAS_MAIN = re.compile(r"\bint\s+main\s*\(")
_HOLDS_TEXT = re.compile(r"Raw(Kernel|Module)")
_TEXT_NAME = "smemlint_text.cu"
_LINKED = ("-Xcompiler", "-no-pie", "-Xlinker", "--unresolved-symbols=ignore-all")
"""Host code of the file that is never called may lack the libraries that it calls."""
_NOT_AGAIN = "its launch was not found again"
_IN_PYTHON = "only CUDA C++ is replayed, in files and in CuPy's RawKernel and RawModule"


@dataclass(frozen=True, slots=True)
class Program:
    """What is built and run, in a folder of its own.

    Attributes:
        files: name -> text, written there first.
        build: a command, or nothing.
        run: a command.
        instance: the one that is called; None where the program makes its own launches.
        text: the CUDA text of a Python file that the lines belong to.
        guessed: arguments of the call whose values are guesses.
    """

    files: Mapping[str, str]
    build: tuple[str, ...]
    run: tuple[str, ...]
    instance: Instance | None = None
    text: Embedded | None = field(default=None, repr=False)
    guessed: tuple[str, ...] = ()

    def place(self, file: str, line: int) -> tuple[str, int]:
        """Returns the file name and line of the sources for those of a counter."""
        if self.text is None:
            return Path(file).name, line
        place = self.text.place(line, 1)
        return (Path(place.path).name, place.line) if place is not None else ("", 0)


class Programs:
    """Finds what runs each kernel instance of a run; a program is made once."""

    def __init__(self, sources: Sequence[Source], settings: Settings) -> None:
        self._sources = sources
        self._settings = settings
        self._own: dict[str, Program] = {}
        self._found: dict[Instance, list[Program | str]] = {}

    def of(self, instance: Instance) -> Sequence[Program | str]:
        """Returns the program that launches an instance, if there is one, then a call of it alone.

        Where it cannot be called, the reason stands in place of the call.
        """
        if instance not in self._found:
            found = self._found[instance] = []
            try:
                for runnable in self._programs(instance):
                    found.append(runnable)
            except NotCallable as reason:
                found.append(str(reason))
            except RecursionError:
                found.append("the code is nested too deeply")
        return self._found[instance]

    def _programs(self, instance: Instance) -> Iterator[Program]:
        texts = [text for text in self._texts if _is_kernel_of(text, instance)]
        if texts:
            yield self._cupy_program(texts, instance)
        elif is_python_path(instance.span.path):
            raise NotCallable(_IN_PYTHON)
        else:
            yield from self._nvcc_programs(instance)

    # ---- CUDA sources

    @cached_property
    def _project(self) -> Project:
        from smemlint.analysis.simt.analyze import Project

        others = (*PYTHON_SUFFIXES, *TEMPLATE_SUFFIXES)
        cuda = [s for s in self._sources if not s.path.endswith(others)]
        return Project(cuda, self._settings)

    def _nvcc_programs(self, instance: Instance) -> Iterator[Program]:
        tasks = self._project.instances_of(instance.span)
        same = [(unit, task) for unit, task in tasks if _is_of(task, instance)]
        if not same:
            raise NotCallable(_NOT_AGAIN)
        unit, task = next((m for m in same if self._has_main(m[0].path)), same[0])
        root = str(Path(unit.path).resolve())
        if self._has_main(unit.path):
            build = ("nvcc", *self._flags, "-o", "program", root)
            yield self._own.setdefault(root, Program({}, build, ("./program",)))
        call = call_of(self._project, unit, task, instance)
        build = ("nvcc", "-std=c++17", *self._flags, *_LINKED, "-o", "program", "program.cu")
        files = {"program.cu": program(root, call)}
        yield Program(files, build, ("./program",), instance, guessed=call.guessed)

    def _has_main(self, path: str) -> bool:
        return path.endswith(".cu") and bool(_HAS_MAIN.search(self._project.index.read(path) or ""))

    @property
    def _flags(self) -> list[str]:
        settings = self._settings
        return [
            *("-O3", "-lineinfo", "--expt-relaxed-constexpr", f"-arch={settings.arch}"),
            *(f"-D{name}={text}" for name, text in settings.define.items()),
            *(f"-U{name}" for name in settings.undefine),
            *(f"-I{Path(folder).resolve()}" for folder in settings.include_dir),
        ]

    # ---- CuPy's texts

    @cached_property
    def _texts(self) -> list[Embedded]:
        sources = [
            source
            for source in self._sources
            if is_python_path(source.path) and _HOLDS_TEXT.search(source.text)
        ]
        if not sources:
            return []
        from smemlint.analysis.python.cupy.analysis import texts_of

        return [text for source in sources for text in texts_of(source, self._settings)]

    def _cupy_program(self, texts: Sequence[Embedded], instance: Instance) -> Program:
        """Returns the program of the first text that has the instance."""
        same = (
            (embedded, call_of(project, unit, task, instance))
            for embedded in texts
            for project in (embedded.project(self._settings),)
            for function in project.index.unit(embedded.name).functions
            if function.is_kernel and function.name == instance.kernel
            for unit, task in project.instances_of(function.span)
            if _is_of(task, instance)
        )
        found = next(same, None)
        if found is None:
            raise NotCallable(_NOT_AGAIN)
        embedded, call = found
        unclear = [a.name for a in call.arguments if not a.dtype]
        if unclear:
            raise NotCallable(f"the type of argument `{unclear[0]}` is not known")
        script = Path(__file__).with_name("cupy_call.py")
        run = (sys.executable, "-P", str(script), "call.json")
        request = json.dumps(self._request(embedded, call))
        return Program({"call.json": request}, (), run, instance, embedded, call.guessed)

    def _request(self, embedded: Embedded, call: Call) -> dict[str, Any]:
        settings = self._settings
        defines = [f"-D{name}={text}" for name, text in settings.define.items()]
        folder = Path(embedded.span.path).parent
        return {
            "text": f'#line 1 "{_TEXT_NAME}"\n{embedded.text}',
            "options": [*(_in_place(o, folder) for o in embedded.options), *defines],
            "kernel": call.kernel,
            "block": call.block,
            "shared": call.shared,
            "arguments": [(a.dtype, a.value) for a in call.arguments],
            "room": ROOM,
            "fill": FILL,
        }


def _in_place(option: str, folder: Path) -> str:
    """Returns a compiler option whose folder is found from anywhere."""
    for prefix in ("-I", "--include-path="):
        if option.startswith(prefix):
            written = option.removeprefix(prefix).strip()
            near = folder / written
            return prefix + str((near if near.is_dir() else Path(written)).resolve())
    return option


def _is_kernel_of(embedded: Embedded, instance: Instance) -> bool:
    """Returns whether an instance's kernel stands in a text."""
    where = instance.span
    return embedded.text.covers(Position(where.path, where.line, where.column))


def _is_of(task: KernelTask, instance: Instance) -> bool:
    """Returns whether a task is of an instance, or of one whose launch passes other numbers."""
    own = task.instance
    return (own.template, own.block) == (instance.template, instance.block)
