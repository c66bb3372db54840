"""The model of CuPy, PyCUDA and others: what makes kernels of CUDA text and launches them."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Sequence

from smemlint.analysis.python.cupy import generated_kernels, string_methods
from smemlint.analysis.python.cupy.embedded_cuda import KernelCall
from smemlint.analysis.python.cupy.makers import (
    MAKERS,
    PREPARED,
    Convention,
    LaunchConfig,
    Maker,
    Product,
    PythonLaunch,
    cell_of_cuda,
    defines_of,
    driver_launch,
    launch_config,
    launch_of,
    prepared_launch,
)
from smemlint.analysis.python.cupy.partial_texts import OpenPart, PartialText, assembled
from smemlint.analysis.python.cupy.source_map import MappedText
from smemlint.analysis.python.cupy.values import (
    Choice,
    Kernel,
    Module,
    NamedKernel,
    OpenFile,
    Program,
    RawText,
    Template,
)
from smemlint.analysis.python.interpreter import LibraryModel
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Method,
    Scope,
    Symbol,
    Unknown,
    Value,
    is_known,
)
from smemlint.frontend.python.python_source import PythonText, text_of
from smemlint.limits.budgets import MAX_KERNEL_TEXTS, MAX_TEXT

_CASTS = frozenset(
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "int_")
)
_INCLUDE = re.compile(r'^[ \t]*+#[ \t]*+include[ \t]*+"([^"\n]++)"', re.M)
_TEMPLATES = {
    "string.Template": "string",
    "mako.template.Template": "mako",
    "jinja2.Template": "jinja2",
}
_TYPES = _CASTS - {"intp", "int_"} | {
    "float16", "float32", "float64", "complex64", "complex128", "bool_"
}  # fmt: skip


class CupyModel(LibraryModel):
    """Makes kernels of texts, and records launches of calls."""

    def __init__(self, text: PythonText, program: Program) -> None:
        self._text = text
        self._program = program

    def call(self, callee: Value, given: BoundArguments, node: ast.Call) -> Value:
        """Returns the result of a function or a method; the call of a kernel launches it."""
        if isinstance(callee, Kernel):
            for raw, name in callee.parts:
                self._launch(raw, name, launch_of(raw.convention, given), node)
            return UNKNOWN
        if isinstance(callee, Method):
            return self._method(callee, given, node)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        name, arguments, named = callee.name, given.positional, given.named
        maker = MAKERS.get(name)
        if maker is not None and callee.path.startswith(maker.package):
            return self._construct(maker, given, node)
        if name in ("LaunchConfig", "launch") and callee.path.startswith("cuda.core"):
            if name == "LaunchConfig":
                return launch_config(given)
            return self._launch_configured(arguments, node)
        if name in ("cuModuleGetFunction", "cuLaunchKernel") and callee.path.startswith("cuda."):
            return self._of_driver(name, given, node)
        if name in generated_kernels.NAMES:
            self._generate(generated_kernels.kernel_of(name, arguments, named), named, node)
            return UNKNOWN
        if name in _CASTS or callee.path == "math.prod":
            return arguments[0] if len(arguments) == 1 else UNKNOWN
        if callee.path in ("math.ceil", "math.floor"):
            return UNKNOWN
        return self._standard(callee, arguments, named, node)

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """Returns a method of a value, or the folder of a file."""
        if isinstance(owner, Unknown) and not isinstance(owner, PartialText):
            return owner
        if isinstance(owner, OpenFile) and name == "parent":
            return OpenFile(posixpath.dirname(owner.path))
        return Method(owner, name)

    def binary(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Returns the path of `path / name`, a sum of texts, or whether two types are equal."""
        if isinstance(operation, ast.Eq | ast.NotEq) and _are_types(one, other):
            return (one == other) == isinstance(operation, ast.Eq)
        if isinstance(operation, ast.Add) and _is_text(one) and _is_text(other):
            return _sum(one, other)
        if isinstance(operation, ast.Add) and isinstance(one, Choice) and isinstance(other, str):
            return Choice(tuple(text + other for text in one.texts))
        if isinstance(operation, ast.Add) and isinstance(other, Choice) and isinstance(one, str):
            return Choice(tuple(one + text for text in other.texts))
        if isinstance(operation, ast.Div) and isinstance(one, OpenFile) and isinstance(other, str):
            return OpenFile(posixpath.normpath(posixpath.join(one.path, str(other))))
        return UNKNOWN

    def join_returned(self, values: Sequence[Value]) -> Value:
        """Returns what covers the values of all `return` statements; of a few texts, all."""
        texts = dict.fromkeys(v for v in values if isinstance(v, MappedText))
        if 1 < len(texts) <= MAX_KERNEL_TEXTS and all(isinstance(v, MappedText) for v in values):
            return Choice(tuple(texts))
        return super().join_returned(values)

    # ---- kernels and launches

    def run_cell(self, arguments: list[Value], node: ast.Call) -> None:
        """Records the CUDA text that a notebook's cell holds, with the cells that it includes."""
        given = BoundArguments(arguments, {})
        name, text = cell_of_cuda(given), MAKERS["run_cell_magic"].text.of(given)
        if name is None or not isinstance(text, MappedText):
            return
        written, folder = self._program.written, posixpath.dirname(name)
        named = {n: posixpath.normpath(posixpath.join(folder, n)) for n in _INCLUDE.findall(text)}
        known = {n: written[path] for n, path in named.items() if path in written}
        text = text.replaced(_INCLUDE, known)
        if name:
            written[posixpath.normpath(name)] = text
        self._raw(text, (), (), node)

    def _construct(self, maker: Maker, given: BoundArguments, node: ast.Call) -> Value:
        code = maker.text.of(given)
        path = given.named.get("path")
        if maker.text.name not in given.named and isinstance(path, str):
            code = self._read(str(path), node) if str(path).endswith((".cu", ".cuh")) else UNKNOWN
        options = _options(maker.options.of(given, ()))
        names = _texts(given.named.get("name_expressions", ()))
        if maker.product is Product.FILES:
            code = self._sources(code, node) if defines_of(options) else Choice(())
        raws = []
        for each in code.texts if isinstance(code, Choice) else (_one_text(code),):
            full = each.completed() if isinstance(each, PartialText) else each
            text = full if isinstance(full, MappedText) and len(full) <= MAX_TEXT else None
            raw = self._raw(text, options, names, node, maker.convention)
            raw.is_partial |= isinstance(each, PartialText)
            raws.append(raw)
        if maker.product is Product.MODULE:
            return Module(tuple(raws))
        kernel = maker.kernel.of(given)
        if maker.product is Product.KERNEL and isinstance(kernel, str):
            return Kernel.of(tuple(raws), kernel)
        return UNKNOWN

    def _raw(
        self,
        text: MappedText | None,
        options: tuple[str, ...],
        names: tuple[str, ...],
        node: ast.Call,
        convention: Convention = Convention.GRID_FIRST,
    ) -> RawText:
        """Returns the text of a call; the same one each time that the call is executed."""
        home = text_of(node, self._text)
        where = (home.path, node.lineno, node.col_offset)
        key = (*where, f"{text if text is None else str(text)}{options}")
        raw = RawText(text, node, home, options, names, convention)
        return self._program.raws.setdefault(key, raw)

    def _generate(
        self, pieces: generated_kernels.GeneratedKernel, named: Scope, node: ast.Call
    ) -> None:
        """Records a kernel of pieces, which CuPy launches over any number of elements."""
        self._program.snippets.append((node, pieces.known))
        if pieces.text is None or len(pieces.text) > MAX_TEXT:
            return
        raw = self._raw(pieces.text, _texts(named.get("options", ())), (pieces.name,), node)
        if pieces.block is not None:
            span = text_of(node, self._text).span(node)
            raw.calls.append(KernelCall(pieces.name, (None,), (pieces.block,), 0, (), span))

    def _of_driver(self, name: str, given: BoundArguments, node: ast.Call) -> Value:
        """Returns what a function of the CUDA driver gives: an error, and the kernel of a name."""
        kernel = given.get(1 if name == "cuModuleGetFunction" else 0, "name")
        if isinstance(kernel, NamedKernel):
            launch = driver_launch(given)
            self._program.named_calls += self._calls([kernel.name], launch, node)
        return (UNKNOWN, NamedKernel(str(kernel))) if isinstance(kernel, str) else UNKNOWN

    def _launch(
        self, raw: RawText, known: str | None, launch: PythonLaunch, node: ast.Call
    ) -> None:
        raw.calls += self._calls(raw.names if known is None else (known,), launch, node)

    def _calls(
        self, names: Sequence[str], launch: PythonLaunch, node: ast.Call
    ) -> list[KernelCall]:
        """Returns a launch of each of the kernels; none where nothing of the block is known."""
        block, grid = _extents(launch.block), _extents(launch.grid)
        if block is None or not any(block):
            return []
        shared = launch.shared if isinstance(launch.shared, int) else None
        passed, span = tuple(map(_integer, launch.arguments)), text_of(node, self._text).span(node)
        return [KernelCall(n, grid or (None,), block, shared, passed, span) for n in names]

    def _launch_configured(self, arguments: list[Value], node: ast.Call) -> Value:
        """Records launches by `launch(stream, config, kernel, *args)` of cuda.core."""
        kernels = [a for a in arguments if isinstance(a, Kernel)]
        configs = [a for a in arguments if isinstance(a, LaunchConfig)]
        if kernels and configs:
            config, behind = configs[0], arguments[arguments.index(kernels[0]) + 1 :]
            launch = PythonLaunch(config.grid, config.block, config.shared, behind)
            for raw, name in kernels[0].parts:
                self._launch(raw, name, launch, node)
        return UNKNOWN

    def _sources(self, given: Value, node: ast.Call) -> Choice:
        """Returns the texts of the CUDA files in a list of sources, each a unit of its own."""
        sources = given if isinstance(given, tuple | list) else ()
        paths = [v.path if isinstance(v, OpenFile) else v for v in sources]
        texts = [self._read(str(p), node) for p in paths if isinstance(p, str) and p[-3:] == ".cu"]
        return Choice(tuple(text for text in texts if isinstance(text, MappedText)))

    def _read(self, path: str, node: ast.Call) -> Value:
        text = self._program.read(text_of(node, self._text), path)
        return UNKNOWN if text is None else text

    # ---- methods

    def _method(self, method: Method, given: BoundArguments, node: ast.Call) -> Value:
        owner, name = method.owner, method.name
        arguments, named = given.positional, given.named
        if isinstance(owner, Module):
            return _member(owner, name, arguments, named)
        if isinstance(owner, Kernel):
            if name in PREPARED:
                launch = prepared_launch(name, given)
                for raw, known in owner.parts:
                    self._launch(raw, known, launch, node)
            return owner if name == "prepare" else UNKNOWN
        if isinstance(owner, OpenFile):
            if name == "joinpath":
                named_parts = all(isinstance(a, str) for a in arguments)
                return (
                    OpenFile(posixpath.join(owner.path, *map(str, arguments)))
                    if named_parts
                    else UNKNOWN
                )
            if name not in ("read", "read_text", "readlines"):
                return owner
            text = self._read(owner.path, node)
            if name == "readlines" and isinstance(text, MappedText):
                return string_methods.lines(text, keeps_ends=True)
            return text
        if isinstance(owner, Template):
            first = arguments[0] if arguments else UNKNOWN
            if owner.text is not None:
                return string_methods.rendered(owner.text, owner.engine, arguments, named)
            if name == "from_string" and isinstance(first, MappedText):
                return Template(owner.engine, first)
            return UNKNOWN
        if isinstance(owner, str | PartialText):
            return string_methods.method(owner, name, arguments, named)
        return UNKNOWN

    def _standard(
        self, callee: Symbol, arguments: list[Value], named: Scope, node: ast.Call
    ) -> Value:
        """Returns the result of a function of the standard library, or of another file."""
        first = arguments[0] if arguments else UNKNOWN
        match callee.path:
            case "pathlib.Path" if isinstance(first, str):
                return OpenFile(str(first))
            case "importlib.resources.files" if isinstance(first, str):
                return OpenFile(_folder_of(str(first), text_of(node, self._text).path))
            case "os.path.join" if arguments and all(isinstance(a, str) for a in arguments):
                return posixpath.join(*map(str, arguments))
            case "os.path.dirname" if isinstance(first, str):
                return posixpath.dirname(str(first))
            case "os.path.abspath" | "os.path.realpath" | "os.path.normpath":
                return first
            case "textwrap.dedent" if isinstance(first, MappedText):
                return string_methods.dedented(first)
            case "jinja2.Environment" if not any("_string" in n for n in named):
                return Template("jinja2")
        if callee.path in _TEMPLATES and isinstance(first, MappedText):
            return Template(_TEMPLATES[callee.path], first)
        return self._program.call(text_of(node, self._text), callee, arguments, named)


def _folder_of(package: str, home: str) -> str:
    """Returns the folder of a package that a file lies in; that of the file where none is so."""
    first, *inner = package.split(".")
    own = folder = posixpath.dirname(home)
    while folder and posixpath.basename(folder) != first:
        folder = posixpath.dirname(folder.rstrip("/")).rstrip("/")
    return posixpath.join(folder or own or ".", *inner)


def _one_text(code: Value) -> Value:
    """Returns the text of a list of sources, which are compiled as one."""
    if not isinstance(code, tuple | list):
        return code
    texts = [each for each in code if isinstance(each, str | PartialText)]
    pieces = [piece for text in texts for piece in ("\n", text)][1:]
    return assembled(pieces) if texts and len(texts) == len(code) else UNKNOWN


def _is_text(value: Value) -> bool:
    return isinstance(value, str | Unknown)


def _sum(one: Value, other: Value) -> Value:
    """Returns `one + other`, of which one may not be known."""
    pieces = [v if isinstance(v, str | PartialText) else OpenPart("text") for v in (one, other)]
    return UNKNOWN if all(isinstance(p, OpenPart) for p in pieces) else assembled(pieces)


def _member(module: Module, method: str, arguments: list[Value], named: Scope) -> Value:
    """Returns what a method of a module gives: a kernel, or the module for the names to compile."""
    if method in ("get_function", "get_kernel") and arguments:
        return Kernel.of(module.raws, arguments[0])
    if method == "compile":
        for raw in module.raws:
            names = _texts(named.get("name_expressions", ()))
            raw.names = tuple(dict.fromkeys((*raw.names, *names)))
        return module
    return UNKNOWN


def _options(given: Value) -> tuple[str, ...]:
    """Returns the options of a compiler that are known; an open macro stands for itself."""
    found = []
    for option in given if isinstance(given, tuple | list) else ():
        if isinstance(option, str):
            found.append(str(option))
        elif isinstance(option, PartialText) and option.pieces[0].endswith("="):
            name = str(option.pieces[0]).removeprefix("-D").strip("= ")
            found.append(f"{option.pieces[0]}{name}")
    return tuple(found)


def _texts(given: Value) -> tuple[str, ...]:
    """Returns the items of a sequence of constants as texts; none of anything else."""
    if not isinstance(given, tuple | list) or not is_known(given):
        return ()
    return tuple(map(str, given))


def _extents(value: Value) -> tuple[int | None, ...] | None:
    extents = [value] if isinstance(value, int) else value
    if not isinstance(extents, tuple | list) or not 1 <= len(extents) <= 3:
        return None
    numbers = map(_integer, extents)
    return tuple(n if n is not None and n > 0 else None for n in numbers)


def _integer(value: Value) -> int | None:
    """Returns a number that is no truth value; None for everything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _are_types(one: Value, other: Value) -> bool:
    """Returns whether both are element types of NumPy or CuPy, which name them alike."""
    symbols = [v for v in (one, other) if isinstance(v, Symbol)]
    return (
        len(symbols) == 2
        and all(
            s.name in _TYPES and s.path in (f"cupy.{s.name}", f"numpy.{s.name}") for s in symbols
        )
        and symbols[0].path.split(".")[0] == symbols[1].path.split(".")[0]
    )
