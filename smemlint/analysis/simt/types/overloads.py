"""Which definition a call means: candidates by name and class, then the one that fits best."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from weakref import WeakKeyDictionary

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    FloatType,
    IntType,
    NullType,
    PointerType,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.member_detection import detected
from smemlint.frontend import ir
from smemlint.frontend.cuda.lexer.tokens import OPENING, angle_end, lex, matching, spelling_of
from smemlint.frontend.program import Function, Record
from smemlint.lazy_dataclasses import dataclass

UNBOUNDED = 1 << 30
_WORD = re.compile(r"[A-Za-z_]\w*")
_ENABLE_IF = re.compile(r"\benable_if(_t)?<")
_DETECTING = re.compile(r"(typename )?((std::)?void_t<|decltype\(|\w+::\w)")
_INTEGRAL = frozenset(("int", "unsigned", "long", "short", "bool", "uint32_t", "size_t"))
_FLOATING = frozenset(("float", "double", "half", "__half"))


class Shape(Enum):
    """What a parameter's declarator says about the arguments that it takes."""

    POINTER = auto()
    ARRAY = auto()
    INTEGRAL = auto()
    FLOATING = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Signature:
    """A definition as overload resolution sees it.

    Attributes:
        classes: what each parameter calls its class, as `Tag<L>` or `T`; empty for a built-in type.
        least, most: arguments that it takes; a parameter pack takes any number.
        returns_reference: whether the result is another name for an object.
        spelled: how many template arguments a call has to spell: operands tell the others.
        conditions: of `std::enable_if` in its template head, parameters or result, and constraints
            of C++20, as they are spelled.
        constraints: how many of the conditions are constraints.
        types: template-ids in its head and result, which may be aliases of `std::enable_if`.
        detected: members that its head and its result ask of template arguments.
        is_variadic: whether it ends with `...`, which every other parameter is better than.
    """

    parameters: tuple[ir.Decl, ...]
    shapes: tuple[Shape, ...]
    classes: tuple[str, ...]
    least: int
    most: int
    returns_reference: bool
    spelled: int = 0
    conditions: tuple[str, ...] = ()
    constraints: int = 0
    types: tuple[str, ...] = ()
    detected: tuple[ir.Requires, ...] = ()
    is_variadic: bool = False


_known: WeakKeyDictionary[Function, Signature] = WeakKeyDictionary()


def signature_of(function: Function) -> Signature:
    """Returns the signature; a definition that cannot be parsed takes anything."""
    found = _known.get(function)
    if found is None:
        found = _known[function] = _read(function)
    return found


def _read(function: Function) -> Signature:
    tree = function.parse_head().tree
    if tree is None:
        return Signature((), (), (), 0, UNBOUNDED, False)
    parameters = parameters_of(tree)
    required = sum(p.init is None for p in parameters)
    takes_any = _ends_with_pack(function, parameters)
    types = [p.type if p.kind == "value" else p.default or "" for p in function.template]
    types += [
        w for node in (tree.type.type, *(p.type for p in parameters)) for w in type_words(node)
    ]
    own = {p.name for p in function.template if p.name}
    asked = (detected(t, own.__contains__) for t in types if own and _DETECTING.match(t))
    constraints = [p.constraint for p in function.template if p.constraint]
    return Signature(
        parameters,
        tuple(_shape(p.type) for p in parameters),
        tuple(class_spelling(p.type) for p in parameters),
        required - takes_any,
        UNBOUNDED if takes_any or tree.type.is_variadic else len(parameters),
        _is_reference(tree.type.type),
        _must_be_spelled(function, parameters),
        (*conditions_in(types), *constraints),
        len(constraints),
        tuple(t for t in types if t.endswith(">") and not _ENABLE_IF.search(t)),
        tuple(requires for requires in asked if requires.args),
        tree.type.is_variadic,
    )


def _ends_with_pack(function: Function, parameters: Sequence[ir.Decl]) -> bool:
    """Returns whether the last parameter is a pack: its type names one that it does not expand."""
    packs = [re.escape(p.name) for p in function.template if p.is_pack and p.name]
    unexpanded = re.compile(rf"\b({'|'.join(packs)})\b(?! *\.\.\.)")
    return bool(packs) and any(unexpanded.search(w) for p in parameters[-1:] for w in type_words(p))


def conditions_in(types: Iterable[str]) -> Iterator[str]:
    """Yields the conditions of `enable_if_t<C, T>` and `enable_if<C, T>::type`."""
    for text in types:
        found = _ENABLE_IF.search(text)
        if found is not None:
            yield _first_argument(text[found.end() :])


def _first_argument(text: str) -> str:
    """Returns the template argument that a text begins with: `N < 4` of `N < 4, int>::type`."""
    tokens = lex(text)
    i = 0
    while i < len(tokens) and tokens[i].text not in (",", ">"):
        if tokens[i].text in OPENING:
            i = matching(tokens, i)
        elif tokens[i].text == "<":
            end = angle_end(tokens, i)
            is_bracket = any(token.text == ">" for token in tokens[end + 1 :])
            i = end if end > 0 and is_bracket else i
        i += 1
    return spelling_of(tokens[:i])


def _must_be_spelled(function: Function, parameters: Sequence[ir.Decl]) -> int:
    """Returns how many template arguments a call spells: one of `template <int I, class T>`."""
    asked = {p.name for p in function.template if p.name and p.default is None and not p.is_pack}
    if not asked:
        return 0
    for node in (node for parameter in parameters for node in parameter.type.walk()):
        if isinstance(node, ir.UnparsedType):
            return 0
        spelled = getattr(node, "names", None) or (getattr(node, "name", ""),)
        for text in spelled:
            if isinstance(text, str):
                asked.difference_update(_WORD.findall(text))
    return max((k for k, p in enumerate(function.template, 1) if p.name in asked), default=0)


def parameters_of(tree: ir.FuncDef) -> tuple[ir.Decl, ...]:
    """Returns the declared parameters of a definition."""
    return tree.type.params


def type_words(node: ir.Node | None) -> list[str]:
    """Returns the words of the type that a declarator is built on."""
    while node is not None and not isinstance(node, ir.IdentifierType):
        node = getattr(node, "type", None)
    return list(node.names) if node is not None else []


def target_qualifiers(node: ir.Node) -> frozenset[str]:
    """Returns the qualifiers of what a pointer type points to."""
    return frozenset(getattr(getattr(node, "type", None), "quals", ()))


def unqualified(spelling: str) -> str:
    """Returns a name without namespaces, classes and template arguments: `S` of `a::S<int>`."""
    return spelling.split("<", 1)[0].rpartition("::")[2]


def constancy_of(ev: Evaluator, declaration: ir.Decl, ctype: CType) -> bool | None:
    """Returns whether a declared object, or what a reference refers to, is constant.

    None where a template parameter or `auto` says the type: it may be constant, too.
    """
    is_constant, named = ev.state.node_facts.told(_written_type, declaration)
    return is_constant or (False if getattr(ctype, "name", None) in named else None)


def _written_type(declaration: ir.Decl) -> tuple[bool, list[str]]:
    """Returns whether a declaration says that its object is constant, and the names in its type."""
    of = declaration.type
    written = target_qualifiers(of) if _is_reference(of) else declaration.quals
    is_constant = "const" in (written or ()) or "constexpr" in declaration.storage
    return is_constant, [unqualified(word) for word in type_words(of)]


def _is_reference(node: ir.Node) -> bool:
    return isinstance(node, ir.PtrDecl) and bool({"&", "&&"} & set(node.quals))


def _shape(node: ir.Node) -> Shape:
    is_reference = _is_reference(node)
    if isinstance(node, ir.PtrDecl) and is_reference and isinstance(node.type, ir.ArrayDecl):
        return Shape.ARRAY
    if isinstance(node, ir.ArrayDecl) or (isinstance(node, ir.PtrDecl) and not is_reference):
        return Shape.POINTER
    words = type_words(node)
    if not _INTEGRAL.isdisjoint(words):
        return Shape.INTEGRAL
    return Shape.OTHER if _FLOATING.isdisjoint(words) else Shape.FLOATING


def class_spelling(node: ir.Node) -> str:
    """Returns what a parameter calls its class; empty for a built-in type."""
    words = type_words(node) if _shape(node) is Shape.OTHER else []
    return words[0] if len(words) == 1 else ""


def _fits(shape: Shape, argument: CType) -> int:
    """Returns how well an argument's type fits a parameter; below zero where it does not."""
    is_pointer = isinstance(argument, PointerType | ArrayType | NullType)
    match shape:
        case Shape.ARRAY:
            return 2 if isinstance(argument, ArrayType) else -2
        case Shape.POINTER:
            return 2 if is_pointer else -2
        case Shape.INTEGRAL | Shape.FLOATING if isinstance(argument, IntType | FloatType) and not (
            is_pointer
        ):
            is_alike = (shape is Shape.INTEGRAL) == isinstance(argument, IntType)
            return 1 if is_alike else -1
        case _:
            return -1 if is_pointer else 0


def members_of(record: Record, functions: Iterable[Function]) -> list[Function]:
    """Returns those that are members of this very definition of a class.

    A template's partial specializations share its name and define members in their own bodies;
    a member that is defined outside of all bodies may be any one's, and comes last.
    """
    named = [f for f in functions if f.record == record.name]
    own = [f for f in named if f.owner == record.span]
    return own + [f for f in named if f.owner is None]


def is_ellipsis_ranked(candidates: Sequence[Function], types: Sequence[CType]) -> bool:
    """Returns whether all other candidates than `f(...)` are known to take such operands.

    They are better then; where a class has to convert, `f(...)` may be the only one.
    """
    others = [f for f in candidates if not signature_of(f).is_variadic]
    return len(others) == len(candidates) or all(_is_sure_to_take(f, types) for f in others)


def _is_sure_to_take(function: Function, types: Sequence[CType]) -> bool:
    signature = signature_of(function)
    own = {p.name for p in function.template}
    rows = list(zip(signature.shapes, signature.classes, types, strict=False))
    numbers = (Shape.INTEGRAL, Shape.FLOATING)
    return len(rows) == len(types) and all(
        name in own or _fits(s, t) > 0 or (s in numbers and isinstance(t, IntType | FloatType))
        for s, name, t in rows
    )


def best_fit(
    candidates: Sequence[Function],
    types: Sequence[CType],
    arguments: tuple[str, ...],
    is_type: Callable[[str], bool],
    takes: Callable[[Function], bool],
    class_fit: Callable[[Function], int | None],
) -> Function:
    """Returns the definition that fits best: template arguments, arity, kinds of parameters.

    Args:
        candidates: not empty; of equals the first is taken, of methods the first that returns a
            reference: those that return a value are for constant objects.
        types: of the call's arguments.
        arguments: spelling of the template arguments that the call gives.
        is_type: whether such a spelling is a type.
        takes: whether a definition has exactly the types of the call's operands.
        class_fit: how closely a definition names the classes of the operands; None where it is
            for other classes.
    """
    if len(candidates) == 1:
        return candidates[0]
    kinds = [is_type(a) for a in arguments]

    def fit(function: Function) -> tuple[int, int, bool, int, bool]:
        template = function.template
        classes = class_fit(function)
        if classes is None or (arguments and not template and function.specialization is None):
            return (-4, 0, False, 0, False)
        score = 1 if arguments and len(template) >= len(arguments) else 0
        score += not arguments and not template and takes(function)
        score += sum((p.kind == "type") == k for k, p in zip(kinds, template, strict=False))
        signature = signature_of(function)
        if signature.is_variadic:
            return (-3, 0, False, 0, False)
        closeness = sum(_fits(s, t) for s, t in zip(signature.shapes, types, strict=False))
        is_place = function.record is not None and signature.returns_reference
        is_bounded = signature.most != UNBOUNDED
        return (score, classes + closeness, is_place, signature.constraints, is_bounded)

    return max(candidates, key=fit)
