"""Programs compiled for, and run with, a CUDA runtime that has no GPU and logs launches."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.compiled.toolchain import Toolchain

_SOURCES = (".cu", ".cpp", ".cc", ".c")
_MAIN = re.compile(r"^[ \t]*(?:int|void|auto|signed)?\s*\bmain\s*\([^;{]*\{", re.M)
_RUN = re.compile(r"\./(?:\$\(\w+\)|[\w.-]+)([^\n|>&;`]*)")
_WEAK = "__attribute__((weak)) int {}(void) {{ return 0; }}\n"
_LOADED = ("libcudart.so.13", "libcurand.so.10")
_MAX_FOLDER = 20_000_000
_LIMITS = "ulimit -v 8000000 -t {0} -f 400000; exec timeout -k 1 {0} ./{1} {2} </dev/null"


@dataclass(frozen=True, slots=True)
class Program:
    """The files that one program is built of.

    Attributes:
        main: has `main`.
        others: further files that are linked.
    """

    main: Path
    others: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Launched:
    """A launch that was seen.

    Attributes:
        name: of the kernel, mangled.
        block: extents.
        shared: dynamic shared memory in bytes.
    """

    name: str
    block: tuple[int, int, int]
    shared: int


@dataclass(frozen=True, slots=True)
class Runtime:
    """The compiler and the library that stands in for NVIDIA's runtime.

    Attributes:
        tools: nvcc.
        library: a shared object made of `cudart.c`.
        seconds: of processor time that a program gets.
    """

    tools: Toolchain
    library: Path
    seconds: int = 4

    @staticmethod
    def build(tools: Toolchain) -> Runtime:
        """Compiles the library; what `cudart.c` does not define returns success.

        Raises:
            subprocess.CalledProcessError: the C compiler fails.
        """
        tools.cache.mkdir(parents=True, exist_ok=True)
        names: set[str] = set()
        for loaded in _LOADED:
            command = ["nm", "-D", "--defined-only", str(tools.root / "lib" / loaded)]
            listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            names |= {
                line.split()[-1].split("@")[0] for line in listed.splitlines() if " T " in line
            }
        weak, library = tools.cache / "weak.c", tools.cache / "libcudart-of-host.so"
        weak.write_text("".join(_WEAK.format(name) for name in sorted(names)))
        written = Path(__file__).with_name("cudart.c")
        command = ["cc", "-w", "-shared", "-fPIC", f"-I{tools.root / 'include'}"]
        subprocess.run([*command, str(written), str(weak), "-o", str(library)], check=True)
        return Runtime(tools, library)

    def launches(self, program: Program) -> tuple[list[Launched], str]:
        """Returns what a program launches, or none and why it could not be run.

        What was found is kept in the cache.
        """
        texts = [path.read_text(errors="replace") for path in (program.main, *program.others)]
        said = _arguments(program.main)
        key = hashlib.sha256("\0".join([str(program.main), said, *texts]).encode()).hexdigest()[:24]
        kept = self.tools.cache / f"{key}.launches.json"
        if not kept.exists():
            found, failure = self._recorded(program, said)
            kept.write_text(json.dumps({"launches": found, "failure": failure}))
        document = json.loads(kept.read_text())
        lines = (line.split() for line in document["launches"])
        return sorted({_read(line) for line in lines if len(line) == 4}), document["failure"]

    def _recorded(self, program: Program, arguments: str) -> tuple[list[str], str]:
        with tempfile.TemporaryDirectory(dir=self.tools.cache) as name:
            folder = Path(name) / "run"
            _copy(program.main.parent, folder)
            error = self._build(program, folder / "smemlint_program")
            if error:
                return [], error
            log = Path(name) / "launches.log"
            environment = dict(
                os.environ, LAUNCHES_LOG=str(log), LD_LIBRARY_PATH=str(self.library.parent)
            )
            script = _LIMITS.format(self.seconds, "smemlint_program", arguments)
            command = ["unshare", "-rn", "bash", "-c", script]
            subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
            return (log.read_text().splitlines() if log.exists() else []), ""

    def _build(self, program: Program, executable: Path) -> str:
        """Links a program; returns the first error, empty where there is none."""
        root = self.tools.root
        command = [
            str(root / "bin" / "nvcc"),
            *("-w", "-cudart", "none", "-arch=compute_90", "-code=compute_90", "-Xcicc", "-O0"),
            *("-std=c++17", "--expt-relaxed-constexpr", "--extended-lambda", "-Xcompiler=-fopenmp"),
            *(f"-I{folder}" for folder in _include_folders(program.main)),
            *(f"-I{root / 'include'}", f"-I{root / 'include' / 'cccl'}"),
            *map(str, (program.main, *program.others)),
            *(str(self.library), "-Xlinker", "--unresolved-symbols=ignore-all"),
            *("-o", str(executable)),
        ]
        environment = dict(os.environ, TMPDIR=str(executable.parent.parent))
        try:
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.tools.seconds,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return f"no program within {self.tools.seconds} s"
        if executable.exists():
            return ""
        lines = [line for line in (run.stderr + run.stdout).splitlines() if "rror" in line]
        return lines[0].split("error", 1)[-1].strip(" :")[:160] if lines else "nvcc fails"


def programs(root: Path) -> list[Program]:
    """Returns the programs of a file or folder: each CUDA file with `main`.

    In a folder with one such file all others are linked with it.
    """
    paths = [root] if root.is_file() else sorted(root.rglob("*.cu"))
    mains = [path for path in paths if path.is_file() and has_main(path)]
    found = []
    for main in mains:
        beside = sorted(p for p in main.parent.iterdir() if p.suffix in _SOURCES and p != main)
        is_alone = not any(map(has_main, beside))
        found.append(Program(main, tuple(beside) if is_alone else ()))
    return found


def has_main(path: Path) -> bool:
    """Returns whether a file defines `main`."""
    return path.is_file() and _MAIN.search(path.read_text(errors="replace")) is not None


def _arguments(main: Path) -> str:
    """Returns what the Makefile beside a program runs it with; nothing where there is none."""
    makefile = main.parent / "Makefile"
    if not makefile.is_file():
        return ""
    _, _, behind = makefile.read_text(errors="replace").partition("\nrun:")
    found = _RUN.search(behind)
    return found[1].strip() if found and "$" not in found[1] else ""


def _include_folders(main: Path) -> list[Path]:
    """Returns the folder of a program, and those around it that collections keep headers in."""
    around = [
        folder / name
        for folder in list(main.parents)[:4]
        for name in ("Common", "common", "include")
    ]
    return [main.parent, *(folder for folder in around if folder.is_dir())]


def _copy(folder: Path, to: Path) -> None:
    """Copies a program's folder, so that it finds its data and writes beside a copy."""
    size = 0
    for path in folder.rglob("*"):
        size += path.lstat().st_size
        if size > _MAX_FOLDER:
            to.mkdir()
            return
    shutil.copytree(folder, to, symlinks=True)


def _read(fields: list[str]) -> Launched:
    x, y, z = map(int, fields[2].split(","))
    return Launched(fields[0], (x, y, z), int(fields[3]))
