"""Robots by the names of the package robot_descriptions, which downloads their files."""

from __future__ import annotations

import os
import pkgutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from linkwork._util.file_search import Folders
from linkwork.errors import UnknownNameError

__all__ = ["DescriptionFile", "description_file"]

_PACKAGE, _COMMIT = "robot_descriptions", "ROBOT_DESCRIPTION_COMMIT"
_ATTRIBUTES = {"urdf": "URDF_PATH", "mjcf": "MJCF_PATH", "xacro": "XACRO_PATH"}
_IMPORTS = threading.Lock()  # the commit is an environment variable during an import


@dataclass(frozen=True)
class DescriptionFile:
    """File of a robot description: its path, its format ("urdf", "mjcf" or "xacro"), package folders and arguments."""

    path: str
    format: str
    package_dirs: Folders
    arguments: Mapping[str, Any]


def description_file(
    name: str, format: str | None = None, commit: str | None = None, package_dirs: Folders | None = None
) -> DescriptionFile:
    """Return the file of a robot description, which its module in robot_descriptions downloads if necessary.

    ``format`` is "urdf" or "mjcf"; by default URDF, if the description has it. ``package_dirs`` are additional package
    folders.

    Raises ImportError without the package robot_descriptions, UnknownNameError for an unknown description or a format
    that it does not have, and TypeError for a commit that is not a string.
    """
    if find_spec(_PACKAGE) is None:
        message = 'load_description: the package robot_descriptions is missing: pip install "linkwork[descriptions]"'
        raise ImportError(message, name=_PACKAGE)
    if commit is not None and not isinstance(commit, str):
        raise TypeError(f"load_description: commit: expected the name of a commit, got {commit!r}")
    if format not in (None, "urdf", "mjcf"):
        raise UnknownNameError("format", format, ["mjcf", "urdf"], where="load_description: format")
    names = sorted(x.name for x in pkgutil.iter_modules(import_module(_PACKAGE).__path__) if _is_robot(x.name))
    if name not in names:
        close = [x for x in names if x.startswith(f"{name}_")]  # "panda" for "panda_description"
        raise UnknownNameError("description", name, close or names, where="load_description: name")
    module = _imported(name, commit)
    files = {kind: str(getattr(module, x)) for kind, x in _ATTRIBUTES.items() if hasattr(module, x)}
    formats = {"urdf" if kind == "xacro" else kind: kind for kind in reversed(files)}  # a URDF before a xacro
    if format is None and formats:
        format = "urdf" if "urdf" in formats else "mjcf"
    if format not in formats:
        raise UnknownNameError(f"format of {name!r}", format, sorted(formats), where="load_description: format")
    kind = formats[str(format)]
    return DescriptionFile(
        files[kind], kind, _folders(module, files[kind], package_dirs), dict(getattr(module, "XACRO_ARGS", {}))
    )


def _is_robot(name: str) -> bool:
    return name.endswith("_description") and not name.startswith("_")


def _imported(name: str, commit: str | None) -> ModuleType:
    """Return the module of a description, imported with a commit of its repository."""
    full = f"{_PACKAGE}.{name}"
    with _IMPORTS, _environment(commit):
        if commit is not None:
            sys.modules.pop(full, None)  # it may have been imported with another commit
        module = import_module(full)
        if commit is not None:
            sys.modules.pop(full, None)  # a later import without a commit is the default one
        return module


@contextmanager
def _environment(commit: str | None) -> Iterator[None]:
    """Set the environment variable that selects the commit, if ``commit`` is not None, and restore it afterwards."""
    before = os.environ.get(_COMMIT)
    if commit is not None:
        os.environ[_COMMIT] = commit
    try:
        yield
    finally:
        if commit is not None:
            os.environ.pop(_COMMIT, None)
            if before is not None:
                os.environ[_COMMIT] = before


def _folders(module: ModuleType, path: str, further: Folders | None) -> Folders:
    """Return the folders of a description's packages and the additional folders ``further``.

    They are a dict by package name if either has names, else a list.
    """
    stated = [str(getattr(module, x)) for x in ("PACKAGE_PATH", "REPOSITORY_PATH") if hasattr(module, x)]
    packages = {str(key): str(value) for key, value in getattr(module, "XACRO_PACKAGE_PATHS", {}).items()}
    if isinstance(further, Mapping) or packages:
        named = {os.path.basename(folder): folder for folder in (*stated, os.path.dirname(path))} | packages
        if isinstance(further, Mapping):
            return named | dict(further)
        stated = [*packages.values(), *stated]
    listed = [further] if isinstance(further, (str, os.PathLike)) else [*(further or ())]
    return [*dict.fromkeys([*(os.fspath(x) for x in listed), *stated, *map(os.path.dirname, stated)])]
