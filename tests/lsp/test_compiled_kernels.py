"""What Triton compiled of an open document, out of a cache that the user names."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'smemlint[lsp]'")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")

from lsprotocol import types  # noqa: E402
from pytest_lsp import ClientServerConfig  # noqa: E402

from smemlint.lsp.compiled_kernels import CompiledKernels  # noqa: E402
from tests import triton_ptx  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def column(out):
    tl.store(out + tl.arange(0, 64) * 32, tl.arange(0, 64))
"""


def cached(cache: Path, folder: str, document: Path, shift: int, age: float) -> Path:
    """A kernel in the cache, compiled some seconds before the document was saved."""
    (cache / folder).mkdir(parents=True, exist_ok=True)
    path = cache / folder / "column.ptx"
    path.write_text(triton_ptx.column(str(document), shift))
    (cache / folder / "column.json").write_text(json.dumps({"num_warps": 2}))
    saved = document.stat().st_mtime
    os.utime(path, (saved - age, saved - age))
    return path


def test_the_latest_of_each_kernel_counts(tmp_path):
    document, cache = tmp_path / "k.py", tmp_path / "cache"
    document.write_text(SOURCE)
    kernels = CompiledKernels(str(cache))
    assert kernels.of(str(document), SOURCE) == []  # there is no cache
    cached(cache, "A", document, 7, age=10)  # of a text before this one
    assert kernels.of(str(document), SOURCE) == []
    older = cached(cache, "B", document, 2, age=-10)
    cached(cache, "C", tmp_path / "k.py", 7, age=-5).unlink()
    cached(cache, "D", document, 7, age=-20)
    (found,) = kernels.of(str(document), SOURCE)
    assert Path(found.path).parent.name == "D"
    assert kernels.of(str(document), SOURCE)[0] is found  # not read again
    (cache / "D" / "column.ptx").unlink()
    assert [s.path for s in kernels.of(str(document), SOURCE)] == [str(older)]
    cached(cache, "D", document, 7, age=-20)  # time and size are those of the one that is gone
    (again,) = kernels.of(str(document), SOURCE)
    assert (again.path, again.text) == (found.path, found.text)
    assert again is not found  # what is gone is not kept
    (cache / "D" / "column.ptx").unlink()
    other = tmp_path / "other.py"
    other.write_text(SOURCE)
    assert kernels.of(str(other), SOURCE) == []
    assert kernels.of(str(document), SOURCE + "\n") == []  # edited: lines may have moved


def command(*arguments: str) -> list[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from smemlint.cli.main import main; "
    return [sys.executable, "-c", code + f"sys.exit(main(['lsp', *{list(arguments)!r}]))"]


@pytest.mark.parametrize(
    ("asks", "expected"), [(True, [(7, "SML101")]), (False, [])], ids=["asked", "not asked"]
)
@pytest.mark.asyncio
async def test_figures_stand_on_the_python_line_only_where_the_user_asks(tmp_path, asks, expected):
    document, cache = tmp_path / "k.py", tmp_path / "cache"
    document.write_text(SOURCE)
    cached(cache, "A", document, 7, age=-10)
    cached(tmp_path, ".", document, 7, age=-10)  # of the project
    config = ClientServerConfig(command("--triton-cache", str(cache)) if asks else command())
    client = await config.start()
    await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities()))
    uri = document.as_uri()
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, SOURCE))
    )
    identifier = types.TextDocumentIdentifier(uri)
    await client.text_document_code_lens_async(types.CodeLensParams(identifier))
    found = [(d.range.start.line + 1, d.code) for d in client.diagnostics.get(uri, ())]
    await client.shutdown_session()
    await client.stop()
    assert found == expected
