"""What the README tells users of Neovim, Helix and Emacs to write, tried in the editors where they
are new enough; and that what it shows for VS Code are settings that the server takes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
import time
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'smemlint[lsp]'")

from smemlint.lsp.settings import settings_from

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EDITORS = README[README.index("## Editors") : README.index("## How it knows")]
KERNEL = """\
__global__ void transpose(float *out, const float *in) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  /* \U0001f642é */ out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
void run(float *out, const float *in) { transpose<<<1, dim3(32, 32)>>>(out, in); }
"""
ACCESS = "tile[threadIdx.x][threadIdx.y]"
SEEN = {
    "before": [[5, "SML101", ACCESS]],
    "hints": ["32-way"],
    "line": "  __shared__ float tile[32][33];",
    "after": 0,
}

NEOVIM = """
local function wait(f) vim.wait(20000, f, 20) end
local function found() return vim.diagnostic.get(0) end
vim.cmd.edit("k.cu")
vim.lsp.inlay_hint.enable(true)
wait(function() return #found() > 0 and #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end)
local seen = { before = {}, hints = {} }
for _, d in ipairs(found()) do
  local text = vim.api.nvim_buf_get_text(0, d.lnum, d.col, d.end_lnum, d.end_col, {})[1]
  table.insert(seen.before, { d.lnum + 1, d.code, text })
end
for _, h in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
  table.insert(seen.hints, h.inlay_hint.label)
end
vim.ui.select = function(items, _, choose) choose(items[1], 1) end
vim.api.nvim_win_set_cursor(0, { 5, 65 })
vim.lsp.buf.code_action()
wait(function() return #found() == 0 end)
vim.cmd.write()
seen.line = vim.fn.readfile("k.cu")[2]
seen.after = #found()
vim.fn.writefile({ vim.json.encode(seen) }, "seen.json")
vim.cmd("qa!")
"""

EMACS = r"""
(require 'eglot)
(require 'json)
(defun wait-until (found)
  (dotimes (_ 200) (unless (funcall found) (accept-process-output nil 0.1))))
(defun text (d) (buffer-substring (flymake-diagnostic-beg d) (flymake-diagnostic-end d)))
(find-file "k.cu")
(run-hooks 'post-command-hook)  ; `eglot-ensure' waits for it
(wait-until #'eglot-managed-p)
(flymake-start)
(wait-until #'flymake-diagnostics)
(eglot--update-hints-1 (point-min) (point-max))
(defun hints ()
  (delq nil (mapcar (lambda (o) (and (overlay-get o 'eglot--inlay-hint)
                                     (or (overlay-get o 'after-string)
                                         (overlay-get o 'before-string))))
                    (overlays-in (point-min) (point-max)))))
(wait-until #'hints)
(let* ((found (flymake-diagnostics))
       (hints (mapcar (lambda (h) (string-trim (substring-no-properties h))) (hints)))
       (before (mapcar (lambda (d)
                         (string-match "\\[\\(SML[0-9]+\\)\\]" (flymake-diagnostic-text d))
                         (list (line-number-at-pos (flymake-diagnostic-beg d))
                               (match-string 1 (flymake-diagnostic-text d)) (text d)))
                       found)))
  (goto-char (flymake-diagnostic-beg (car found)))
  (cl-letf (((symbol-function 'eglot--read-execute-code-action)
             (lambda (actions server &optional _) (eglot-execute server (aref (vconcat actions) 0)))))
    (call-interactively #'eglot-code-action-quickfix))
  (save-buffer)  ; nobody is idle here, when Eglot would send what changed
  (wait-until (lambda () (not (flymake-diagnostics))))
  (let ((line (save-excursion (goto-char (point-min)) (forward-line 1)
                              (buffer-substring (point) (line-end-position))))
        (after (length (flymake-diagnostics))))
    (with-temp-file "seen.json"
      (insert (json-encode `((before . ,(vconcat before)) (hints . ,(vconcat hints))
                             (line . ,line) (after . ,after)))))))
"""


def shown(language: str) -> str:
    """The README's text in one language."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", EDITORS, re.S)
    return str(text)


def version_of(program: str) -> tuple[int, ...]:
    """The version of an editor; (0,) where it is not installed."""
    if shutil.which(program) is None:
        return (0,)
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found is not None else (0,)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a kernel and, on the PATH, a `smemlint`."""
    (tmp_path / "k.cu").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "smemlint"
    program.write_text(
        f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m smemlint \"$@\"\n"
    )
    program.chmod(0o755)
    return tmp_path


def environment(project: Path) -> dict[str, str]:
    """That of an editor whose user has nothing but the project."""
    home = str(project / "home")
    folders = {f"XDG_{kind}_HOME": home for kind in ("CONFIG", "STATE", "CACHE", "DATA")}
    path = f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **folders, "HOME": home, "PATH": path, "TERM": "xterm-256color"}


def seen_in(project: Path, *command: str) -> object:
    """What an editor wrote down of its session in a project."""
    env = environment(project)
    done = subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    seen = project / "seen.json"
    assert seen.exists(), done.stdout + done.stderr
    return json.loads(seen.read_text(encoding="utf-8"))


@pytest.mark.skipif(version_of("nvim") < (0, 11), reason="no Neovim 0.11 on the PATH")
def test_neovim_as_the_readme_sets_it_up(project):
    (project / "init.lua").write_text(shown("lua"))
    (project / "session.lua").write_text(NEOVIM)
    command = ["nvim", "--headless", "-u", "init.lua", "-c", "luafile session.lua"]
    assert seen_in(project, *command) == SEEN


@pytest.mark.skipif(version_of("emacs") < (29,), reason="no Emacs 29 on the PATH")
def test_emacs_as_the_readme_sets_it_up(project):
    (project / "init.el").write_text(shown("elisp"))
    (project / "session.el").write_text(EMACS)
    assert seen_in(project, "emacs", "-Q", "--batch", "-l", "init.el", "-l", "session.el") == SEEN


_NO_TEXT = re.compile(rb"\x1b\[[0-9;:?]*[A-Za-z]|\s")


class Screen:
    """A program in a terminal."""

    def __init__(self, project: Path, *command: str) -> None:
        self._drawn = b""
        self._terminal, inside = pty.openpty()
        termios.tcsetwinsize(inside, (45, 180))
        self.program = subprocess.Popen(
            command, cwd=project, env=environment(project), stdin=inside, stdout=inside
        )
        os.close(inside)

    def wait_for(self, text: str) -> None:
        """Reads what is drawn until some text was, colours and blanks left out."""
        expected, end = "".join(text.split()).encode(), time.monotonic() + 30
        while expected not in _NO_TEXT.sub(b"", self._drawn):
            left = end - time.monotonic()
            assert select.select([self._terminal], [], [], max(left, 0))[0], self._drawn
            self._drawn += os.read(self._terminal, 1 << 16)

    def type(self, keys: str) -> None:
        """Types as a user would, who looks at what happens."""
        os.write(self._terminal, keys.encode())
        end = time.monotonic() + 1
        with contextlib.suppress(OSError):  # it ended
            while (left := end - time.monotonic()) > 0:
                if select.select([self._terminal], [], [], left)[0]:
                    self._drawn += os.read(self._terminal, 1 << 16)

    def close(self) -> None:
        """Ends the program."""
        self.program.kill()
        self.program.wait()
        os.close(self._terminal)


@pytest.mark.skipif(version_of("hx") < (25, 1), reason="no Helix 25.01 on the PATH")
def test_helix_as_the_readme_sets_it_up(project):
    home = project / "home" / "helix"
    home.mkdir(parents=True)
    (home / "languages.toml").write_text(shown("toml"))
    (home / "config.toml").write_text("[editor.lsp]\ndisplay-inlay-hints = true\n")
    screen = Screen(project, "hx", "k.cu")
    try:
        screen.wait_for("k.cu")
        screen.type(":5\rglhhhh")
        screen.wait_for("help: pad the rows")
        for keys in (" a", "\r", "\r", ":wq\r"):  # menus are drawn over text, in pieces
            screen.type(keys)
        screen.program.wait(20)
    finally:
        screen.close()
    assert (project / "k.cu").read_text(encoding="utf-8").splitlines()[1] == SEEN["line"]


def test_the_settings_of_the_readme_are_settings():
    server = tomllib.loads(shown("toml"))["language-server"]["smemlint"]
    assert (server["command"], server["args"]) == ("smemlint", ["lsp"])
    given = json.loads(shown("json"))
    assert [given["glspc.server.command"], *given["glspc.server.commandArguments"]] == [
        "smemlint",
        "lsp",
    ]
    for table in (server["config"], given["glspc.server.initializationOptions"]):
        assert settings_from(table).table == {"arch": "sm_90"}
