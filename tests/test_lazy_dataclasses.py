"""Lazy dataclasses behave as those of the standard library, on shapes that the program uses."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any, ClassVar

import pytest

from smemlint import lazy_dataclasses

_lazy: Any = lazy_dataclasses.dataclass
_MAKERS = {"library": dataclasses.dataclass, "lazy": _lazy}


def _classes(dataclass: Any) -> dict[str, Any]:
    """Classes of each option that the program uses, made by one of the two decorators."""

    @dataclass(frozen=True, slots=True)
    class Frozen:
        """A point."""

        x: int
        y: int = 2
        hidden: int = field(default=3, repr=False, compare=False)
        unhashed: tuple[int, ...] = field(default=(), hash=False)
        made: list[int] = field(default_factory=list, hash=False)

    @dataclass(frozen=True, slots=True)
    class Below(Frozen):
        y: int = 7
        z: int = 5
        count: ClassVar[int] = 9

    @dataclass(slots=True)
    class Open:
        x: int
        is_done: bool = field(default=False, init=False)
        doubled: int = 0

        def __post_init__(self) -> None:
            self.doubled = 2 * self.x

    @dataclass
    class Plain:
        x: int
        y: int = 4

    @dataclass(eq=False)
    class ByIdentity:
        x: int

    @dataclass(frozen=True, order=True)
    class Ordered:
        x: int
        y: str = ""

    @dataclass(frozen=True, slots=True, eq=False, kw_only=True)
    class Named:
        x: int
        y: int = 1

    @dataclass(frozen=True, slots=True)
    class Last(Frozen):
        kind: str = field(default="k", kw_only=True)

    @dataclass(frozen=True, slots=True)
    class WithOwn:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return {name: made for name, made in locals().items() if isinstance(made, type)}


_BOTH = {name: _classes(maker) for name, maker in _MAKERS.items()}
_NAMES = sorted(_BOTH["lazy"])


def _outcome(action: Any) -> object:
    """What an action gives, or the class of its error."""
    try:
        return action()
    except Exception as error:
        return type(error)


def _instances(cls: Any) -> list[Any]:
    """Instances with few and many arguments, those that a class takes."""
    attempts = [
        lambda: cls(),
        lambda: cls(1),
        lambda: cls(1),
        lambda: cls(1, 9),
        lambda: cls(2, "b") if "str" in cls.__annotations__.values() else cls(2, 8),
        lambda: cls(x=1),
        lambda: cls(x=1, y=5),
        lambda: cls(1, kind="z"),
        lambda: cls(1, 2, 3, (4,), [5]),
    ]
    return [_outcome(attempt) for attempt in attempts]


@pytest.mark.parametrize("name", _NAMES)
def test_same_behaviour(name: str) -> None:
    """Construction, text, equality, order, hashes and copies are those of the library."""

    def behaviour(cls: Any) -> list[object]:
        found: list[object] = []
        instances = _instances(cls)
        for one in instances:
            is_class = isinstance(one, type)
            found += [one if is_class else repr(one)]
            if is_class:
                continue
            found += [
                _outcome(lambda one=one: hash(one) if cls.__hash__ is not object.__hash__ else 0),
                fields(one) and _outcome(lambda one=one: setattr(copy.copy(one), "x", 5)),
                fields(one) and _outcome(lambda one=one: delattr(copy.copy(one), "x")),
                _outcome(lambda one=one: repr(replace(one, x=11))),
                _outcome(lambda one=one: repr(copy.deepcopy(one))),
                hasattr(one, "__dict__"),
            ]
        for one in instances:
            for other in instances:
                found += [one == other, _outcome(lambda a=one, b=other: a < b)]
                found += [_outcome(lambda a=one, b=other: a >= b)]
        return found

    assert behaviour(_BOTH["lazy"][name]) == behaviour(_BOTH["library"][name])


@pytest.mark.parametrize("name", _NAMES)
def test_same_attributes(name: str) -> None:
    """Fields, positional patterns, slots, signatures and defaults are those of the library."""
    lazy, library = _BOTH["lazy"][name], _BOTH["library"][name]
    attributes = ("name", "type", "init", "repr", "hash", "compare", "kw_only", "default")

    def described(cls: Any) -> list[object]:
        slots = set().union(*(getattr(c, "__slots__", ()) for c in cls.__mro__))
        names = [str(p) for p in inspect.signature(cls).parameters]
        default = _outcome(lambda: cls.y if "__slots__" not in vars(cls) else None)
        shown = [[getattr(f, t) for t in attributes] for f in fields(cls)]
        return [shown, cls.__match_args__, slots, names, default, cls.__hash__ is None]

    assert described(lazy) == described(library)
    assert lazy.__qualname__.endswith(f"_classes.<locals>.{name}")


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class _Sent:
    x: int
    y: tuple[int, ...] = ()


def test_pickling() -> None:
    """Frozen instances with slots are sent between processes."""
    assert pickle.loads(pickle.dumps(_Sent(1, (2, 3)))) == _Sent(1, (2, 3))


def test_nothing_is_compiled_at_once() -> None:
    """A class that is not used costs no compilation, and the first use replaces what waits."""

    @_lazy(frozen=True, slots=True)
    class Unused:
        x: int

    waiting = vars(Unused)["__init__"]
    assert not inspect.isfunction(waiting)
    Unused(1)
    assert inspect.isfunction(vars(Unused)["__init__"])
    assert not inspect.isfunction(vars(Unused)["__eq__"])


def test_frozen() -> None:
    """Fields of frozen instances cannot be set."""
    with pytest.raises(FrozenInstanceError):
        _Sent(1).x = 2  # type: ignore[misc]


def test_light_ones_are_equal_and_hashed_as_frozen_ones_are() -> None:
    """They refuse no assignment: the type checker does."""

    @lazy_dataclasses.light_dataclass(frozen=True, slots=True)
    class Light:
        x: int
        y: int = 2

    one = Light(1)
    assert (one, hash(one), repr(one)[-14:]) == (Light(1, 2), hash((1, 2)), "Light(x=1, y=2)"[-14:])
    assert replace(one, y=3) != one
    assert not hasattr(one, "__dict__")
    assert Light.__setattr__ is object.__setattr__
