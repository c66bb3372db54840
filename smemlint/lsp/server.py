"""The server: what the protocol asks for, answered from analyses of open documents."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, cast

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from smemlint import __version__
from smemlint.config.files import ConfigFile
from smemlint.config.settings import Configuration
from smemlint.errors import CLEAN, FAILED, ConfigError, SmemlintError
from smemlint.lint.selection import require_known_rules
from smemlint.lsp.actions import FIX_ALL, Offer
from smemlint.lsp.analysis import Analysis, Folders
from smemlint.lsp.bounded_input import BoundedInput
from smemlint.lsp.client_capabilities import Client
from smemlint.lsp.compiled_kernels import CompiledKernels, default_cache
from smemlint.lsp.convert import diagnostics, failure
from smemlint.lsp.documents import Document
from smemlint.lsp.fix_all import COMMAND, all_fixes
from smemlint.lsp.hover import hints, hover
from smemlint.lsp.incremental import IncrementalMemo
from smemlint.lsp.lenses import lenses
from smemlint.lsp.main_thread_worker import Worker
from smemlint.lsp.paths import is_served, path_of
from smemlint.lsp.positions import Places
from smemlint.lsp.progress import Progress
from smemlint.lsp.protocol import Protocol
from smemlint.lsp.settings import are_ours, settings_from
from smemlint.sources.discovery import SUFFIXES
from smemlint.sources.languages import PTX_SUFFIX, is_python_path
from smemlint.sources.source import Source
from smemlint.visible import visible, without_commands

_log = logging.getLogger(__name__)
_SETTINGS = "settings"
_WATCHED = ["**/*.toml", *(f"**/*{suffix}" for suffix in sorted(SUFFIXES))]
"""Configuration files, which may extend any `.toml`, and sources."""


class Server(LanguageServer):
    """Documents of one client, and what it configured.

    Args:
        worker: analyses.
        compiled: what Triton compiled of open documents; None where the user did not ask for it.
    """

    def __init__(self, worker: Worker, compiled: CompiledKernels | None = None) -> None:
        pieces = types.TextDocumentSyncKind.Incremental
        super().__init__("smemlint", __version__, pieces, protocol_cls=Protocol)
        self.worker = worker
        self.documents: dict[str, Document] = {}
        self._paths: dict[str, str] = {}
        self.is_shut_down = False
        self._settings: ConfigFile | ConfigError | None = None
        self._folders = Folders()
        self._compiled = compiled
        self._memory = IncrementalMemo()
        self._failures: dict[str, Exception] = {}

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Logs messages that cannot be read: the user did not write them."""
        _log.error("%s", error)

    @property
    def client(self) -> Client:
        """What the client can do."""
        return Client(self.client_capabilities)

    # ---- documents

    def open(self, uri: str, language: str) -> None:
        """Begins to watch a document; those of the web are left alone."""
        if not is_served(uri):
            return
        path = self._paths[uri] = path_of(uri, language)
        self.documents[uri] = Document(
            uri,
            self.worker,
            lambda partial: self._analyses(path, partial),
            lambda analysis: self._tell(uri, analysis),
            lambda error: self._fail(uri, error),
            lambda: self._shown(path),
        )
        self.documents[uri].changed()

    def close(self, uri: str) -> None:
        """Forgets a document."""
        document = self.documents.pop(uri, None)
        if document is not None:
            self._failures.pop(uri, None)
            self._memory.forget_results(self._paths.pop(uri))
            document.close()
            self._publish(uri, [])

    def refresh(self) -> None:
        """Asks the client to ask again: everything may have changed."""
        self._memory.files_changed()
        for document in self.documents.values():
            document.changed()
        if self.client.asks_for_diagnostics:
            self.workspace_diagnostic_refresh(None)
        if self.client.asks_again_for_hints:
            self.workspace_inlay_hint_refresh(None)
        if self.client.asks_again_for_lenses:
            self.workspace_code_lens_refresh(None)

    async def known(self, uri: str, *, partly: bool = False) -> Analysis | None:
        """Returns what is known of the newest version of a document, fixes perhaps not included."""
        document = self.documents.get(uri)
        return await document.known(partly=partly) if document is not None else None

    async def complete(self, uri: str) -> Analysis | None:
        """Returns what is known of the newest version of a document, fixes included."""
        document = self.documents.get(uri)
        return await document.complete() if document is not None else None

    def diagnostics(self, uri: str, analysis: Analysis | None) -> list[types.Diagnostic]:
        """Returns what a document shows: its findings, or why there are none."""
        if analysis is not None:
            return diagnostics(analysis, self.places(analysis))
        error = self._failures.get(uri)
        return [failure(error)] if error is not None else []

    def places(self, analysis: Analysis) -> Places:
        """Returns how the client counts positions in the files of an analysis."""
        open_uris = {path: uri for uri, path in self._paths.items()}

        def uri_of(path: str) -> str:
            return open_uris.get(path) or str(uris.from_fs_path(str(Path(path).absolute())))

        encoding = types.PositionEncodingKind(self.workspace.position_encoding or "utf-16")
        return Places(encoding.value, analysis.text_of, uri_of)

    def versions(self) -> dict[str, int | None] | None:
        """Returns the versions of open documents where the client wants them in edits."""
        if not self.client.takes_versions:
            return None
        return {uri: self.workspace.get_text_document(uri).version for uri in self.documents}

    def offer(self, analysis: Analysis) -> Offer:
        """Returns what the client can do about an analysis."""
        return Offer(
            analysis,
            self.places(analysis),
            self.versions(),
            shows_previews=self.client.shows_previews,
            applies_edits=self.client.applies_edits,
        )

    async def fix_all(self, uri: str) -> None:
        """Lets the client apply all fixes of a document, if it is still the same then."""
        analysis = await self.complete(uri)
        if analysis is None:
            return
        before = self.workspace.get_text_document(uri).version
        path = self._paths[uri]
        try:
            edits = await self.worker.run(lambda: all_fixes(path, *self._run_of(path)))
        except SmemlintError as error:
            return self._fail(uri, error)
        if edits and self.workspace.get_text_document(uri).version == before:
            edit = self.offer(analysis).workspace_edit(edits)
            label = "smemlint: all fixes"
            self.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit, label))

    def _analyses(self, path: str, partial: Callable[[Analysis], None]) -> Iterator[Analysis]:
        from smemlint.lsp.document_run import analyses  # with numpy: a client waits for the start

        return analyses(path, *self._run_of(path), partial)

    def _shown(self, path: str) -> AbstractContextManager[None]:
        """Shows an analysis as work in progress to a client that can."""
        if not self.client.shows_progress:
            return nullcontext()
        progress = Progress(self, f"smemlint: {path.rpartition('/')[2]}")
        self._memory.evaluating = lambda instance: progress.say(visible(instance.title))
        return progress.shown()

    def _run_of(self, path: str) -> tuple[list[Source], Configuration, IncrementalMemo]:
        """Returns what a document is analysed with, as it is now."""
        opened = {}
        for uri, name in tuple(self._paths.items()):
            opened[name] = Source(name, self.workspace.get_text_document(uri).source)
        sources = self._folders.sources(path, opened)
        if is_python_path(path):  # compiled code of a project is not taken for the document's
            sources = [s for s in sources if not s.path.endswith(PTX_SUFFIX)]
            if self._compiled is not None:
                sources += self._compiled.of(path, opened[path].text)
        return sources, self._configuration(), self._memory

    def _tell(self, uri: str, analysis: Analysis) -> None:
        """Publishes what was found; a client that asks for it is requested to ask again."""
        self._failures.pop(uri, None)
        if not self.client.asks_for_diagnostics:
            self._publish(uri, self.diagnostics(uri, analysis))
        elif analysis.has_fixes or analysis.refines:
            self.workspace_diagnostic_refresh(None)

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        if self.client.asks_for_diagnostics:
            return
        version = self.workspace.get_text_document(uri).version if uri in self.documents else None
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, found, version=version)
        )

    def _fail(self, what: str, error: Exception) -> None:
        """Says that a document (its URI) was not analysed, or why settings are not used.

        A message is shown when something goes wrong, not again for each edit or each document
        while it stays so; the documents themselves say it as long.
        """
        is_known = str(error) in map(str, self._failures.values())
        self._failures[what] = error
        _log.error("%s: %s", type(error).__name__, error)
        if what in self.documents:
            self._publish(what, self.diagnostics(what, None))
        if isinstance(error, SmemlintError) and not is_known:
            message = types.ShowMessageParams(types.MessageType.Error, f"smemlint: {error}")
            self.window_show_message(message)

    # ---- configuration

    def configure(self, given: Any) -> None:
        """Takes over the client's settings; with wrong ones nothing is analysed, as in `check`."""
        try:
            self._settings = settings_from(given)
        except ConfigError as error:
            self._settings = error
            self._fail(_SETTINGS, error)
        else:
            self._failures.pop(_SETTINGS, None)

    def _configuration(self) -> Configuration:
        """Returns the settings of the client and of files, these as they are now.

        Raises:
            ConfigError: those of the client cannot be used.
        """
        if isinstance(self._settings, ConfigError):
            raise self._settings
        above = [self._settings] if self._settings is not None else ()
        return Configuration(above=above, require_rules=require_known_rules)

    async def ask_for_settings(self) -> None:
        """Asks a client that can be asked; one that answers nothing keeps what it gave before."""
        if not self.client.knows_settings:
            return
        section = types.ConfigurationItem(section="smemlint")
        answer = await self.workspace_configuration_async(types.ConfigurationParams([section]))
        if answer and answer[0] is not None:
            self.configure(answer[0])
            self.refresh()

    def watch(self) -> None:
        """Asks a client that can to say when a file of interest changes."""
        if not self.client.watches_files:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions(
            [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
        )
        registration = types.Registration(
            "watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
        )
        self.client_register_capability(types.RegistrationParams([registration]))


class _VisibleFormatter(logging.Formatter):
    """Writes a record on one line, for it quotes documents; a traceback has lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        lines = super().formatException(ei).split("\n")
        return "\n".join(without_commands(visible(line)) for line in lines)


def make_server(worker: Worker, compiled: CompiledKernels | None = None) -> Server:
    """Returns a server with all its features, which does not talk yet."""
    server = Server(worker, compiled)
    _follow_client(server)
    _answer_requests(server)
    return server


def _follow_client(server: Server) -> None:
    """Registers what the server does when the client, a document or the settings change."""

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        server.watch()
        await server.ask_for_settings()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        cast("Protocol", server.protocol).use_documents(params.root_uri)
        server.configure(params.initialization_options)
        if server.client.asks_for_diagnostics:
            _offer_diagnostics(server)

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.is_shut_down = True

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.open(params.text_document.uri, params.text_document.language_id)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            document.changed()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.refresh()  # launches in other open files, configuration

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        server.refresh()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings_changed(params: types.DidChangeConfigurationParams) -> None:
        if are_ours(params.settings):
            server.configure(params.settings)
        server.refresh()
        await server.ask_for_settings()


def _answer_requests(server: Server) -> None:
    """Registers what the server answers about a document."""

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
    )
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        analysis = await server.complete(params.text_document.uri)
        if analysis is None:
            return []
        return server.offer(analysis).actions(params.range, params.context.only)

    @server.command(COMMAND)
    async def fix_all(uri: str) -> None:
        await server.fix_all(uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        for partly in (True, False):
            analysis = await server.known(params.text_document.uri, partly=partly)
            if analysis is None:
                return None
            places, is_markdown = server.places(analysis), server.client.reads_markdown
            found = hover(analysis, places, params.position, is_markdown=is_markdown)
            if found is not None:
                return found
        return None

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions())
    async def lensed(params: types.CodeLensParams) -> list[types.CodeLens]:
        analysis = await server.known(params.text_document.uri)
        return lenses(analysis, server.places(analysis)) if analysis else []

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hinted(params: types.InlayHintParams) -> list[types.InlayHint]:
        analysis = await server.known(params.text_document.uri)
        return hints(analysis, server.places(analysis), params.range) if analysis else []


def _offer_diagnostics(server: Server) -> None:
    """Lets the client ask for diagnostics; to be called before the server says what it can do."""
    if types.TEXT_DOCUMENT_DIAGNOSTIC in server.protocol.fm.features:
        return  # a client that begins twice

    @server.feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False),
    )
    async def pulled(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        analysis = await server.known(params.text_document.uri, partly=True)
        found = server.diagnostics(params.text_document.uri, analysis)
        return types.RelatedFullDocumentDiagnosticReport(items=found)


def serve(*, debug: bool = False, triton_cache: str | None = None) -> int:
    """Talks over standard input and output until the client ends; returns the exit code.

    Args:
        debug: log all messages.
        triton_cache: the folder of compiled kernels to show; empty for Triton's own, None for none.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_VisibleFormatter("smemlint: %(levelname)s: %(message)s"))
    level = logging.DEBUG if debug else logging.CRITICAL
    logging.basicConfig(handlers=[handler], level=level)
    logging.getLogger("smemlint.lsp").setLevel(logging.DEBUG if debug else logging.WARNING)
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else may write there
    worker = Worker()
    folder = triton_cache if triton_cache != "" else default_cache()
    server = make_server(worker, CompiledKernels(folder) if folder is not None else None)

    def talk() -> None:
        try:
            server.start_io(cast("BinaryIO", BoundedInput(sys.stdin.buffer)), output)
        finally:
            worker.close()

    Thread(target=talk, name="protocol", daemon=True).start()
    worker.serve()
    return CLEAN if server.is_shut_down else FAILED
