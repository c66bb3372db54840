"""Programs of the machine that smemlint starts: which file that is, and what it may take.

A program is started only where SECURITY.md says so, from no folder that others may write to, and
never through a shell. What it prints is bounded, and so is its time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from smemlint.files.sandbox import is_below
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_PROGRAM_MESSAGE

try:
    import resource
except ImportError:  # Windows
    HAS_LIMITS = False
else:
    HAS_LIMITS = hasattr(resource, "prlimit")


_CHUNK = 1 << 20


class ProgramFailed(Exception):
    """A program did not do its work; the reason, in words."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a program may take.

    Attributes:
        seconds: on the clock.
        output: bytes that it may print.
        memory: bytes of its address space; None for what this process has.
        file: bytes of a file that it writes; None for any.
    """

    seconds: float
    output: int
    memory: int | None = None
    file: int | None = None


def find_program(name: str, *never: str) -> str | None:
    """Returns a program's absolute path, from no folder of PATH that is relative or untrusted.

    Args:
        name: without an ending.
        never: folders besides the working directory whose programs are not run.
    """
    file = f"{name}.exe" if sys.platform == "win32" else name
    paths = (os.path.join(folder, file) for folder in trusted_path(*never))
    return next((p for p in paths if os.path.isfile(p) and os.access(p, os.X_OK)), None)


def trusted_path(*never: str) -> list[str]:
    """Returns the folders of PATH that are absolute and not below an untrusted one."""
    closed = [os.path.realpath(f) for f in (*never, os.getcwd()) if f]
    closed = [f for f in closed if f != os.path.dirname(f)]
    return [
        folder
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(folder) and not any(is_below(os.path.realpath(folder), c) for c in closed)
    ]


def run_program(
    command: Sequence[str],
    bounds: Bounds,
    *,
    folder: str,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """Runs a program to its end and returns what it printed on standard output.

    Raises:
        ProgramFailed: it cannot be started, takes more than it may, or ends with an error.
    """
    name = os.path.basename(command[0]).removesuffix(".exe")
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise ProgramFailed(f"{name} cannot be run: {error.strerror}") from error
    if HAS_LIMITS:
        _limit(process.pid, bounds)
    printed, errors, problem = _bounded_output(process, bounds)
    if problem:
        raise ProgramFailed(f"{name} {problem}")
    if process.returncode:
        last = errors.decode("utf-8", "replace").strip().splitlines()
        cause = next((line for line in last if "error" in line.lower()), last[-1] if last else "")
        raise ProgramFailed(f"{name} fails: {cause or f'exit code {process.returncode}'}")
    return printed


def _limit(pid: int, bounds: Bounds) -> None:
    """Limits a process and those that it will start."""
    limits = ((resource.RLIMIT_AS, bounds.memory), (resource.RLIMIT_FSIZE, bounds.file))
    for kind, size in limits:
        if size is not None:
            with suppress(OSError, ValueError):  # it has ended already, or has less
                resource.prlimit(pid, kind, (size, size))


def _bounded_output(process: subprocess.Popen[bytes], bounds: Bounds) -> tuple[bytes, bytes, str]:
    """Returns standard output, messages, and why the program was ended, if it was."""
    assert process.stdout is not None
    assert process.stderr is not None
    messages: list[bytes] = []
    timed_out = threading.Event()

    def end() -> None:
        timed_out.set()
        _end(process)

    reader = threading.Thread(target=_drain, args=(process.stderr, messages), daemon=True)
    timer = threading.Timer(bounds.seconds, end)
    reader.start()
    timer.start()
    parts: list[bytes] = []
    size = 0
    try:
        while chunk := process.stdout.read(_CHUNK):
            size += len(chunk)
            if size > bounds.output:
                break
            parts.append(chunk)
    finally:
        if size > bounds.output:
            _end(process)
        process.wait()
        timer.cancel()
        reader.join(1)
        process.stdout.close()
    if timed_out.is_set():
        return b"", b"", f"takes longer than {bounds.seconds:g} seconds"
    if size > bounds.output:
        return b"", b"", f"prints more than {bounds.output >> 20} MiB"
    return b"".join(parts), b"".join(messages), ""


def _drain(stream: object, kept: list[bytes]) -> None:
    """Reads error messages to their end, so that the program never waits; keeps the first."""
    size = 0
    with stream as file:  # type: ignore[attr-defined]
        while chunk := file.read(1 << 12):
            if size < MAX_PROGRAM_MESSAGE:
                kept.append(chunk)
                size += len(chunk)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program with all processes that it started."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, 9)
        except OSError:
            return
    else:
        process.kill()
