"""Built-in robots, modelled after published dimensions and masses, without meshes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from linkwork._util.checked_arguments import public
from linkwork._util.lazy_imports import public_names
from linkwork.errors import UnknownNameError

__all__ = ["loops", "names", "path"]

if not TYPE_CHECKING:
    __getattr__, __dir__, _ = public_names(__name__, names=__all__)


def names() -> tuple[str, ...]:
    """Return the names of the built-in robots, for `linkwork.load`."""
    return tuple(sorted(file.name.removesuffix(".urdf") for file in _folder().iterdir() if file.suffix == ".urdf"))


@public
def path(name: str) -> Path:
    """Return the path of the URDF file of the built-in robot ``name``.  Raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("robot", name, names())
    return _folder() / f"{name}.urdf"


@public
def loops(name: str) -> Path | None:
    """Return the path of the loops file of the built-in robot ``name``, or None.  Raises UnknownNameError."""
    file = path(name).with_suffix(".loops.json")
    return file if file.is_file() else None


def _folder() -> Path:
    return Path(__file__).parent
