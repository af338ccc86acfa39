"""Proof that code belongs to linkwork, Python or NumPy, and that linkwork's code was not changed after its import.

The name of a module proves nothing: a user's file may have the name of a module of Python, decorators copy names, and
attributes may be replaced while Python runs.  Machine code that is found by the content of a function needs the proof.

`record_imports` is called before other modules of linkwork are imported.  Assignments to attributes of its modules from
outside are noted when they happen.  Attributes of its classes are compared with the attributes recorded after the
import.  Modules that store, find or load code, and modules for display, are left out: they do not change computed
values.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, ValuesView
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from itertools import accumulate, chain
from operator import attrgetter, is_
from types import FunctionType, MethodType, ModuleType
from typing import Any

from linkwork._util.lazy_imports import LazyAttribute, defining_module, publish_classes
from linkwork._util.thread_safety import Lock

__all__ = ["is_of_user", "is_own", "is_proved", "record_imports", "state_of_attributes"]

_PACKAGE = __name__.partition(".")[0]
_ABSENT = object()
_BOUND = staticmethod, classmethod, MethodType  # they have a __func__
_VERSION_SLOT = 46  # words of a type object of CPython between its reference count and type, and its version
_INSTALLED = ("site-packages", "dist-packages")  # folders beside Python's own modules
_LEFT_OUT = (
    *("_util", "cli", "viewer", "compiler.cache", "compiler.code_parts", "compiler.kernel_code"),
    *("compiler.codegen.jit", "compiler.pickling"),
)


def is_own(value: Any, package: str = _PACKAGE) -> bool:
    """Return True if a class, function or module was imported from linkwork's files.

    ``package`` is a module of linkwork that contains it, by default any.  A function inside another one counts as own,
    whatever its closure contains.
    """
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and f"{name}.".startswith(f"{package}.") and is_proved(value)


def is_proved(value: Any) -> bool:
    """Return True if a class, function or module is the object of linkwork, Python or NumPy that its name refers to."""
    if isinstance(value, ModuleType):
        return _is_library(value.__name__) and sys.modules.get(value.__name__) is value
    name = _module_of(value)
    if not isinstance(name, str) or not _is_library(name):
        return False
    module = sys.modules[name]
    if isinstance(value, FunctionType) and value.__globals__ is vars(module):
        return True
    return _attribute(value) is value


def _module_of(value: Any) -> Any:
    """Return the name of the module that defines a class, or the ``__module__`` of another object."""
    return defining_module(value) if isinstance(value, type) else getattr(value, "__module__", None)


def _attribute(value: Any) -> Any:
    """Return the object that the ``__module__`` and ``__qualname__`` of a class or function refer to."""
    result: Any = sys.modules.get(_module_of(value))
    for part in value.__qualname__.split("."):
        result = getattr(result, part, None)
    return result


def is_of_user(value: Any) -> bool:
    """Return True if a class or function belongs to no library and to no installed package."""
    if is_proved(value):
        return False
    if isinstance(value, FunctionType):
        file = value.__code__.co_filename
    elif value.__module__ == "__main__" or ("<" not in value.__qualname__ and _attribute(value) is not value):
        return True  # of a script or a notebook, or a class that states the name of another one
    else:
        file = getattr(sys.modules.get(value.__module__), "__file__", None) or ""
    return not any(part in file.split(os.sep) for part in _INSTALLED)


def _is_library(name: str) -> bool:
    """Return True if the imported module with this name belongs to linkwork, Python or NumPy."""
    module = sys.modules.get(name)
    known = _libraries.get(name)
    if known is None or known[0] is not module:
        known = _libraries[name] = module, module is not None and _stands_in_library(name, module)
    return known[1]


def _stands_in_library(name: str, module: ModuleType) -> bool:
    root = name.partition(".")[0]
    origin = getattr(module.__spec__, "origin", None) or getattr(module, "__file__", None)
    if root in sys.stdlib_module_names:
        if origin in ("built-in", "frozen"):
            return True
        folder = os.path.dirname(os.__file__)
    elif root in (_PACKAGE, "numpy") and getattr(sys.modules.get(root), "__file__", None):
        folder = os.path.dirname(str(sys.modules[root].__file__))
    else:
        return False
    if not isinstance(origin, str) or not origin.startswith(folder + os.sep):
        return False
    return not any(part in origin[len(folder) :].split(os.sep) for part in _INSTALLED)


# -- replaced attributes


def record_imports() -> None:
    """Record the attributes of linkwork's modules and classes when they are imported, to notice replacements."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__qualname__ != _Recorder.__qualname__]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            _watch(module)
    sys.meta_path.insert(0, _Recorder())


def state_of_attributes() -> str:
    """Return "" while all attributes of linkwork's modules and classes are those recorded after the import.

    Otherwise the text differs for different replacements.
    """
    global _noted, _version
    with _lock:
        if not _is_as_before():
            _look_at_classes()
        changed = {**_replaced, **_changed}
        if not changed:
            return ""
        if changed.keys() != _noted.keys() or any(_noted[key] is not x for key, x in changed.items()):
            _noted, _version = changed, _version + 1
        return f"replaced {_THIS_PROCESS} {_version}"


def _is_as_before() -> bool:
    """Return True if the attributes of all classes are unchanged since the last check, or since their import if later.

    Attributes are compared by identity: a wrapper may be equal to the function that it replaces.  If the classes'
    versions equal those of the last check, their attributes are unchanged too.
    """
    global _looked_at, _versions_then
    while _imported:
        kind = _imported.pop()
        _starts[kind] = len(_values)
        _views.append(vars(kind).values())
        _values.extend(_classes[kind].values())
        _versions.append(_version_of()(kind))
    versions = _present_versions()
    if not versions or versions != _versions_then:
        try:
            now = tuple(chain.from_iterable(_views))
        except RuntimeError:  # another thread adds one
            return False
        if len(now) != len(_values) or not all(map(is_, now, _values)):
            return False
        _versions_then = versions
    _looked_at = _watched
    return True


def _present_versions() -> list[int]:
    """Return the version numbers that CPython stores in all recorded classes; [] if a class has none."""
    versions = [*map(_VALUE, _versions)]
    if 0 in versions:
        _have_versions(_classes)
        versions = [*map(_VALUE, _versions)]
    return [] if 0 in versions else versions


def _have_versions(kinds: Iterable[type]) -> None:
    """Give each class without a version number a new one, by looking up an attribute of the class."""
    for kind in [*kinds]:
        kind.__init_subclass__  # noqa: B018


@cache
def _version_of() -> Callable[[type], Any]:
    """Return a function that reads the version of a class, a `ctypes.c_uint` that CPython stores in the class.

    CPython sets the version to 0 where an attribute of the class or of a base is replaced.  The next look-up of an
    attribute sets a number that no class had before.  Reading all versions takes a tenth of the time of comparing the
    attributes.  The versions are 0, which states nothing, where Python stores something else there.
    """
    from ctypes import c_size_t, c_uint, sizeof

    def read(kind: type) -> c_uint:
        return c_uint.from_address(id(kind) + object.__basicsize__ + _VERSION_SLOT * sizeof(c_size_t))

    def unknown(_: type) -> c_uint:
        return c_uint()

    return read if sys.implementation.name == "cpython" and _are_versions(read) else unknown


def _are_versions(read: Callable[[type], Any]) -> bool:
    """Return True if ``read`` returns 0 for two test classes after each change, and a new number after a look-up."""
    base = type("base", (), {"a": 1})
    kinds = [base, type("kind", (base,), {})]
    _have_versions(kinds)
    versions = [read(kind).value for kind in kinds]
    for change, arguments in ((setattr, ("a", 2)), (setattr, ("b", 2)), (delattr, ("a",))):
        change(base, *arguments)
        if any(read(kind).value for kind in kinds):
            return False
        _have_versions(kinds)
        versions += [read(kind).value for kind in kinds]
    _have_versions(kinds)
    return (
        0 not in versions
        and len({*versions}) == len(versions)
        and versions[-2:] == [read(kind).value for kind in kinds]
    )


def _look_at_classes() -> None:
    """Compare all classes of linkwork with their recorded attributes, and record the attributes that were replaced."""
    global _looked_at
    has_imported, _looked_at = _looked_at < _watched, _watched
    now = {kind: dict(vars(kind)) for kind in list(_classes)}
    _changed.clear()
    for kind, attributes in now.items():
        _changed.update(_changes(kind, attributes, has_imported))
    _views[:] = [vars(kind).values() for kind in now]
    _values[:] = chain.from_iterable(attributes.values() for attributes in now.values())
    _starts.update(zip(now, accumulate(map(len, now.values()), initial=0), strict=False))


def _note_lazy(kind: type, name: str, value: Any) -> None:
    """Record that a `LazyAttribute` of a class was replaced by its value."""
    with _lock:
        known = _classes.get(kind, {})
        lazy = known.get(name)
        if isinstance(lazy, LazyAttribute) and lazy.becomes(value):
            known[name] = value
            index = _starts.get(kind, len(_values)) + [*known].index(name)
            if index < len(_values) and _values[index] is lazy:
                _values[index] = value


LazyAttribute.stored.append(_note_lazy)


class _Recorder:
    """Import finder for linkwork's modules, which records a module's attributes after its import.

    The other finders find the module.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(f"{_PACKAGE}."):
            return None
        finders = [finder for finder in sys.meta_path if not isinstance(finder, _Recorder)]
        specs = (finder.find_spec(name, path, target) for finder in finders if hasattr(finder, "find_spec"))
        spec = next((x for x in specs if x is not None), None)
        if spec is not None and spec.loader is not None and not isinstance(spec.loader, type):
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                publish_classes(module)
                _watch(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class _WatchedModule(ModuleType):
    """Module that records assignments to its attributes from outside, such as replaced functions in tests."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = vars(self).get(name, _ABSENT)
        super().__setattr__(name, value)
        _note(self, name, before, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)

    def __delattr__(self, name: str) -> None:
        before = vars(self).get(name, _ABSENT)
        super().__delattr__(name)
        _note(self, name, before, _ABSENT)


def _note(module: ModuleType, name: str, before: Any, value: Any) -> None:
    """Record that an attribute of a module was replaced; delete the record if the imported value is restored."""
    if isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}":
        return  # the import of a module inside a package
    if name.startswith("__"):
        return  # it is Python that computes it
    key = f"{module.__name__}.{name}"
    if key in _added or (before is _ABSENT and key not in _originals and not hasattr(builtins, name)):
        _added.add(key)
        return  # no code of linkwork reads it
    if _originals.setdefault(key, before) is value:
        _replaced.pop(key, None)
    else:
        _replaced[key] = value


def _watch(module: ModuleType) -> None:
    """Record the attributes of a module and of the classes that it defines."""
    global _watched
    if module.__name__.removeprefix(f"{_PACKAGE}.").startswith(_LEFT_OUT):
        return
    _watched += 1
    module.__class__ = _WatchedModule
    for value in vars(module).values():
        if isinstance(value, type) and defining_module(value) == module.__name__:
            _classes[value] = dict(vars(value))
            _imported.append(value)


def _changes(kind: type, now: dict[str, Any], has_imported: bool) -> dict[str, Any]:
    """Return the attributes of a class that were replaced, by name.

    A module of linkwork may replace attributes of classes of others when it is imported, as ``has_imported`` states.
    """
    then = _classes[kind]
    names = [name for name in {**now, **then} if now.get(name, _ABSENT) is not then.get(name, _ABSENT)]
    replaced = [
        name
        for name in names
        if not (_is_harmless(kind, name, now, then) or (has_imported and _is_own_code(now.get(name))))
    ]
    if names and not replaced and has_imported:
        _classes[kind] = now
    return {f"{kind.__module__}.{kind.__qualname__}.{name}": now.get(name, _ABSENT) for name in replaced}


def _is_harmless(kind: type, name: str, now: Mapping[str, Any], then: Mapping[str, Any]) -> bool:
    """Return True for a changed attribute of a class that cannot change computed values.

    It is an attribute that Python computes, a lazy attribute with its value, or a new name. ``now`` and ``then`` are
    the present and the recorded attributes.
    """
    lazy = then.get(name)
    if isinstance(lazy, LazyAttribute) and lazy.becomes(now.get(name)):
        return True
    if name.startswith(("__", "_abc_")):
        return not (callable(now.get(name)) or callable(then.get(name)))
    return name not in then and not any(name in vars(base) for base in kind.__mro__[1:])


def _is_own_code(value: Any) -> bool:
    """Return True for a class of linkwork, and for a function of linkwork whose closure has no other functions."""
    if type(value) in _BOUND:
        value = value.__func__
    if type(value) is not FunctionType:  # wrappers may report the class of the wrapped object
        return issubclass(type(value), type) and is_own(value)
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return _is_library(value.__globals__.get("__name__", "")) and all(
        _is_own_code(x) for x in cells if isinstance(getattr(x, "__func__", x), FunctionType)
    )


_libraries: dict[str, tuple[ModuleType | None, bool]] = {}  # modules by name, and whether they are a library's
_classes: dict[type, dict[str, Any]] = {}  # attributes after the import, by class
_imported: list[type] = []  # classes since the last comparison
_views: list[ValuesView[Any]] = []  # the present attributes of all classes
_values: list[Any] = []  # these attributes at the last comparison
_versions: list[Any] = []  # the present versions of all classes, as `ctypes.c_uint`
_versions_then: list[int] = []  # these versions when the attributes were compared last
_VALUE = attrgetter("value")
_starts: dict[type, int] = {}  # the index of the first attribute of each class among them
_originals: dict[str, Any] = {}  # attributes of modules that were replaced, as they were after the import
_added: set[str] = set()  # attributes that modules did not have after the import
_replaced: dict[str, Any] = {}  # attributes of modules that are replaced now
_changed: dict[str, Any] = {}  # attributes of classes that are replaced now
_noted: dict[str, Any] = {}  # all replaced attributes at the last comparison
_THIS_PROCESS = os.urandom(16).hex()
_lock = Lock()
_version = 0  # number of changes of these
_watched = _looked_at = 0  # modules that are watched, now and at the last comparison
