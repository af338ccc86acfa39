"""Dataclasses whose methods are generated when they are first used.

`dataclass` has the arguments and the results of Python's own.  Python generates the methods of a class from text, in
0.4 ms: a third of the time in which modules are imported, while most methods are never called.

Options and fields that are rare are left to Python: those for order, keywords and hashes, and `InitVar`.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from linkwork._util.lazy_imports import LazyAttribute

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        """Decorate a class like `dataclasses.dataclass`."""
        return (lambda cls: _dataclass(cls, options)) if cls is None else _dataclass(cls, options)


__all__ = ["dataclass"]

_FIELDS, _PARAMS = "__dataclass_fields__", "__dataclass_params__"


def _dataclass(cls: Any, options: Mapping[str, bool]) -> Any:
    """Return the dataclass of a class."""
    fields = _own_fields(cls)
    frozen, slots, eq = (options.get(name, name == "eq") for name in ("frozen", "slots", "eq"))
    bases = [vars(base)[_PARAMS] for base in cls.__mro__[1:] if _PARAMS in vars(base)]
    if (
        fields is None
        or not options.keys() <= {"frozen", "slots", "eq"}
        or not cls.__doc__
        or any(base.frozen != frozen for base in bases)
        or not {"__setattr__", "__delattr__", "__slots__", "__hash__", "__eq__"}.isdisjoint(vars(cls))
    ):
        return dataclasses.dataclass(cls, **options)
    for name, field in fields.items():
        field.name, field.type = name, inspect.get_annotations(cls)[name]
        field.kw_only, field._field_type = False, _sample().__dataclass_fields__["x"]._field_type  # type: ignore[attr-defined]
        if not slots and isinstance(vars(cls).get(name), Field):
            delattr(cls, name) if field.default is MISSING else setattr(cls, name, field.default)
    home = cls.__module__  # later the package that publishes the class
    methods: dict[str, Callable[[Any], Any]] = {
        _FIELDS: lambda new: _all_fields(new, fields),
        "__match_args__": lambda new: tuple([field.name for field in getattr(new, _FIELDS).values() if field.init]),
        "__init__": lambda new: _init(new, home, frozen=frozen, slots=slots),
        "__repr__": lambda new: _by_python(new, home, "__repr__"),
    }
    if eq:
        methods["__eq__"] = lambda new: _equality(new, home)
    if eq and frozen:
        methods["__hash__"] = lambda new: _by_python(new, home, "__hash__")
    more: dict[str, Any] = {name: LazyAttribute(make) for name, make in methods.items() if name not in vars(cls)}
    more[_PARAMS] = _parameters(frozen, eq, slots)
    if "__replace__" in vars(_sample()):  # from Python 3.13 on
        more["__replace__"] = vars(_sample())["__replace__"]
    if eq and not frozen:
        more["__hash__"] = None
    classes: list[Any] = []
    if frozen:
        more |= _refusals(cls.__qualname__, classes)
        if slots:
            states = {"__getstate__": _state, "__setstate__": _set_state}
            more |= {name: method for name, method in states.items() if name not in vars(cls)}
    if slots:
        classes.append(_slotted(cls, fields, more))
    else:
        classes.append(cls)
        for name, value in more.items():
            setattr(cls, name, value)
            if isinstance(value, LazyAttribute):
                value.__set_name__(cls, name)
    return classes[0]


def _own_fields(cls: Any) -> dict[str, Field[Any]] | None:
    """Return the fields that a class adds, without those of its bases; None if Python is to make the class."""
    result: dict[str, Field[Any]] = {}
    for name, kind in inspect.get_annotations(cls).items():
        if not isinstance(kind, str) or "InitVar" in kind or "KW_ONLY" in kind:
            return None
        if kind.startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = getattr(cls, name, MISSING)
        if isinstance(default, MemberDescriptorType):
            default = MISSING
        field: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
        if field.kw_only is True or (field.default is not MISSING and type(field.default).__hash__ is None):
            return None
        result[name] = field
    return result


@cache
def _sample() -> Any:
    """Return a class that Python generated, with attributes that are private."""
    plain = type("Sample", (), {"__annotations__": {"x": "Any"}, "__doc__": "Without it, Python reads a signature."})
    return dataclasses.dataclass(init=False, repr=False, eq=False)(plain)


@cache
def _parameters(frozen: bool, eq: bool, slots: bool) -> Any:
    result = copy.copy(getattr(_sample(), _PARAMS))
    result.init = result.repr = True
    result.frozen, result.eq = frozen, eq
    if hasattr(result, "slots"):  # from Python 3.12 on
        result.slots = slots
    return result


def _slotted(cls: Any, fields: Mapping[str, Field[Any]], more: Mapping[str, Any]) -> Any:
    """Return a class with slots for its fields, instead of the attributes that have their defaults."""
    taken = {slot for base in cls.__mro__[1:-1] for slot in _slots(base)}
    inherited = [name for base in cls.__mro__[1:] if _FIELDS in vars(base) for name in getattr(base, _FIELDS)]
    content = {key: x for key, x in vars(cls).items() if key not in (*fields, *inherited, "__dict__", "__weakref__")}
    content |= more
    content["__slots__"] = tuple([name for name in dict.fromkeys((*inherited, *fields)) if name not in taken])
    new = type(cls)(cls.__name__, cls.__bases__, content)
    new.__qualname__ = cls.__qualname__
    return new


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _all_fields(cls: type, fields: Mapping[str, Field[Any]]) -> dict[str, Field[Any]]:
    """Return the fields of a class by name, those of its bases first."""
    result: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        result |= getattr(base, _FIELDS) if _FIELDS in vars(base) else {}
    return {**result, **fields}


# -- methods


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _init(cls: Any, home: str, *, frozen: bool, slots: bool) -> Any:
    """Return the constructor, a function of the module ``home`` that assigns the fields in their order."""
    parameters, lines, values = ["self"], [], {"_set": object.__setattr__, "_factory": _FACTORY}
    kinds: dict[str, Any] = {}
    for field in getattr(cls, _FIELDS).values():
        name, value = field.name, field.name
        has_factory = field.default_factory is not MISSING
        if has_factory or field.default is not MISSING:
            values[f"_default_{name}"] = field.default_factory if has_factory else field.default
        if field.init:
            kinds[name] = field.type
            default = "_factory" if has_factory else f"_default_{name}"
            parameters.append(f"{name}={default}" if f"_default_{name}" in values else name)
            if has_factory:
                value = f"_default_{name}() if {name} is _factory else {name}"
        elif has_factory:
            value = f"_default_{name}()"
        elif slots and field.default is not MISSING:
            value = f"_default_{name}"
        else:
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n  ".join(lines or ["pass"])
    result = _function(cls, home, f"__init__({', '.join(parameters)})", body, values)
    result.__annotations__ = {**kinds, "return": None}
    return result


def _equality(cls: Any, home: str) -> Any:
    """Return a method that compares tuples of fields, which may be symbols: equal objects need not be compared.

    Python has such a method up to version 3.12, and compares field by field from 3.13 on.
    """
    names = [field.name for field in getattr(cls, _FIELDS).values() if field.compare]
    ours, theirs = ("".join(f"{owner}.{name}," for name in names) for owner in ("self", "other"))
    body = f"if other.__class__ is self.__class__:\n   return ({ours}) == ({theirs})\n  return NotImplemented"
    return _function(cls, home, "__eq__(self, other)", body, {})


def _function(cls: Any, home: str, head: str, body: str, values: Mapping[str, Any]) -> Any:
    """Return a method of a class, as a function of the module ``home`` that knows ``values`` by name."""
    name = head.partition("(")[0]
    text = f"def _make({', '.join(values)}):\n def {head}:\n  {body}\n return {name}"
    space: dict[str, Any] = {}
    exec(text, getattr(sys.modules.get(home), "__dict__", {}), space)
    result = space["_make"](**values)
    result.__qualname__ = f"{cls.__qualname__}.{name}"
    return result


def _by_python(cls: Any, home: str, name: str) -> Any:
    """Return a method that Python generates for another class of the same fields."""
    fields = getattr(cls, _FIELDS).values()
    flags = [(f.name, dataclasses.field(repr=f.repr, hash=f.hash, compare=f.compare)) for f in fields]
    content = {"__annotations__": {key: "Any" for key, _ in flags}, "__module__": home, "__doc__": " "}
    options = {"init": False, "repr": name == "__repr__", "eq": name == "__hash__", "unsafe_hash": name == "__hash__"}
    generated: Any = dataclasses.dataclass(type(cls.__name__, (), content | dict(flags)), **options)
    result = vars(generated)[name]
    result.__qualname__ = f"{cls.__qualname__}.{name}"
    return result


def _refusals(name_of_class: str, classes: Sequence[Any]) -> dict[str, Any]:
    """Return the methods of a frozen class that refuse changes; ``classes`` has the class when they are called."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is classes[0] or name in getattr(classes[0], _FIELDS):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(classes[0], self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is classes[0] or name in getattr(classes[0], _FIELDS):
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(classes[0], self).__delattr__(name)

    methods = {method.__name__: method for method in (__setattr__, __delattr__)}
    for name, method in methods.items():
        method.__qualname__ = f"{name_of_class}.{name}"
    return methods


def _state(self: Any) -> list[Any]:
    """Return the values of the fields, for pickle."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
