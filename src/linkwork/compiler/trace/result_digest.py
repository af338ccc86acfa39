"""Digest of everything that a stored result depends on: data, and users' code with the variables that it reads.

It extends the digest of traces (`compiler.cache.function_content`), which refuses users' code.  Here users' functions
and classes are encoded by their code, defaults, closures and the globals that the code names.  Objects are encoded by
their class and attributes.  The digest is equal in every process.  Code of linkwork, Python and NumPy is encoded by its
name, code of other installed packages by its name and version.  Numbers are compared by value, so 1 equals 1.0.  Values
that code accesses by computed names (``getattr``, ``globals()``) are not included.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import struct
import sys
from collections.abc import Iterable
from dataclasses import is_dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from linkwork._util.own_code import is_of_user, is_proved
from linkwork._util.user_frames import globals_in, names_in
from linkwork.compiler.cache.function_content import (
    PLAIN,
    TRACE_CONTENT,
    Encoder,
    UnknownContentError,
    attributes_of,
    joined,
)
from linkwork.compiler.cache.program_digest import content
from linkwork.compiler.program import Program
from linkwork.compiler.trace.user_state import CALLABLES, cells_of, parts_of

__all__ = ["result_digest"]

_CONTAINERS = (tuple, list, dict, set, frozenset)
_PYTHON_CLASS = 1 << 9  # flag of classes that are not static types of C
_EXACT = 1 << 53  # integers below are exact as floats
_CODE = ("co_qualname", "co_code", "co_exceptiontable", "co_flags", "co_consts", "co_names", "co_varnames")
_DERIVED = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__")  # of dataclasses
_ABOUT = (  # attributes of classes that code does not read
    *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__"),
    *("__annotations__", "__annotate_func__", "__annotations_cache__", "__match_args__", "__parameters__"),
    *("__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl"),
)


def result_digest(*values: Any) -> str:
    """Return a digest that is equal for values of equal content, in every process."""
    return hashlib.sha256(_ResultEncoder().tuple(values)).hexdigest()


class _ResultEncoder(Encoder):
    """Encoder that knows the content of users' functions, classes and objects."""

    def __call__(self, value: Any) -> bytes:
        if isinstance(value, (bool, np.bool_)):
            return b"true" if value else b"false"
        if isinstance(value, (int, np.integer)) and abs(int(value)) >= _EXACT:
            return b"i%d" % int(value)
        if isinstance(value, (int, float, np.integer, np.floating)):
            return b"n" + struct.pack("<d", float(value) + 0.0)
        if type(value) in PLAIN:
            return PLAIN[type(value)](value)
        key = id(value)
        if key not in self.digests:
            self.digests[key] = None
            self.alive.append(value)
            self.digests[key] = hashlib.sha256(self._object(value)).digest()
        known = self.digests[key]
        return known if known is not None else f"recursion {_name(value)}".encode()

    def tuple(self, values: Iterable[Any]) -> bytes:
        return joined([self(x) for x in values])

    def _object(self, value: Any) -> bytes:
        if type(value) in (tuple, list):
            return b"sequence" + self.tuple(value)
        if isinstance(value, CodeType):
            return b"code" + self.tuple(getattr(value, name) for name in _CODE)
        if isinstance(value, (FunctionType, type, ModuleType)) and not is_proved(value):
            return self._code_of_user(value)
        if isinstance(value, CALLABLES) and not isinstance(value, FunctionType):
            return f"callable {_name(type(value))}".encode() + self.tuple(parts_of(value))
        if type(value).__flags__ & _PYTHON_CLASS and is_of_user(type(value)):
            attributes = [(name, x) for name, x in attributes_of(value) if not _is_computed(value, name)]
            return b"object" + self.tuple(
                (type(value), parts_of(value) if isinstance(value, _CONTAINERS) else [], attributes)
            )
        if hasattr(type(value), TRACE_CONTENT) and isinstance(getattr(value, "program", None), Program):
            return b"kernel " + content(value.program).encode()
        try:
            return super()._object(value)
        except UnknownContentError:
            return f"other {_name(value)} ".encode() + _pickled(value)

    def _function(self, function: FunctionType) -> bytes:
        if "<" not in function.__qualname__:
            return f"function {_name(function)}".encode()
        return super()._function(function)

    def _code_of_user(self, value: Any) -> bytes:
        """Encode a user's function or class by its code, and an installed package's by name and version."""
        if isinstance(value, ModuleType) or not is_of_user(value):
            root = sys.modules.get((getattr(value, "__module__", None) or value.__name__).partition(".")[0])
            return f"library {_name(value)} {getattr(root, '__version__', '')}".encode()
        if isinstance(value, type):
            bases = [base for base in value.__mro__ if not is_proved(base)]
            return b"class" + self.tuple([(base.__qualname__, self._members(base)) for base in bases])
        code, variables = value.__code__, value.__globals__
        names = names_in(code)
        read = [(name, variables[name]) for name in globals_in(code) if name in variables]
        modules: list[Any] = []
        for _, module in read:  # ``read`` grows by attributes of modules, which may be modules
            if isinstance(module, ModuleType) and not is_proved(module) and module not in modules:
                modules.append(module)
                read += [(key, vars(module)[key]) for key in names if key in vars(module)]
        return b"function" + self.tuple((code, value.__defaults__, value.__kwdefaults__, cells_of(value), read))

    def _members(self, kind: type) -> list[Any]:
        left_out = {*_ABOUT, *(_DERIVED if is_dataclass(kind) else ())}
        return sorted((name, x) for name, x in vars(kind).items() if name not in left_out)


def _name(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"


def _is_computed(value: Any, name: str) -> bool:
    return isinstance(getattr(type(value), name, None), functools.cached_property)


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value, 4)
    except Exception:  # an object that refuses to be pickled is encoded by its name only
        return b""
