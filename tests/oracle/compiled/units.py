"""Translation units: a source file of a repository with the kernel instances that it must make."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.compiled.instances import UNKNOWN, Instance, matching
from tests.oracle.compiled.reduced import rejected_lines, without
from tests.oracle.compiled.toolchain import Toolchain, demangle

if TYPE_CHECKING:
    from collections.abc import Iterable

_MISSING = re.compile(r'fatal error: (?:"?)([\w./+-]+)(?:"?): No such file')
_CANNOT_OPEN = re.compile(r'cannot open source file "([^"]+)"')
_NAMESPACE = re.compile(
    r"\bnamespace\s+([\w:]+)?\s*\{|\{|\}|\"(?:\\.|[^\"\\\n])*\"|//[^\n]*|/\*.*?\*/", re.S
)
_DEVICE = re.compile(r"__global__|__device__|__constant__")
_TRIES = 8
_PYTORCH = """
#ifndef SMEMLINT_PYTORCH
#define SMEMLINT_PYTORCH
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <optional>
#include <string>
#include <vector>
namespace c10 { using Half = __half; using BFloat16 = __nv_bfloat16; }
namespace at { using namespace c10; struct Tensor {}; }
namespace torch { using namespace at; }
#endif
"""
"""What declarations and kernels use of PyTorch's headers; functions that use more are left out."""


@dataclass
class Compiled:
    """What became of one source file.

    Attributes:
        cubins: of the unit itself, then of those that force further instances.
        failure: the first error where there is no cubin.
    """

    cubins: list[Path] = field(default_factory=list)
    failure: str = ""


class UnitCompiler:
    """Compiles files of one repository, with stubs for headers that it does not have."""

    def __init__(self, repository: Path, tools: Toolchain, flags: tuple[str, ...] = ()) -> None:
        self._repository = repository
        self._tools = tools
        self._flags = (*flags, "-std=c++17", "--expt-relaxed-constexpr", "--expt-extended-lambda")
        self._stubs = tools.cache / "stubs" / repository.name
        self._headers = _headers_by_name(repository)

    def compile(self, path: Path, instances: Iterable[Instance]) -> Compiled:
        """Returns the cubins that hold as many of the instances as could be compiled."""
        result = Compiled()
        plain = f'#include "{path}"\n'
        cubin, log, includes = self._with_headers(plain, path)
        if cubin is None:
            cubin, plain = self._reduced(path, log, includes)
        if cubin is None:
            result.failure = first_error(log)
            return result
        result.cubins.append(cubin)
        names = demangle(self._kernels(cubin))
        instances = list(instances)
        missing = [i for i in instances if not matching(i, names, instances)]
        if missing and (forced := self._forced(plain, path, missing, includes)):
            result.cubins.append(forced)
        return result

    def _kernels(self, cubin: Path) -> list[str]:
        return re.findall(r'\.other\s+(\S+?),@"STO_CUDA_ENTRY', self._tools.disassemble(cubin))

    def _with_headers(self, source: str, path: Path) -> tuple[Path | None, str, tuple[str, ...]]:
        """Compiles; a header that is missing is looked for in the repository, or left empty."""
        includes: tuple[str, ...] = (f"-I{self._repository}",)
        for _ in range(_TRIES):
            cubin, log = self._tools.compile(source, (*self._flags, *includes), path.parent)
            missing = _MISSING.search(log) or _CANNOT_OPEN.search(log)
            if cubin is not None or missing is None:
                break
            folder = self._folder_of(missing[1], path)
            # A further stub in a folder that is searched already makes another unit of it.
            is_known = f"-I{folder}" in includes
            includes = (*includes, f"-DSTUB_{len(includes)}" if is_known else f"-I{folder}")
        return cubin, log, includes

    def _folder_of(self, header: str, path: Path) -> Path:
        found = [
            Path(str(p)[: -len(header)])
            for p in self._headers.get(Path(header).name, ())
            if str(p).endswith("/" + header)
        ]
        if found:
            return max(found, key=lambda p: _common(p, path))
        stub = self._stubs / header
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(_PYTORCH if header.split("/")[0] in ("torch", "ATen", "c10") else "")
        return self._stubs / "."

    def _reduced(self, path: Path, log: str, includes: tuple[str, ...]) -> tuple[Path | None, str]:
        """Compiles a unit without the declarations that the compiler rejects, and returns its text."""
        text = path.read_text(errors="replace")
        cubin = None
        for _ in range(_TRIES):
            rejected = rejected_lines(log, str(path))
            reduced = without(text, rejected, spared=_DEVICE)
            if reduced == text:
                reduced = without(text, rejected)
            if cubin is not None or reduced == text:
                break
            text = reduced
            source = f'#line 1 "{path}"\n{text}'
            cubin, log = self._tools.compile(source, (*self._flags, *includes), path.parent)
        return cubin, f'#line 1 "{path}"\n{text}'

    def _forced(
        self, plain: str, path: Path, missing: list[Instance], includes: tuple[str, ...]
    ) -> Path | None:
        """A cubin that takes the address of each instance; those that do not compile are left out."""
        spaces = namespaces(path.read_text(errors="replace"))
        own = [f"using namespace {s};" for s in spaces]
        head = [*plain.splitlines(), '#line 1 "instances.cu"', *own]
        spellings = [w for w in dict.fromkeys(i.spelling for i in missing) if UNKNOWN not in w]
        for _ in range(4):
            lines = [*head, *(_address_of(w, n) for n, w in enumerate(spellings))]
            source = "\n".join(lines) + "\n"
            cubin, log = self._tools.compile(source, (*self._flags, *includes), path.parent)
            if cubin is not None or not spellings:
                return cubin if spellings else None
            bad = {n - len(own) - 1 for n in rejected_lines(log, "instances.cu")}
            kept = [w for n, w in enumerate(spellings) if n not in bad]
            if len(kept) == len(spellings):
                return None
            spellings = kept
        return None


def _address_of(spelling: str, number: int) -> str:
    return f"void* smemlint_instance_{number}() {{ return (void*)&{spelling}; }}"


def first_error(log: str) -> str:
    """Returns the first error of nvcc without its path."""
    for line in log.splitlines():
        if "error" in line:
            return re.sub(r"^.*?error\s*:?\s*", "", line)[:160]
    return log.strip()[:160]


def namespaces(text: str) -> list[str]:
    """Returns the qualified names of the namespaces that a text opens, outermost first."""
    found: dict[str, None] = {}
    stack: list[str | None] = []
    for match in _NAMESPACE.finditer(text):
        token = match[0]
        if token.startswith("namespace"):
            stack.append(match[1] or "")
            name = "::".join(s for s in stack if s)
            if name and None not in stack:
                found[name] = None
        elif token == "{":
            stack.append(None)
        elif token == "}" and stack:
            stack.pop()
    return list(found)


def _headers_by_name(repository: Path) -> dict[str, list[Path]]:
    table: dict[str, list[Path]] = {}
    for path in sorted(repository.rglob("*")):
        if path.suffix in (
            ".h",
            ".hpp",
            ".cuh",
            ".inl",
            ".cu",
            ".hxx",
            ".hh",
            ".c",
            ".cpp",
            ".inc",
        ):
            table.setdefault(path.name, []).append(path)
    return table


def _common(folder: Path, path: Path) -> int:
    return sum(a == b for a, b in zip(folder.parts, path.parts, strict=False))
