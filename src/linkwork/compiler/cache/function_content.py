"""Digest of everything that a function of linkwork depends on: its code, and the values of its closure.

A trace that was stored under this digest is found again without running the function.  Values are encoded by their
content, never by their identity, so the digest is the same in every process.  Code is encoded by its name only where it
is proved to be that of linkwork, Python or NumPy (`linkwork._util.own_code`).  Other values, such as a user's function,
have no digest: functions that read them are traced.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any
from weakref import ref

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.own_code import is_own, is_proved
from linkwork.compiler.cache.disk_cache import digest

__all__ = [
    "PLAIN",
    "TRACE_CONTENT",
    "Encoder",
    "UnknownContentError",
    "attributes_of",
    "content_digest",
    "content_key",
    "joined",
]

TRACE_CONTENT = "_trace_content"  # method of a class that returns all that traced functions may read of an instance


class UnknownContentError(TypeError):
    """A value's content is unknown: it depends on code that is not linkwork's, or on state that cannot be compared."""


def content_digest(*values: Any) -> str:
    """Return a digest of the values' content.  Raises UnknownContentError for a value without a digest."""
    return hashlib.sha256(Encoder().tuple(values)).hexdigest()


def content_key(kind: str, *values: Any) -> str | None:
    """Return the cache name of a result that depends on these values; None if a value has no digest."""
    try:
        return f"{digest([content_digest(*values)], [kind])}-{kind}"
    except UnknownContentError:
        return None


class Encoder:
    """Encoder of Python values as bytes that are equal for equal content.

    Objects are encoded as digests, each of which is computed once.
    """

    def __init__(self) -> None:
        self.digests: dict[int, bytes | None] = {}  # by an object's id; None while it is being encoded
        self.alive: list[Any] = []  # temporary objects, whose ids must not be used again

    def __call__(self, value: Any) -> bytes:
        plain = PLAIN.get(type(value))
        if plain is not None:
            return plain(value)
        key = id(value)
        known = self.digests.get(key, b"")
        if known:
            return known
        if known is None:
            return self._cycle(value)
        stored = _stored.get(key)
        if stored is not None and stored[0]() is value:
            return stored[1]
        self.digests[key] = None
        result = hashlib.sha256(self._object(value)).digest()
        self.digests[key] = result
        self.alive.append(value)
        if getattr(type(value), "_stores_content", False):
            _stored[key] = ref(value, partial(_stored.pop, key)), result
        return result

    def tuple(self, values: Iterable[Any]) -> bytes:
        return joined([plain(x) if (plain := PLAIN.get(type(x))) is not None else self(x) for x in values])

    def _cycle(self, value: Any) -> bytes:
        if isinstance(value, FunctionType):  # it calls itself
            return f"recursion {value.__module__}.{value.__qualname__}".encode()
        raise UnknownContentError(f"{type(value).__qualname__} contains itself")

    def _object(self, value: Any) -> bytes:
        kind = type(value)
        record = _RECORDS.get(kind)
        if record is not None:
            return record[0] + self.tuple([getattr(value, name) for name in record[1]])
        if kind in (tuple, list):
            return kind.__name__.encode() + self.tuple(value)
        if kind in (dict, MappingProxyType):
            return b"dict" + self.tuple([part for item in value.items() for part in item])
        if kind in (set, frozenset):
            return b"set" + joined(sorted(map(self, value)))
        if kind is slice:
            return b"slice" + self.tuple((value.start, value.stop, value.step))
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, type):
            return b"class " + _class(value)
        if kind is FunctionType:
            return self._function(value)
        if kind is CodeType:
            return b"code" + self.tuple([getattr(value, name) for name in _CODE])
        if kind is MethodType:
            return b"method" + self.tuple((value.__func__, value.__self__))
        if kind is partial:
            return b"partial" + self.tuple((value.func, value.args, value.keywords))
        if isinstance(value, (BuiltinFunctionType, _ARRAY_FUNCTION)):
            owner: Any = getattr(value, "__self__", None)
            if owner is None or isinstance(owner, ModuleType):
                return b"builtin " + _named(value)
            return b"builtin method" + self.tuple((value.__name__, owner))
        if isinstance(value, np.ufunc):
            name = str(value.__name__)
            if getattr(np, name, None) is not value:
                raise UnknownContentError(f"the ufunc {name}")
            return f"ufunc {name}".encode()
        if kind is _CACHED_FUNCTION:
            return b"cached" + self.tuple((value.__wrapped__,))
        if isinstance(value, ModuleType):
            return b"module " + _named(value)
        named = _class(kind)
        if is_dataclass(kind) and not issubclass(kind, (tuple, Enum)) and not hasattr(value, TRACE_CONTENT):
            _RECORDS[kind] = named, tuple([f.name for f in fields(kind) if f.compare])
            return self._object(value)
        return named + self._state(value)

    def _array(self, value: np.ndarray) -> bytes:
        if value.dtype.names is not None:
            raise UnknownContentError("a structured array")
        if value.dtype.hasobject:
            return b"objects" + self.tuple((value.shape, value.ravel().tolist()))
        return b"array" + self.tuple((value.dtype.str, value.shape, value.tobytes()))

    def _function(self, function: FunctionType) -> bytes:
        cells = []
        for cell in function.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # it has no content yet
                cells.append("empty cell")
        return _named(function) + self.tuple((function.__code__, function.__defaults__, function.__kwdefaults__, cells))

    def _state(self, value: Any) -> bytes:
        """Encode all attributes of an object that is not a dataclass."""
        if isinstance(value, tuple):
            return self.tuple(value)
        if isinstance(value, Enum):
            return self(value.name)
        hook = getattr(value, TRACE_CONTENT, None)
        if hook is not None:
            return self(hook())
        if isinstance(value, _BASES) or not is_own(type(value)):
            raise UnknownContentError(f"a value of type {type(value).__qualname__}")
        return self.tuple([part for item in attributes_of(value) for part in item])


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object by name, without those of `functools.cached_property`."""
    kind, result = type(value), {}
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            attribute = getattr(value, name, _ABSENT)
            if name != "__weakref__" and attribute is not _ABSENT:
                result[name] = attribute
    for name, attribute in getattr(value, "__dict__", {}).items():
        if not isinstance(getattr(kind, name, None), cached_property):
            result[name] = attribute
    return [(name, result[name]) for name in sorted(result)]


def _named(value: Any) -> bytes:
    """Return the name of a module, class or function of a library.  Raises UnknownContentError for other values."""
    name = value.__name__ if isinstance(value, ModuleType) else f"{value.__module__}.{value.__qualname__}"
    if not is_proved(value):
        raise UnknownContentError(f"code that is not proved to be {name}")
    return name.encode()


def _class(kind: type) -> bytes:
    name = _named(kind)
    return name + joined([field.encode() for field in kind._fields]) if hasattr(kind, "_fields") else name


def joined(parts: Sequence[bytes]) -> bytes:
    """Concatenate byte strings with their boundaries, so that different sequences give different bytes."""
    return b"%d(" % len(parts) + b"".join([b"%d:%b" % (len(part), part) for part in parts])


def _scalar(value: Any) -> bytes:
    return b"%b%b" % (type(value).__name__.encode(), value.tobytes())


PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"None",
    type(...): lambda _: b"...",
    bool: lambda x: b"true" if x else b"false",
    int: lambda x: b"i%d" % x,
    float: lambda x: b"f" + struct.pack("<d", x),
    complex: lambda x: b"c" + struct.pack("<dd", x.real, x.imag),
    str: lambda x: b"s" + x.encode("utf-8", "surrogatepass"),
    bytes: lambda x: b"b" + x,
    range: lambda x: repr(x).encode(),
    **dict.fromkeys((np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.bool_, np.uint8), _scalar),
}

# attributes of code that determine what it computes; the line distinguishes functions of one name
_CODE = (
    *("co_qualname", "co_firstlineno", "co_code", "co_exceptiontable", "co_flags", "co_consts", "co_names"),
    *("co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
_ABSENT = object()
_CACHED_FUNCTION, _ARRAY_FUNCTION = type(cache(len)), type(np.sum)

_BASES = (Mapping, list, set, frozenset, int, float, str, bytes, np.generic)  # of classes with more than attributes

# dataclasses of linkwork, and of libraries: their names, and their fields that take part in comparisons
_RECORDS: dict[type, tuple[bytes, tuple[str, ...]]] = {}
_stored: dict[int, tuple[Any, bytes]] = {}  # by id: a weak reference to the object, and its digest
