"""The variables that functions of users refer to by name, with the code that names each."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from linkwork._util.own_code import is_of_user, is_proved
from linkwork._util.user_frames import globals_in, names_in
from linkwork.compiler.cache.function_content import attributes_of
from linkwork.compiler.trace.user_state import CALLABLES, functions_of, parts_of, readers_in

__all__ = ["ReadVariables", "Variable"]

_MAX_PARTS = 100  # elements of a container; a larger one is data
_MAX_VARIABLES = 5000  # of all functions together
_DEEPEST = 3  # levels of attributes and elements


class Variable(NamedTuple):
    """A variable, or an attribute or element of one."""

    name: str
    code: CodeType  # of the function that names it
    whole: str  # the name in this code
    owner: Any  # the object, container or function that has it
    value: Any

    @property
    def position(self) -> str:
        """File and line that name the variable."""
        return f"{self.code.co_filename}:{_line(self.code, self.whole)}"


class ReadVariables:
    """Variables that users' functions in a value (such as a closure) read, and functions that these call by name."""

    def __init__(self, value: Any) -> None:
        self.names: set[str] = set()  # in the code of all functions
        self.variables: list[Variable] = []
        self._functions: set[tuple[CodeType, int]] = set()
        self._objects: dict[int, Any] = {}
        self._read(value)

    def _read(self, value: Any) -> None:
        for reader in readers_in([value]):
            if isinstance(reader, MethodType) and isinstance(reader.__func__, FunctionType):
                self._read_function(reader.__self__, reader.__func__)
            elif isinstance(reader, FunctionType):
                self._read_function(None, reader)
            elif isinstance(reader, CALLABLES):
                for part in parts_of(reader):
                    self._read(part)
            elif not isinstance(reader, type):
                for method in functions_of(type(reader)):
                    if isinstance(method, FunctionType):
                        self._read_function(reader, method)

    def _read_function(self, bound: Any, function: FunctionType) -> None:
        """Read the variables of a function, which is bound to an object or to None."""
        code = function.__code__
        if (code, id(bound)) in self._functions:
            return
        self._functions.add((code, id(bound)))
        names = names_in(code)
        self.names.update(names)
        for name, value in _values(bound, function, names):
            plain = value.__func__ if isinstance(value, MethodType) else value
            if isinstance(plain, FunctionType) and is_of_user(plain):
                self._read_function(value.__self__ if isinstance(value, MethodType) else None, plain)
                continue
            source = code, name
            if isinstance(value, ModuleType) and not is_proved(value):
                for key in names:
                    if key in vars(value) and _is_of_user_module(value):
                        self._add(f"{name}.{key}", source, value, vars(value)[key], 1)
            else:
                generator = _generator_of(value, names)
                whole = f"{name}.random" if value is sys.modules.get("numpy") else name
                self._add(whole, source, function if bound is None else bound, generator, 0)

    def _add(self, name: str, source: tuple[CodeType, str], owner: Any, value: Any, depth: int) -> None:
        """Add a value, the attributes of an object of a user's class, and the elements of a container."""
        if isinstance(value, (ModuleType, FunctionType)) or len(self.variables) >= _MAX_VARIABLES:
            return
        self.variables.append(Variable(name, *source, owner, value))
        if depth == _DEEPEST or isinstance(value, (int, float, str)) or id(value) in self._objects:
            return
        self._objects[id(value)] = value
        if isinstance(value, (list, tuple, dict)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in [*items] if len(value) <= _MAX_PARTS else []:
                self._add(f"{name}[{key!r}]", source, value, part, depth + 1)
        elif is_of_user(value if isinstance(value, type) else type(value)):
            for key, part in [*vars(value).items()] if isinstance(value, type) else attributes_of(value):
                if not key.startswith("__"):
                    self._add(f"{name}.{key}", source, value, part, depth + 1)


def _values(bound: Any, function: FunctionType, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the object that a function is bound to, and the values of its closure and of globals that it names."""
    code = function.__code__
    if bound is not None and code.co_varnames:
        yield code.co_varnames[0], bound
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # the cell is empty
            yield name, None
    variables = function.__globals__
    for name in globals_in(code):
        if name in variables:
            yield name, variables[name]
    for name in ("random", "numpy"):  # a function may import it
        if name in names and name not in variables and name in sys.modules:
            yield name, sys.modules[name]


def _generator_of(value: Any, names: list[str]) -> Any:
    """Return the generator of random numbers that a function or module uses; other values as they are."""
    if isinstance(value, ModuleType) and value.__name__ == "random":
        return getattr(value, "_inst", None)
    if isinstance(value, ModuleType) and value.__name__ in ("numpy", "numpy.random"):
        module = sys.modules.get("numpy.random.mtrand")
        return getattr(module, "_rand", None) if value.__name__ != "numpy" or "random" in names else None
    return value.__self__ if isinstance(value, (BuiltinMethodType, MethodType)) else value


def _is_of_user_module(module: ModuleType) -> bool:
    """Return True if a module belongs to no installed package."""
    file = getattr(module, "__file__", None) or ""
    return "site-packages" not in file and "dist-packages" not in file


def _line(code: CodeType, name: str) -> int:
    """Return the last line that stores the variable, otherwise the first that reads it."""
    read = stored = 0
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno if instruction.positions else None
        if instruction.argval == name and line:
            if instruction.opname.startswith("STORE"):
                stored = line
            read = read or line
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not (stored or read):
            inner = _line(constant, name)
            read = inner if inner != constant.co_firstlineno else 0
    return stored or read or code.co_firstlineno
