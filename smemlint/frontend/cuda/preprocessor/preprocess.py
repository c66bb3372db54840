"""The preprocessor: one token stream of a root file and the includes that are found.

What the choice of branches assumed is kept by place; see `branches`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from smemlint.frontend.cuda.lexer.tokens import Token, without_attributes
from smemlint.frontend.cuda.notices import Notices
from smemlint.frontend.cuda.preprocessor.branches import BranchChoice
from smemlint.frontend.cuda.preprocessor.cub_headers import cub_header
from smemlint.frontend.cuda.preprocessor.cutlass_headers import (
    CUTLASS_CONSTANTS,
    cutlass_header,
    cutlass_macros,
    is_of_cutlass,
    is_released,
    is_within_cutlass,
)
from smemlint.frontend.cuda.preprocessor.directives import PreparedFile, prepare
from smemlint.frontend.cuda.preprocessor.expansions import EXPANSIONS
from smemlint.frontend.cuda.preprocessor.hip import hip_macros, is_of_hip
from smemlint.frontend.cuda.preprocessor.includes import PREPARED, Includes
from smemlint.frontend.cuda.preprocessor.macros import Expander, macro_of_value
from smemlint.frontend.cuda.preprocessor.options import LoadOptions, predefined
from smemlint.frontend.cuda.preprocessor.pytorch import may_name_pytorch, pytorch_macros
from smemlint.frontend.cuda.preprocessor.system_headers import (
    is_of_system,
    may_be_of_project,
    may_define_kernels,
)
from smemlint.frontend.cuda.preprocessor.unread_branches import UnreadBranches
from smemlint.frontend.cuda.scanner.definition_tokens import SourceFile
from smemlint.frontend.program import Dropped
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_CONDITIONS,
    MAX_INCLUDE_DEPTH,
    MAX_INCLUDED_TOKENS,
    MAX_INCLUDES,
    MAX_NOTICES,
)
from smemlint.limits.steps import TOKENS_A_STEP, spend
from smemlint.reasons import Reason, ReasonCode


class AssumedRegions:
    """Which assumed conditions enclose an offset of a file: a step function per file."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[list[int], list[tuple[str, ...]]]] = {}

    def begin(self, file: int, offset: int, conditions: tuple[str, ...]) -> None:
        """Begins a region in which these conditions hold, up to the next one."""
        offsets, texts = self._steps.setdefault(file, ([], []))
        if (texts[-1] if texts else ()) != conditions:
            offsets.append(offset)
            texts.append(conditions)

    def at(self, file: int, offset: int) -> tuple[str, ...]:
        """Returns the conditions around an offset, outermost first."""
        offsets, texts = self._steps.get(file, ([], []))
        i = bisect_right(offsets, offset)
        return texts[i - 1] if i else ()


@dataclass(slots=True)
class Preprocessed:
    """The result.

    Attributes:
        tokens: of the root with its includes in place, macros expanded, pragmas as tokens.
        files: the files that tokens point into; the first is the root.
        regions: the assumed conditions by place.
        not_found: includes that were not found and may define kernels, as written.
        notices: what could not be read.
        unread: kernels and shared memory that another build may read.
        expand: expands macros in tokens as at the end of the unit.
    """

    tokens: list[Token]
    files: dict[int, SourceFile]
    regions: AssumedRegions
    not_found: tuple[str, ...]
    notices: Sequence[Dropped]
    unread: Sequence[Dropped]
    expand: Callable[[list[Token]], list[Token]]


def preprocess(path: str, text: str, options: LoadOptions) -> Preprocessed:
    """Reads a root file with the quoted includes it can follow."""
    root = prepare(path, text)
    run = _Run(path, options)
    run.read_root(root, options.forced_includes)
    if run.has_missed():
        folders = (*options.include_dirs, *run.found_folders)
        run = _Run(path, replace(options, include_dirs=folders))
        run.read_root(root, options.forced_includes)
    return Preprocessed(
        run.out,
        run.files,
        run.regions,
        tuple(dict.fromkeys(run.not_found)),
        tuple(run.notices),
        tuple(run.unread),
        run.expander.expand,
    )


class _Run:
    """One unit being read.

    Attributes:
        found_folders: folders of quoted includes that were in none of the given ones.
    """

    def __init__(self, root: str, options: LoadOptions) -> None:
        self.out: list[Token] = []
        self.files: dict[int, SourceFile] = {}
        self.regions = AssumedRegions()
        self.not_found: list[str] = []
        self.found_folders: list[str] = []
        self.notices = Notices(MAX_NOTICES)
        self.unread = Notices(MAX_NOTICES)
        self.expander = Expander(self.complain)
        self._buffer: list[Token] = []
        self._assumed: tuple[str, ...] = ()  # around the place being read
        self._branches = BranchChoice(self.expander, options.undefines)
        self._once: set[str] = set()
        PREPARED.begin_unit()
        self._includes = Includes(root, options.include_dirs, options.read)
        self._read_text = options.read
        self._refusal = options.refusal
        self._home = options.home
        self._missed: dict[tuple[str, str], None] = {}  # includes in brackets, with the includers
        self._include_count = 0
        self._knows_pytorch = False
        self.expander.macros.update(cutlass_macros())
        for name, value in {**predefined(options.arch), **options.defines}.items():
            if name not in options.undefines:
                self._define_pytorch(value)
                self.expander.macros[name] = macro_of_value(name, value)

    def _define_pytorch(self, text: str) -> None:
        """Defines PyTorch's macros in front of the first text that may name one."""
        if not self._knows_pytorch and may_name_pytorch(text):
            self._knows_pytorch = True
            for name, macro in pytorch_macros().items():
                self.expander.macros.setdefault(name, macro)

    def read_root(self, root: PreparedFile, forced_includes: Sequence[str]) -> None:
        """Reads the root file, and those that the build puts in front of it."""
        self.files[root.file] = root.source
        for forced in forced_includes:
            self.read_first(forced)
        self.read(root, 0)
        self.flush(0)

    def read_first(self, path: str) -> None:
        """Reads a file in front of the root; what cannot be read is missing from the build."""
        text = self._read_text(path)
        if text is None:
            self.not_found.append(path)
            return
        forced = prepare(path, text)
        self.files[forced.file] = forced.source
        self.read(forced, 1)
        self.flush(1)

    def complain(self, token: Token, reason: Reason) -> None:
        """Notes something that could not be read."""
        self.notices.add(partial(self.files[token.file].span, token.start, token.end), reason)

    def flush(self, depth: int) -> None:
        """Expands and emits the code read since the macros last changed."""
        if not self._buffer:
            return
        spend(len(self._buffer) // TOKENS_A_STEP + 1)
        if depth and len(self.out) > MAX_INCLUDED_TOKENS:
            if len(self.out) <= MAX_INCLUDED_TOKENS + len(self._buffer):
                self.complain(
                    self._buffer[0],
                    Reason(
                        ReasonCode.NOT_READ, "too much is included: only macros are read from here"
                    ),
                )
        elif depth:
            self.out += without_attributes(EXPANSIONS.expand(self._buffer, self.expander))
        else:
            self.out += without_attributes(self.expander.expand(self._buffer))
        self._buffer = []

    def read(self, prepared: PreparedFile, depth: int) -> None:
        """Reads one file in place."""
        self._report_lexing(prepared)
        self._define_pytorch(prepared.source.text)
        self._branches.enter(prepared)
        tokens, directives = prepared.tokens, prepared.directives
        outer = self._assumed
        chains: list[tuple[str, ...]] = []  # what was assumed outside of each open chain
        if outer:
            self.regions.begin(prepared.file, 0, outer)
        at = k = 0
        while k < len(directives):
            directive = directives[k]
            self._buffer += tokens[at : directive.at]
            at = directive.stop
            name = directive.name
            if name in ("if", "ifdef", "ifndef"):
                if directive.end >= 0 and prepared.has_gpu_marks(k):
                    chosen, conditions = self._choose_and_note(prepared, k)
                else:
                    chosen, conditions = self._branches.choose(prepared, k)
                if chosen < 0:
                    k = directive.end + 1
                    at = directives[directive.end].stop if k <= len(directives) else len(tokens)
                    continue
                chains.append(self._assumed)
                self._assume(prepared, directives[chosen].stop, (*self._assumed, *conditions))
                at = directives[chosen].stop
                k = chosen
            elif name in ("elif", "else", "elifdef", "elifndef", "endif"):
                if directive.end < 0 or not chains:
                    self.complain(
                        tokens[directive.at], Reason(ReasonCode.SYNTAX, f"#{name} without #if")
                    )
                elif name == "endif":
                    self._assume(prepared, directive.stop, chains.pop())
                else:  # the end of the branch that was chosen
                    k = directive.end
                    if k == len(directives):
                        at = len(tokens)
                    else:
                        at = directives[k].stop
                        self._assume(prepared, at, chains.pop())
            else:
                self._obey(prepared, k, depth)
            k += 1
        self._buffer += tokens[at:]
        self._assumed = outer
        if chains:
            self.complain(
                tokens[-1],
                Reason(ReasonCode.SYNTAX, f"#if without #endif ({len(chains)} open at the end)"),
            )

    def _assume(self, prepared: PreparedFile, token: int, conditions: tuple[str, ...]) -> None:
        """Sets what is assumed from a token on."""
        conditions = tuple(dict.fromkeys(conditions))[:MAX_CONDITIONS]
        if conditions != self._assumed:
            self._assumed = conditions
            end = prepared.tokens[token - 1].end
            self.regions.begin(prepared.file, end, conditions)

    def _report_lexing(self, prepared: PreparedFile) -> None:
        lexed, source = prepared.lexed, prepared.source

        def note(offset: int, code: ReasonCode, text: str) -> None:
            self.notices.add(partial(source.span, offset, offset + 1), Reason(code, text))

        if lexed.skipped:
            text = f"{lexed.skipped} characters that belong to no token"
            note(lexed.first_skipped, ReasonCode.SYNTAX, text)
        if lexed.unterminated is not None:
            note(lexed.unterminated, ReasonCode.SYNTAX, "a comment or raw string that does not end")
        if lexed.truncated is not None:
            text = "too many tokens: the rest of the file is not read"
            note(lexed.truncated, ReasonCode.TOO_LARGE, text)

    def _obey(self, prepared: PreparedFile, k: int, depth: int) -> None:
        """Carries out a directive that is no conditional."""
        directive = prepared.directives[k]
        arguments = prepared.arguments(k)
        match directive.name:
            case "define":
                self.flush(depth)
                macro = prepared.macro(k, self._assumed)
                if macro is not None:
                    self.expander.macros[macro.name] = macro
            case "undef" if arguments:
                self.flush(depth)
                self.expander.macros.pop(arguments[0].text, None)
                self._branches.undefine(arguments[0].text)
            case "include" if arguments:
                self.flush(depth)
                self._include(prepared, arguments, depth)
                self.flush(depth + 1)
            case "pragma" if arguments:
                if arguments[0].text == "once":
                    self._once.add(prepared.source.path)
                    return
                if arguments[0].text == "unroll":
                    arguments = self.expander.expand(arguments)
                hash_token = prepared.tokens[directive.at]
                end = prepared.tokens[directive.stop - 1].end
                text = " ".join(token.text for token in arguments)
                self._buffer.append(
                    Token("pragma", text, hash_token.start, end, prepared.file, True)
                )

    def _is_hip(self, name: str) -> bool:
        """Returns whether a header that was not found is one of HIP's, whose macros it defines."""
        if not is_of_hip(name):
            return False
        for macro in hip_macros().values():
            self.expander.macros.setdefault(macro.name, macro)
        return True

    def _named(self, arguments: list[Token]) -> tuple[str, bool]:
        """Returns the name of an include and whether it is quoted; macros may have made it."""
        is_made = arguments[0].kind == "identifier"
        if is_made:
            arguments = self.expander.expand(arguments)
        if not arguments or arguments[0].kind != "string":
            return _bracketed(arguments), False
        name = arguments[0].text.strip('"')  # `#` sets blanks between the words of a macro
        return name.replace(" ", "") if is_made else name, True

    def _include(self, prepared: PreparedFile, arguments: list[Token], depth: int) -> None:
        name, is_quoted = self._named(arguments)
        includer = prepared.source.path
        of_cub = cub_header(name)
        if (
            not is_quoted
            and of_cub is None
            and self._includes.is_of_library(name, includer)
            and not (may_be_of_project(name) and self._search_home(f"<{name}>"))
        ):
            return
        is_modelled = is_of_cutlass(name)
        is_followed = is_quoted or not is_modelled
        is_given = is_followed and (is_quoted or of_cub is None)
        found = self._includes.find(name, includer) if is_given else None
        found = found or of_cub or cutlass_header(name)
        spelling = name if is_quoted else f"<{name}>"
        if found is None and is_followed and self._search_home(spelling):
            found = self._includes.find(name, includer)
        if found is not None and is_modelled and is_within_cutlass(found[0]):
            found, is_followed = cutlass_header(name), False
        if found is None and (self._is_hip(name) or is_of_system(name)):
            return
        if found is None:
            if is_followed and not (is_modelled and is_released(name)):
                self._report_missing(arguments[0], name, includer, is_quoted=is_quoted)
                if not is_quoted:
                    self._missed[name, includer] = None
            self._branches.headers_are_missing = True
            if not is_modelled:
                return
            found = CUTLASS_CONSTANTS
        path, text = found
        if path in self._once:
            return
        included = PREPARED.get(path, text)
        if included.guard in self.expander.macros:
            return
        self._include_count += 1
        if depth >= MAX_INCLUDE_DEPTH or self._include_count > MAX_INCLUDES:
            self.complain(
                arguments[0],
                Reason(
                    ReasonCode.TOO_LARGE, "includes are nested too deeply or too many: not followed"
                ),
            )
            return
        if included.file in self.files:  # its tokens stand for another place already
            if not included.directives and not included.tokens:
                return
            included = prepare(path, text)
        self.files[included.file] = included.source
        self.read(included, depth + 1)

    def has_missed(self) -> bool:
        """Returns whether an include in brackets lies in a folder that was found after it."""
        found = self.found_folders and (self._includes.find(*missed) for missed in self._missed)
        return any(found or ())

    def _search_home(self, name: str) -> bool:
        """Searches the folder that an include was written for; returns whether it is a new one."""
        folder = self._home(name)
        if not folder or not self._includes.add_folder(folder):
            return False
        self.found_folders.append(folder)
        return True

    def _choose_and_note(self, prepared: PreparedFile, k: int) -> tuple[int, tuple[str, ...]]:
        """Chooses as `BranchChoice`, and notes the kernels of branches that another build reads."""
        chosen, conditions = self._branches.choose(prepared, k)
        unread = UnreadBranches(
            prepared,
            partial(self._branches.condition_of_any_build, prepared),
            partial(self._branches.text, prepared),
        )
        for token, text in unread.beside(chosen, k):
            span = partial(prepared.source.span, token.start, token.end)
            self.unread.add(span, Reason(ReasonCode.NOT_READ, text))
        return chosen, conditions

    def _report_missing(self, token: Token, name: str, includer: str, *, is_quoted: bool) -> None:
        """Notes an include that may define kernels, and why one that may be there is not read."""
        if may_define_kernels(name, is_quoted):
            self.not_found.append(name)
        paths = self._includes.candidates(name, includer)
        reasons = (self._refusal(path, is_written=n == 0) for n, path in enumerate(paths))
        reason = next(filter(None, reasons), "")
        if reason:
            self.complain(token, Reason(ReasonCode.REFUSED, f"`{name}` is not read: {reason}"))


def _bracketed(arguments: Sequence[Token]) -> str:
    """Returns `a/b-c.h` of `<a/b-c.h>`, whose tokens have spaces between them."""
    words = [t.text for t in arguments]
    if words[:1] != ["<"] or ">" not in words:
        return ""
    return "".join(words[1 : words.index(">")])
