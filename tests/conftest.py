"""Helpers that run the analysis on a kernel text and the command line in a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from smemlint.analysis.analyze import analyze
from smemlint.cli.main import main
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from types import ModuleType

    from smemlint.facts import Access, Facts

settings.register_profile(  # what a test finds does not depend on the load of the machine
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {"PYTHONUTF8": "1", "NO_COLOR": "1"}


def facts_of(text: str, **settings: object) -> Facts:
    """The facts of one file `k.cu`; internal errors are raised."""
    facts, crashed = analyze([Source("k.cu", text)], Settings(**settings))  # type: ignore[arg-type]
    assert not crashed, facts.not_analysed
    return facts


def accesses_of(text: str, **settings: object) -> list[Access]:
    """All accesses of one file, in order of kernel and place."""
    return [a for k in facts_of(text, **settings).kernels for a in k.accesses]


def ways_of(text: str, **settings: object) -> list[tuple[int, str, float]]:
    """(line, kind, mean wavefronts / mean ideal), the last -1 where there is no figure."""
    return [
        (
            a.span.line,
            str(a.kind),
            round(a.wavefronts.mean / a.ideal.mean, 3) if a.wavefronts and a.ideal else -1.0,
        )
        for a in accesses_of(text, **settings)
    ]


@pytest.fixture
def calls_of(monkeypatch: pytest.MonkeyPatch):
    """Notes what the calls of a module's function are given, from here on."""

    def noted(module: ModuleType, name: str) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        plain = getattr(module, name)

        def noting(*given: object) -> object:
            found.append(given)
            return plain(*given)

        monkeypatch.setattr(module, name, noting)
        return found

    return noted


@pytest.fixture
def smemlint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the command line in `tmp_path`, in this process: exit code, stdout and stderr."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, stdin: bytes = b"", cwd: Path = tmp_path) -> tuple[int, str, str]:
        given, out, err = (
            io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (stdin, b"", b"")
        )
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
                patch.setattr(sys, name, stream)
            try:
                code = main(arguments)
            except SystemExit as end:
                code = int(end.code or 0)
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return code, texts[0], texts[1]

    return run


@pytest.fixture
def smemlint_process(tmp_path: Path):
    """Runs the command line in a process of its own: for signals, limits and start-up."""

    def run(*arguments: str, stdin: bytes = b"", cwd: Path = tmp_path) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "smemlint", *arguments],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=100,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run
