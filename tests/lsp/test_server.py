"""The server seen by two clients: one that counts in UTF-16 and is told, one in UTF-8 that asks.

The first would ask, too, but cannot be told to ask again.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'smemlint[lsp]'")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")

from lsprotocol import types  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient  # noqa: E402

from smemlint.lsp.paths import is_served, path_of  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """\
__global__ void transpose(float *out, const float *in) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  /* \U0001f642é */ out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
void run(float *out, const float *in) { transpose<<<1, dim3(32, 32)>>>(out, in); }
"""
LINE = KERNEL.splitlines()[4]
START = {
    "utf-16": len(LINE[: LINE.index("tile[")].encode("utf-16-le")) // 2,
    "utf-8": len(LINE[: LINE.index("tile[")].encode()),
}


def capabilities(encoding: str) -> types.ClientCapabilities:
    asks = encoding == "utf-8"
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=[encoding]),
        text_document=types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities(),
            hover=types.HoverClientCapabilities(
                content_format=[types.MarkupKind.Markdown if asks else types.MarkupKind.PlainText]
            ),
        ),
        workspace=types.WorkspaceClientCapabilities(
            apply_edit=True,
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=asks),
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=asks,
                change_annotation_support=types.ChangeAnnotationsSupportOptions() if asks else None,
            ),
        ),
    )


def command() -> list[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from smemlint.cli.main import main; "
    return [sys.executable, "-c", code + "sys.exit(main(['lsp']))"]


@pytest_lsp.fixture(
    params=["utf-16", pytest.param("utf-8", marks=pytest.mark.slow)],
    config=ClientServerConfig(server_command=command()),
)
async def client(request, lsp_client: LanguageClient, tmp_path):
    lsp_client.encoding = request.param
    lsp_client.folder = tmp_path
    lsp_client.applied = asyncio.Event()

    @lsp_client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply_edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        lsp_client.edit = params.edit
        lsp_client.applied.set()
        return types.ApplyWorkspaceEditResult(applied=True)

    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=capabilities(request.param), root_uri=tmp_path.as_uri())
    )
    yield
    await lsp_client.shutdown_session()


PUSHED, PULLED = (
    pytest.mark.parametrize("client", [encoding], indirect=True) for encoding in ("utf-16", "utf-8")
)
"""One of the two clients, where neither positions nor edits are looked at."""


def opened(client: LanguageClient, text: str, name: str = "k.cu") -> str:
    uri = (client.folder / name).as_uri()
    item = types.TextDocumentItem(uri, "cuda-cpp", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return uri


def change(client: LanguageClient, uri: str, text: str, version: int) -> None:
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version, uri),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
    )


async def diagnostics(client: LanguageClient, uri: str) -> list[types.Diagnostic]:
    """The diagnostics of the newest version with its fixes, as this client gets them."""
    if client.encoding == "utf-8":
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        return list((await client.text_document_diagnostic_async(params)).items)
    await actions(client, uri, 0)  # waits for the analysis
    return list(client.diagnostics[uri])


async def actions(client: LanguageClient, uri: str, line: int) -> list[types.CodeAction]:
    place = types.Position(line, 0)
    end = types.Position(line, 200)
    context = types.CodeActionContext([])
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(uri), types.Range(place, end), context
    )
    return list(await client.text_document_code_action_async(params) or [])


def edits(action: types.CodeAction, uri: str) -> list[types.TextEdit]:
    if action.edit.document_changes is not None:
        (change,) = action.edit.document_changes
        assert (change.text_document.uri, change.text_document.version) == (uri, 1)
        return list(change.edits)
    assert list(action.edit.changes) == [uri]
    return list(action.edit.changes[uri])


def edited(text: str, changes: list[types.TextEdit]) -> str:
    """The text with ASCII edits inside of lines, or of whole lines."""
    lines = text.splitlines(keepends=True)
    for e in sorted(changes, key=lambda e: -e.range.start.line):
        assert e.range.start.line == e.range.end.line
        row = lines[e.range.start.line]
        lines[e.range.start.line] = (
            row[: e.range.start.character] + e.new_text + row[e.range.end.character :]
        )
    return "".join(lines)


@pytest.mark.asyncio
async def test_a_conflict_is_shown_with_its_place_in_the_clients_units(client: LanguageClient):
    uri = opened(client, KERNEL)
    (found,) = await diagnostics(client, uri)
    start = START[client.encoding]
    assert found.range == types.Range(
        types.Position(4, start), types.Position(4, start + len("tile[threadIdx.x][threadIdx.y]"))
    )
    assert (found.code, found.severity) == ("SML101", types.DiagnosticSeverity.Warning)
    assert found.message.startswith("32-way bank conflict reading `tile` in `transpose`")
    (related,) = found.related_information
    assert related.location.uri == uri and related.location.range.start.line == 1
    assert "\n" not in found.message  # the proof is in the hover
    assert found.code_description.href.endswith("/rules/SML101/")


HELPER = """\
__device__ float column(const float *p) { return p[threadIdx.x * 32]; }
__global__ void k(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x] = 1;
  o[0] = column(s);
}
void run(float *o) { k<<<1, 32>>>(o); }
"""


@PULLED
@pytest.mark.asyncio
async def test_the_way_to_a_helper_and_the_cost_of_the_kernel_are_shown(client: LanguageClient):
    uri = opened(client, HELPER)
    (found,) = await diagnostics(client, uri)
    places = [r.location.range.start.line for r in found.related_information]
    assert (found.range.start.line, places) == (0, [2, 4])
    document = types.TextDocumentIdentifier(uri)
    (lens,) = await client.text_document_code_lens_async(types.CodeLensParams(document))
    assert lens.range.start.line == 1
    # a store of 1 wavefront and a load of 32, of which 1 each would do
    assert re.findall(r"\d+", lens.command.title) == ["33", "2", "6"]
    at = types.HoverParams(document, types.Position(0, 52))
    shown = (await client.text_document_hover_async(at)).contents.value
    assert re.search(r"31 of 32 wavefronts .* 94%", shown)


@pytest.mark.asyncio
async def test_the_fix_heals_what_it_is_offered_for(client: LanguageClient):
    uri = opened(client, KERNEL)
    fix = (await actions(client, uri, 4))[0]
    assert fix.is_preferred and fix.kind == types.CodeActionKind.QuickFix
    text = edited(KERNEL, edits(fix, uri))
    assert "float tile[32][33];" in text
    change(client, uri, text, 2)
    assert await diagnostics(client, uri) == []


@PUSHED
@pytest.mark.asyncio
@pytest.mark.parametrize("where", ["here", "in this file"])
async def test_a_suppression_suppresses(client: LanguageClient, where):
    uri = opened(client, KERNEL)
    offered = await actions(client, uri, 4)
    (action,) = (a for a in offered if a.title == f"suppress bank-conflict {where}")
    text = edited(KERNEL, edits(action, uri))
    line = {"here": 4, "in this file": 0}[where]
    assert "// smemlint: ignore" in text.splitlines()[line]
    change(client, uri, text, 2)
    assert await diagnostics(client, uri) == []


@pytest.mark.asyncio
async def test_hover_and_hints_tell_the_banks(client: LanguageClient):
    uri = opened(client, KERNEL)
    document = types.TextDocumentIdentifier(uri)
    at = types.Position(4, START[client.encoding] + 1)
    shown = await client.text_document_hover_async(types.HoverParams(document, at))
    assert "load of `tile`: 32 wavefronts, 1 at best (32-way), assumed" in shown.contents.value
    assert "1 of 32 busy, up to 32 words in one bank" in shown.contents.value
    assert "assumed: block (32, 32, 1) (launch at k.cu:7)" in shown.contents.value
    assert shown.contents.value.startswith("```") is (client.encoding == "utf-8")
    await actions(client, uri, 4)  # looks for fixes
    shown = await client.text_document_hover_async(types.HoverParams(document, at))
    assert "-  __shared__ float tile[32][32];\n+  __shared__ float tile[32][33];" in str(
        shown.contents.value
    )
    nowhere = types.HoverParams(document, types.Position(3, 3))
    assert await client.text_document_hover_async(nowhere) is None
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    params = types.InlayHintParams(document, everything)
    (hint,) = await client.text_document_inlay_hint_async(params)
    end = START[client.encoding] + len("tile[threadIdx.x][threadIdx.y]")
    assert (hint.label, hint.position) == ("32-way", types.Position(4, end))


@PULLED
@pytest.mark.asyncio
async def test_launches_are_found_in_the_files_beside(client: LanguageClient):
    kernel, launch = KERNEL[: KERNEL.index("void run")], KERNEL[KERNEL.index("void run") :]
    (client.folder / "run.cu").write_text(f'#include "k.cuh"\n{launch}', encoding="utf-8")
    uri = opened(client, kernel, "k.cuh")
    (found,) = await diagnostics(client, uri)
    assert found.message.startswith("32-way")


@PUSHED
@pytest.mark.asyncio
async def test_settings_of_the_client_and_of_files_count(client: LanguageClient):
    uri = opened(client, KERNEL)
    assert len(await diagnostics(client, uri)) == 1
    client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"smemlint": {"ignore": ["SML101"]}})
    )
    assert await diagnostics(client, uri) == []
    client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"smemlint": {"arch": "sm_90"}})
    )
    assert len(await diagnostics(client, uri)) == 1
    (client.folder / "smemlint.toml").write_text("[max-ways]\nbank-conflict = 32\n")
    changed = types.FileEvent(uri, types.FileChangeType.Changed)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
    assert await diagnostics(client, uri) == []


@PULLED
@pytest.mark.asyncio
async def test_a_setting_that_does_not_exist_is_complained_of(client: LanguageClient):
    uri = opened(client, KERNEL)
    (fine,) = await diagnostics(client, uri)
    for given, where, what in (
        ({"archh": "sm_90"}, "archh", "unknown key `archh`\n  hint: did you mean `arch`?"),
        ({"arch": "sm_91x"}, "arch", "unknown architecture 'sm_91x': one of sm_70, "),
        ({"ignore": ["bank"]}, "ignore", "unknown rule `bank`\n  hint: did you mean `bank-conf"),
        ({"max-ways": {"bank-conflct": 2}}, "max-ways", "unknown rule `bank-conflct`"),
    ):
        changed = types.DidChangeConfigurationParams({"smemlint": given})
        client.workspace_did_change_configuration(changed)
        client.workspace_did_change_configuration(changed)  # which is not said again
        (found,) = await diagnostics(client, uri)
        message = f"settings of the editor: {where}: {what}"
        assert found.message.startswith(f"not analysed: {message}")
        assert client.messages[-1].message.startswith(f"smemlint: {message}")
    assert len(client.messages) == 4
    client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"other-server": {"a": 1}})
    )
    assert len(await diagnostics(client, uri)) == 1
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"smemlint": {}}))
    assert await diagnostics(client, uri) == [fine]


@PUSHED
@pytest.mark.asyncio
async def test_a_kernel_may_be_described_in_the_settings(client: LanguageClient):
    uri = opened(client, KERNEL[: KERNEL.index("void run")])
    for block, ways in ([4, 8], "4-way"), ([32, 32], "32-way"):
        given = {"kernels": {"transpose": {"block": block}}}
        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(given))
        found = await diagnostics(client, uri)
        assert found[-1].message.split(" ")[0] == ways


@pytest.mark.asyncio
async def test_a_broken_configuration_is_said_as_long_as_it_is(client: LanguageClient):
    uri = opened(client, KERNEL)
    (fine,) = await diagnostics(client, uri)
    file = client.folder / "smemlint.toml"
    event = types.FileEvent(file.as_uri(), types.FileChangeType.Changed)
    changed = types.DidChangeWatchedFilesParams([event])
    for times in (1, 2):
        file.write_text('\narchh = "sm_90"\n')
        client.workspace_did_change_watched_files(changed)
        for version in (2, 3):
            (found,) = await diagnostics(client, uri)
            assert found.message.startswith("not analysed: ")
            assert (
                "smemlint.toml:2: unknown key `archh`\n  hint: did you mean `arch`?"
                in found.message
            )
            assert (found.severity, found.range.start.line) == (types.DiagnosticSeverity.Error, 0)
            change(client, uri, KERNEL, 2 * times + version)
        assert len(client.messages) == times  # when it breaks, not with each edit
        file.write_text('arch = "sm_90"\n')
        client.workspace_did_change_watched_files(changed)
        assert await diagnostics(client, uri) == [fine]


@pytest.mark.asyncio
async def test_half_typed_text_and_a_storm_of_edits_end_in_what_the_last_version_says(
    client: LanguageClient,
):
    uri = opened(client, KERNEL)
    for version, end in enumerate(range(1, len(KERNEL), 7), 2):
        change(client, uri, KERNEL[:end], version)
        if version % 10 == 0:
            await asyncio.sleep(0.2)  # long enough for an analysis to begin
    change(client, uri, KERNEL, 1000)
    (found,) = await diagnostics(client, uri)
    assert found.message.startswith("32-way")


TWO_TILES = KERNEL.replace(
    "void run",
    """__global__ void other(float *out) {
  __shared__ float side[32][32];
  side[threadIdx.y][threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = side[threadIdx.x][threadIdx.y]; // smemlint: ignore[SML401] none
}
void run2(float *out) { other<<<1, dim3(32, 32)>>>(out); }
void run""",
)


@pytest.mark.asyncio
async def test_all_fixes_are_applied_together(client: LanguageClient):
    uri = opened(client, TWO_TILES)
    offered = await actions(client, uri, 4)
    title = "apply all 3 fixes of this file, and check them together"
    assert title in [a.title for a in offered]
    await client.workspace_execute_command_async(
        types.ExecuteCommandParams("smemlint.fixAll", [uri])
    )
    await asyncio.wait_for(client.applied.wait(), 10)
    action = types.CodeAction(title, edit=client.edit)
    lines = TWO_TILES.splitlines(keepends=True)
    for edit in sorted(edits(action, uri), key=lambda e: -e.range.start.line):
        lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
    text = "".join(lines)
    assert "tile[32][33]" in text and "side[32][33]" in text
    change(client, uri, text, 2)
    assert await diagnostics(client, uri) == []


@pytest.mark.asyncio
async def test_safe_fixes_can_be_made_on_save(client: LanguageClient):
    uri = opened(client, TWO_TILES)
    everywhere = types.Range(types.Position(0, 0), types.Position(99, 0))
    context = types.CodeActionContext([], only=["source.fixAll"])
    document = types.TextDocumentIdentifier(uri)
    params = types.CodeActionParams(document, everywhere, context)
    safe, *_ = await client.text_document_code_action_async(params)
    assert safe.kind == "source.fixAll.smemlint"
    (edit,) = edits(safe, uri)
    assert edit.range.start.line == 10 and edit.new_text == ""


@pytest.mark.asyncio
async def test_a_fix_can_be_looked_at_before(client: LanguageClient):
    uri = opened(client, KERNEL)
    offered = [a for a in await actions(client, uri, 4) if a.title.startswith("preview: ")]
    if client.encoding == "utf-16":
        assert offered == []  # it cannot show any
        return
    (preview,) = offered
    (edit,) = preview.edit.document_changes[0].edits
    (annotation,) = preview.edit.change_annotations.values()
    assert edit.annotation_id in preview.edit.change_annotations and annotation.needs_confirmation
    assert edit.range.start.line == 1 and "32-way" in annotation.description


@PULLED
@pytest.mark.asyncio
async def test_findings_of_the_baseline_are_not_shown(client: LanguageClient):
    from smemlint.cli.main import main

    path = client.folder / "k.cu"
    path.write_text(KERNEL, encoding="utf-8")
    baseline = client.folder / "known.json"
    main(["check", str(path), "--baseline", str(baseline), "--write-baseline", "--no-cache"])
    uri = opened(client, KERNEL)
    assert len(await diagnostics(client, uri)) == 1
    settings = {"smemlint": {"baseline": str(baseline)}}
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    assert await diagnostics(client, uri) == []


@PUSHED
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("uri", "language"),
    [
        ("untitled:Untitled-1", "cuda-cpp"),
        ("vscode-vfs://host/project/k.cu", "cuda-cpp"),
        ("file:///no/such/folder/k.cuh", "cuda-cpp"),
        ("vscode-notebook-cell:/n/book.ipynb#W1", "python"),
    ],
)
async def test_documents_without_a_file(client: LanguageClient, uri, language):
    is_python = language == "python"
    text = (
        f"import cupy\nk = cupy.RawKernel(r'''{KERNEL}''', 'transpose')\n" if is_python else KERNEL
    )
    text += "k((1,), (32, 32), ())\n" if is_python else ""
    item = types.TextDocumentItem(uri, language, 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    (found,) = await diagnostics(client, uri)
    assert found.message.startswith("32-way bank conflict reading `tile`")


@pytest.mark.parametrize("scheme", ["http", "HTTPS", "javascript", "data"])
def test_documents_of_the_web_are_left_alone(scheme):
    assert not is_served(f"{scheme}://host/k.cu")
    assert (
        is_served("file:///k.cu") and is_served("untitled:a") and is_served("vscode-vfs://h/k.cu")
    )


def test_a_buffer_without_a_name_has_one_in_notes():
    assert path_of("file://", "cuda") == "untitled.cu"  # Neovim's
    assert path_of("untitled:Untitled-1", "cuda-cpp") == "Untitled-1.cu"


@PULLED
@pytest.mark.asyncio
async def test_the_json_of_a_notebook_says_nothing(client: LanguageClient):
    text = '{"cells": [{"cell_type": "code", "source": ["import cupy"]}], "nbformat": 4}'
    assert await diagnostics(client, opened(client, text, "book.ipynb")) == []


@pytest.mark.asyncio
async def test_a_file_beside_may_change_go_and_come_back(client: LanguageClient):
    launch = client.folder / "run.cu"
    kernel, host = KERNEL[: KERNEL.index("void run")], KERNEL[KERNEL.index("void run") :]
    uri = opened(client, kernel, "k.cuh")
    event = types.FileEvent(launch.as_uri(), types.FileChangeType.Changed)
    changed = types.DidChangeWatchedFilesParams([event])
    for shape, ways in (
        ("dim3(32, 32)", ["32-way"]),
        ("dim3(4, 8)", ["8-way", "4-way"]),
        ("", None),
    ):
        if shape:
            launch.write_text('#include "k.cuh"\n' + host.replace("dim3(32, 32)", shape))
        else:
            launch.unlink()
        client.workspace_did_change_watched_files(changed)
        found = await diagnostics(client, uri)
        assert [f.message.split(" ")[0] for f in found] == ways or ways is None
    assert not any("run.cu" in f.message for f in found)


@PUSHED
@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_very_large_document_is_answered(client: LanguageClient):
    uri = opened(client, KERNEL + "// " + "x" * 4_000_000 + "\n" + "int a;\n" * 100_000)
    found = await asyncio.wait_for(diagnostics(client, uri), 30)
    assert [f.code for f in found] == ["SML101"]
