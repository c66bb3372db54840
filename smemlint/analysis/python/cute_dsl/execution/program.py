"""Calls in executed programs: functions of the DSL, of host libraries and of Python itself."""

from __future__ import annotations

import ast
import builtins
from dataclasses import field, replace

# The modules below register what they call.
from smemlint.analysis.python.cute_dsl.execution import copies, numbers, storage  # noqa: F401
from smemlint.analysis.python.cute_dsl.execution.call import (
    FUNCTIONS,
    METHODS,
    Call,
    executed,
    is_of_warps,
    is_uniform,
    needed_tensor,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.functions import (  # noqa: F401
    atoms,
    int_tuples,
    layouts,
    methods,
    partitions,
    tensors,
)
from smemlint.analysis.python.cute_dsl.execution.host_classes import (
    FIELD_MAKERS,
    class_of_fields,
    context_of_forward,
    is_autograd_function,
    is_constructed_by_a_library,
    replaced,
)
from smemlint.analysis.python.cute_dsl.execution.left_out import note_unfollowed
from smemlint.analysis.python.cute_dsl.execution.libraries import (  # noqa: F401
    blackwell,
    block_scaled,
    command_lines,
    dlpack,
    hopper,
    llvm,
    mixed_input,
    quack,
    runtime,
    torch,
)
from smemlint.analysis.python.cute_dsl.execution.python_functions import (
    call_builtin,
    is_enumeration,
    range_of,
    sorted_by,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    FLOAT32,
    FLOAT64,
    Cute,
    Namespace,
    Number,
    Opaque,
    OpValue,
    Partial,
    Pointer,
    Prepared,
    UnknownTensor,
    array_of,
    payload_of,
)
from smemlint.analysis.python.cute_dsl.memory import Allocator, StructType
from smemlint.analysis.python.interpreter import Interpreter, expressions
from smemlint.analysis.python.interpreter.arguments import BoundArguments, CallSite
from smemlint.analysis.python.interpreter.calls import call, member
from smemlint.analysis.python.interpreter.constant_folding import call_string_method
from smemlint.analysis.python.interpreter.values import (
    REST,
    UNKNOWN,
    BoundMethod,
    Class,
    DType,
    Function,
    Instance,
    Method,
    Scope,
    Scopes,
    Symbol,
    Unknown,
    Value,
)
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.frontend.python.parameters import parameters_of
from smemlint.frontend.python.syntax_walk import called_names
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.errors import TooLarge
from smemlint.limits.sizes import require_tree
from smemlint.reasons import ReasonCode

_LIBRARIES = ("cutlass.", "cute.", "math.", "quack.")
_INTEGER_TYPES = frozenset(
    ("Int64", "Int32", "Int16", "Int8", "Uint64", "Uint32", "Uint16", "Uint8", "Boolean")
)
_PARTS = frozenset((
    "partition_S", "partition_D", "partition_A", "partition_B", "partition_C", "retile",
))  # fmt: skip
"""Methods of slices of threads that give parts of a tensor."""
_STORAGE_OF_PIPELINE = "barrier_storage"
"""What only pipelines are created with: objects that are the same for all threads of a warp."""


def _part_of(value: Value, partition: Unknown) -> Value:
    """Returns what a partition that is not known makes of a tensor: it lies in the same memory."""
    tensor = needed_tensor(value)
    reason = reason_of(partition, "how it is partitioned is not known")
    return Cute(UnknownTensor(tensor.space, reason, object=array_of(tensor)))


def _is_jit(callee: Value) -> bool:
    """Returns whether a decorator compiles a function for the host and the GPU."""
    function = callee.function if isinstance(callee, BoundMethod) else callee
    return isinstance(function, Function) and any(
        name.rpartition(".")[2] == "jit" for name in called_names(function.node.decorator_list)
    )


@dataclass(slots=True, eq=False)
class Program:
    """Handlers of calls that share the state of an execution.

    Attributes:
        run: the execution.
        overrides: options of the command line that are not at their defaults.
        parsers: command lines that the program defines.
    """

    run: Execution
    overrides: dict[str, Value] = field(default_factory=dict)
    parsers: list[command_lines.Parser] = field(default_factory=list)

    def evaluate_call(self, interpreter: Interpreter, node: ast.Call, scopes: Scopes) -> Value:
        """Returns the result of a call."""
        callee = interpreter.evaluate(node.func, scopes)
        given = expressions.arguments_of(interpreter, node, scopes)
        return self.apply(interpreter, callee, given, CallSite(node, scopes))

    def apply(
        self,
        interpreter: Interpreter,
        callee: Value,
        given: BoundArguments,
        site: CallSite,
    ) -> Value:
        """Returns the result of calling a value."""
        if REST in given.positional:
            known = given.positional[: given.positional.index(REST)]
            given = BoundArguments([*known, UNKNOWN], given.named)
        try:
            require_tree(given.values())
        except TooLarge:
            self.run.note(site.node, "a call is not followed, whose arguments are too large")
            return UNKNOWN
        if isinstance(callee, Instance):
            callee = member(interpreter, callee, "__call__")
        match callee:
            case Function(is_kernel=True) | BoundMethod(function=Function(is_kernel=True)):
                return Prepared(callee, tuple(given.positional), given.named, site.node)
            case Partial(arguments=first):
                given = BoundArguments([*first, *given.positional], callee.named | given.named)
                return self.apply(interpreter, callee.function, given, site)
            case Symbol():
                return self._symbol(interpreter, callee, given, site)
            case Class() if is_enumeration(callee) and len(given.positional) == 1:
                return given.positional[0]
            case Class() if is_constructed_by_a_library(callee):
                return self._library(interpreter, callee.libraries[0], given, site.node)
            case Method():
                return self._method(interpreter, callee, given, site)
            case DType():
                return self._converted(callee, given.positional)
            case Cute(payload=cute.Layout() | cute.ComposedLayout()):
                return methods.mapped(self.run, callee, given.positional, site.node)
            case Opaque():
                return Opaque(f"{callee.name}()")
            case StructType() if given.positional:
                return storage.storage_at(callee, given.positional[0], site.node)
        return self._followed(interpreter, callee, given, site)

    def _followed(
        self,
        interpreter: Interpreter,
        callee: Value,
        given: BoundArguments,
        site: CallSite,
    ) -> Value:
        """Returns the result of calling a function or class of the program, or what is unknown."""
        if isinstance(callee, Unknown):
            is_alike = callee.is_uniform and all(map(is_uniform, given.values()))
            callee = replace(callee, is_uniform=is_alike)
            name = ast.unparse(site.node.func)
            if _STORAGE_OF_PIPELINE in given.named:
                return Opaque(f"{name}()")
            if name.rpartition(".")[2] in _PARTS and given.positional:
                return _part_of(given.positional[0], callee)
            if name.rpartition(".")[2] not in METHODS | FUNCTIONS:
                self._leave(interpreter, name, given, site.node)
        if isinstance(callee, Class):
            maker = callee.member("__new__")
            if isinstance(maker, Function):
                made = call(interpreter, maker, [callee, *given.positional], given.named)
                if isinstance(made, Instance):
                    return made
            given = self._completed(callee, given)
        if _is_jit(callee):
            named = {name: self._passed(value) for name, value in given.named.items()}
            given = BoundArguments([self._passed(value) for value in given.positional], named)
        made = expressions.apply_callee(interpreter, callee, given, site)
        if isinstance(made, Instance) and self._is_of_home(made.type):
            self.run.constructed.append(made)
        return made

    def _passed(self, value: Value) -> Value:
        """Returns an argument of a compiled function, of a tensor of PyTorch its own view."""
        if isinstance(value, torch.TorchTensor) and value.dtype is not None:
            return dlpack.global_tensor(self.run, value, value.dtype, is_dynamic=True)
        return value

    def _completed(self, owner: Class, given: BoundArguments) -> BoundArguments:
        """Returns the arguments of a call of a class, with guesses where they are made."""
        completes = self.run.completes
        return completes(owner, given) if completes and self._is_of_home(owner) else given

    def _is_of_home(self, owner: Class) -> bool:
        """Returns whether a class, or one that it derives from, is one of the executed file."""
        texts = self.run.texts
        return any(texts.text_of(c.node) is texts.home for c in owner.linearization)

    def _converted(self, dtype: DType, arguments: list[Value]) -> Value:
        """Evaluates `Int32(x)`: a number at run time; floating-point numbers are not followed."""
        value = arguments[0] if arguments else 0
        if dtype.name not in _INTEGER_TYPES:
            return DATA
        if isinstance(payload_of(value), Pointer):
            return value
        if isinstance(value, int):
            return Number(AffineInt(int(value), I32))
        return value if isinstance(value, Number | Unknown | Opaque) else DATA

    def _symbol(
        self,
        interpreter: Interpreter,
        callee: Symbol,
        given: BoundArguments,
        site: CallSite,
    ) -> Value:
        path, name = callee.path, callee.name
        arguments, named = given.positional, given.named
        if path.startswith("builtins.") and hasattr(builtins, name):
            return call_builtin(self.run, interpreter, callee, given, site)
        if name == "compile" and arguments and path.startswith("cutlass"):
            kept = {k: v for k, v in named.items() if k not in ("options", "no_cache")}
            passed = BoundArguments(arguments[1:], kept)
            self.apply(interpreter, arguments[0], passed, site)
            return Opaque("a compiled function")
        if path == "functools.partial" and arguments:
            return Partial(arguments[0], tuple(arguments[1:]), named)
        if path in ("os.environ.get", "os.getenv"):  # of which none is set
            return given.get(1, "default", None)
        if path == "dataclasses.field":
            return self._default_of_field(interpreter, named, site)
        if path == "dataclasses.replace" and arguments and isinstance(arguments[0], Instance):
            return replaced(interpreter, arguments[0], named)
        if path in FIELD_MAKERS:
            return class_of_fields(self.run, given, site.node)
        if path == "enum.auto":  # some value of its own
            place = self.run.span_of(site.node)
            return Symbol(f"enum.{place.path.replace('.', '_')}:{place.line}:{place.column}")
        if name == "SimpleNamespace":
            return Namespace(dict(named))
        if name == "ArgumentParser":
            self.parsers.append(command_lines.Parser())
            return self.parsers[-1]
        if path.startswith(("torch.", "numpy.")):
            usual = FLOAT32 if path.startswith("torch.") else FLOAT64
            return torch.torch_call(Call(self.run, name, None, given, site.node), name, usual)
        if path.startswith(_LIBRARIES):
            return self._library(interpreter, callee, given, site.node)
        self._leave(interpreter, name, given, site.node)
        return UNKNOWN

    def _default_of_field(self, interpreter: Interpreter, named: Scope, site: CallSite) -> Value:
        """Returns the default of a dataclass's field that is spelled `field(..)`."""
        if "default_factory" in named:
            none = BoundArguments([], {})
            return self.apply(interpreter, named["default_factory"], none, site)
        return named.get("default", UNKNOWN)

    def _leave(
        self, interpreter: Interpreter, name: str, given: BoundArguments, node: ast.Call
    ) -> None:
        """Leaves a call that is not followed with a note if it may access shared memory.

        It may call functions without parameters that the host hands to it:
        `cached(key, lambda: cute.compile(..))` compiles, unless what it looks for is there.
        """
        note_unfollowed(self.run, name, given.values(), node)
        if self.run.kernel is not None:
            return
        with interpreter.on_open_path():
            for value in given.values():
                if isinstance(value, Function) and not parameters_of(value.node.args):
                    call(interpreter, value, [], {})

    def _library(
        self, interpreter: Interpreter, callee: Symbol, given: BoundArguments, node: ast.Call
    ) -> Value:
        """Evaluates a function or class of the DSL."""
        name, path = callee.name, callee.path.split(".")
        arguments, named = given.positional, given.named
        module = "quack" if path[0] == "quack" else path[-2] if len(path) > 1 else ""
        if name in ("range", "range_constexpr", "range_dynamic"):
            return range_of(
                arguments, is_unrolled=name == "range_constexpr" or named.get("unroll_full") is True
            )
        if name == "SmemAllocator":
            return Allocator()
        if atoms.is_operation(name):
            return Cute(OpValue(name, module, tuple(arguments), named))
        if module == mixed_input.MODULE:
            written = self.run.texts.scope_of(mixed_input.text()).get(name)
            if isinstance(written, Function):
                return call(interpreter, written, arguments, named)
        handler = FUNCTIONS.get(f"{module}.{name}")
        if handler is None and module != "quack":
            handler = FUNCTIONS.get(name)
        if handler is not None:
            owner = Symbol(callee.path.rpartition(".")[0])
            return executed(handler, Call(self.run, name, owner, given, node))
        if is_of_warps(callee):
            return Opaque(name)
        note_unfollowed(self.run, name, given.values(), node)
        if ".arch." in callee.path:
            return Opaque(name)
        return Unknown.because(ReasonCode.NOT_MODELLED, f"`{name}` is not modelled")

    def _method(
        self,
        interpreter: Interpreter,
        callee: Method,
        given: BoundArguments,
        site: CallSite,
    ) -> Value:
        owner, name = callee.owner, callee.name
        call = Call(self.run, name, owner, given, site.node)
        match owner:
            case Prepared() if name in ("launch", "smem_usage"):
                return self._launch(interpreter, owner, given, site.node)
            case Prepared() | Namespace():
                return UNKNOWN
            case command_lines.Parser():
                return command_lines.parser_method(call, self.overrides)
            case torch.TorchTensor():
                return torch.torch_method(call)
            case Opaque():
                return Opaque(f"{owner.name}.{name}()")
            case Class() if name == "apply" and is_autograd_function(owner):
                given = given.behind(*context_of_forward(owner))
                return self.apply(interpreter, owner.member("forward"), given, site)
            case StructType():
                return storage.struct_method(call)
            case Instance() if name == "_replace":
                return replaced(interpreter, owner, given.named)
            case Number():
                return owner if name in ("to", "ir_value", "value") else DATA
            case str():
                return call_string_method(owner, name, given.positional)
            case list() if name == "sort" and "key" in given.named:
                ordered = sorted_by(interpreter, owner, given.named, site)
                interpreter.model.changes(owner, may_be_skipped=interpreter.open_paths > 0)
                owner[:] = ordered if isinstance(ordered, list) else [UNKNOWN] * len(owner)
                return None
            case list() | dict():
                return expressions.apply_callee(interpreter, callee, given, site)
        if isinstance(payload_of(owner), Pointer) and name in ("load", "store"):
            return executed(methods.pointer_access, call)
        handler = METHODS.get(name)
        if handler is not None:
            return executed(handler, call)
        return self._unfollowed(call)

    def _unfollowed(self, call: Call) -> Value:
        """Returns what a method gives that is not followed, and notes what it may access."""
        name, given = call.name, call.given
        if _STORAGE_OF_PIPELINE in given.named:
            return Opaque(f"{name}()")
        note_unfollowed(self.run, name, (call.owner, *given.values()), call.node)
        return Unknown.because(ReasonCode.NOT_MODELLED, f"`{name}` is not modelled")

    # ---- launches

    def _launch(
        self, interpreter: Interpreter, prepared: Prepared, given: BoundArguments, node: ast.Call
    ) -> Value:
        """Executes a kernel with the block of its launch."""
        from smemlint.analysis.python.cute_dsl.execution.kernels import execute_kernel

        block = given.get(1, "block")
        execute_kernel(self.run, interpreter, prepared, block, node)
        return None
