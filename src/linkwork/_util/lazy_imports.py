"""Modules and names that are imported when they are first used.

`public_names` is for public packages (PEP 562), `LazyModule` for functions that are called often, `LazyAttribute` for
attributes of a class that other modules define.

Python has a lock for each module that is being imported.  A fork copies only the thread that forks, so a forked process
would wait forever for a module that another thread was importing.  `wait_for_imports` is for hooks before a fork.
"""

from __future__ import annotations

import sys
import time
from _thread import get_ident
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import _bootstrap, import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from linkwork._util.collection_pauses import without_collections

__all__ = [
    "START",
    "ImportedFunction",
    "LazyAttribute",
    "LazyModule",
    "defining_module",
    "imported",
    "optional_module",
    "public_modules",
    "public_names",
    "publish_classes",
    "published_in",
    "wait_for_imports",
]

START = time.time_ns()  # of the first import of a module of linkwork
_MODULES: dict[str, tuple[str, ...]] = {}  # public modules in each public package
_PUBLIC = {"linkwork"}  # public modules in packages that were imported
_PATHS: dict[str, dict[str, str]] = {}  # the innermost public package of each name that a module in it defines
_HOMES: dict[type, str] = {}  # the modules that define public classes
_Class = TypeVar("_Class", bound=type)


def public_names(
    package: str,
    homes: Mapping[str, str] | None = None,
    *,
    modules: str = "",
    unlisted: str = "",
    names: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the functions `__getattr__` and `__dir__` of a public module, and the list ``__all__``.

    ``homes`` has the names that each module defines, in one string, and ``modules`` the public submodules: both are
    imported at first access.  ``unlisted`` are submodules that ``import *`` leaves out, and ``names`` are public names
    that the module has itself.  The error of a missing attribute names the nearest public name.
    """
    home_of = {name: home for home, defined in (homes or {}).items() for name in defined.split()}
    _MODULES[package], unlisted_names = tuple(modules.split()), tuple(unlisted.split())
    submodules = frozenset((*_MODULES[package], *unlisted_names))
    listed = sorted({*home_of, *_MODULES[package], *names})
    if package in _PUBLIC:
        _PUBLIC.update(f"{package}.{module}" for module in submodules)
        for name, home in home_of.items():
            if home.startswith(f"{package}."):
                _PATHS.setdefault(home, {})[name] = package

    def get(name: str) -> Any:
        """Import a name at first access.  Raises AttributeError, with the nearest public name."""
        if name in submodules:
            return _imported(f"{package}.{name}")
        if name not in home_of:
            raise _missing(package, name)
        value = vars(sys.modules[package])[name] = getattr(_imported(home_of[name]), name)
        return value

    def public() -> list[str]:
        """Return the documented names."""
        return sorted((*listed, *unlisted_names))

    get.__name__ = get.__qualname__ = "__getattr__"
    public.__name__ = public.__qualname__ = "__dir__"
    get.__module__ = public.__module__ = package
    return get, public, listed


def publish_classes(module: ModuleType) -> None:
    """Set the module of the public classes that a module defines to the package that publishes them.

    Pickles, `help` and messages then name the public path.  It is called after the import of the module.
    """
    home = module.__name__
    while home:  # a package's table may name a package in it
        for name, package in _PATHS.get(home, {}).items():
            value = vars(module).get(name)
            if isinstance(value, type) and value.__module__ == module.__name__:
                published_in(package)(value)
        home = home.rpartition(".")[0]


def published_in(package: str) -> Callable[[_Class], _Class]:
    """Return the decorator of a class that ``package`` publishes although the class's module is outside of it."""

    def publish(kind: _Class) -> _Class:
        _HOMES[kind] = kind.__module__
        kind.__module__ = package
        if "__firstlineno__" in vars(kind):  # Python 3.13: `inspect` would look for the line in the package's file
            delattr(kind, "__firstlineno__")
        return kind

    return publish


def defining_module(kind: type) -> str:
    """Return the name of the module that defines a class."""
    return _HOMES.get(kind, kind.__module__)


class LazyModule:
    """Module that is imported at the first access to an attribute; attributes are stored in this object."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(_imported(self._name), name)
        vars(self)[name] = value
        return value

    def _trace_content(self) -> str:
        """Return the module's name, as the value on which traces of functions that use the module depend."""
        return self._name


class ImportedFunction:
    """A function that is imported at its first call; ``home`` is its module and name, such as "json.dumps"."""

    def __init__(self, home: str) -> None:
        self._home = home

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return imported(self._home)(*arguments, **named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImportedFunction) and self._home == other._home

    def __hash__(self) -> int:
        return hash(self._home)


class LazyAttribute:
    """Descriptor of a class's attribute whose value is created at the first access, by ``make(owner)``.

    The value is then stored in the class, in place of the descriptor.
    """

    stored: ClassVar[list[Callable[[type, str, Any], None]]] = []  # called with owner, name and value after the access

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    if TYPE_CHECKING:
        _value: Any  # once it is made

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    @classmethod
    def add(cls, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        """Add an attribute to a class that exists."""
        attribute = cls(make)
        attribute.__set_name__(owner, name)
        setattr(owner, name, attribute)

    def __get__(self, instance: object, kind: type | None = None) -> Any:
        value = self.value()
        if vars(self._owner).get(self._name) is self:
            setattr(self._owner, self._name, value)
            for note in self.stored:
                note(self._owner, self._name, value)
        bind = getattr(type(value), "__get__", None)
        return value if bind is None else bind(value, instance, kind)

    def value(self) -> Any:
        """Return the attribute's value, which is the same object in all threads."""
        if "_value" not in vars(self):
            vars(self).setdefault("_value", self._make(self._owner))
        return self._value

    def becomes(self, value: Any) -> bool:
        """Return True if ``value`` is the object that this descriptor created, which replaces it in the class."""
        return vars(self).get("_value", self) is value

    def change(self, function: Callable[[Any], Any]) -> None:
        """Replace the attribute's value by ``function(value)``."""
        self.add(self._owner, self._name, lambda _: function(self.value()))


def imported(home: str) -> Any:
    """Import a module and return one of its attributes, both stated as in "json.dumps"."""
    module, _, name = home.rpartition(".")
    return getattr(_imported(module), name)


def public_modules(package: str) -> Iterator[str]:
    """Yield the names of the public modules in a public package, submodules first, and of the package itself.

    The modules are imported; names that their packages import at first access are not.
    """
    import_module(package)
    for name in _MODULES.get(package, ()):
        yield from public_modules(f"{package}.{name}")
    yield package


@partial(without_collections, many=1000)
def _imported(module: str) -> Any:
    """Import a module after the packages that contain it.

    Threads that import a package and a module in it at the same time then acquire Python's locks in one order.
    """
    for k, character in enumerate(module):
        if character == ".":
            import_module(module[:k])
    return import_module(module)


def _missing(package: str, name: str) -> AttributeError:
    """Return the error of a missing attribute, without a hint for a private name or during an import."""
    is_import = sys._getframe(2).f_globals.get("__name__") == "importlib._bootstrap"  # "from package import module"
    is_module = is_import and hasattr(sys.modules[package], "__path__") and find_spec(f"{package}.{name}")
    if name.startswith("_") or is_module:
        return AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
    hints = import_module("linkwork._util.foreign_names")  # which imports this module
    error: AttributeError = hints.missing_attribute(package, name)
    return error


# -- forks

_PACKAGES = ("linkwork", "numpy", "llvmlite")  # whose modules linkwork imports at first use
_POLL = 1e-3  # [s]


def wait_for_imports(longest: float = 10.0) -> None:
    """Wait until no other thread imports a module that linkwork imports at first use, ``longest`` [s] at most."""
    end = time.monotonic() + longest
    while _others_import() and time.monotonic() < end:
        time.sleep(_POLL)


def _others_import() -> bool:
    """Return True if another thread is importing a module of linkwork, NumPy or llvmlite."""
    thread = get_ident()
    for name, reference in list(getattr(_bootstrap, "_module_locks", {}).items()):
        if name.partition(".")[0] in _PACKAGES:
            lock = reference()
            if lock is not None and getattr(lock, "owner", None) not in (None, thread):
                return True
    return False


def optional_module(name: str, needed: str, extra: str) -> Any:
    """Import a module that an extra of linkwork installs.

    ``needed`` says what needs the package: "tables need pandas".  Raises ImportError, with the installation command,
    without the package.
    """
    try:
        return import_module(name)
    except ImportError as error:
        message = f'{needed}, which is not installed: pip install "linkwork[{extra}]"'
        raise ImportError(message, name=error.name) from error
