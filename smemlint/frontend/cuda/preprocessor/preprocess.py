"""The preprocessor: one token stream of a root file and the includes that are found.

It is optimistic: a condition that depends on an unknown name is assumed true and the first such
branch wins, because kernels behind `#ifdef SOME_FEATURE` are to be seen. What was assumed is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from smemlint.frontend.cuda.lexer.tokens import Token, lex
from smemlint.frontend.cuda.preprocessor.conditions import (
    NOTHING_DEFINED,
    Assumptions,
    Condition,
    read_condition,
    truth,
)
from smemlint.frontend.cuda.preprocessor.includes import (
    Includes,
    PreparedFile,
    prepare,
    prepare_cached,
)
from smemlint.frontend.cuda.preprocessor.macros import Expander, Macro, read_definition
from smemlint.frontend.cuda.preprocessor.system_headers import is_of_system
from smemlint.frontend.cuda.preprocessor.unread_branches import UnreadBranches
from smemlint.frontend.program import Dropped
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smemlint.frontend.cuda.scanner.definition_tokens import SourceFile


def _read_nothing(path: str) -> str | None:
    return None


class Refusal(Protocol):
    """Says why a file that was asked for is not read; see `RunUnits.refusal`."""

    def __call__(self, path: str, *, is_written: bool) -> str:
        """Returns the reason, or an empty text."""


def _refuse_nothing(path: str, *, is_written: bool) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What the command line and the configuration say about reading CUDA sources.

    Attributes:
        arch: target, `sm_90` like; decides `__CUDA_ARCH__`.
        defines: macro names to replacement texts, as of `-D`.
        undefines: names that are known not to be macros, as of `-U`.
        include_dirs: folders searched for quoted includes.
        read: text of a file; None when there is none.
        refusal: why a file is not read that may be there.
    """

    arch: str = "sm_90"
    defines: Mapping[str, str] = field(default_factory=dict)
    undefines: frozenset[str] = frozenset()
    include_dirs: tuple[str, ...] = ()
    read: Callable[[str], str | None] = _read_nothing
    refusal: Refusal = _refuse_nothing


_PREDEFINED = {
    "__CUDACC__": "1",
    "__NVCC__": "1",
    "__CUDACC_VER_MAJOR__": "13",
    "__CUDACC_VER_MINOR__": "0",
    "__CUDACC_VER_BUILD__": "0",
    "__CUDACC_EXTENDED_LAMBDA__": "1",
    "__CUDACC_RELAXED_CONSTEXPR__": "1",
    "CUDART_VERSION": "13000",
    "CUDA_VERSION": "13000",
    "__cplusplus": "201703L",
    "__GNUC__": "12",
    "__GNUC_MINOR__": "0",
    "__linux__": "1",
    "__unix__": "1",
    "__x86_64__": "1",
    "__LP64__": "1",
    "__CHAR_BIT__": "8",
}

# Other compilers, platforms and languages: nvcc on Linux defines none of these. Nor does a build
# that is to be fast define what turns on debugging, logs or profiling.
_UNDEFINED = re.compile(
    r"""USE_ROCM | __?HIP\w* | HIP_\w+ | HIPCC | TORCH_HIP_VERSION | __AMD\w* | __GFX\w* | __gfx\w*
      | _WIN32 | _WIN64 | WIN32 | WIN64 | _MSC_\w+ | _MSVC_LANG | __MINGW\w* | __CYGWIN__
      | __APPLE__ | __MACH__ | TARGET_OS_\w+ | __ANDROID__ | __QNX\w* | __FreeBSD__ | __EMSCRIPTEN__
      | __clang\w* | __INTEL_\w+ | __ICC | __ICL | __PGI\w* | __NVCOMPILER\w* | _NVHPC_\w+ | __EDG__
      | __JETBRAINS\w* | __CUDACC_RTC__ | __CUDA_LIBDEVICE__ | __OPENCL\w* | SYCL_\w+ | __SYCL\w*
      | __METAL\w* | __arm\w* | __ARM_\w+ | __aarch64__ | __powerpc\w* | __PPC\w* | __riscv\w*
      | _*DEBUG\w* | \w+_DEBUG | VERBOSE\w* | \w+_VERBOSE | TRACE | \w+_TRACE
      | \w*PROFIL(?:E|ER|ING)_?
      | _M_\w+ | DOXYGEN\w* | __DOXYGEN\w* | SWIG | __INTELLISENSE__ | __RESHARPER__ | __CLION\w*
      """,
    re.VERBOSE,
)  # fmt: skip

_KNOWN_QUESTIONS = frozenset(
    ("__has_include", "__has_attribute", "__has_cpp_attribute", "__has_builtin")
)

_MODELLED_FOLDERS = frozenset(("cute", "cutlass"))
"""Libraries whose headers are not read: what is used of them is known without."""

MAX_DEPTH = 64
MAX_INCLUDES = 4_000
MAX_INCLUDED_TOKENS = 3_000_000
_TOKENS_A_STEP = 8
_MAX_NOTICES = 50
_MAX_BRANCHES = 24
_MAX_CONDITIONS = 12
_MAX_CONDITION_TEXT = 160


def predefined(arch: str) -> dict[str, str]:
    """The macros that nvcc defines in a device pass for a target."""
    number = re.fullmatch(r"(?:sm|compute)_(\d+)([af]?)", arch)
    digits = number[1] if number else "90"
    macros = {**_PREDEFINED, "__CUDA_ARCH__": f"{digits}0"}
    if number and number[2]:
        macros[f"__CUDA_ARCH_FEAT_SM{digits}_ALL"] = "1"
        macros["__CUDA_ARCH_SPECIFIC__"] = macros["__CUDA_ARCH_FAMILY_SPECIFIC__"] = f"{digits}0"
    return macros


class AssumedRegions:
    """Which assumed conditions enclose an offset of a file: a step function per file."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[list[int], list[tuple[str, ...]]]] = {}

    def begin(self, file: int, offset: int, conditions: tuple[str, ...]) -> None:
        """From here on, and until the next begin, these conditions hold."""
        offsets, texts = self._steps.setdefault(file, ([], []))
        if (texts[-1] if texts else ()) != conditions:
            offsets.append(offset)
            texts.append(conditions)

    def at(self, file: int, offset: int) -> tuple[str, ...]:
        """The conditions around an offset, outermost first."""
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
        not_found: quoted includes that were not found, as written.
        notices: what could not be read.
        unread: kernels and shared memory that another build may read.
        expand: expands macros in tokens as at the end of the unit.
    """

    tokens: list[Token]
    files: dict[int, SourceFile]
    regions: AssumedRegions
    not_found: tuple[str, ...]
    notices: list[Dropped]
    unread: list[Dropped]
    expand: Callable[[list[Token]], list[Token]]


def preprocess(path: str, text: str, options: LoadOptions) -> Preprocessed:
    """Reads a root file with the quoted includes it can follow."""
    run = _Run(path, options)
    root = prepare(path, text)
    run.files[root.file] = root.source
    run.read(root, 0)
    run.flush(0)
    return Preprocessed(
        run.out,
        run.files,
        run.regions,
        tuple(dict.fromkeys(run.not_found)),
        run.notices,
        run.unread,
        run.expander.expand,
    )


class _Run:
    """One unit being read."""

    def __init__(self, root: str, options: LoadOptions) -> None:
        self.out: list[Token] = []
        self.files: dict[int, SourceFile] = {}
        self.regions = AssumedRegions()
        self.not_found: list[str] = []
        self.notices: list[Dropped] = []
        self.unread: list[Dropped] = []
        self.expander = Expander(self.complain)
        self._buffer: list[Token] = []
        self._assumed: tuple[str, ...] = ()  # around the place being read
        self._assumptions = Assumptions()
        self._undefined = set(options.undefines)
        self._own_names: set[str] = set()
        self._feature_names: set[str] = set()
        self._once: set[str] = set()
        self._headers_are_missing = False  # one that could define macros was not read
        self._includes = Includes(root, options.include_dirs, options.read)
        self._refusal = options.refusal
        self._include_count = 0
        self._is_full = False
        for name, value in {**predefined(options.arch), **options.defines}.items():
            if name not in options.undefines:
                body = tuple(lex(value))
                self.expander.macros[name] = Macro(name, None, None, body)

    def complain(self, token: Token, reason: str) -> None:
        """Notes something that could not be read."""
        if len(self.notices) < _MAX_NOTICES:
            span = self.files[token.file].span(token.start, token.end)
            self.notices.append(Dropped(span, reason))

    def flush(self, depth: int) -> None:
        """Expands and emits the code read since the macros last changed."""
        if not self._buffer:
            return
        spend(len(self._buffer) // _TOKENS_A_STEP + 1)
        if depth and len(self.out) > MAX_INCLUDED_TOKENS:
            if len(self.out) <= MAX_INCLUDED_TOKENS + len(self._buffer):
                self.complain(
                    self._buffer[0], "too much is included: only macros are read from here"
                )
        else:
            self.out += self.expander.expand(self._buffer)
        self._buffer = []

    def read(self, prepared: PreparedFile, depth: int) -> None:
        """Reads one file in place."""
        self._report_lexing(prepared)
        self._own_names |= prepared.own_names
        self._feature_names |= prepared.feature_names
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
                    chosen, conditions = self._choose(prepared, k)
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
                    self.complain(tokens[directive.at], f"#{name} without #if")
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
            self.complain(tokens[-1], f"#if without #endif ({len(chains)} open at the end)")

    def _assume(self, prepared: PreparedFile, token: int, conditions: tuple[str, ...]) -> None:
        """Sets what is assumed from a token on."""
        conditions = tuple(dict.fromkeys(conditions))[:_MAX_CONDITIONS]
        if conditions != self._assumed:
            self._assumed = conditions
            end = prepared.tokens[token - 1].end
            self.regions.begin(prepared.file, end, conditions)

    def _report_lexing(self, prepared: PreparedFile) -> None:
        lexed, source = prepared.lexed, prepared.source

        def note(offset: int, reason: str) -> None:
            if len(self.notices) < _MAX_NOTICES:
                self.notices.append(Dropped(source.span(offset, offset + 1), reason))

        if lexed.skipped:
            note(lexed.first_skipped, f"{lexed.skipped} characters that belong to no token")
        if lexed.unterminated is not None:
            note(lexed.unterminated, "a comment or raw string that does not end")
        if lexed.truncated is not None:
            note(lexed.truncated, "too many tokens: the rest of the file is not read")

    def _obey(self, prepared: PreparedFile, k: int, depth: int) -> None:
        """Carries out a directive that is no conditional."""
        directive = prepared.directives[k]
        arguments = prepared.arguments(k)
        match directive.name:
            case "define":
                self.flush(depth)
                macro = read_definition(arguments, self._assumed)
                if macro is not None:
                    self.expander.macros[macro.name] = macro
            case "undef" if arguments:
                self.flush(depth)
                self.expander.macros.pop(arguments[0].text, None)
                self._undefined.add(arguments[0].text)
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

    def _include(self, prepared: PreparedFile, arguments: list[Token], depth: int) -> None:
        if arguments[0].kind == "identifier":
            arguments = self.expander.expand(arguments)
        is_quoted = bool(arguments) and arguments[0].kind == "string"
        name = arguments[0].text.strip('"') if is_quoted else _bracketed(arguments)
        folder, slash, _ = name.partition("/")
        if not is_quoted and (not slash or is_of_system(folder)):
            return
        is_followed = is_quoted or folder not in _MODELLED_FOLDERS
        found = self._includes.find(name, prepared.source.path) if is_followed else None
        if found is None and is_of_system(name):
            return
        if found is None:
            if is_followed:
                self._report_refused(arguments[0], name, prepared.source.path)
            if is_quoted:
                self.not_found.append(name)
            self._headers_are_missing = True
            return
        path, text = found
        if path in self._once:
            return
        self._include_count += 1
        if depth >= MAX_DEPTH or self._include_count > MAX_INCLUDES:
            self.complain(arguments[0], "includes are nested too deeply or too many: not followed")
            return
        included = prepare_cached(path, text)
        if included.file in self.files:  # its tokens stand for another place already
            if not included.directives and not included.tokens:
                return
            included = prepare(path, text)
        self.files[included.file] = included.source
        self.read(included, depth + 1)

    def _is_defined(self, name: str) -> bool | None:
        if name in self.expander.macros or name in _KNOWN_QUESTIONS:
            return True
        if name in self._undefined or name in self._own_names or _UNDEFINED.fullmatch(name):
            return False
        return None

    def _choose(self, prepared: PreparedFile, k: int) -> tuple[int, tuple[str, ...]]:
        """The branch of the chain at `k` to read: its directive (-1: none), what it assumes."""
        directives = prepared.directives
        end = directives[k].end
        against: list[str] = []  # conditions that an assumption made false
        while k < end:
            if directives[k].name == "else":
                return k, tuple(against)
            condition = self._condition(prepared, k)
            value, is_assumed = truth(condition, self._assumptions)
            text = self._text(prepared, k)
            if value is None and self._default_build_reads_another(prepared, k, end):
                self._assumptions.assume(condition, False)
                against.append(f"!({text})")
            elif value is None and not self._only_picks_a_value(prepared, k, end):
                self._assumptions.assume(condition)
                return k, (*against, text)
            if value:
                grounds = self._grounds(prepared, k)
                return k, (*against, text) if is_assumed else (*against, *grounds)
            if value is False and is_assumed:
                against.append(f"!({text})")
            k = directives[k].next
        return -1, ()

    def _choose_and_note(self, prepared: PreparedFile, k: int) -> tuple[int, tuple[str, ...]]:
        """Chooses as `_choose`, and notes the kernels of branches that another build reads."""
        chosen, conditions = self._choose(prepared, k)
        branches = UnreadBranches(
            prepared, partial(self._condition, prepared), partial(self._text, prepared)
        )
        for token, reason in branches.beside(chosen, k):
            if len(self.unread) < _MAX_NOTICES:
                span = prepared.source.span(token.start, token.end)
                self.unread.append(Dropped(span, reason))
        return chosen, conditions

    def _report_refused(self, token: Token, name: str, includer: str) -> None:
        """Notes that an include may be there and is not read."""
        paths = self._includes.candidates(name, includer)
        reasons = (self._refusal(path, is_written=n == 0) for n, path in enumerate(paths))
        reason = next(filter(None, reasons), "")
        if reason:
            self.complain(token, f"`{name}` is not read: {reason}")

    def _condition(self, prepared: PreparedFile, k: int) -> Condition:
        directive = prepared.directives[k]
        arguments = prepared.arguments(k)
        if directive.name in ("if", "elif"):
            return read_condition(arguments, self._is_defined, self.expander.expand)
        name = arguments[0].text if arguments else ""
        answer = self._is_defined(name)
        question: Condition = ("name", f"defined {name}")
        if answer is not None:
            question = ("int", int(answer))
        return ("!", question) if directive.name in ("ifndef", "elifndef") else question

    def _text(self, prepared: PreparedFile, k: int) -> str:
        text = prepared.text(k)
        match prepared.directives[k].name:
            case "ifdef" | "elifdef":
                text = f"defined({text})"
            case "ifndef" | "elifndef":
                text = f"!defined({text})"
        return text if len(text) <= _MAX_CONDITION_TEXT else text[:_MAX_CONDITION_TEXT] + "..."

    def _grounds(self, prepared: PreparedFile, k: int) -> tuple[str, ...]:
        """What was assumed where the macros of a condition were defined."""
        macros = self.expander.macros
        return tuple(
            text
            for token in prepared.arguments(k)
            if token.text in macros
            for text in macros[token.text].assumed
        )

    def _only_picks_a_value(self, prepared: PreparedFile, k: int, end: int) -> bool:
        """Whether an unknown condition only selects what a name stands for, with a default.

        `#ifdef X / #define N X / #else / #define N 16 / #endif`: nobody who builds without -DX
        gets the first branch, and no code is lost with it. A name that elsewhere switches code is
        a feature and stays assumed.
        """
        if prepared.has_code(k, end):
            return False
        if truth(self._condition(prepared, k), NOTHING_DEFINED)[0]:  # `#ifndef X`: the default
            return False
        names = {t.text for t in prepared.arguments(k) if t.kind == "identifier"}
        if names & self._feature_names:
            return False
        other = self._default_of(prepared, k, end)
        if other is None:
            return False
        alternatives = prepared.defined_in(prepared.branch(other))
        return not set(alternatives).isdisjoint(prepared.defined_in(prepared.branch(k)))

    def _default_build_reads_another(self, prepared: PreparedFile, k: int, end: int) -> bool:
        """Whether a chain has an alternative for builds without a macro that nothing defines.

        `#ifdef FAST / a = b; / #else / a = c; / #endif`: nobody who builds without -DFAST gets the
        first branch. Where a header that was not read may define the macro, and where the macro
        elsewhere adds code that no other branch replaces, it stays assumed.
        """
        condition = self._condition(prepared, k)
        if condition[0] != "name" or not str(condition[1]).startswith("defined "):
            return False
        if self._headers_are_missing or str(condition[1])[8:] in prepared.added_by:
            return False
        other = self._default_of(prepared, k, end)
        if other is None:
            return False
        has_code = prepared.has_code(other, prepared.directives[other].next)
        return has_code or any(prepared.defined_in(prepared.branch(other)))

    def _default_of(self, prepared: PreparedFile, k: int, end: int) -> int | None:
        """The branch that is read when all unknown conditions from `k` on are false."""
        directives = prepared.directives
        other = directives[k].next
        for _ in range(_MAX_BRANCHES):
            if other >= end:
                return None
            if directives[other].name == "else":
                return other
            if truth(self._condition(prepared, other), self._assumptions)[0]:
                return other
            other = directives[other].next
        return None


def _bracketed(arguments: Sequence[Token]) -> str:
    """`a/b-c.h` of `<a/b-c.h>`, whose spaces between tokens are none."""
    words = [t.text for t in arguments]
    if words[:1] != ["<"] or ">" not in words:
        return ""
    return "".join(words[1 : words.index(">")])
