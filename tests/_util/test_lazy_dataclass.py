"""Dataclasses with lazily generated methods: equal to Python's dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from linkwork._util import lazy_dataclass
from linkwork._util.lazy_imports import LazyAttribute

T = TypeVar("T")
SLOTS = [
    {"frozen": True, "slots": True},
    {"slots": True},
    {"frozen": True},
    {},
    {"eq": False},
    {"frozen": True, "eq": False},
]


def classes(dataclass: Any, options: dict[str, bool]) -> list[type]:
    """Classes of all forms, which one decorator makes."""
    make: Callable[[Any], Any] = dataclass(**options)

    @make
    class Plain:
        """Two fields."""

        x: int
        y: float = 2.0

    @make
    class Derived(Plain):
        """Further fields, of all kinds, and a default for an inherited one."""

        kinds: ClassVar[int] = 3
        x: int = 7
        z: list[int] = dataclasses.field(default_factory=list, compare=False)
        hidden: int = dataclasses.field(default=5, init=False, repr=False)
        items: tuple[int, ...] = dataclasses.field(default_factory=tuple, init=False, hash=False)

    @make
    class Late(Derived):
        """A method that runs after the constructor, and methods of its own."""

        def __post_init__(self) -> None:
            object.__setattr__(self, "hidden", self.x + 1)

        def __repr__(self) -> str:
            return f"<{self.x}>"

    @make
    class Empty(ABC, Generic[T]):
        """No field, and an abstract method."""

        @abstractmethod
        def run(self) -> int: ...

    @make
    class Concrete(Empty[int]):
        """One field."""

        name: str

        def run(self) -> int:
            return 4

    @make
    class Own(Plain):
        """A constructor of its own."""

        def __init__(self) -> None:
            object.__setattr__(self, "x", 1)
            object.__setattr__(self, "y", 4.0)

    return [Plain, Derived, Late, Empty, Concrete, Own]


def examples(kind: type) -> list[Any]:
    """Equal and different objects of a class."""
    arguments: dict[str, list[tuple[Any, ...]]] = {
        "Plain": [(1,), (1, 2.0), (2, 2.0), (1, 2.5)],
        "Derived": [(), (7, 2.0), (7, 2.0, [1]), (1,)],
        "Late": [(), (3,), (7, 2.0, [1])],
        "Empty": [],
        "Concrete": [("a",), ("b",), ("a",)],
        "Own": [(), ()],
    }
    return [kind(*args) for args in arguments[kind.__name__]]


def tried(function: Callable[[], Any]) -> Any:
    """Return the result of a function, or its error."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error).replace("frozen ", "")


def described(kind: type) -> list[Any]:
    """Return all that a class and its objects show."""
    objects = examples(kind)
    fields = [
        (f.name, f.type, f.default, f.default_factory, f.init, f.repr, f.hash, f.compare)
        for f in dataclasses.fields(kind)
    ]
    results: list[Any] = [fields, repr(kind.__dataclass_params__), kind.__match_args__, kind.__doc__]
    results += [str(inspect.signature(kind)), kind.__init__.__annotations__, kind.__init__.__qualname__]
    results += [kind.__dict__.get("__slots__"), kind.__qualname__, getattr(kind, "__hash__", 0) is None]
    results += [hasattr(kind, "hidden"), tried(lambda: kind(1, 2, 3, 4, 5)), tried(lambda: kind(wrong=1))]
    names = [name for name in vars(kind) if not name.startswith(("_abc", "__annotate"))]
    results.append(sorted(names))
    for single in objects:
        results += [
            repr(single),
            [single == peer for peer in objects],
            tried(lambda single=single: hash(single) if kind.__eq__ is not object.__eq__ else 0),
        ]
        for field in dataclasses.fields(kind)[:1]:
            results += [tried(lambda single=single, name=field.name: setattr(copy.copy(single), name, 9))]
            results += [tried(lambda single=single, name=field.name: delattr(copy.copy(single), name))]
        # Python has another error for slots
        results += [isinstance(tried(lambda single=single: setattr(copy.copy(single), "other", 9)), tuple)]
    for single in examples(kind):
        results += [
            repr(copy.copy(single)),
            repr(copy.deepcopy(single)),
            copy.copy(single) == single,
            dataclasses.asdict(single),
        ]
        results += [tried(lambda single=single: repr(dataclasses.replace(single, x=4)))]
        results += [repr(single.__reduce_ex__(4)[2])]
        for function in (kind.__init__, kind.__repr__, kind.__eq__):
            results.append((getattr(function, "__module__", ""), getattr(function, "__qualname__", "")))
    return results


@pytest.mark.parametrize("options", SLOTS, ids=str)
def test_lazy_dataclasses_behave_as_dataclasses_of_the_standard_library(options: dict[str, bool]) -> None:
    ours, pythons = classes(lazy_dataclass.dataclass, options), classes(dataclasses.dataclass, options)
    assert any(isinstance(value, LazyAttribute) for value in vars(ours[0]).values())
    for kind, expected in zip(ours, pythons, strict=True):
        for our_value, their_value in zip(described(kind), described(expected), strict=True):
            assert our_value == their_value, kind.__name__


def test_equality_of_lazy_dataclasses_does_not_compare_identical_fields() -> None:
    """Tuples and dataclasses of Python up to 3.12 do not either: a field may be a symbol, or NaN."""

    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise TypeError("no truth value")

    kind = classes(lazy_dataclass.dataclass, {"frozen": True, "slots": True})[0]
    value = Incomparable()
    assert kind(value) == kind(value) and kind(float("nan"), value) != kind(1.0, value)
    with pytest.raises(TypeError, match="no truth value"):
        assert kind(value) == kind(Incomparable())


def test_standard_dataclasses_may_inherit_from_lazy_dataclasses() -> None:
    plain = classes(lazy_dataclass.dataclass, {"frozen": True, "slots": True})[0]

    @dataclasses.dataclass(frozen=True, slots=True)
    class Extended(plain):  # type: ignore[valid-type, misc]
        """One more field."""

        z: int = 4

    assert repr(Extended(1)) == f"{Extended.__qualname__}(x=1, y=2.0, z=4)" and Extended(1) == Extended(1, 2.0)
    for options, error in (({"order": True}, None), ({"kw_only": True}, None), ({"frozen": False}, TypeError)):
        base = plain if error else object

        def make(base: Any = base, options: dict[str, bool] = options) -> Any:
            return lazy_dataclass.dataclass(**options)(
                types.new_class(
                    "Rare", (base,), {}, lambda space: space.update(__annotations__={"x": "int"}, __doc__=".")
                )
            )

        if error is None:
            assert not any(isinstance(value, LazyAttribute) for value in vars(make()).values())
        else:
            with pytest.raises(error, match="cannot inherit non-frozen dataclass from a frozen one"):
                make()


def test_subclasses_of_frozen_lazy_dataclasses_refuse_changes_of_their_fields_only() -> None:
    kind = classes(lazy_dataclass.dataclass, {"frozen": True})[0]

    class Further(kind):  # type: ignore[valid-type, misc]
        """A class with an attribute of its own."""

    value = Further(1)
    value.note = "own"
    assert value.note == "own"
    del value.note
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        value.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del value.x
    plain = kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'note'"):
        plain.note = "lost"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'note'"):
        del plain.note


Pickled = classes(lazy_dataclass.dataclass, {"frozen": True, "slots": True})[1]
Pickled.__qualname__ = Pickled.__name__ = "Pickled"


def test_lazy_dataclass_instances_can_be_pickled() -> None:
    record = Pickled(3, 4.0, [5])
    assert pickle.loads(pickle.dumps(record)) == record and pickle.loads(pickle.dumps(record)).z == [5]
    assert sys.getrefcount(record) < 10
