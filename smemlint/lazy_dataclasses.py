"""Dataclasses whose methods are compiled when they are first called.

`dataclasses.dataclass` compiles up to seven methods of every class while its module is imported,
some 0.5 ms a class: half of what a check of one small file takes, for classes of which a run uses
few. The decorator of this module makes classes that behave the same, where annotations are strings
(`from __future__ import annotations`); its options are those that this program uses.
"""

from __future__ import annotations

import dataclasses
from functools import cache, partial
from reprlib import recursive_repr
from types import CodeType, FunctionType, MappingProxyType, MemberDescriptorType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import dataclass as dataclass
    from dataclasses import dataclass as light_dataclass
    from typing import Any
else:

    def dataclass(cls=None, /, **options):
        """Returns a class with what `dataclasses.dataclass` adds to it, compiled on demand.

        Args:
            cls: the class; without it, the decorator is returned.
            options: `eq`, `order`, `frozen`, `slots` and `kw_only`, as there.
        """
        return _processed(cls, **options) if cls is not None else lambda c: _processed(c, **options)

    def light_dataclass(**options):
        """Returns a decorator of classes of which a run makes hundreds of thousands of instances.

        They are as those of `dataclass`, but what is frozen is so for the type checker alone, as
        numbers of the evaluator are: an instance of four fields is made in 0.4 of the time.

        Args:
            options: as there.
        """
        return lambda cls: _processed(cls, is_guarded=False, **options)


__all__ = ["dataclass", "light_dataclass"]
_NOT_GIVEN = object()
"""Default of a parameter whose field has a factory."""
_IS_FIELD = dataclasses._FIELD  # type: ignore[attr-defined]
"""What `dataclasses.fields` knows fields by."""
_ORDERS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


class _OnDemand:
    """An attribute of a class that is computed, and replaces this, when it is first looked up."""

    __slots__ = ("_cls", "_compute", "_name")

    def __init__(self, cls: type, name: str, compute: Callable[[type], Any]) -> None:
        self._cls = cls
        self._name = name
        self._compute = compute

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Returns the attribute, bound to the instance if it is a method."""
        value = self._compute(self._cls)
        setattr(self._cls, self._name, value)
        return value.__get__(instance, owner) if hasattr(value, "__code__") else value


def _processed(
    cls: type,
    *,
    eq: bool = True,
    order: bool = False,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    is_guarded: bool = True,
) -> type:
    names = [n for n, written in cls.__annotations__.items() if not written.startswith("ClassVar")]
    given = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    written = {name: cls.__annotations__[name] for name in names}
    if slots:
        cls = _with_slots(cls, names)
    else:
        _set_defaults(cls, given)

    attributes: dict[str, Callable[[type], Any]] = {
        "__dataclass_fields__": partial(
            _fields_by_name, written=written, given=given, kw_only=kw_only
        ),
        "__match_args__": _match_args,
        "__init__": _initializer_of_frozen if frozen and is_guarded else _initializer,
        "__repr__": _representation,
    }
    if eq:
        attributes["__eq__"] = partial(_comparison, operator="==")
    if order:
        attributes |= {name: partial(_comparison, operator=op) for name, op in _ORDERS.items()}
    if eq and frozen and cls.__dict__.get("__hash__") is None:
        attributes["__hash__"] = _hash
    for name, compute in attributes.items():
        if cls.__dict__.get(name) is None:
            setattr(cls, name, _OnDemand(cls, name, compute))
    if frozen:
        if is_guarded:
            cls.__setattr__, cls.__delattr__ = _refuse_to_set, _refuse_to_delete  # type: ignore[assignment]
        if slots:
            cls.__getstate__, cls.__setstate__ = _state, _set_state  # type: ignore[assignment, attr-defined]
    if eq and not frozen and "__hash__" not in cls.__dict__:
        cls.__hash__ = None  # type: ignore[assignment]
    return cls


# ---- at once


def _with_slots(cls: type, names: list[str]) -> type:
    """Returns the class anew, since slots are laid out when a class is made."""
    inherited = {slot for base in cls.__mro__[1:] for slot in getattr(base, "__slots__", ())}
    left_out = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    body["__slots__"] = tuple(name for name in names if name not in inherited)
    body["__qualname__"] = cls.__qualname__
    return type(cls)(cls.__name__, cls.__bases__, body)


def _set_defaults(cls: type, given: Mapping[str, object]) -> None:
    """Leaves the defaults of fields as attributes of their class, where they have any."""
    for name, value in given.items():
        if isinstance(value, dataclasses.Field):
            if value.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    """Returns what is pickled of a frozen class with slots."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


# ---- on demand


def _fields_by_name(
    cls: type, written: Mapping[str, str], given: Mapping[str, object], *, kw_only: bool
) -> Mapping[str, dataclasses.Field[Any]]:
    """Returns the fields of a class and of those that it inherits from, as the library has them."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= getattr(base, "__dataclass_fields__", {})
    for name, annotation in written.items():
        value = given.get(name, dataclasses.MISSING)
        field: Any = value if isinstance(value, dataclasses.Field) else None
        if field is None:
            if value.__class__.__hash__ is None:
                raise ValueError(f"mutable default of `{name}`: use default_factory")
            field = dataclasses.field(default=value)
        field.name, field.type, field._field_type = name, annotation, _IS_FIELD
        if field.kw_only is dataclasses.MISSING:
            field.kw_only = kw_only
        found[name] = field
    return found


def _match_args(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls) if f.init and not f.kw_only)


def _representation(cls: Any) -> Callable[[object], str]:
    names = [field.name for field in dataclasses.fields(cls) if field.repr]

    @recursive_repr()
    def __repr__(self: object) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({', '.join(values)})"

    return __repr__


def _comparison(cls: Any, operator: str) -> Callable[[object, object], bool]:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    places = range(len(names))
    return _compiled(
        "compare(self, other)",
        "if other.__class__ is not self.__class__: return NotImplemented",
        f"return {_tuple('self', places)} {operator} {_tuple('other', places)}",
        names=names,
    )


def _hash(cls: Any) -> Callable[[object], int]:
    fields = dataclasses.fields(cls)
    names = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
    return _compiled(
        "__hash__(self)", f"return hash({_tuple('self', range(len(names)))})", names=names
    )


def _tuple(of: str, places: range) -> str:
    return "(" + "".join(f"{of}.name{place}, " for place in places) + ")"


def _initializer(cls: Any, *, is_frozen: bool = False) -> Callable[..., None]:
    known: dict[str, object] = {"_NOT_GIVEN": _NOT_GIVEN, "_set": object.__setattr__}
    parameters, statements = ["self"], []
    defaults: dict[str, object] = {}
    fields = sorted(dataclasses.fields(cls), key=lambda field: field.kw_only is True)
    for place, field in enumerate(fields):
        name = value = f"name{place}"
        if field.default is not dataclasses.MISSING:
            known[f"_default{place}"] = defaults[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_make{place}"] = field.default_factory
            defaults[field.name] = _NOT_GIVEN
            value = f"_make{place}() if {name} is _NOT_GIVEN else {name}"
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        if field.init:
            parameters.append(name)
        else:
            value = f"_default{place}"
            defaults.pop(field.name)
        slot = getattr(cls, field.name, None)
        if not is_frozen:
            statements.append(f"self.{name} = {value}")
        elif isinstance(slot, MemberDescriptorType):  # takes half the time of `_set`
            known[f"_set{place}"] = slot.__set__
            statements.append(f"_set{place}(self, {value})")
        else:
            known[f"_name{place}"] = field.name
            statements.append(f"_set(self, _name{place}, {value})")
    if hasattr(cls, "__post_init__"):
        statements.append("self.__post_init__()")
    head = f"__init__({', '.join(parameters)})"
    names = [field.name for field in fields]
    return _compiled(head, *statements or ["pass"], names=names, known=known, defaults=defaults)


def _initializer_of_frozen(cls: type) -> Callable[..., None]:
    return _initializer(cls, is_frozen=True)


def _compiled(
    head: str,
    *statements: str,
    names: Sequence[str],
    known: Mapping[str, object] = MappingProxyType({}),
    defaults: Mapping[str, object] = MappingProxyType({}),
) -> Callable[..., Any]:
    """Returns a function of fields, which its text calls `name0`, `name1`, ...

    Classes with as many fields share what the text is compiled to.

    Args:
        head: the name of the function, and its parameters without their defaults.
        statements: its body.
        names: of the fields.
        known: what else the text names.
        defaults: of parameters, by the name of their field.
    """
    code = _code(f"def {head}:\n " + "\n ".join(statements))
    renamed = {f"name{place}": name for place, name in enumerate(names)}
    code = code.replace(
        co_varnames=tuple(renamed.get(name, name) for name in code.co_varnames),
        co_names=tuple(renamed.get(name, name) for name in code.co_names),
    )
    positional = code.co_varnames[: code.co_argcount]
    given = tuple(defaults[name] for name in positional if name in defaults)
    function = FunctionType(code, {**known}, code.co_name, given)
    function.__kwdefaults__ = {n: v for n, v in defaults.items() if n not in positional}
    return function


@cache
def _code(text: str) -> CodeType:
    """Returns the code of the function that a text defines."""
    code: CodeType = compile(text, "<dataclass>", "exec").co_consts[0]
    return code
